"""Public functions say what they take, give and refuse, and their examples run."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

from pqpp_metrics import functional

MODULES = [module.name for module in pkgutil.iter_modules(functional.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"pqpp_metrics.functional.{name}")
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


@pytest.mark.parametrize("name", functional.__all__)
def test_sections(name):
    function = getattr(functional, name)
    text = inspect.getdoc(function)
    for section in ("Args:", "Returns:", "Raises:", "Example:"):
        assert section in text, f"{name} lacks {section}"
    for parameter in inspect.signature(function).parameters:
        assert f"    {parameter}:" in text, f"{name} does not describe {parameter}"
