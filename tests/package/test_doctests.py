"""The examples in the docstrings of all packages run and give what they say."""

import doctest
import importlib.util
import io
import pkgutil
import re
from pathlib import Path

import pytest

from pqpp_files.extras import find_extra

ROOT = Path(__file__).parents[2]
PACKAGES = ("pqpp", "pqpp_autoload", *sorted(path.name for path in ROOT.glob("pqpp_*/")))
LACKING = {
    "PredictorError": "NLTK's data: see 'Real data' in CONTRIBUTING.md",
    "MissingExtraError": "an optional package, which is not installed",
}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def module_names():
    """Every module, and whether an example is in it."""
    for package in PACKAGES:
        home = importlib.import_module(package)
        yield package, ">>>" in Path(home.__file__).read_text("utf-8")
        for found in pkgutil.walk_packages(getattr(home, "__path__", []), f"{package}."):
            text = importlib.util.find_spec(found.name).loader.get_source(found.name)
            yield found.name, ">>>" in text


NAMES = dict(sorted(module_names()))


def imported(name):
    """A module; None where it needs what is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if find_extra(error.name.partition(".")[0]):
            return None
        raise


def test_modules_without_examples_import():
    for name, has_examples in NAMES.items():
        if not has_examples:
            imported(name)


@pytest.mark.parametrize("name", [name for name, has_examples in NAMES.items() if has_examples])
def test_examples(name, cache, capsys):
    module = imported(name)
    if module is None:
        pytest.skip(f"{name} needs what is not installed")
    for example in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
        runner.run(example, out=report.write)
        said = report.getvalue()
        lacking = [what for kind, what in LACKING.items() if kind in said]
        absent = r"^ +ModuleNotFoundError: .*?(?:named '|import of )(\w+)"
        modules = re.findall(absent, said, re.MULTILINE)
        lacking += [module for module in modules if find_extra(module)]
        if runner.failures and lacking:
            pytest.skip(f"{example.name} needs {lacking[0]}")
        assert not runner.failures, report.getvalue()
