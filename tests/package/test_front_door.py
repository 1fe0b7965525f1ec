"""`import pqpp` is fast and complete, and files next to the user's script do not break it."""

import sys

import pytest
from support.processes import run, run_python

import pqpp


def test_dir_lists_every_public_name():
    shown = [name for name in dir(pqpp) if not name.startswith("_")]
    assert shown == sorted(pqpp.__all__) and "__version__" in dir(pqpp)
    for name in (*pqpp.__all__, "__version__"):
        assert getattr(pqpp, name)
    with pytest.raises(AttributeError, match="no attribute 'predictt'; did you mean 'predict'"):
        pqpp.predictt  # noqa: B018


def test_import_loads_no_other_package(tmp_path):
    code = (
        "import sys; before = set(sys.modules)\n"
        "import pqpp\n"
        "print(sorted(m for m in set(sys.modules) - before if m.startswith(('pqpp_', 'numpy'))))"
    )
    assert run_python(code, tmp_path).stdout == "[]\n"


def test_predict_returns_one_row_for_one_prompt():
    table = pqpp.predict("A man riding a wave on a surfboard.", ["mean_hbpp"], uncertainty=True)
    names = ["prompt", "mean_hbpp", "mean_hbpp_deviation", "distance", "out_of_domain", "ignored"]
    assert table.columns.tolist() == names
    with pytest.raises(pqpp.PqppError, match="the name of a file"):
        pqpp.predict("prompts.csv")
    (value,) = pqpp.Predictor.from_pretrained("static").predict(table.prompt.tolist(), "mean_hbpp")
    assert table.mean_hbpp.tolist() == value.tolist()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_files_named_pqpp_next_to_a_script_are_ignored(tmp_path, cache, kind):
    if kind == "file":
        (tmp_path / "pqpp.py").write_text("raise RuntimeError('the wrong file')")
    else:
        (tmp_path / "pqpp").mkdir()
        (tmp_path / "pqpp" / "pqpp.py").write_text("raise RuntimeError('the wrong file')")
        (tmp_path / "pqpp" / "train.csv").write_text("a,b\n1,2\n")
    script = tmp_path / "script.py"
    script.write_text(
        "from datasets import load_dataset\n"
        "print(load_dataset('pqpp', 'sample', split='test').column_names[2])\n"
    )
    done = run([sys.executable, str(script)], tmp_path)
    assert done.stdout.strip() == "prompt", done.stderr
