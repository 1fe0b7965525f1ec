"""Scores whose weights are pickles, beside plain torch on the authors' layout of weights."""

import json
import shutil

import pytest

torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.made_assessor import write_images  # noqa: E402
from support.tiny_models import _character_tokenizer, save_clip  # noqa: E402
from torch.nn import functional as plain  # noqa: E402
from transformers import AutoConfig, AutoModel, AutoProcessor  # noqa: E402

from pqpp_backbones.errors import ModelError  # noqa: E402
from pqpp_cli.main import main  # noqa: E402
from pqpp_feedback.assess.verdicts import read_verdicts  # noqa: E402
from pqpp_feedback.pickled import CONFIRMED, read_pickle  # noqa: E402
from pqpp_files.foreign.images import open_image  # noqa: E402
from pqpp_files.hashes import hash_file  # noqa: E402

MEAN = torch.tensor([0.48145466, 0.4578275, 0.40821073])[:, None, None]
SPREAD = torch.tensor([0.26862954, 0.26130258, 0.27577711])[:, None, None]


class Made(dict):
    """Random tensors, made when they are first asked for."""

    def of(self, name, *shape):
        return self.setdefault(name, torch.randn(*shape) / max(shape[-1], 1) ** 0.5)

    def linear(self, x, name, out):
        return plain.linear(
            x, self.of(f"{name}.weight", out, x.shape[-1]), self.of(f"{name}.bias", out)
        )

    def norm(self, x, name, eps=1e-5):
        size = x.shape[-1:]
        return plain.layer_norm(
            x, size, self.of(f"{name}.weight", *size), self.of(f"{name}.bias", *size), eps
        )


def attended(q, k, v, heads, causal=False):
    q, k, v = (one.unflatten(-1, (heads, -1)).transpose(1, 2) for one in (q, k, v))
    return plain.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(2)


def block(made, x, name, heads, wide, names, causal=False, eps=1e-5):
    """A block of a vision transformer or of CLIP's texts, by the names that its authors give."""
    first, second, qkv, out, up, down = (f"{name}.{one}" for one in names)
    width, joint = x.shape[-1], "_" if "in_proj" in qkv else "."
    weight, bias = (
        made.of(f"{qkv}{joint}{part}", 3 * width, *size)
        for part, size in (("weight", (width,)), ("bias", ()))
    )
    q, k, v = plain.linear(made.norm(x, first, eps), weight, bias).chunk(3, -1)
    x = x + made.linear(attended(q, k, v, heads, causal), out, width)
    return x + made.linear(
        plain.gelu(made.linear(made.norm(x, second, eps), up, wide)), down, width
    )


OPEN_CLIP = ("ln_1", "ln_2", "attn.in_proj", "attn.out_proj", "mlp.c_fc", "mlp.c_proj")
TIMM = ("norm1", "norm2", "attn.qkv", "attn.proj", "mlp.fc1", "mlp.fc2")


def pixels(image, side):
    """What torchvision's resizing of the shorter side, cutting and scaling make of an image."""
    wide, high = image.size
    short = min(wide, high)
    image = image.resize(
        (int(side * wide / short), int(side * high / short)), Image.Resampling.BICUBIC
    )
    left, top = (round((length - side) / 2) for length in image.size)
    return scaled(image.crop((left, top, left + side, top + side)))


def scaled(image):
    raw = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    return ((raw.view(image.size[1], image.size[0], 3).permute(2, 0, 1) / 255 - MEAN) / SPREAD)[
        None
    ]


