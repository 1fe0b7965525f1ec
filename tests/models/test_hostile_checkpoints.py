"""Nothing that a checkpoint describes is built before it is compared with its weights."""

import json
import shutil

import pytest
from support.limited import load_hostile
from support.tiny_models import save_clip, save_text_encoder

from pqpp_models import ModelError

pytest.importorskip("torch", reason="the predictor needs torch")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    from pqpp_backbones.pretrained import load_tokenizer
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
    from pqpp_models.bert.predictor import BertPredictor

    folder = tmp_path_factory.mktemp("sound")
    encoder = str(save_text_encoder(folder / "encoder"))
    model = BertForPerformancePrediction.from_backbone(encoder, targets=["mean_rr"])
    return BertPredictor(model, load_tokenizer(encoder)).save_pretrained(folder / "bert")


def backbone(**fields):
    return "config.json", lambda config: config["backbone_config"].update(fields)


def other_backbone(**fields):
    return "config.json", lambda config: config.update(backbone_config=fields)


def field(**fields):
    return "config.json", lambda config: config.update(fields)


def with_text(name, text):
    """Return a change that puts a text as the last field of a file."""
    return name, lambda content: f'{json.dumps(content)[:-1]}, "last": {text}}}'


NESTED, NUMBER = "[" * 5000 + "]" * 5000, "9" * 5000
HOSTILE = {
    "width": backbone(hidden_size=10**7),
    "width of 100 bits": backbone(hidden_size=10**30),
    "layers": backbone(num_hidden_layers=10**7),
    "layers of 100 bits": backbone(num_hidden_layers=10**30),
    "layers behind no number": backbone(num_hidden_layers=[float("nan"), 10**7]),
    "words": backbone(vocab_size=10**9),
    "positions": backbone(max_position_embeddings=10**9),
    "heads": backbone(num_attention_heads=10**7),
    "inner width": backbone(intermediate_size=10**9),
    "width of the head": field(head_size=10**9),
    "layers with names": other_backbone(model_type="modernbert", num_hidden_layers=10**7),
    "depths": other_backbone(model_type="swin", depths=[10**7]),
    "a target many times": field(targets=["mean_rr"] * 10**5),
    "many targets": field(targets=[f"model{i}_p10" for i in range(10**5)]),
    "a long target": field(targets="mean_rr" * 10**5),
    "deep configuration": with_text("config.json", "[" * 900 + "]" * 900),
    "deeper configuration": with_text("config.json", NESTED),
    "long number": with_text("config.json", NUMBER),
    "deep tokenizer": with_text("tokenizer.json", NESTED),
    "long number of the tokenizer": with_text("tokenizer.json", NUMBER),
    "deep settings of the tokenizer": with_text("tokenizer_config.json", NESTED),
}


def made_hostile(sound, place, change):
    name, apply = change
    shutil.copytree(sound, place)
    content = json.loads((place / name).read_text())
    (place / name).write_text(apply(content) or json.dumps(content))
    return place


@pytest.mark.daily
def test_rejects_hostile_checkpoints_in_bounded_memory(sound, tmp_path):
    folders = [made_hostile(sound, tmp_path / name, one) for name, one in HOSTILE.items()]
    found = dict(zip(HOSTILE, load_hostile(sound, folders), strict=True))
    assert {name: one for name, one in found.items() if one[0] != "refused"} == {}
    assert {name: one for name, one in found.items() if "\n" in one[1] or len(one[1]) > 1000} == {}
    assert {name: one for name, one in found.items() if one[2] > 5e8} == {}


def test_from_pretrained_is_bounded(sound, tmp_path):
    from pqpp_backbones.encoder.pretrained import load_text_encoder
    from pqpp_backbones.images.embedding import load_backbone
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction

    layers = made_hostile(sound, tmp_path / "bert", HOSTILE["layers"])
    with pytest.raises(ModelError, match=r"'num_hidden_layers' is 1e\+07, but the weights have"):
        BertForPerformancePrediction.from_pretrained(layers)
    change = ("config.json", lambda config: config.update(num_hidden_layers=150))
    encoder = made_hostile(sound.parent / "encoder", tmp_path / "encoder", change)
    with pytest.raises(ModelError, match="a model that is larger than its weights"):
        load_text_encoder(str(encoder))
    change = ("config.json", lambda config: config["vision_config"].update(hidden_size=10**6))
    clip = made_hostile(save_clip(tmp_path / "clip"), tmp_path / "wide", change)
    with pytest.raises(ModelError, match="a model that is larger than its weights"):
        load_backbone(str(clip))
