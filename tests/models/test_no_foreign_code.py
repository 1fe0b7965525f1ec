"""Nothing that a repository brings is run: calls say so, and configurations that name code end."""

import ast
import json
import re
import shutil
from pathlib import Path

import pytest
from support.tiny_models import REPOSITORY, save_clip

from pqpp_models import ModelError, Predictor

SOURCES = [
    path
    for folder in (*REPOSITORY.glob("pqpp_*/"), REPOSITORY / "training", REPOSITORY / "benchmarks")
    for path in sorted(folder.rglob("*.py"))
]
# Methods of theirs that read no repository: a scheduler is made of the configuration of another.
HARMLESS = {
    "nn.Embedding.from_pretrained",
    "DDPMScheduler.from_config",
    "scheduler_class.from_config",
}


def calls_without(tree, own):
    """Give the calls of others' loaders that do not refuse code of a repository."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        receiver, _, method = name.rpartition(".")
        loads = method in ("from_pretrained", "from_config") or name in (
            "pipeline",
            "transformers.pipeline",
        )
        ours = receiver in own or receiver in ("cls", "super()") or name in HARMLESS
        said = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        # What reads weights also says that they are no pickle.
        weights = method == "from_pretrained" and ("Model" in receiver or "Pipeline" in receiver)
        trusts = said.get("trust_remote_code") != "False"
        if loads and not ours and (trusts or (weights and said.get("use_safetensors") != "True")):
            yield name, node.lineno


def test_every_call_of_a_loader_refuses_foreign_code():
    texts = {path: path.read_text("utf-8") for path in SOURCES}
    own = {name for text in texts.values() for name in re.findall(r"^ *class (\w+)", text, re.M)}
    found = {
        str(path.relative_to(REPOSITORY)): list(calls_without(ast.parse(text), own))
        for path, text in texts.items()
        if re.search("from_pretrained|from_config|pipeline", text)
    }
    assert {path: calls for path, calls in found.items() if calls} == {}


FOREIGN = {"AutoTokenizer": ["someone/else--tokenizer.Theirs", None]}


def change(path, **fields):
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_a_checkpoint_that_names_code_is_refused(tmp_path):
    pytest.importorskip("torch", reason="the predictor needs torch")
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction

    folder = shutil.copytree(Path(__file__).parent / "checkpoints" / "bert", tmp_path / "bert")
    change(folder / "tokenizer_config.json", auto_map=FOREIGN)
    for load in (Predictor.from_pretrained, BertForPerformancePrediction.from_pretrained):
        with pytest.raises(ModelError, match="needs custom code"):
            load(folder)


def test_a_backbone_that_names_code_is_refused(tmp_path):
    pytest.importorskip("torch", reason="models need torch")
    from pqpp_backbones.images.embedding import load_backbone
    from pqpp_backbones.pretrained import load_processor

    folder = save_clip(tmp_path / "clip")
    load_backbone(str(folder))
    change(folder / "config.json", auto_map={"AutoModel": "someone/else--model.Theirs"})
    for load in (load_backbone, load_processor):
        with pytest.raises(ModelError, match="needs custom code"):
            load(str(folder))
