"""Extras: they contain what the packages import, and each suffices in an empty environment."""

import ast
import configparser
import re
import sys
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from support.extras import CODE, COMMANDS, build_wheel, try_extra, write_inputs

from pqpp_files.extras import find_extra

ROOT = Path(__file__).resolve().parents[2]
SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg")
IMPORTED_BY_LIBRARIES = {"onnxruntime", "python-multipart"}
IMPORTED_BY_LIBRARIES |= {"tensorboard", "trackio", "wandb"}
IMPORTED_BY_LIBRARIES |= {"httptools", "num2words", "torchvision", "uvloop"}
"""Packages that a required library imports, or that we name only in a text."""
BROUGHT_BY = {"fsspec": "datasets", "markupsafe": "jinja2", "starlette": "fastapi"}
BROUGHT_BY |= {"httpx2": "openai"}
BROUGHT_BY |= {"annotated_types": "fastapi", "pydantic": "fastapi", "tokenizers": "transformers"}
"""Packages that a required one, or one of an extra, always brings."""
OPTIONAL = {"ir_measures"}
"""Packages that add names to a command if they are installed."""


def parse_names(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return {re.split(r"[\[<>=~! ]", line)[0].lower().replace("_", "-") for line in lines}


CORE = parse_names(SETUP["options"]["install_requires"])
EXTRAS = {name: parse_names(text) for name, text in SETUP["options.extras_require"].items()}
USERS = sorted(set(EXTRAS) - {"test", "docs", "bench"})


def find_imports(path):
    """Yield the packages that a file imports, at its top or in a function."""
    blocks = [ast.parse(path.read_text("utf-8"))]
    for node in blocks:  # the list grows; an expression contains no import
        blocks += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@cache
def find_all_imports():
    """Return each outside package with the files that import it."""
    files_by_package = {}
    for path in sorted(ROOT.glob("pqpp_*/**/*.py")):
        for name in find_imports(path):
            if not name.startswith("pqpp") and name not in sys.stdlib_module_names:
                files_by_package.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return files_by_package


@cache
def find_distributions():
    return {
        name: {package.lower().replace("_", "-") for package in packages}
        for name, packages in packages_distributions().items()
    }


def test_imports_are_of_the_core_or_of_the_extra_in_the_message():
    by_import, wrong = find_distributions(), {}
    for name, files in find_all_imports().items():
        sources = by_import.get(name) or {name}
        if sources & CORE or name in BROUGHT_BY or name in OPTIONAL:
            continue
        extra = find_extra(name)
        brought = any(sources & packages for key, packages in EXTRAS.items() if key in USERS)
        if not brought or (extra is not None and not sources & EXTRAS[extra]):
            wrong[name] = (extra, files[:2])
    assert wrong == {}


def test_every_requirement_is_imported():
    by_import = find_distributions()
    used = {package for name in find_all_imports() for package in by_import.get(name, {name})}
    for path in [*ROOT.glob("training/*.py"), ROOT / "docs" / "one_loop.py"]:
        used |= {package for name in find_imports(path) for package in by_import.get(name, {name})}
    required = CORE.union(*(EXTRAS[name] for name in USERS))
    assert required - used - IMPORTED_BY_LIBRARIES == set()


def test_every_extra_has_a_trial():
    assert {*COMMANDS, *CODE} == {"", *USERS}


@pytest.fixture(scope="module")
def wheel_folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared")
    write_inputs(folder)
    return folder, build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.mark.slow
@pytest.mark.parametrize("extra", sorted({*COMMANDS, *CODE}))
def test_an_extra_alone_suffices_for_its_functions(extra, wheel_folders, tmp_path):
    """In an empty environment: some minutes each, since pip downloads packages."""
    folder, wheel = wheel_folders
    assert try_extra(extra, wheel, folder, tmp_path) == []
