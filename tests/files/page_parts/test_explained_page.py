"""The page of explanations in a real browser: every look, by axe."""

import pytest

from pqpp_models import Predictor
from pqpp_models.explain.page import render_explanations

pytestmark = pytest.mark.browser


@pytest.mark.daily
def test_explained_prompts_in_every_look(shown):
    prompts = ["a man riding a wave on a surfboard", "seven oranges " * 30, " "]
    found = Predictor.from_pretrained("static").explain(prompts, "mean_hbpp")
    page = shown(render_explanations(found, "static", "higher is easier"))
    assert page.locator(".words").count() == 2 and page.locator("h2").count() == 3
