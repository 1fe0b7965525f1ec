"""The quality report of `pqpp build` in a browser."""

import numpy as np
import pytest

from pqpp_datasets.own_benchmark.build import build_benchmark
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.write import write_benchmark

pytestmark = pytest.mark.browser


@pytest.mark.daily
def test_report_is_accessible_in_every_look(tmp_path, open_page):
    generator = np.random.default_rng(0)
    votes, pairs = ["prompt,image,model,annotator,label"], ["prompt,model_a,model_b,choice,voter"]
    for n in range(40):
        for model in ("a-model-with-a-rather-long-name", "sdxl"):
            votes += [f"P{n},{n}.png,{model},p{k},{generator.integers(1, 6)}" for k in range(4)]
        pairs += [f"P{n},m,o,{generator.choice(['a', 'b', 'tie'])},p{k}" for k in range(3)]
    (tmp_path / "votes.csv").write_text("\n".join(votes))
    (tmp_path / "pairs.csv").write_text("\n".join(pairs).replace("voter", "annotator"))
    options = BuildOptions(scale="likert5")
    built = build_benchmark(
        tmp_path / "votes.csv", preferences=tmp_path / "pairs.csv", options=options
    )
    folder = write_benchmark(built, tmp_path / "out", "Mine")
    page = open_page((folder / "report.html").read_text("utf-8"))
    assert page.locator("nav.contents a").all_inner_texts() == [
        *("Judgments", "Preferences", "Splits", "Targets", "Definitions")
    ]


def test_flagged_annotators_fit_on_a_screen(tmp_path, open_page):
    generator, votes = np.random.default_rng(0), ["prompt,image,model,annotator,label"]
    for n in range(200):
        good = generator.integers(1, 6)
        votes += [f"P{n},{n}.png,sdxl,p{k},{good}" for k in range(3)]
        votes += [f"P{n},{n}.png,sdxl,random,{generator.integers(1, 6)}"]
    (tmp_path / "votes.csv").write_text("\n".join(votes))
    built = build_benchmark(tmp_path / "votes.csv", options=BuildOptions(scale="likert5"))
    page = open_page((write_benchmark(built, tmp_path / "out", "Mine") / "report.html").read_text())
    page.set_viewport_size({"width": 1100, "height": 900})
    assert page.locator("table", has_text="below half the median").count() == 1
    widths = "all => all.map(one => one.scrollWidth - one.clientWidth)"
    assert not any(page.locator(".scroll").evaluate_all(widths))
