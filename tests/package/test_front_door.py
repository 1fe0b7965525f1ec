"""`import pqpp`: cheap, whole, and not broken by what lies beside the user's script."""

import subprocess
import sys

import pytest
from support.processes import run_python

import pqpp


def test_every_name_is_there():
    shown = [name for name in dir(pqpp) if not name.startswith("_")]
    assert shown == sorted(pqpp.__all__) and "__version__" in dir(pqpp)
    for name in (*pqpp.__all__, "__version__"):
        assert getattr(pqpp, name)
    with pytest.raises(AttributeError, match="no attribute 'predictt'; did you mean 'predict'"):
        pqpp.predictt  # noqa: B018


def test_importing_it_imports_nothing_else(tmp_path):
    code = (
        "import sys; before = set(sys.modules)\n"
        "import pqpp\n"
        "print(sorted(m for m in set(sys.modules) - before if m.startswith(('pqpp_', 'numpy'))))"
    )
    assert run_python(code, tmp_path).stdout == "[]\n"


def test_one_prompt_is_one_row():
    table = pqpp.predict("A man riding a wave on a surfboard.", ["mean_hbpp"], uncertainty=True)
    names = ["prompt", "mean_hbpp", "mean_hbpp_deviation", "distance", "out_of_domain", "ignored"]
    assert table.columns.tolist() == names
    with pytest.raises(pqpp.PqppError, match="the name of a file"):
        pqpp.predict("prompts.csv")
    (value,) = pqpp.Predictor.from_pretrained("static").predict(table.prompt.tolist(), "mean_hbpp")
    assert table.mean_hbpp.tolist() == value.tolist()


@pytest.mark.parametrize("beside", ["file", "folder"])
def test_what_lies_beside_the_script_does_not_matter(tmp_path, cache, beside):
    if beside == "file":
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
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "prompt", done.stderr