def by_wu(made, folder, image, prompt):
    """HPSv2: the cosine of OpenCLIP's features of the image on a black square and the prompt."""
    config, processor = AutoConfig.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    vision, text, size = config.vision_config, config.text_config, config.projection_dim
    side, width = vision.image_size, vision.hidden_size
    scale = side / max(image.size)
    small = image.resize([round(n * scale) for n in image.size], Image.Resampling.BICUBIC)
    square = Image.new("RGB", (side, side))
    square.paste(small, [(side - n) // 2 for n in small.size])
    patch = vision.patch_size
    kernel = made.of("visual.conv1.weight", width, 3, patch, patch)
    x = plain.conv2d(scaled(square), kernel, stride=patch).flatten(2).transpose(1, 2)
    x = torch.cat([made.of("visual.class_embedding", width).expand(1, 1, -1), x], 1)
    x = made.norm(x + made.of("visual.positional_embedding", x.shape[1], width), "visual.ln_pre")
    for n in range(vision.num_hidden_layers):
        name, wide = f"visual.transformer.resblocks.{n}", vision.intermediate_size
        x = block(made, x, name, vision.num_attention_heads, wide, OPEN_CLIP)
    seen = made.norm(x[:, 0], "visual.ln_post") @ made.of("visual.proj", width, size)
    ids = processor.tokenizer(prompt, return_tensors="pt")["input_ids"]
    x = made.of("token_embedding.weight", text.vocab_size, text.hidden_size)[ids]
    table = made.of("positional_embedding", text.max_position_embeddings, text.hidden_size)
    x = x + table[: ids.shape[1]]
    for n in range(text.num_hidden_layers):
        name, wide = f"transformer.resblocks.{n}", text.intermediate_size
        x = block(made, x, name, text.num_attention_heads, wide, OPEN_CLIP, causal=True)
    read = made.norm(x, "ln_final")[:, -1] @ made.of("text_projection", text.hidden_size, size)
    made["logit_scale"] = torch.tensor(4.6)
    return plain.cosine_similarity(seen, read).item()


def head(made, x, prefix=""):
    for n, size in ((0, 1024), (2, 128), (4, 64), (6, 16), (7, 1)):
        x = made.linear(x, f"{prefix}layers.{n}", size)
    return x.item()


def by_schuhmann(made, folder, image, prompt):
    """LAION's aesthetic score: a head on the unit vector of CLIP's image features."""
    model, processor = AutoModel.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    seen = model.get_image_features(**processor(images=image, return_tensors="pt")).pooler_output
    return head(made, plain.normalize(seen))


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


def by_xu(made, folder, image, prompt):
    """ImageReward: a head on BLIP's first state of the prompt, which attends to the image."""
    eyes, ears = BLIP["vision_config"], BLIP["text_config"]
    width, patch = eyes["hidden_size"], eyes["patch_size"]
    see, tell = "blip.visual_encoder", "blip.text_encoder"
    kernel = made.of(f"{see}.patch_embed.proj.weight", width, 3, patch, patch)
    bias = made.of(f"{see}.patch_embed.proj.bias", width)
    x = plain.conv2d(pixels(image, eyes["image_size"]), kernel, bias, patch)
    x = x.flatten(2).transpose(1, 2)
    x = torch.cat([made.of(f"{see}.cls_token", 1, 1, width), x], 1)
    x = x + made.of(f"{see}.pos_embed", 1, x.shape[1], width)
    for n in range(eyes["num_hidden_layers"]):
        x = block(made, x, f"{see}.blocks.{n}", 2, eyes["intermediate_size"], TIMM, eps=1e-6)
    seen = made.norm(x, f"{see}.norm", 1e-6)
    tokens = _character_tokenizer()
    ids = tokens(prompt, truncation=True, max_length=35, return_tensors="pt")["input_ids"]
    size, places = ears["hidden_size"], ears["max_position_embeddings"]
    x = made.of(f"{tell}.embeddings.word_embeddings.weight", len(tokens), size)[ids]
    x = x + made.of(f"{tell}.embeddings.position_embeddings.weight", places, size)[: ids.shape[1]]
    x = made.norm(x, f"{tell}.embeddings.LayerNorm", 1e-12)
    for n in range(ears["num_hidden_layers"]):
        for kind, other in (("attention", None), ("crossattention", seen)):
            name = f"{tell}.encoder.layer.{n}.{kind}"
            parts = zip(
                ("query", "key", "value"), (x, *[x if other is None else other] * 2), strict=True
            )
            q, k, v = (made.linear(of, f"{name}.self.{part}", size) for part, of in parts)
            mixed = made.linear(attended(q, k, v, 4), f"{name}.output.dense", size)
            x = made.norm(mixed + x, f"{name}.output.LayerNorm", 1e-12)
        name = f"{tell}.encoder.layer.{n}"
        up = plain.gelu(made.linear(x, f"{name}.intermediate.dense", ears["intermediate_size"]))
        x = made.norm(
            made.linear(up, f"{name}.output.dense", size) + x, f"{name}.output.LayerNorm", 1e-12
        )
    made["blip.itm_head.weight"] = torch.zeros(2)  # of the training; not looked at
    return (head(made, x[:, 0], "mlp.") - 0.16717362830052426) / 1.0333394966054072


def save_huge(folder):
    """A CLIP with the activation of OpenCLIP's ViT-H-14."""
    save_clip(folder)
    config = AutoConfig.from_pretrained(folder)
    config.text_config.hidden_act = config.vision_config.hidden_act = "gelu"
    config.save_pretrained(folder)


def save_blip(folder):
    tokenizer = _character_tokenizer()
    BLIP["text_config"] |= {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    tokenizer.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "blip", **BLIP}))


