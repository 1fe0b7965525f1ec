"""Scores with pickled weights, compared with implementations in plain torch."""

import json
import shutil

import pytest

torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.redness import write_images  # noqa: E402
from support.tiny_models import make_tokenizer, save_clip  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from transformers import AutoConfig, AutoModel, AutoProcessor  # noqa: E402

from pqpp_backbones.errors import ModelError  # noqa: E402
from pqpp_cli.main import main  # noqa: E402
from pqpp_feedback.assess.verdicts import read_verdicts  # noqa: E402
from pqpp_feedback.pickled import CONFIRMED, read_pickle  # noqa: E402
from pqpp_files.foreign.images import open_image  # noqa: E402
from pqpp_files.hashes import hash_file  # noqa: E402

MEAN = torch.tensor([0.48145466, 0.4578275, 0.40821073])[:, None, None]
STD = torch.tensor([0.26862954, 0.26130258, 0.27577711])[:, None, None]


class Weights(dict):
    """Random tensors by name, created at first use."""

    def draw(self, name, *shape):
        return self.setdefault(name, torch.randn(*shape) / max(shape[-1], 1) ** 0.5)

    def linear(self, x, name, out):
        return F.linear(
            x, self.draw(f"{name}.weight", out, x.shape[-1]), self.draw(f"{name}.bias", out)
        )

    def norm(self, x, name, eps=1e-5):
        size = x.shape[-1:]
        return F.layer_norm(
            x, size, self.draw(f"{name}.weight", *size), self.draw(f"{name}.bias", *size), eps
        )


