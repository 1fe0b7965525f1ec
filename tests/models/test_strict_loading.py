"""Models of pqpp reject incomplete checkpoints in transformers' `from_pretrained` too."""

import json
import shutil

import pytest

torch = pytest.importorskip("torch", reason="the models need torch")
pytest.importorskip("transformers", reason="the models need transformers")

from safetensors.torch import load_file, save_file  # noqa: E402
from support.tiny_models import save_bert  # noqa: E402

from pqpp_backbones import registration as shared_registration  # noqa: E402
from pqpp_backbones.pretrained import StrictLoading  # noqa: E402
from pqpp_feedback import registration as feedback_registration  # noqa: E402
from pqpp_models import ModelError, registration  # noqa: E402


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    registration.register()
    return save_bert(tmp_path_factory.mktemp("text") / "saved", ["mean_rr", "mean_hbpp"])


def convert_to_pickle(folder):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def change_weights(change):
    def apply(folder):
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    return apply


def change_version(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "format_version": 99}))


def truncate_weights(folder):
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[:100])


DAMAGES = [
    (convert_to_pickle, "no file named model.safetensors"),
    (change_weights(lambda t: t.pop("head.output.weight")), "it has no 'head.output.weight'"),
    (change_weights(lambda t: t.update({"head.output.bias": torch.zeros(3)})), "other shapes"),
    (change_version, "format_version 99"),
    (truncate_weights, "is not usable"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_rejects_incomplete_checkpoints(saved, tmp_path, damage, message):
    from transformers import AutoModel, pipeline

    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction

    folder = shutil.copytree(saved, tmp_path / "broken")
    damage(folder)
    for load in (AutoModel.from_pretrained, BertForPerformancePrediction.from_pretrained):
        with pytest.raises(ModelError) as caught:
            load(folder)
        assert message in str(caught.value) and "\n" not in str(caught.value)
        assert str(folder) in str(caught.value)
    with pytest.raises(ModelError):
        AutoModel.from_pretrained(folder, use_safetensors=False)
    with pytest.raises(ValueError) as caught:  # transformers' error, which contains ours
        pipeline(registration.TASK, model=str(folder))
    assert message in str(caught.value)


def test_keeps_options_of_transformers(saved, tmp_path):
    from transformers import AutoModel

    model, info = AutoModel.from_pretrained(saved, output_loading_info=True)
    assert not info["missing_keys"]
    for name, tensor in load_file(saved / "model.safetensors").items():
        assert torch.equal(model.state_dict()[name], tensor)
    assert AutoModel.from_pretrained(saved, dtype=torch.bfloat16).dtype == torch.bfloat16
    other = shutil.copytree(saved, tmp_path / "other")
    change_weights(lambda t: t.update({"head.output.bias": torch.zeros(3)}))(other)
    model = AutoModel.from_pretrained(other, ignore_mismatched_sizes=True)
    assert model.head.output.bias.shape == (2,)


def test_all_models_load_strictly():
    for package in (registration._MODEL, feedback_registration._MODEL):
        assert package.models
        for model_type, (_, path) in package.models.items():
            # test_auto_model covers the predictors without torch.
            is_strict = issubclass(shared_registration._import(path), StrictLoading)
            assert is_strict != (model_type == registration.NUMPY)
