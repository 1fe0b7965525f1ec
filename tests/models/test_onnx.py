"""The text predictor on onnxruntime: the same predictions, by the same interface."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the export needs torch")
for needed in ("transformers", "onnx", "onnxruntime", "onnxscript"):
    pytest.importorskip(needed, reason=f"the export needs {needed}")

from support.tiny_models import save_text_encoder  # noqa: E402

from pqpp_models import ModelError, Predictor  # noqa: E402
from pqpp_models.bert.modeling_bert_predictor import (  # noqa: E402
    BertForPerformancePrediction,
)
from pqpp_models.bert.onnx_predictor import OnnxBertPredictor  # noqa: E402
from pqpp_models.bert.predictor import BertPredictor  # noqa: E402

PROMPTS = ["a cat", "?", "a man riding a wave on a surfboard", "zebra " * 90]


@pytest.fixture(scope="module")
def predictor(tmp_path_factory):
    from transformers import AutoTokenizer

    encoder = str(save_text_encoder(tmp_path_factory.mktemp("encoder"), hidden_size=32))
    torch.manual_seed(0)
    model = BertForPerformancePrediction.from_backbone(
        encoder, targets=["mean_rr", "mean_hbpp"], pooling="mean"
    )
    return BertPredictor(model, AutoTokenizer.from_pretrained(encoder), device="cpu")


@pytest.mark.slow
def test_it_predicts_the_same(predictor, tmp_path):
    expected = predictor.predict(PROMPTS)
    exact = OnnxBertPredictor.from_torch(predictor)
    assert np.allclose(exact.predict(PROMPTS), expected, atol=1e-5)
    alone = np.concatenate([exact.predict([prompt]) for prompt in PROMPTS])
    assert np.allclose(exact.predict(PROMPTS), alone, atol=1e-6)
    assert predictor.model.config._attn_implementation == "sdpa"

    folder = exact.save_pretrained(tmp_path / "saved")
    loaded = Predictor.from_pretrained(folder)
    assert isinstance(loaded, OnnxBertPredictor)
    assert np.array_equal(loaded.predict(PROMPTS, "mean_hbpp"), exact.predict(PROMPTS)[:, 1:])

    (folder / "model.onnx").write_bytes(exact.graph[:-1])
    with pytest.raises(ModelError, match="damaged or belongs to another"):
        Predictor.from_pretrained(folder)
    (folder / "model.onnx").unlink()
    with pytest.raises(ModelError, match=r"model\.onnx"):
        Predictor.from_pretrained(folder)


@pytest.mark.slow
def test_export_by_the_command_line(predictor, tmp_path, monkeypatch, capsys):
    from pqpp_cli.main import main

    monkeypatch.chdir(tmp_path)
    predictor.save_pretrained("text")
    assert main(("models", "export", "text", "--output", "made")) == 0
    said = capsys.readouterr()
    assert said.out.startswith("0.") and "saved in" in said.out and said.err == ""
    made = Predictor.from_pretrained("./made")
    assert isinstance(made, OnnxBertPredictor)
    assert np.allclose(made.predict(PROMPTS), predictor.predict(PROMPTS), atol=2e-2)
    assert main(("models", "export", "made", "--output", "again")) == 2
    assert "made is a bert_onnx; only" in capsys.readouterr().err


def outside():
    """Return a tensor whose numbers lie in another file."""
    from onnx import TensorProto

    tensor = TensorProto(name="w", data_type=1, dims=[4], data_location=1)
    tensor.external_data.add(key="location", value="secret.bin")
    return tensor


def graph_with(tensor, place):
    """Return an ONNX model that holds a tensor in one of the places for it."""
    from onnx import TensorProto, helper

    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    opset, functions = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)], []
    inner = helper.make_graph([helper.make_node("Add", ["x", "w"], ["z"])], "g", [], [made])
    constant = helper.make_node("Constant", [], ["w"], value=tensor)
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    if place == "subgraph":
        inner.initializer.append(tensor)
        nodes = [helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=inner)]
    if place == "constant":
        nodes = [constant, *nodes]
    if place == "function":
        functions = [helper.make_function("own", "F", [], ["w"], [constant], opset[:1])]
    graph = helper.make_graph(nodes, "g", [given], [made])
    if place == "initializer":
        graph.initializer.append(tensor)
    return helper.make_model(graph, opset_imports=opset, functions=functions).SerializeToString()


@pytest.mark.parametrize("place", ["initializer", "constant", "subgraph", "function"])
def test_a_graph_that_reads_other_files_is_refused(predictor, tmp_path, place, monkeypatch):
    import json

    from onnx import numpy_helper

    from pqpp_files.hashes import sha256_of_parts
    from pqpp_models.bert.onnx_graph import why_refused

    sound = graph_with(numpy_helper.from_array(np.ones(4, "f4"), "w"), place)
    assert why_refused(sound) is None
    with pytest.raises(ValueError, match="in the middle"):
        why_refused(sound[:-1])
    graph = graph_with(outside(), place)
    monkeypatch.chdir(tmp_path)
    np.arange(4, dtype="f4").tofile("secret.bin")
    folder = predictor.save_pretrained(tmp_path / "saved")
    (folder / "model.onnx").write_bytes(graph)
    config = {"format_version": 1, "predictor_type": "bert_onnx", "targets": ["mean_rr"]}
    config |= {"max_length": 8, "onnx_sha256": sha256_of_parts([graph])}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="wants other files read") as caught:
        Predictor.from_pretrained(folder)
    assert "\n" not in str(caught.value)


def test_threads_run_batches_of_their_own_and_none_spins(monkeypatch):
    from pathlib import Path

    from fuzz.hostile_graphs import sound_graph
    from transformers import AutoTokenizer

    folder = Path(__file__).parent / "checkpoints" / "bert"
    tokenizer = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
    config = {"targets": ["mean_rr"], "max_length": 48}
    # Of one length: that graph's mean counts the padding.
    letters = np.random.default_rng(0).choice([*"abcdefgh"], size=(36, 9))
    prompts = ["".join(row) for row in letters]
    made = [OnnxBertPredictor(sound_graph(), tokenizer, config, threads) for threads in (1, 3)]
    one, three = (predictor.predict(prompts) for predictor in made)
    np.testing.assert_allclose(three, one, atol=1e-6)
    alone = np.concatenate([made[1].predict([prompt]) for prompt in prompts])
    np.testing.assert_allclose(three, alone, atol=1e-6)
    options = made[1].session.get_session_options()
    assert options.intra_op_num_threads == options.inter_op_num_threads == 1
    for kind in ("intra_op", "inter_op"):
        assert options.get_session_config_entry(f"session.{kind}.allow_spinning") == "0"
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert OnnxBertPredictor(sound_graph(), tokenizer, config).threads == 5
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 2, 3}, raising=False)
    assert OnnxBertPredictor(sound_graph(), tokenizer, config).threads == 3
