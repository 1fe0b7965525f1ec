"""The plan of the code, as `benchmarks/house.py` prints it, holds."""

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "house.py"


@pytest.fixture(scope="module")
def house():
    return runpy.run_path(str(SCRIPT))


def test_no_package_has_more_than_sixteen_files_at_its_top(house):
    crowded = {name: n for name, n in house["top_files"]().items() if n > house["TOP"]}
    assert not crowded


def test_no_files_import_one_another(house):
    assert house["circles"]() == []


def test_imports_go_one_way(house):
    assert house["upward_imports"]() == []


def test_no_family_knows_another(house):
    assert house["family_imports"]() == []


def test_no_public_name_stands_twice(house):
    assert house["twice"]() == {}


def test_ever_fewer_names_of_constants_stand_twice(house):
    assert len(house["twice"](constants=True)) <= house["MOST_CONSTANTS_TWICE"]


def test_a_mechanism_stands_in_one_place(house):
    assert {name: files for name, files in house["copies"]().items() if len(files) != 1} == {}


@pytest.mark.daily
def test_the_map_names_files_that_are_there_and_packages_that_import(house):
    page, root = house["house_map"](), SCRIPT.parents[1]
    for stations in house["WAYS"].values():
        assert all((root / file).is_file() and f"| `{file}` |" in page for file, _ in stations)
    for package in house["LAYERS"]:
        assert f"| `{package}` |" in page
    (models,) = (line for line in page.splitlines() if line.startswith("| `pqpp_models`"))
    assert "`pqpp_backbones` " in models and "`pqpp_feedback`" not in models


def test_code_lines_leave_out_comments_docstrings_and_blanks(house):
    head = '"""About\nit."""\n\nimport os  # why\n\n# no\n'
    text = head + 'def f(\n    x,\n):\n    """Say."""\n    return x\n'
    # import, def, its argument, the closing parenthesis, return
    assert house["code_lines"](text) == 5


def test_a_circle_through_a_function_is_seen(house, tmp_path, monkeypatch):
    package = tmp_path / "pqpp_files"
    package.mkdir()
    (package / "a.py").write_text("import pqpp_files.b\n")
    (package / "b.py").write_text("def f():\n    from pqpp_files import a\n    return a\n")
    made = runpy.run_path(str(SCRIPT))
    scope = made["circles"].__globals__
    monkeypatch.setitem(scope, "ROOT", tmp_path)
    monkeypatch.setitem(scope, "_paths", lambda: ["pqpp_files/a.py", "pqpp_files/b.py"])
    assert made["circles"]() == [["pqpp_files.a", "pqpp_files.b"]]


@pytest.mark.parametrize(
    "text",
    [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pqpp_files import a\n",
        "import importlib\nimportlib.import_module('pqpp_files.a')\n",
        "import importlib\ndef f(name):\n    importlib.import_module(f'pqpp_files.{name}')\n",
    ],
)
def test_a_hidden_circle_is_seen(text, tmp_path, monkeypatch):
    (tmp_path / "pqpp_files").mkdir()
    (tmp_path / "pqpp_files/a.py").write_text("import pqpp_files.b\n")
    (tmp_path / "pqpp_files/b.py").write_text(text)
    made = runpy.run_path(str(SCRIPT))
    scope = made["circles"].__globals__
    monkeypatch.setitem(scope, "ROOT", tmp_path)
    monkeypatch.setitem(scope, "_paths", lambda: ["pqpp_files/a.py", "pqpp_files/b.py"])
    assert made["circles"]() == [["pqpp_files.a", "pqpp_files.b"]]


def test_a_constant_that_stands_twice_and_a_table_that_points_up_are_seen(tmp_path, monkeypatch):
    files = {
        "pqpp_files/a.py": "KINDS = 1\nTABLE = {'rahf': 'pqpp_models.b:Model'}\n",
        "pqpp_models/b.py": "KINDS: int = 2\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    made = runpy.run_path(str(SCRIPT))
    scope = made["circles"].__globals__
    monkeypatch.setitem(scope, "ROOT", tmp_path)
    monkeypatch.setitem(scope, "_paths", lambda: list(files))
    assert made["twice"](constants=True) == {"KINDS": list(files)} and made["twice"]() == {}
    assert made["upward_imports"]() == ["pqpp_files.a -> pqpp_models.b"]


def test_a_family_that_imports_another_is_seen(house, tmp_path, monkeypatch):
    files = {
        "pqpp_models/clip/model.py": "import pqpp_models.newer.part\n",
        "pqpp_models/newer/part.py": "import pqpp_backbones.training.loop\n",
        "pqpp_backbones/training/loop.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    made = runpy.run_path(str(SCRIPT))
    scope = made["circles"].__globals__
    monkeypatch.setitem(scope, "ROOT", tmp_path)
    monkeypatch.setitem(scope, "_paths", lambda: list(files))
    assert made["family_imports"]() == ["pqpp_models.clip.model -> pqpp_models.newer.part"]


def test_what_a_user_types_is_the_name_of_a_file_or_folder():
    from pqpp_cli.commands import names_in
    from pqpp_datasets.benchmarks import BENCHMARKS
    from pqpp_metrics.registration import list_metrics
    from pqpp_models.registry import FAMILIES, GROUPS, PREDICTORS

    root = SCRIPT.parents[1]
    tops = ("pqpp_cli", "pqpp_metrics", "pqpp_datasets", "pqpp_models")
    names = {
        path.stem for top in tops for path in (root / top).glob("**/*") if path.suffix != ".pyc"
    }
    measures = {name for family in FAMILIES for name in GROUPS[family]}
    scorers = {"clip_score", "pick_score", "hps_v2"}  # one class, in clip/preference.py
    typed = {*names_in(), *list_metrics(), *(one.family for one in BENCHMARKS.values()), *FAMILIES}
    typed |= set(PREDICTORS) - measures - scorers - {"bert_onnx"}  # bert/onnx_predictor.py
    assert typed <= names
