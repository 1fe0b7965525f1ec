"""What a stranger's folder may hold beside code: each is refused before it is read, in one line."""

import json
import os
import shutil
from pathlib import Path

import pytest

from pqpp_backbones.foreign import check_foreign_folder, limit_model_size
from pqpp_backbones.pretrained import load_model
from pqpp_files.errors import PqppError
from pqpp_models import ModelError, Predictor

LORA = b'\x7f\0\0\0\0\0\0\0{"__metadata__": {"lora_adapter_metadata": "{%s}"}}'
KERNEL = {"attn_implementation": "owner/kernel"}
DEEP = b'\x93\0\0\0\0\0\0\0{"a": %s}' % (b"[" * 70 + b"]" * 70)
OLDER = Path(__file__).parent / "checkpoints"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "private.txt").write_text("mine")
    return Predictor.from_pretrained("static-train").save_pretrained(tmp_path / "model")


def put(folder, name, content):
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    (folder / name).write_bytes(content)


def put_part(folder, name, content):
    (folder / "unet").mkdir()
    put(folder, "model_index.json", {})
    put(folder / "unet", name, content)


def linked_part(folder):
    put(folder, "model_index.json", {})
    (folder / "vae").symlink_to("..")


def linked_template(folder):
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates" / "a.jinja").symlink_to("../../private.txt")


def linked_part_template(folder):
    (folder / "a_tokenizer" / "additional_chat_templates").mkdir(parents=True)
    (folder / "a_tokenizer" / "additional_chat_templates" / "b.jinja").symlink_to("/etc/hosts")


def piped(folder):
    put_part(folder, "other.json", {})
    os.mkfifo(folder / "unet" / "config.json")


HOSTILE = {
    "link": (lambda f: (f / "a.txt").symlink_to("../private.txt"), "a.txt is outside"),
    "pipe": (piped, "is a pipe or a device, not a file"),
    "long text": (lambda f: put(f, "vocab.json", b'"' + b"a" * 10**8 + b'"'), "is larger"),
    "header": (
        lambda f: put(f, "a.safetensors", (10**8).to_bytes(8, "little") + b" " * (10**8 + 9)),
        "is too large",
    ),
    "patterns": (lambda f: put(f, "a.safetensors", LORA % rb"\"a\": \"(a*)*\""), "s patterns or"),
    "deep header": (lambda f: put(f, "a.safetensors", DEEP), "nested too deeply"),
    "module": (lambda f: put(f, "a.safetensors", LORA % rb"\"megatron_config\": 1"), "a module; r"),
    "index": (
        lambda f: put(f, "model.safetensors.index.json", {"weight_map": {"a": "../b"}}),
        "refers to another folder; use another model",
    ),
    "template": (linked_template, "a.jinja is outside"),
    "template of a part": (linked_part_template, "b.jinja is outside"),
    "weights": (lambda f: put(f, "config.json", {"transformers_weights": "a b/c"}), "; remove"),
    "code": (
        lambda f: put(f, "processor_config.json", {"images": [{"auto_map": {"AutoModel": "a"}}]}),
        "needs custom code",
    ),
    "kernel": (lambda f: put(f, "config.json", KERNEL), "n' is 'owner/kernel', which may"),
    "other kernel": (
        lambda f: put(f, "config.json", {"_attn_implementation": "flash_attention_9"}),
        "'flash_attention_9', which may be",
    ),
    "nested kernel": (
        lambda f: put(f, "config.json", {"attn_implementation": {"text_config": {"": "flex"}}}),
        "'flex'}}, which may be",
    ),
    "downloaded kernel": (
        lambda f: put(f, "config.json", {"experts_implementation": {"": "deepgemm"}}),
        "deepgemm'}, which may be",
    ),
    "part of a pipeline": (lambda f: put_part(f, "config.json", KERNEL), "unet.*which may be"),
    "NaN": (lambda f: put(f, "processor_config.json", b"[NaN]"), "NaN is not a JSON number"),
    "controls": (lambda f: put(f, "config.json", {"a": [0, "\x1b[1m"]}), "contains control char"),
    "controls in a name": (
        lambda f: put(f, "a.safetensors", (13).to_bytes(8, "little") + b'{"\\u001b":{}}'),
        "a name contains control char",
    ),
    "part elsewhere": (linked_part, "vae is outside"),
    "code of a part": (lambda f: put_part(f, "diffusers.py", b""), "diffusers.py is code"),
    "nested": (lambda f: put_part(f, "model_index.json", {}), "or a nested pipeline"),
    "adapter": (lambda f: put(f, "adapter_config.json", {"peft_type": 1}), "merge the adapter"),
}

