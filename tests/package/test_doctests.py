"""The examples in the docstrings of all packages run and give what they say."""

import doctest
import importlib
import io
import pkgutil

import pytest

PACKAGES = (
    *(
        "pqpp",
        "pqpp_autoload",
        "pqpp_cli",
        "pqpp_datasets",
        "pqpp_feedback",
        "pqpp_files",
        "pqpp_hub",
    ),
    *("pqpp_metrics", "pqpp_models"),
)
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
        if error.name in ("torch", "transformers", "accelerate", "peft", "diffusers", "gradio"):
            pytest.skip(f"{name} needs {error.name}, which is not installed")
        raise
    for example in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
        runner.run(example, out=report.write)
        if runner.failures and "MissingResourceError" in report.getvalue():
            pytest.skip(f"{example.name} needs NLTK's data: see 'Real data' in CONTRIBUTING.md")
        assert not runner.failures, report.getvalue()
