"""The wheel and the source archive: their contents, and README's code in an installed copy."""

import configparser
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from readme_renderer import markdown

from pqpp_hub.space import SDK_VERSION
from pqpp_models.demo.page import build_predictor_space

ROOT = Path(__file__).parents[2]
MAX_BYTES = 12_000_000  # bytes; the weights of both static builds are 9 MB of them
SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg")
PYTHON_VERSIONS = re.findall(r"Python :: (3\.\d+)", SETUP["metadata"]["classifiers"])
PIP_INSTALL = ("-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check")


def run(*command, cwd):
    """Run a command with this checkout on none of its paths."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the packed files, since a build writes into the folder of its sources."""
    folder = tmp_path_factory.mktemp("archives")
    command = ("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard")
    unpacked = ("tests/", "docs/", "benchmarks/", ".")  # not in the archives
    for name in run(*command, cwd=folder).splitlines():
        # Deleted files are listed until the deletion is committed.
        if (ROOT / name).is_file() and not name.startswith(unpacked):
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / "source" / name)
    return folder / "source"


@pytest.fixture(scope="module")
def archives(source):
    """The source archive, and the wheel that is built from it, by suffix."""
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", "../both", ".")
    run(*build, cwd=source)
    return {path.suffix: path for path in (source.parent / "both").iterdir()}


def test_wheel_contains_all_packages_weights_and_cards(source, tmp_path):
    code = f"import setuptools.build_meta as b; b.build_wheel({str(tmp_path)!r})"
    run(sys.executable, "-c", code, cwd=source)
    (path,) = tmp_path.glob("*.whl")
    assert path.stat().st_size < MAX_BYTES
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        wheel.extractall(tmp_path / "installed", [n for n in names if "/weights/" not in n])
    packages = {path.name for path in ROOT.glob("pqpp_*/")}
    scripts = {"pqpp_training/train_bert.py", "pqpp_training/recipes/bert.yaml"}
    modules = {"pqpp.py", "pqpp_autoload.py", "pqpp_autoload.pth", "pqpp_autoload.start"}
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == packages | modules | {"pqpp_training"} and scripts <= names
    assert {f"{package}/py.typed" for package in packages} <= names
    weights = [path for path in (ROOT / "pqpp_models" / "weights").rglob("*") if path.is_file()]
    recipes = list(ROOT.glob("pqpp_*/**/recipes/*.yaml"))
    assert {path.relative_to(ROOT).as_posix() for path in [*weights, *recipes]} <= names
    assert weights and recipes
    cards = (ROOT / "hub_cards").rglob("*.md")
    packed = {f"pqpp_hub/cards/{path.relative_to(ROOT / 'hub_cards').as_posix()}" for path in cards}
    assert {name for name in names if name.startswith("pqpp_hub/cards/")} == packed
    about = next(tmp_path.glob("installed/*.dist-info/METADATA"))
    fields = message_from_string(about.read_text("utf-8"))
    assert fields["Author"] == "The pqpp authors"
    assert fields["Project-URL"].startswith("Benchmark PQPP")
    check_description(fields.get_payload())
    # Away from the checkout, the cards are those of the wheel.
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'installed')!r})\n"
    code += "from pqpp_hub import card; print(card._make_environment().list_templates())"
    assert "datasets/sample.md" in run(sys.executable, "-c", code, cwd=tmp_path)


def check_description(text):
    """Assert that an index can show a description, and that no link in it is relative."""
    page = markdown.render(text)
    assert page is not None and "<h1" in page and "static" in page
    targets = re.findall(r'(?:href|src)="([^"]*)"', page)
    assert targets and all(target.startswith(("https://", "#")) for target in targets)


def test_links_of_the_description_are_absolute_given_an_address():
    on_index = runpy.run_path(str(ROOT / "setup.py"))["on_index"]
    text = on_index((ROOT / "README.md").read_text("utf-8"), "https://a.example/o/n/blob/v1/")
    assert "](https://a.example/o/n/raw/v1/docs/pictures/easy_and_hard.svg)" in text
    assert "](https://a.example/o/n/blob/v1/docs/bench.md)" in text
    check_description(text)


@pytest.mark.slow
def test_archives_pass_the_checks_of_an_index(archives, tmp_path):
    assert set(archives) == {".whl", ".gz"}
    assert all(path.stat().st_size < MAX_BYTES for path in archives.values())
    run(sys.executable, "-m", "twine", "check", "--strict", *archives.values(), cwd=tmp_path)
    with tarfile.open(archives[".gz"]) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert {"constraints.txt", "CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md"} <= names


