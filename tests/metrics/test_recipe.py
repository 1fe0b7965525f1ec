"""CONTRIBUTING's "Add a metric" as it stands: its blocks make a metric that everything accepts."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from support.processes import run

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"^```(?:python|markdown)\n(?:# |<!-- )(?P<path>[\w./-]+)(?P<added>, at its end)?(?: -->)?\n"
    r"(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
CASES = "tests/metrics/module_cases.py"


def blocks():
    """Path to text of the blocks of the recipe."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = text.partition("\n## Add a metric\n")[2].partition("\n## Add a predictor\n")[0]
    return {found["path"]: found["text"] for found in BLOCK.finditer(section)}


@pytest.fixture
def python(tmp_path):
    """Run Python beside a copy of the packages with the recipe's blocks in it."""
    copy = tmp_path / "copy"
    for name in ("pqpp_metrics", "pqpp_hub", "pqpp_files", "pqpp_cli", "tests/metrics"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pqpp_autoload.py", "pyproject.toml"):
        shutil.copy(ROOT / name, copy)
    for path, text in blocks().items():
        place = copy / path
        assert place.exists() == (path == CASES), path
        place.parent.mkdir(exist_ok=True)
        place.write_text((place.read_text("utf-8") if place.exists() else "") + text, "utf-8")

    def call(*words):
        home = {"PYTHONPATH": str(copy), "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
        return run([sys.executable, *words], tmp_path, **home)

    call.copy = copy
    return call


def pytest_of(python, chosen):
    tests = python.copy / "tests" / "metrics"
    files = [*tests.glob("test_toy*.py"), tests / "test_evaluate_modules.py"]
    files += [tests / "test_cards.py", tests / "test_docstrings.py"]
    plain = ("-q", "-p", "no:cacheprovider", "--rootdir", str(python.copy), "-m", "not slow")
    return python("-m", "pytest", *plain, "-k", chosen, *map(str, files))


def test_the_toy_is_accepted_everywhere(python):
    (name,) = {Path(path).parent.name for path in blocks() if path.endswith("README.md")}
    done = pytest_of(python, "toy or every_module_has")
    assert done.returncode == 0, done.stdout
    (python.copy.parent / "t.csv").write_text("p,r\n1,2\n4,3\n6,3\n")
    assert f"\n{name} " in python("-m", "pqpp_cli.main", "metrics", "list").stdout
    assert "Toy bias" in python("-m", "pqpp_cli.main", "metrics", "show", name).stdout
    words = ("--predictions", "t.csv:p", "--references", "t.csv:r", "--format", "json")
    found = python("-m", "pqpp_cli.main", "metrics", "compute", name, *words)
    assert json.loads(found.stdout) == {name: 1.0}, found.stderr
    code = f"import evaluate, pqpp_metrics; print(evaluate.load('pqpp/{name}').compute("
    done = python("-c", code + "predictions=[1, 4, 6], references=[2, 3, 3]))")
    assert done.stdout.splitlines()[-1] == str({name: 1.0}), done.stderr


def test_without_its_oracle_it_fails_by_name(python):
    place = python.copy / CASES
    place.write_text(place.read_text("utf-8").removesuffix(blocks()[CASES]), "utf-8")
    done = pytest_of(python, "every_module_has")
    assert done.returncode == 1
    assert "no oracle in module_cases.py: toy_bias" in done.stdout