KINDS = {"hps_v2": (save_huge, by_wu, 2e-6), "image_reward": (save_blip, by_xu, 1e-5)}
KINDS |= {"aesthetic": (save_clip, by_schuhmann, 1e-5)}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("name", KINDS)
def test_a_score_is_what_its_authors_compute(name, tmp_path, capsys):
    torch.manual_seed(0)
    save, compute, near = KINDS[name]
    model = tmp_path / "model"
    model.mkdir()
    save(model)
    write_images(tmp_path / "images", 3, ["m"])
    Image.new("RGB", (50, 20), "orange").save(tmp_path / "images" / "0" / "m_1.png")
    prompts = ["a red cat", "two dogs on a couch", "birds"]
    (tmp_path / "p.csv").write_text("\n".join(["prompt", *prompts]))
    made, paths = Made(), sorted((tmp_path / "images").rglob("*.png"))
    with torch.no_grad():
        expected = [
            compute(made, model, open_image(path), prompts[int(path.parent.name)]) for path in paths
        ]
    torch.save({"state_dict": dict(made)} if name == "hps_v2" else dict(made), model / "weights.pt")
    words = ["assess", "score", "--with", name, "--weights", f"{name}={model}", "--device", "cpu"]
    words += ["--image-dir", str(tmp_path / "images"), "--file", str(tmp_path / "p.csv")]
    words += ["--output", str(tmp_path / "v.parquet")]
    assert main(words) == 2
    digest = hash_file(model / "weights.pt")
    assert f"--confirm {digest}" in capsys.readouterr().err
    assert main([*words, "--confirm", digest]) == 0
    rows = list(read_verdicts(tmp_path / "v.parquet"))
    assert [row["score"] for row in rows] == pytest.approx(expected, abs=near)
    assert len({row["score"] for row in rows}) == len(paths)
    (tmp_path / "v.parquet").unlink()
    assert main(words) == 0  # it was recorded
    made.popitem() if name != "image_reward" else made.pop("mlp.layers.0.bias")
    torch.save(dict(made), model / "weights.pt")
    assert main([*words, "--confirm", hash_file(model / "weights.pt")]) == 2
    assert f"has no weights of {name}" in capsys.readouterr().err


def test_a_pickle_runs_nothing_even_where_it_is_confirmed(tmp_path):
    path = tmp_path / "bad.pt"
    torch.save({"state_dict": shutil.rmtree}, path)
    with pytest.raises(ModelError, match="can contain code"):
        read_pickle(path)
    assert not (tmp_path / "home" / CONFIRMED).exists()
    with pytest.raises(ModelError, match="no usable weights"):
        read_pickle(path, [hash_file(path)])
