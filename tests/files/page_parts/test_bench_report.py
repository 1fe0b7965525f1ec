"""The benchmark report in a browser: accessibility, intervals, print and hostile names."""

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
    """The report of two predictors on the sample, with published results as on real rows."""
    split = Split.from_rows(load_benchmark("sample", split="test"))
    names = ("static", "mean_word_length")
    run = bench_split(split, {name: Predictor.from_pretrained(name) for name in names}, TARGETS)
    assert run.get_published() == []
    return render_report(run.results, read_published(), run, run.project_spaces()[0])


TARGETS = ("glide_hbpp", "mean_hbpp", "mean_rr")


@pytest.mark.daily
def test_report_is_accessible_in_every_look(page, open_page):
    tab = open_page(page)
    assert tab.locator("nav.contents a").all_inner_texts()[:3] == ["Summary", "Ranking", "Tables"]
    for link in tab.locator("nav.contents a").all():
        assert tab.locator(link.get_attribute("href")).count() == 1
    assert tab.locator("svg[role=img]").count() == tab.locator("svg[role=img][aria-label]").count()
    assert tab.locator("img, script, link").count() == 0
    bold = tab.locator("tbody b").all_inner_texts()
    assert bold and all(text[0] in "0-" for text in bold)


def test_intervals_show_on_hover_by_key_and_in_print(page, open_page):
    tab = open_page(page, check_looks=False)
    interval = tab.locator("td .ci").first
    clip = "one => getComputedStyle(one).clipPath"
    assert interval.evaluate(clip) != "none"
    interval.locator("..").hover()
    assert interval.evaluate(clip) == "none"
    tab.mouse.move(0, 0)
    assert interval.evaluate(clip) != "none"
    tab.locator("#intervals").focus()
    tab.keyboard.press("Space")
    assert interval.evaluate(clip) == "none" and interval.is_visible()
    tab.keyboard.press("Space")
    tab.emulate_media(media="print", color_scheme="dark")
    assert interval.evaluate(clip) == "none"
    paper = "getComputedStyle(document.body).backgroundColor"
    assert tab.evaluate(paper) == "rgb(255, 255, 255)"
    hidden = tab.locator("details:not([open]) .panel").first
    assert hidden.is_visible()  # collapsed sections are printed
    assert not tab.locator("nav.contents").is_visible()


def test_report_of_own_targets_escapes_hostile_names(open_page):
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
    tab = open_page(render_report(run.results, run=run))
    assert tab.locator("img").count() == 0 and "{{ 7*7 }}" in tab.locator("h1").inner_text()
    assert "rating of a-model" in tab.locator("thead").first.inner_text()
    assert "no figure for b-model_rating: n = 1" in tab.locator("ul.note").inner_text()
