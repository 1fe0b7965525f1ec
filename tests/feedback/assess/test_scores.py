"""Known scores by name, beside what plain transformers makes of the same weights."""

import math

import pytest

torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.made_assessor import write_images  # noqa: E402
from support.tiny_models import save_clip, save_siglip  # noqa: E402
from transformers import AutoModel, AutoProcessor  # noqa: E402

from pqpp_cli.main import main  # noqa: E402
from pqpp_feedback.assess.verdicts import read_verdicts  # noqa: E402
from pqpp_files.foreign.images import open_image  # noqa: E402


def by_hessel(model, processor, image, prompt):
    """CLIPScore (Hessel and others, 2021, section 3) of one image."""
    pixels = processor(images=image, return_tensors="pt")
    words = processor(text=f"A photo depicts {prompt}", return_tensors="pt")
    seen = torch.nn.functional.normalize(model.get_image_features(**pixels).pooler_output)
    read = torch.nn.functional.normalize(model.get_text_features(**words).pooler_output)
    return 2.5 * max((seen @ read.T).item(), 0)


def by_kirstain(model, processor, image, prompt):
    """PickScore, as its card computes it."""
    options = {"padding": True, "truncation": True, "max_length": 48, "return_tensors": "pt"}
    seen = model.get_image_features(**processor(images=image, return_tensors="pt")).pooler_output
    read = model.get_text_features(**processor(text=prompt, **options)).pooler_output
    seen, read = (one / torch.norm(one, dim=-1, keepdim=True) for one in (seen, read))
    return (model.logit_scale.exp() * (read @ seen.T)[0]).item()


def by_zhai(model, processor, image, prompt):
    """SigLIP's probability of a pair, as its card computes it."""
    inputs = processor(
        text=[prompt], images=image, padding="max_length", truncation=True, return_tensors="pt"
    )
    names = ("input_ids", "pixel_values")  # its own tokenizer gives no mask
    return torch.sigmoid(model(**{one: inputs[one] for one in names}).logits_per_image).item()


KINDS = {"clip_score": (save_clip, by_hessel), "pick_score": (save_clip, by_kirstain)}
KINDS |= {"siglip_score": (save_siglip, by_zhai)}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("batch", ["1", "3"])
def test_a_score_is_what_its_authors_compute(name, batch, tmp_path, capsys):
    save, compute = KINDS[name]
    save(tmp_path / "model")
    model = AutoModel.from_pretrained(tmp_path / "model").eval()
    with torch.no_grad():  # far from where all cosines are alike
        model.logit_scale.fill_(math.log(20.0))
        if name == "siglip_score":
            model.logit_bias.fill_(-3.0)
    model.save_pretrained(tmp_path / "model")
    processor = AutoProcessor.from_pretrained(tmp_path / "model")
    write_images(tmp_path / "images", 3, ["m"])
    prompts = ["a red cat", "two dogs on a couch", "birds"]
    (tmp_path / "p.csv").write_text("\n".join(["prompt", *prompts]))  # numbers are ids
    words = ["assess", "score", "--with", name, "--weights", f"{name}={tmp_path / 'model'}"]
    words += ["--image-dir", str(tmp_path / "images"), "--file", str(tmp_path / "p.csv")]
    words += ["--batch-size", batch, "--output", str(tmp_path / "v.parquet")]
    assert main([*words, "--device", "cpu"]) == 0
    rows = list(read_verdicts(tmp_path / "v.parquet"))
    with torch.no_grad():
        for row in rows:
            image = open_image(tmp_path / "images" / row["image"])
            expected = compute(model, processor, image, row["prompt"])
            assert row["score"] == pytest.approx(expected, abs=1e-5)
    assert len({row["score"] for row in rows}) == 3
    again = [*words[:3], name, "--evidence", str(tmp_path / "v.parquet"), "--output"]
    assert main([*again, str(tmp_path / "w.parquet")]) == 0
    assert [one["score"] for one in read_verdicts(tmp_path / "w.parquet")] == [
        row["score"] for row in rows
    ]


def test_evaluate_knows_them(tmp_path):
    import evaluate

    save_clip(tmp_path / "model")
    clip = AutoModel.from_pretrained(tmp_path / "model")
    processor = AutoProcessor.from_pretrained(tmp_path / "model")
    images = [Image.new("RGB", (30, 20), colour) for colour in ("red", "blue", "green")]
    prompts = ["a red cat", "two dogs", "birds"]
    metric = evaluate.load("pqpp/image_score")
    options = {"weights": {"clip_score": str(tmp_path / "model")}, "device": "cpu"}
    found = metric.compute(images=images, prompts=prompts, **options)
    with torch.no_grad():
        pairs = zip(images, prompts, strict=True)
        expected = [by_hessel(clip, processor, *pair) for pair in pairs]
    assert found["scores"]["clip_score"] == pytest.approx(expected, abs=1e-5)
    assert found["clip_score"] == pytest.approx(sum(expected) / 3, abs=1e-5)
    metric.add_batch(images=[images[0], Image.new("RGB", (2, 2))], prompts=prompts[:2])
    with pytest.warns(UserWarning, match="image 1 has no clip_score"):
        again = metric.compute(**options)
    assert again["scores"]["clip_score"] == pytest.approx([expected[0], None])


def test_scores_that_cannot_be_had_are_a_line(tmp_path, capsys):
    write_images(tmp_path / "images", 1, ["m"])
    words = ["assess", "score", "--image-dir", str(tmp_path / "images"), "--with"]
    for given, said in (
        (["vqa_score"], "set --chat-model"),
        (["blip"], "choose one of clip_score, siglip_score, pick_score, hps_v2"),
        (["clip_score", "--weights", "pick_score=x"], "not used for 'pick_score'"),
    ):
        assert main([*words, *given]) == 2
        assert said in capsys.readouterr().err
