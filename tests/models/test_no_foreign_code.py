"""Nothing that a repository brings is run: calls say so, and configurations that name code end."""

import ast
import json
import re
import sys

import pytest
from support.tiny_models import REPOSITORY, save_clip, save_text_encoder

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


@pytest.fixture
def bert(tmp_path):
    pytest.importorskip("torch", reason="the predictor needs torch")
    from pqpp_backbones.pretrained import load_tokenizer
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
    from pqpp_models.bert.predictor import BertPredictor

    encoder = str(save_text_encoder(tmp_path / "encoder"))
    model = BertForPerformancePrediction.from_backbone(encoder, targets=["mean_rr"])
    return BertPredictor(model, load_tokenizer(encoder)).save_pretrained(tmp_path / "bert")


def change(path, **fields):
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("tokenizer_config.json", {"auto_map": FOREIGN}),
        ("config.json", {"auto_map": {"AutoModel": "someone/else--model.Theirs"}}),
        ("config.json", {"backbone_config": {"model_type": "bert", "auto_map": FOREIGN}}),
        ("config.json", {"custom_pipelines": {"x": {"impl": "theirs.Pipeline"}}}),
        ("processor_config.json", {"image_processor": [{"auto_map": FOREIGN}]}),
    ],
)
def test_a_checkpoint_that_names_code_is_refused_before_anything_is_built(
    bert, name, fields, monkeypatch
):
    (bert / name).write_text((bert / name).read_text() if (bert / name).is_file() else "{}")
    change(bert / name, **fields)
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("a question was asked"))
    monkeypatch.setattr(
        sys.modules["pqpp_models.bert.predictor"].BertPredictor,
        "from_checkpoint",
        lambda *_: pytest.fail("it was built"),
    )
    with pytest.raises(ModelError, match="needs custom code") as caught:
        Predictor.from_pretrained(bert)
    assert "\n" not in str(caught.value)
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction

    with pytest.raises(ModelError, match="needs custom code"):
        BertForPerformancePrediction.from_pretrained(bert)


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
