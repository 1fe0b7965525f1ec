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
def test_card_has_front_matter_inputs_options_and_existing_functions(name):
    """The values are compared by the oracles of `module_cases`."""
    yaml = pytest.importorskip("yaml")
    card = (PACKAGE / name / "README.md").read_text(encoding="utf-8")
    front_matter = yaml.safe_load(card.split("\n---\n")[0])
    assert front_matter["title"] and front_matter["description"]
    assert front_matter["sdk"] == "gradio" and front_matter["app_file"] == "app.py"
    assert front_matter["python_version"] == "3.11"  # the default is older than needed
    assert {"evaluate", "metric"} <= set(front_matter["tags"])
    assert front_matter["license"] == "apache-2.0"
    metric = load_metric(name)
    for heading, words in (("Inputs", metric.get_input_names()), ("Options", metric.get_options())):
        text = registration.read_card_section(name, heading)
        assert not [word for word in words if f"`{word}`" not in text]
    functions = re.findall(r"`((?:scipy|sklearn|statsmodels|krippendorff)\.[\w.]+)`", card)
    assert not [path for path in functions if pydoc.locate(path) is None]


@pytest.mark.parametrize("name", NAMES)
def test_example_of_the_card_runs(name):
    results = doctest.testfile(
        str(PACKAGE / name / "README.md"),
        module_relative=False,
        encoding="utf-8",
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert results.attempted >= 3 and results.failed == 0


# One metric of each kind of input; the pages of the others take a few seconds together.
QUICK = {"hbpp", "ndcg", "keyword_f1", "richhf_consolidation"}


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in NAMES],
)
def test_page_computes_the_example(name):
    pytest.importorskip("gradio")
    from pqpp_metrics import app

    page = app.make_metric_page(name)
    (click,) = [event for event in page.fns.values() if event.api_name == "compute"]
    result, status = click.fn(*(box.value for box in click.inputs))
    assert name in result and 'role="status"' in status
