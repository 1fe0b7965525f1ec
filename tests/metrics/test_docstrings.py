"""Public functions say what they take, give and refuse, and their examples run."""

import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

from pqpp_metrics import functional

MODULES = [
    module.name.removeprefix("pqpp_metrics.functional.")
    for module in pkgutil.walk_packages(functional.__path__, "pqpp_metrics.functional.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"pqpp_metrics.functional.{name}")
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


@pytest.mark.parametrize("name", functional.__all__)
def test_sections(name):
    """What is given back, an example, and every option, once for all that share it."""
    function = getattr(functional, name)
    text = inspect.getdoc(function)
    elsewhere = re.findall(r"(?:is|are) as (?:for )?`(\w+)`", text)
    told = text + "".join(inspect.getdoc(vars(functional)[other]) for other in elsewhere)
    parameters = inspect.signature(function).parameters
    assert "Example:" in text and ("Returns:" in text or "->" in text or len(parameters) == 1)
    for parameter in parameters.values():
        if parameter.default is not inspect.Parameter.empty:
            ways = f"    {parameter.name}:", f"`{parameter.name}`"
            assert any(way in told for way in ways), f"{name} does not describe {parameter.name}"
    arguments = text.partition("Args:\n")[2].partition("\n\n")[0]
    described = re.findall(r"^    (\w+):", arguments, re.MULTILINE)
    assert set(described) <= set(parameters), f"{name} describes what it does not take"


def test_no_bars_that_sphinx_would_replace():
    """Between bars Sphinx looks for a substitution: `|a - b|` in a docstring ends in a warning."""
    wrong = []
    for name in MODULES:
        module = importlib.import_module(f"pqpp_metrics.functional.{name}")
        for one in [module, *(f for f in vars(module).values() if inspect.isfunction(f))]:
            text = re.sub(r"`[^`]*`|\"[^\"]*\"", "", inspect.getdoc(one) or "")
            if re.search(r"\|\S[^|\n]*\|", text):
                wrong.append(one.__name__)
    assert not wrong