def attend(q, k, v, heads, causal=False):
    q, k, v = (one.unflatten(-1, (heads, -1)).transpose(1, 2) for one in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(2)


def run_block(w, x, name, heads, inner, names, causal=False, eps=1e-5):
    """Run a transformer block whose weights have the given names."""
    first, second, qkv, out, up, down = (f"{name}.{one}" for one in names)
    width, joint = x.shape[-1], "_" if "in_proj" in qkv else "."
    weight, bias = (
        w.draw(f"{qkv}{joint}{part}", 3 * width, *size)
        for part, size in (("weight", (width,)), ("bias", ()))
    )
    q, k, v = F.linear(w.norm(x, first, eps), weight, bias).chunk(3, -1)
    x = x + w.linear(attend(q, k, v, heads, causal), out, width)
    return x + w.linear(F.gelu(w.linear(w.norm(x, second, eps), up, inner)), down, width)


OPEN_CLIP = ("ln_1", "ln_2", "attn.in_proj", "attn.out_proj", "mlp.c_fc", "mlp.c_proj")
TIMM = ("norm1", "norm2", "attn.qkv", "attn.proj", "mlp.fc1", "mlp.fc2")


def resize_pixels(image, side):
    """Resize the shorter side, crop the centre and normalise, like torchvision."""
    inner, high = image.size
    short = min(inner, high)
    image = image.resize(
        (int(side * inner / short), int(side * high / short)), Image.Resampling.BICUBIC
    )
    left, top = (round((length - side) / 2) for length in image.size)
    return to_tensor(image.crop((left, top, left + side, top + side)))


def to_tensor(image):
    raw = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    return ((raw.view(image.size[1], image.size[0], 3).permute(2, 0, 1) / 255 - MEAN) / STD)[None]


def compute_hps_v2(w, folder, image, prompt):
    """HPSv2: the cosine of OpenCLIP's features of the image on a black square and the prompt."""
    config, processor = AutoConfig.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    vision, text, size = config.vision_config, config.text_config, config.projection_dim
    side, width = vision.image_size, vision.hidden_size
    scale = side / max(image.size)
    small = image.resize([round(n * scale) for n in image.size], Image.Resampling.BICUBIC)
    square = Image.new("RGB", (side, side))
    square.paste(small, [(side - n) // 2 for n in small.size])
    patch = vision.patch_size
    kernel = w.draw("visual.conv1.weight", width, 3, patch, patch)
    x = F.conv2d(to_tensor(square), kernel, stride=patch).flatten(2).transpose(1, 2)
    x = torch.cat([w.draw("visual.class_embedding", width).expand(1, 1, -1), x], 1)
    x = w.norm(x + w.draw("visual.positional_embedding", x.shape[1], width), "visual.ln_pre")
    for n in range(vision.num_hidden_layers):
        name, inner = f"visual.transformer.resblocks.{n}", vision.intermediate_size
        x = run_block(w, x, name, vision.num_attention_heads, inner, OPEN_CLIP)
    visual = w.norm(x[:, 0], "visual.ln_post") @ w.draw("visual.proj", width, size)
    ids = processor.tokenizer(prompt, return_tensors="pt")["input_ids"]
    x = w.draw("token_embedding.weight", text.vocab_size, text.hidden_size)[ids]
    table = w.draw("positional_embedding", text.max_position_embeddings, text.hidden_size)
    x = x + table[: ids.shape[1]]
    for n in range(text.num_hidden_layers):
        name, inner = f"transformer.resblocks.{n}", text.intermediate_size
        x = run_block(w, x, name, text.num_attention_heads, inner, OPEN_CLIP, causal=True)
    textual = w.norm(x, "ln_final")[:, -1] @ w.draw("text_projection", text.hidden_size, size)
    w["logit_scale"] = torch.tensor(4.6)
    return F.cosine_similarity(visual, textual).item()


def run_head(w, x, prefix=""):
    for n, size in ((0, 1024), (2, 128), (4, 64), (6, 16), (7, 1)):
        x = w.linear(x, f"{prefix}layers.{n}", size)
    return x.item()


def compute_aesthetic(w, folder, image, prompt):
    """LAION's aesthetic score: a head on the unit vector of CLIP's image features."""
    model, processor = AutoModel.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    visual = model.get_image_features(**processor(images=image, return_tensors="pt")).pooler_output
    return run_head(w, F.normalize(visual))


BLIP = {
    "vision_config": {
        "hidden_size": 24,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 32,
        "patch_size": 8,
        "layer_norm_eps": 1e-6,
    },
    "text_config": {
        "encoder_hidden_size": 24,
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
    },
}


def compute_image_reward(w, folder, image, prompt):
    """ImageReward: a head on BLIP's first state of the prompt, which attends to the image."""
    vision, text = BLIP["vision_config"], BLIP["text_config"]
    width, patch = vision["hidden_size"], vision["patch_size"]
    vit, bert = "blip.visual_encoder", "blip.text_encoder"
    kernel = w.draw(f"{vit}.patch_embed.proj.weight", width, 3, patch, patch)
    bias = w.draw(f"{vit}.patch_embed.proj.bias", width)
    x = F.conv2d(resize_pixels(image, vision["image_size"]), kernel, bias, patch)
    x = x.flatten(2).transpose(1, 2)
    x = torch.cat([w.draw(f"{vit}.cls_token", 1, 1, width), x], 1)
    x = x + w.draw(f"{vit}.pos_embed", 1, x.shape[1], width)
    for n in range(vision["num_hidden_layers"]):
        x = run_block(w, x, f"{vit}.blocks.{n}", 2, vision["intermediate_size"], TIMM, eps=1e-6)
    visual = w.norm(x, f"{vit}.norm", 1e-6)
    tokens = make_tokenizer()
    ids = tokens(prompt, truncation=True, max_length=35, return_tensors="pt")["input_ids"]
    size, positions = text["hidden_size"], text["max_position_embeddings"]
    x = w.draw(f"{bert}.embeddings.word_embeddings.weight", len(tokens), size)[ids]
    x = x + w.draw(f"{bert}.embeddings.position_embeddings.weight", positions, size)[: ids.shape[1]]
    x = w.norm(x, f"{bert}.embeddings.LayerNorm", 1e-12)
    for n in range(text["num_hidden_layers"]):
        for kind, other in (("attention", None), ("crossattention", visual)):
            name = f"{bert}.encoder.layer.{n}.{kind}"
            parts = zip(
                ("query", "key", "value"), (x, *[x if other is None else other] * 2), strict=True
            )
            q, k, v = (w.linear(source, f"{name}.self.{part}", size) for part, source in parts)
            mixed = w.linear(attend(q, k, v, 4), f"{name}.output.dense", size)
            x = w.norm(mixed + x, f"{name}.output.LayerNorm", 1e-12)
        name = f"{bert}.encoder.layer.{n}"
        hidden = F.gelu(w.linear(x, f"{name}.intermediate.dense", text["intermediate_size"]))
        hidden = w.linear(hidden, f"{name}.output.dense", size)
        x = w.norm(hidden + x, f"{name}.output.LayerNorm", 1e-12)
    w["blip.itm_head.weight"] = torch.zeros(2)  # used only in training
    return (run_head(w, x[:, 0], "mlp.") - 0.16717362830052426) / 1.0333394966054072


def save_clip_with_gelu(folder):
    """A CLIP with the activation of OpenCLIP's ViT-H-14."""
    save_clip(folder)
    config = AutoConfig.from_pretrained(folder)
    config.text_config.hidden_act = config.vision_config.hidden_act = "gelu"
    config.save_pretrained(folder)


def save_blip(folder):
    tokenizer = make_tokenizer()
    BLIP["text_config"] |= {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    tokenizer.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "blip", **BLIP}))


CASES = {
    "hps_v2": (save_clip_with_gelu, compute_hps_v2, 2e-6),
    "image_reward": (save_blip, compute_image_reward, 1e-5),
    "aesthetic": (save_clip, compute_aesthetic, 1e-5),
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("name", CASES)
def test_score_equals_reference_implementation(name, tmp_path, capsys):
    torch.manual_seed(0)
    save, compute, tolerance = CASES[name]
    model = tmp_path / "model"
    model.mkdir()
    save(model)
    write_images(tmp_path / "images", 3, ["m"])
    Image.new("RGB", (50, 20), "orange").save(tmp_path / "images" / "0" / "m_1.png")
    prompts = ["a red cat", "two dogs on a couch", "birds"]
    (tmp_path / "p.csv").write_text("\n".join(["prompt", *prompts]))
    w, paths = Weights(), sorted((tmp_path / "images").rglob("*.png"))
    with torch.no_grad():
        expected = [
            compute(w, model, open_image(path), prompts[int(path.parent.name)]) for path in paths
        ]
    torch.save({"state_dict": dict(w)} if name == "hps_v2" else dict(w), model / "weights.pt")
    words = ["assess", "score", "--with", name, "--weights", f"{name}={model}", "--device", "cpu"]
    words += ["--image-dir", str(tmp_path / "images"), "--file", str(tmp_path / "p.csv")]
    words += ["--output", str(tmp_path / "v.parquet")]
    assert main(words) == 2
    digest = hash_file(model / "weights.pt")
    assert f"--confirm {digest}" in capsys.readouterr().err
    assert main([*words, "--confirm", digest]) == 0
    rows = list(read_verdicts(tmp_path / "v.parquet"))
    assert [row["score"] for row in rows] == pytest.approx(expected, abs=tolerance)
    assert len({row["score"] for row in rows}) == len(paths)
    (tmp_path / "v.parquet").unlink()
    assert main(words) == 0  # the confirmation was recorded
    w.popitem() if name != "image_reward" else w.pop("mlp.layers.0.bias")
    torch.save(dict(w), model / "weights.pt")
    assert main([*words, "--confirm", hash_file(model / "weights.pt")]) == 2
    assert f"has no weights of {name}" in capsys.readouterr().err


def test_confirmed_pickle_executes_no_code(tmp_path):
    path = tmp_path / "bad.pt"
    torch.save({"state_dict": shutil.rmtree}, path)
    with pytest.raises(ModelError, match="can contain code"):
        read_pickle(path)
    assert not (tmp_path / "home" / CONFIRMED).exists()
    with pytest.raises(ModelError, match="no usable weights"):
        read_pickle(path, [hash_file(path)])
