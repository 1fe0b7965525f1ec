"""Hostile checkpoints are rejected before a large model is built."""

import json
import shutil

import pytest
from support.limited import load_hostile
from support.tiny_models import save_bert, save_clip

from pqpp_models import ModelError

pytest.importorskip("torch", reason="the predictor needs torch")


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("sound") / "bert", ["mean_rr"])


def change_backbone(**fields):
    return "config.json", lambda config: config["backbone_config"].update(fields)


def replace_backbone(**fields):
    return "config.json", lambda config: config.update(backbone_config=fields)


def change_field(**fields):
    return "config.json", lambda config: config.update(fields)


def append_text(name, text):
    """Return a change that appends a field with raw text to a file."""
    return name, lambda content: f'{json.dumps(content)[:-1]}, "last": {text}}}'


NESTED, NUMBER = "[" * 5000 + "]" * 5000, "9" * 5000
HOSTILE = {
    "width": change_backbone(hidden_size=10**7),
    "width of 100 bits": change_backbone(hidden_size=10**30),
    "layers": change_backbone(num_hidden_layers=10**7),
    "layers of 100 bits": change_backbone(num_hidden_layers=10**30),
    "layers behind no number": change_backbone(num_hidden_layers=[float("nan"), 10**7]),
    "words": change_backbone(vocab_size=10**9),
    "positions": change_backbone(max_position_embeddings=10**9),
    "heads": change_backbone(num_attention_heads=10**7),
    "inner width": change_backbone(intermediate_size=10**9),
    "width of the head": change_field(head_size=10**9),
    "layers with names": replace_backbone(model_type="modernbert", num_hidden_layers=10**7),
    "depths": replace_backbone(model_type="swin", depths=[10**7]),
    "a target many times": change_field(targets=["mean_rr"] * 10**5),
    "many targets": change_field(targets=[f"model{i}_p10" for i in range(10**5)]),
    "a long target": change_field(targets="mean_rr" * 10**5),
    "deep configuration": append_text("config.json", "[" * 900 + "]" * 900),
    "deeper configuration": append_text("config.json", NESTED),
    "long number": append_text("config.json", NUMBER),
    "deep tokenizer": append_text("tokenizer.json", NESTED),
    "long number of the tokenizer": append_text("tokenizer.json", NUMBER),
    "deep settings of the tokenizer": append_text("tokenizer_config.json", NESTED),
}


def make_hostile(valid, folder, change):
    name, apply = change
    shutil.copytree(valid, folder)
    content = json.loads((folder / name).read_text())
    (folder / name).write_text(apply(content) or json.dumps(content))
    return folder


@pytest.mark.daily
def test_rejects_hostile_checkpoints_in_bounded_memory(valid, tmp_path):
    folders = [make_hostile(valid, tmp_path / name, one) for name, one in HOSTILE.items()]
    result = dict(zip(HOSTILE, load_hostile(valid, folders), strict=True))
    assert {name: one for name, one in result.items() if one[0] != "refused"} == {}
    assert {name: one for name, one in result.items() if "\n" in one[1] or len(one[1]) > 1000} == {}
    assert {name: one for name, one in result.items() if one[2] > 5e8} == {}


def test_from_pretrained_is_bounded(valid, tmp_path):
    from pqpp_backbones.encoder.pretrained import load_text_encoder
    from pqpp_backbones.images.embedding import load_backbone
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction

    layers = make_hostile(valid, tmp_path / "bert", HOSTILE["layers"])
    with pytest.raises(ModelError, match=r"'num_hidden_layers' is 1e\+07, but the weights have"):
        BertForPerformancePrediction.from_pretrained(layers)
    change = ("config.json", lambda config: config.update(num_hidden_layers=150))
    encoder = make_hostile(valid.parent / "encoder", tmp_path / "encoder", change)
    with pytest.raises(ModelError, match="a model that is larger than its weights"):
        load_text_encoder(str(encoder))
    change = ("config.json", lambda config: config["vision_config"].update(hidden_size=10**6))
    clip = make_hostile(save_clip(tmp_path / "clip"), tmp_path / "wide", change)
    with pytest.raises(ModelError, match="a model that is larger than its weights"):
        load_backbone(str(clip))
