"""Published scores, compared with plain transformers on the same weights."""

import math

import pytest

torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.redness import write_images  # noqa: E402
from support.tiny_models import save_clip, save_siglip  # noqa: E402
from transformers import AutoModel, AutoProcessor  # noqa: E402

from pqpp_cli.main import main  # noqa: E402
from pqpp_feedback.assess.verdicts import read_verdicts  # noqa: E402
from pqpp_files.foreign.images import open_image  # noqa: E402


def compute_clip_score(model, processor, image, prompt):
    """Compute CLIPScore (Hessel and others, 2021, section 3)."""
    pixels = processor(images=image, return_tensors="pt")
    text = processor(text=f"A photo depicts {prompt}", return_tensors="pt")
    visual = torch.nn.functional.normalize(model.get_image_features(**pixels).pooler_output)
    textual = torch.nn.functional.normalize(model.get_text_features(**text).pooler_output)
    return 2.5 * max((visual @ textual.T).item(), 0)


def compute_pick_score(model, processor, image, prompt):
    """Compute PickScore like its model card."""
    options = {"padding": True, "truncation": True, "max_length": 48, "return_tensors": "pt"}
    pixels = processor(images=image, return_tensors="pt")
    visual = model.get_image_features(**pixels).pooler_output
    textual = model.get_text_features(**processor(text=prompt, **options)).pooler_output
    visual, textual = (v / torch.norm(v, dim=-1, keepdim=True) for v in (visual, textual))
    return (model.logit_scale.exp() * (textual @ visual.T)[0]).item()


def compute_siglip_score(model, processor, image, prompt):
    """Compute SigLIP's probability of a pair like its model card."""
    inputs = processor(
        text=[prompt], images=image, padding="max_length", truncation=True, return_tensors="pt"
    )
    names = ("input_ids", "pixel_values")  # SigLIP's tokenizer returns no mask
    return torch.sigmoid(model(**{one: inputs[one] for one in names}).logits_per_image).item()


CASES = {
    "clip_score": (save_clip, compute_clip_score),
    "pick_score": (save_clip, compute_pick_score),
    "siglip_score": (save_siglip, compute_siglip_score),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("batch", ["1", "3"])
def test_score_equals_reference_implementation(name, batch, tmp_path, capsys):
    save, compute = CASES[name]
    save(tmp_path / "model")
    model = AutoModel.from_pretrained(tmp_path / "model").eval()
    with torch.no_grad():  # so that scores differ clearly
        model.logit_scale.fill_(math.log(20.0))
        if name == "siglip_score":
            model.logit_bias.fill_(-3.0)
    model.save_pretrained(tmp_path / "model")
    processor = AutoProcessor.from_pretrained(tmp_path / "model")
    write_images(tmp_path / "images", 3, ["m"])
    prompts = ["a red cat", "two dogs on a couch", "birds"]
    (tmp_path / "p.csv").write_text("\n".join(["prompt", *prompts]))  # ids are row numbers
    arguments = ["assess", "score", "--with", name, "--weights", f"{name}={tmp_path / 'model'}"]
    arguments += ["--image-dir", str(tmp_path / "images"), "--file", str(tmp_path / "p.csv")]
    arguments += ["--batch-size", batch, "--output", str(tmp_path / "v.parquet")]
    assert main([*arguments, "--device", "cpu"]) == 0
    rows = list(read_verdicts(tmp_path / "v.parquet"))
    with torch.no_grad():
        for row in rows:
            image = open_image(tmp_path / "images" / row["image"])
            expected = compute(model, processor, image, row["prompt"])
            assert row["score"] == pytest.approx(expected, abs=1e-5)
    assert len({row["score"] for row in rows}) == 3
    rescored = [*arguments[:3], name, "--evidence", str(tmp_path / "v.parquet"), "--output"]
    assert main([*rescored, str(tmp_path / "w.parquet")]) == 0
    assert [one["score"] for one in read_verdicts(tmp_path / "w.parquet")] == [
        row["score"] for row in rows
    ]


def test_evaluate_module(tmp_path):
    import evaluate

    clip = AutoModel.from_pretrained(save_clip(tmp_path / "model"))
    processor = AutoProcessor.from_pretrained(tmp_path / "model")
    images = [Image.new("RGB", (30, 20), colour) for colour in ("red", "blue", "green")]
    prompts = ["a red cat", "two dogs", "birds"]
    metric = evaluate.load("pqpp/image_score")
    options = {"weights": {"clip_score": str(tmp_path / "model")}, "device": "cpu"}
    results = metric.compute(images=images, prompts=prompts, scores="clip_score", **options)
    with torch.no_grad():
        pairs = zip(images, prompts, strict=True)
        expected = [compute_clip_score(clip, processor, *pair) for pair in pairs]
    assert results["scores"]["clip_score"] == pytest.approx(expected, abs=1e-5)
    assert results["clip_score"] == pytest.approx(sum(expected) / 3, abs=1e-5)
    metric.add_batch(images=[images[0], Image.new("RGB", (2, 2))], prompts=prompts[:2])
    with pytest.warns(UserWarning, match="image 1 has no clip_score"):
        with_missing = metric.compute(**options)
    assert with_missing["scores"]["clip_score"] == pytest.approx([expected[0], None])
    with pytest.raises(ValueError, match="`scores`"):
        metric.compute(images=images, prompts=prompts, scores=[])


def test_rejects_unknown_or_incomplete_options(tmp_path, capsys):
    write_images(tmp_path / "images", 1, ["m"])
    arguments = ["assess", "score", "--image-dir", str(tmp_path / "images"), "--with"]
    for options, message in (
        (["vqa_score"], "set --chat-model"),
        (["blip"], "choose one of clip_score, siglip_score, pick_score, hps_v2"),
        (["clip_score", "--weights", "pick_score=x"], "not used for 'pick_score'"),
    ):
        assert main([*arguments, *options]) == 2
        assert message in capsys.readouterr().err