LEADS = {
    "audio_tokenizer_config.json": {"audio_tokenizer_name_or_path": "gpt2"},
    "byte_maps.json": {"decompose_map": "../private.txt"},
    "preprocessor_config.json": {"architecture": "local-dir:private"},
    "generation_config.json": {"vision": {"_attn_implementation_internal": {"": "o/k"}}},
    "config.4.0.0.json": {"backbone": "owner/name"},
    "config.json": {
        "predictor_type": "bert",
        "backbone_config": {"model_type": "gemma3n", "vision_config": {"architecture": "a/b"}},
    },
    "processor_config.json": {"repo_path": ".."},
    "video_preprocessor_config.json": {"images": {"is_vqa": 1.0}},
    "special_tokens_map.json": {"vocab": "/dev/zero"},
    "tokenizer_config.json": {"init_inputs": ["../private.txt"]},
    "b_tokenizer/tokenizer_config.json": {"tokenizer_class": "RagRetriever"},
    "config.5.0.0.json": {"tokenizer_class": "AutoModel"},
    "preprocessor_config.1.json": {"image_processor_type": "BertModel"},
    "a_tokenizer/tokenizer_config.json": {"gguf_file": "../../private.txt"},
    "my_tokenizer/tokenizer_config.json": {"mecab_kwargs": {"mecab_option": "-r /etc/hosts"}},
}


def test_loading_a_folder_makes_no_request(folder, monkeypatch):
    pytest.importorskip("torch", reason="the model needs torch")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    hosts = []
    monkeypatch.setattr("socket.getaddrinfo", lambda host, *_, **__: hosts.append(host))
    put(folder, "config.json", {"model_type": "grounding-dino", "backbone": "gpt2"})
    with pytest.raises(ModelError, match="a configuration names another repository"):
        load_model(str(folder), "AutoModel", "detector")
    assert hosts == []


@pytest.mark.parametrize("name", LEADS)
def test_no_setting_leads_to_other_files(folder, name):
    (folder / name).parent.mkdir(exist_ok=True)
    put(folder, name, LEADS[name])
    with pytest.raises(ModelError, match=r"not in its folder; remove|may be downloaded code"):
        check_foreign_folder(folder)


@pytest.mark.parametrize("name", HOSTILE)
def test_each_is_refused_before_it_is_read(folder, name):
    check_foreign_folder(folder)
    change, said = HOSTILE[name]
    change(folder)
    with pytest.raises(PqppError, match=said) as caught:
        Predictor.from_pretrained(folder)
    assert str(caught.value).isprintable()


def test_what_published_configurations_hold_is_let_pass(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for word in ("bert", "vision", "cat"):
        (tmp_path / word).touch()
    parts = {"backbone": "resnet50", "backbone_config": None, "use_timm_backbone": True}
    inner = {"model_type": "timm_backbone", "backbone": "resnet50"}
    for content in (parts, {"backbone_config": inner}, {"id2label": {"0": "cat"}}):
        put(folder, "config.json", content | {"model_type": "detr", "vision": {}})
        check_foreign_folder(folder)
    put(folder, "config.json", {"model_type": "bert", "label2id": {"cat": 0}})
    usual = {"_attn_implementation_autoset": True, "eos_token": "</s>", "labels": ["N/A"]}
    usual |= {"tokenizer_class": "BertTokenizerFast", "processor_class": "CLIPProcessor"}
    usual |= {"auto_map": None, "_name_or_path": "me/mine", "id2label": {"0": "n/a"}}
    usual |= {"attn_implementation": {"": "sdpa", "vision_config": "eager", "text_config": None}}
    usual |= {"experts_implementation": "grouped_mm", "cache_implementation": "hybrid"}
    usual |= {"model_type": "x", "quantization_config": {"ignore": ["re:visual\\.1"]}}
    put(folder, "generation_config.json", usual)
    put(folder, "tokenizer_config.json", {"vocab_file": "/home/them/vocab.txt"})
    put(folder, "vocab.json", {"attn_implementation": 123, "is_vqa": 1})
    (folder / "logs").symlink_to("/")
    (folder / "checkpoint-1").mkdir()
    put(folder / "checkpoint-1", "adapter_config.json", {"peft_type": "LORA"})
    os.mkfifo(folder / "checkpoint-1" / "model.safetensors")
    check_foreign_folder(folder)
    with limit_model_size(folder):  # nor is a folder within read here
        pass


def test_what_is_usual_is_let_pass(folder, tmp_path):
    cache = tmp_path / "models--me--mine"
    blobs, snapshot = cache / "blobs", cache / "snapshots" / "abc"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for path in folder.iterdir():  # as the Hub's cache has it
        shutil.move(path, blobs / path.name)
        (snapshot / path.name).symlink_to(f"../../blobs/{path.name}")
    (snapshot / "again.json").symlink_to("config.json")
    (snapshot / "absent.json").symlink_to("nothing")
    (tmp_path / "link").symlink_to(snapshot)
    assert Predictor.from_pretrained(tmp_path / "link").name == "static"


def test_tokens_that_the_model_does_not_know(tmp_path):
    pytest.importorskip("torch", reason="the predictor needs torch")
    folder = shutil.copytree(OLDER / "bert", tmp_path / "bert")
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"]["vocab"]["z"] = 10**6
    put(folder, "tokenizer.json", content)
    loaded = Predictor.from_pretrained(folder)
    with pytest.raises(ModelError, match="returned id 1000000, but the model's last id is 56"):
        loaded.predict(["a zebra"])