CARD_SCRIPT = """
import evaluate, datasets, pqpp
rows = datasets.load_dataset("pqpp", "sample", split="test")
said = pqpp.predict(rows["prompt"][:], "mean_hbpp")["mean_hbpp"]
tau = evaluate.load("pqpp/kendall_qpp").compute(predictions=said, references=rows["mean_hbpp"][:])
print(round(tau["kendall_qpp"], 3))
"""
TRANSFORMERS_SCRIPT = """
import pqpp, transformers
ask = transformers.pipeline("prompt-performance-prediction")
(said,) = ask(["a cat on a mat"])
expected = pqpp.predict(["a cat on a mat"], "mean_hbpp")["mean_hbpp"][0]
assert abs(said["mean_hbpp"] - expected) < 1e-6, (said, expected)
rows = [f"{n} cats" for n in range(40)]
pqpp.fit(rows, [[n % 7] for n in range(40)], ["mean_rating"]).save_pretrained("fitted")
print(type(transformers.AutoModel.from_pretrained("fitted")).__name__)
"""


def make_environment(folder, *requirements, python=sys.executable):
    """Return the Python of a new environment with these requirements installed."""
    run(python, "-m", "venv", folder / "venv", cwd=folder)
    made = folder / "venv" / "bin" / "python"
    run(made, *PIP_INSTALL, *requirements, cwd=folder)
    return made


def run_offline(python, code, folder):
    """Run code without the checkout or a network, and return what it prints."""
    apart = f"import os; os.environ |= {{'HF_HUB_OFFLINE': '1', 'HF_HOME': {str(folder)!r}}}"
    return run(python, "-c", apart + code, cwd=folder).strip()


@pytest.mark.slow
def test_lowest_required_versions_suffice(archives, tmp_path):
    requirements = SETUP["options"]["install_requires"].split()
    lowest = [line.partition(",")[0].replace(">=", "==") for line in requirements]
    assert (
        run_offline(make_environment(tmp_path, archives[".whl"], *lowest), CARD_SCRIPT, tmp_path)
        == "0.443"
    )


@pytest.mark.slow
@pytest.mark.parametrize("version", PYTHON_VERSIONS)
def test_newest_versions_on_every_listed_python(archives, version, tmp_path):
    """The model card's lines in the core, then transformers' own functions."""
    base_python = find_python(version)
    if base_python is None:
        pytest.skip(f"no Python {version} in the search path or pyenv")
    python = make_environment(tmp_path, archives[".whl"], python=base_python)
    assert run_offline(python, CARD_SCRIPT, tmp_path) == "0.443"
    run(python, *PIP_INSTALL, f"{archives['.whl']}[models]", cwd=tmp_path)
    assert run_offline(python, TRANSFORMERS_SCRIPT, tmp_path) == "PromptPerformanceModel"
    shutil.rmtree(tmp_path / "venv")


def find_python(version):
    """Return a Python of this version in the search path or in pyenv; None if none runs."""
    in_pyenv = Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    for path in (shutil.which(f"python{version}"), *in_pyenv):
        code = f"import ensurepip, sys; print('{version}' == '%d.%d' % sys.version_info[:2])"
        done = path and subprocess.run([path, "-c", code], capture_output=True, text=True)
        if done and done.stdout.strip() == "True":
            return path
    return None


@pytest.mark.slow
def test_space_installs_from_its_requirements(archives, tmp_path):
    """As on the Hub: gradio of the card's version, then the file, then the app's imports."""
    requirements = tmp_path / "requirements.txt"
    requirements.write_bytes(build_predictor_space("static")["requirements.txt"])
    requirements = (f"gradio=={SDK_VERSION}", "-r", requirements)
    python = make_environment(tmp_path, *requirements, "--find-links", archives[".whl"].parent)
    page = "from pqpp_models.demo import page; import gradio; print(gradio.__version__)"
    assert run(python, "-c", page, cwd=tmp_path).strip() == SDK_VERSION


@pytest.mark.slow
@pytest.mark.parametrize("kind", [".whl", ".gz"])
def test_readme_code_runs_in_an_empty_environment(archives, kind, tmp_path):
    """Needs a package index; installs the tested versions."""
    python = make_environment(tmp_path, "-c", ROOT / "constraints.txt", archives[kind])
    readme = (ROOT / "README.md").read_text("utf-8")
    # The first code needs the core alone; the code for transformers needs an extra.
    code, printed = re.findall(r"```python\n(.*?)```\n+```\n(.*?)```", readme, re.DOTALL)[0]
    assert run(python, "-c", code, cwd=tmp_path).split() == printed.split()
    where = "import pqpp; print(pqpp.__file__)"
    assert Path(run(python, "-c", where, cwd=tmp_path).strip()).is_relative_to(tmp_path)
    assert "static" in run(python.with_name("pqpp"), "models", "list", cwd=tmp_path)
