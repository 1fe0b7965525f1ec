"""What is promised installs: imports against extras, and each extra in an empty environment."""

import ast
import configparser
import re
import sys
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from support.extras import CODE, TRIED, build_wheel, prepare, try_alone

from pqpp_files.extras import find_extra

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = configparser.ConfigParser()
SETTINGS.read(ROOT / "setup.cfg")
BY_LIBRARIES = {"onnxruntime", "python-multipart"}
BY_LIBRARIES |= {"tensorboard", "trackio", "wandb"}
BY_LIBRARIES |= {"httptools", "num2words", "torchvision", "uvloop"}
"""What a library of ours imports when it is asked for, or we by its name as a text."""
COME_WITH = {"fsspec": "datasets", "markupsafe": "jinja2", "starlette": "fastapi"}
COME_WITH |= {"httpx2": "openai"}
COME_WITH |= {"annotated_types": "fastapi", "pydantic": "fastapi", "tokenizers": "transformers"}
"""What comes with a package that is required, or that an extra brings."""
USED_IF_THERE = {"ir_measures"}
"""What adds names to a command where somebody has installed it."""


def names(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return {re.split(r"[\[<>=~! ]", line)[0].lower().replace("_", "-") for line in lines}


CORE = names(SETTINGS["options"]["install_requires"])
EXTRAS = {name: names(text) for name, text in SETTINGS["options.extras_require"].items()}
USERS = sorted(set(EXTRAS) - {"test", "docs", "bench"})


def imports_of(path):
    """The packages that a file imports, whether at its top or in a function."""
    blocks = [ast.parse(path.read_text("utf-8"))]
    for node in blocks:  # which get longer: an import is no part of an expression
        blocks += [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.expr)]
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@cache
def imported():
    """Each outside package with the files that import it."""
    found = {}
    for path in sorted(ROOT.glob("pqpp_*/**/*.py")):
        for name in imports_of(path):
            if not name.startswith("pqpp") and name not in sys.stdlib_module_names:
                found.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return found


@cache
def distributions():
    return {
        name: {one.lower().replace("_", "-") for one in found}
        for name, found in packages_distributions().items()
    }


def test_each_import_is_of_the_core_or_of_an_extra_that_the_message_names():
    known, wrong = distributions(), {}
    for name, files in imported().items():
        homes = known.get(name) or {name}
        if homes & CORE or name in COME_WITH or name in USED_IF_THERE:
            continue
        extra = find_extra(name)
        brought = any(homes & packages for key, packages in EXTRAS.items() if key in USERS)
        if not brought or (extra is not None and not homes & EXTRAS[extra]):
            wrong[name] = (extra, files[:2])
    assert wrong == {}


def test_nothing_is_required_that_nothing_imports():
    known = distributions()
    used = {home for name in imported() for home in known.get(name, {name})}
    for path in [*ROOT.glob("training/*.py"), ROOT / "docs" / "one_loop.py"]:
        used |= {home for name in imports_of(path) for home in known.get(name, {name})}
    required = CORE.union(*(EXTRAS[name] for name in USERS))
    assert required - used - BY_LIBRARIES == set()


def test_every_extra_is_tried():
    assert {*TRIED, *CODE} == {"", *USERS}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared")
    prepare(folder)
    return folder, build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.mark.slow
@pytest.mark.parametrize("extra", sorted({*TRIED, *CODE}))
def test_an_extra_alone_does_what_it_promises(extra, prepared, tmp_path):
    """In an empty environment: some minutes each, for what pip brings."""
    folder, wheel = prepared
    assert try_alone(extra, wheel, folder, tmp_path) == []
