"""The examples in the docstrings of all packages run and give what they say."""

import doctest
import importlib
import io
import pkgutil
import re

import pytest

from pqpp_files.extras import extra_of

PACKAGES = (
    *(
        "pqpp",
        "pqpp_annotation",
        "pqpp_autoload",
        "pqpp_cli",
        "pqpp_datasets",
        "pqpp_engines",
        "pqpp_feedback",
        "pqpp_files",
        "pqpp_hub",
    ),
    *("pqpp_metrics", "pqpp_models"),
)
LACKING = {
    "MissingResourceError": "NLTK's data: see 'Real data' in CONTRIBUTING.md",
    "MissingExtraError": "an optional package, which is not installed",
}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def module_names():
    for package in PACKAGES:
        yield package
        for found in pkgutil.walk_packages(_path_of(package), f"{package}."):
            yield found.name


def _path_of(package):
    return getattr(importlib.import_module(package), "__path__", [])


@pytest.mark.parametrize("name", sorted(module_names()))
def test_examples(name, cache, capsys):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if extra_of(error.name.partition(".")[0]):
            pytest.skip(f"{name} needs {error.name}, which is not installed")
        raise
    for example in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
        runner.run(example, out=report.write)
        said = report.getvalue()
        lacking = [what for kind, what in LACKING.items() if kind in said]
        absent = r"^ +ModuleNotFoundError: .*?(?:named '|import of )(\w+)"
        modules = re.findall(absent, said, re.MULTILINE)
        lacking += [module for module in modules if extra_of(module)]
        if runner.failures and lacking:
            pytest.skip(f"{example.name} needs {lacking[0]}")
        assert not runner.failures, report.getvalue()
