"""Each metric's README is a Space card that is ready to push, and its example runs."""

import doctest
import pydoc
import re

import pytest

from pqpp_metrics import registration
from pqpp_metrics.registration import load_metric

NAMES = registration.list_metrics()
PACKAGE = registration._PACKAGE


@pytest.mark.parametrize("name", NAMES)
def test_front_matter_inputs_options_and_the_code_that_is_named(name):
    """Whether the values are equal is for the oracles of `module_cases`."""
    yaml = pytest.importorskip("yaml")
    card = (PACKAGE / name / "README.md").read_text(encoding="utf-8")
    front = yaml.safe_load(card.split("\n---\n")[0])
    assert front["title"] and front["description"]
    assert front["sdk"] == "gradio" and front["app_file"] == "app.py"
    assert front["python_version"] == "3.11"  # a Space's own is older than this package needs
    assert {"evaluate", "metric"} <= set(front["tags"])
    assert front["license"] == "apache-2.0"
    metric = load_metric(name)
    for heading, words in (("Inputs", metric.get_input_names()), ("Options", metric.get_options())):
        text = registration.read_card_section(name, heading)
        assert not [word for word in words if f"`{word}`" not in text]
    named = re.findall(r"`((?:scipy|sklearn|statsmodels|krippendorff)\.[\w.]+)`", card)
    assert not [one for one in named if pydoc.locate(one) is None]


@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs(name):
    results = doctest.testfile(
        str(PACKAGE / name / "README.md"),
        module_relative=False,
        encoding="utf-8",
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert results.attempted >= 3 and results.failed == 0


# One of each kind of input; the pages of the others take a few seconds together.
QUICK = {"hbpp", "ndcg", "keyword_f1", "richhf_consolidation"}


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in NAMES],
)
def test_the_app_computes_the_example(name):
    pytest.importorskip("gradio")
    from pqpp_metrics import app

    page = app.make_metric_page(name)
    (click,) = [function for function in page.fns.values() if function.api_name == "compute"]
    result, said = click.fn(*(box.value for box in click.inputs))
    assert name in result and 'role="status"' in said
