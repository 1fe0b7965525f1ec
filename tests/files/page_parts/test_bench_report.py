"""The report of a bench in a real browser: every look, by axe, intervals, print, hostile names."""

import numpy as np
import pytest
from datasets import Dataset

from pqpp_datasets.load import load_benchmark
from pqpp_models import Predictor
from pqpp_models.bench.protocol import read_published
from pqpp_models.bench.report import render_report
from pqpp_models.bench.run import bench_split
from pqpp_models.bench.split import Split

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J & \u202e'\"{{ 7*7 }}"


@pytest.fixture(scope="module")
def page():
    """The page of two predictors on the sample, with published figures as on real rows."""
    split = Split.from_rows(load_benchmark("sample", split="test"))
    names = ("static", "mean_word_length")
    found = bench_split(split, {name: Predictor.from_pretrained(name) for name in names}, TARGETS)
    assert found.get_published() == []
    return render_report(found.results, read_published(), found, found.project_spaces()[0])


TARGETS = ("glide_hbpp", "mean_hbpp", "mean_rr")


@pytest.mark.daily
def test_the_page_in_every_look(page, shown):
    opened = shown(page)
    assert opened.locator("nav.contents a").all_inner_texts()[:3] == [
        "Summary",
        "Ranking",
        "Tables",
    ]
    for link in opened.locator("nav.contents a").all():
        assert opened.locator(link.get_attribute("href")).count() == 1
    assert (
        opened.locator("svg[role=img]").count()
        == opened.locator("svg[role=img][aria-label]").count()
    )
    assert opened.locator("img, script, link").count() == 0
    bold = opened.locator("tbody b").all_inner_texts()
    assert bold and all(text[0] in "0-" for text in bold)


def test_intervals_come_by_pointer_by_key_and_in_print(page, shown):
    opened = shown(page, looked_at=False)
    interval = opened.locator("td .ci").first
    clip = "one => getComputedStyle(one).clipPath"
    assert interval.evaluate(clip) != "none"
    interval.locator("..").hover()
    assert interval.evaluate(clip) == "none"
    opened.mouse.move(0, 0)
    assert interval.evaluate(clip) != "none"
    opened.locator("#intervals").focus()
    opened.keyboard.press("Space")
    assert interval.evaluate(clip) == "none" and interval.is_visible()
    opened.keyboard.press("Space")
    opened.emulate_media(media="print", color_scheme="dark")
    assert interval.evaluate(clip) == "none"
    paper = "getComputedStyle(document.body).backgroundColor"
    assert opened.evaluate(paper) == "rgb(255, 255, 255)"
    hidden = opened.locator("details:not([open]) .panel").first
    assert hidden.is_visible()  # what is folded is printed
    assert not opened.locator("nav.contents").is_visible()


def test_ones_own_targets_and_hostile_names(shown):
    generator = np.random.default_rng(0)
    rows = {
        "prompt": [f"{HOSTILE} {i}" for i in range(30)],
        "a-model_rating": generator.normal(size=30),
    }
    rows["b-model_rating"] = [None] * 29 + [1.0]
    split = Split.from_rows(Dataset.from_dict(rows), HOSTILE)
    run = bench_split(
        split, {HOSTILE: Predictor.from_pretrained("mean_word_length")}, split.known_targets
    )
    opened = shown(render_report(run.results, run=run))
    assert opened.locator("img").count() == 0 and "{{ 7*7 }}" in opened.locator("h1").inner_text()
    assert "rating of a-model" in opened.locator("thead").first.inner_text()
    assert "no figure for b-model_rating: n = 1" in opened.locator("ul.note").inner_text()
