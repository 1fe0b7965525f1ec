"""The RAHF converter: outputs of the author's code, and refused inputs."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="RAHF needs torch")
pytest.importorskip("transformers", reason="RAHF needs transformers")

from pqpp_feedback.rahf import convert_rahf  # noqa: E402
from pqpp_feedback.rahf.convert_rahf import convert_weights  # noqa: E402

SCORES = ("plausibility", "alignment", "aesthetics", "overall")


def to_old_name(name):
    """Return a name with those of ViT in transformers 4."""
    for new, old in (
        ("vit.layers.", "vit.encoder.layer."),
        ("attention.q_proj", "attention.attention.query"),
        ("attention.k_proj", "attention.attention.key"),
        ("attention.v_proj", "attention.attention.value"),
        ("attention.o_proj", "attention.output.dense"),
        ("mlp.fc1", "intermediate.dense"),
        ("mlp.fc2", "output.dense"),
    ):
        name = name.replace(new, old)
    return name


@torch.no_grad()
def test_converted_model_matches_the_authors_code(real_data):
    folder = real_data / "rahf_reference"
    with np.load(folder / "state_dict.npz") as saved, np.load(folder / "cases.npz") as cases:
        weights = {name: torch.from_numpy(saved[name]) for name in saved}
        old_weights = {to_old_name(name): value for name, value in weights.items()}
        for case, state in (("0", weights), ("1", old_weights)):
            model = convert_weights(state)
            inputs = {
                name: torch.from_numpy(cases[f"{case}.{name}"])
                for name in ("pixel_values", "input_ids", "labels")
            }
            output = model(**inputs)
            for name, values, kinds in (
                ("heatmap", output.heatmaps, ("implausibility", "misalignment")),
                ("score", output.scores, SCORES),
            ):
                for index, kind in enumerate(kinds):
                    expected = cases[f"{case}.{name}.{kind}"]
                    np.testing.assert_allclose(values[:, index], expected, atol=1e-5)
            logits = cases[f"{case}.decoder_logits"]
            np.testing.assert_allclose(output.logits, logits, atol=1e-5 * np.abs(logits).max())
            loss = cases[f"{case}.sequence_loss"][0]
            assert float(output.keyword_loss) == pytest.approx(loss, abs=1e-5)


def test_command_rejects_missing_tokenizer_and_file_as_output(tmp_path, monkeypatch, capsys):
    from safetensors.torch import save_file

    from pqpp_backbones.training.script import run_or_exit

    save_file({"vit.a": torch.zeros(1)}, tmp_path / "w.safetensors")
    (tmp_path / "nothing").mkdir()

    def read_error(output, tokenizer):
        words = [str(tmp_path / "w.safetensors"), str(tmp_path / output)]
        words += ["--tokenizer", str(tmp_path / tokenizer)]
        monkeypatch.setattr("sys.argv", ["convert_rahf", *words])
        with pytest.raises(SystemExit) as exit_info:
            run_or_exit(convert_rahf.main)
        assert exit_info.value.code == 2
        return capsys.readouterr().err.splitlines()[-1]

    assert "nothing has no usable tokenizer" in read_error("out", "nothing")
    assert not (tmp_path / "out").exists()
    assert "w.safetensors is a file; use a folder" in read_error("w.safetensors", "nothing")
