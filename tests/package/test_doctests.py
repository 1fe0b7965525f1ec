"""The examples in the docstrings of all packages return the values that they show."""

import doctest
import importlib.util
import io
import pkgutil
import re
from pathlib import Path

import pytest

from pqpp_files.extras import find_extra

ROOT = Path(__file__).parents[2]
PACKAGES = ("pqpp", "pqpp_autoload", "pqpp_training", *sorted(p.name for p in ROOT.glob("pqpp_*/")))
SKIPPED_ERRORS = {
    "PredictorError": "NLTK's data: see 'Real data' in CONTRIBUTING.md",
    "MissingExtraError": "an optional package, which is not installed",
}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def find_modules():
    """Yield every module's name, and whether it contains an example."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        yield package, ">>>" in Path(module.__file__).read_text("utf-8")
        for info in pkgutil.walk_packages(getattr(module, "__path__", []), f"{package}."):
            text = importlib.util.find_spec(info.name).loader.get_source(info.name)
            yield info.name, ">>>" in text


MODULES = dict(sorted(find_modules()))


def import_if_possible(name):
    """Import a module; None if it needs an extra that is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if find_extra(error.name.partition(".")[0]):
            return None
        raise


def test_modules_without_examples_can_be_imported():
    for name, has_examples in MODULES.items():
        if not has_examples:
            import_if_possible(name)


@pytest.mark.parametrize("name", [name for name, has_examples in MODULES.items() if has_examples])
def test_examples_of_docstrings(name, cache, capsys):
    module = import_if_possible(name)
    if module is None:
        pytest.skip(f"{name} needs an extra that is missing")
    for example in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
        runner.run(example, out=report.write)
        text = report.getvalue()
        missing = [requirement for error, requirement in SKIPPED_ERRORS.items() if error in text]
        pattern = r"^ +ModuleNotFoundError: .*?(?:named '|import of )(\w+)"
        modules = re.findall(pattern, text, re.MULTILINE)
        missing += [module for module in modules if find_extra(module)]
        if runner.failures and missing:
            pytest.skip(f"{example.name} needs {missing[0]}")
        assert not runner.failures, report.getvalue()
