"""The nearest judged prompts, against a search by hand, and where the judgments come from."""

import numpy as np
import pytest
from support.pqpp_folders import write_v1_0

from pqpp_datasets.errors import BenchmarkError
from pqpp_models import Predictor, PredictorError
from pqpp_models.explain.neighbours import judged_here, with_neighbours
from pqpp_models.scored_prompts import ScoredPrompts

JUDGED = ScoredPrompts(
    "mine",
    ["a dog on a beach", " ", "two red buses", "a cat", "a cat", "a dog"],
    [0.1, 9.0, 0.3, 0.4, 0.5, 0.6],
)


@pytest.fixture(scope="module")
def static():
    return Predictor.from_pretrained("static")


def test_the_nearest_are_those_of_a_search_by_hand(static):
    prompts = ["a puppy on the sand", "", "a cat", "a bus"]
    found = with_neighbours(static, static.explain(prompts, "mean_hbpp"), JUDGED, 2)
    for prompt, one in zip(prompts, found, strict=True):
        if not prompt:
            assert one.neighbours == ()
            continue
        here = static.embed([prompt])[0].astype(float)
        cosines = {}
        for at, other in enumerate(JUDGED.prompts):
            if other.strip():
                there = static.embed([other])[0].astype(float)
                lengths = np.sqrt((here @ here) * (there @ there))
                cosines[at] = here @ there / lengths
        order = sorted(cosines, key=lambda at: -round(cosines[at], 5))[:2]
        assert [n.prompt for n in one.neighbours] == [JUDGED.prompts[at] for at in order]
        assert [n.value for n in one.neighbours] == [JUDGED.scores[at] for at in order]
        near = [n.similarity for n in one.neighbours]
        assert near == pytest.approx([cosines[at] for at in order], abs=1e-5)
    assert found[2].neighbours[0].similarity == pytest.approx(1.0, abs=1e-5)
    assert [n.value for n in found[2].neighbours] == [0.4, 0.5]


class Trained:
    """Says what it was trained on."""

    name, trained_on = "trained", "pqpp-v1.0"


def test_judgments_come_from_a_folder_that_is_named(tmp_path, cache, monkeypatch):
    write_v1_0(tmp_path / "pqpp" / "v1.0")
    found = judged_here(Trained(), "mean_hbpp", str(tmp_path))
    assert found.prompts[0] == "A cat." and list(found.scores) == [1.0, 0.5, 1.0]
    assert found.name == "pqpp-v1.0, train split"
    monkeypatch.setenv("PQPP_DATA_DIR", str(tmp_path))
    assert judged_here(Trained(), "mean_rr").scores == [0.75, 1.0, 0.25]
    with pytest.raises(PredictorError, match="no judgments of flux_hbpp"):
        judged_here(Trained(), "flux_hbpp")


def test_nothing_is_downloaded(tmp_path, cache, monkeypatch):
    def refuse(*_):
        raise AssertionError("a download was tried")

    monkeypatch.setattr("pqpp_datasets.download.download", refuse)
    with pytest.raises(PredictorError, match=r"the train split of pqpp-v1\.0 is not here"):
        judged_here(Trained(), "mean_hbpp")
    monkeypatch.setenv("PQPP_DATA_DIR", str(tmp_path))
    with pytest.raises(PredictorError, match="is not here"):
        judged_here(Trained(), "mean_hbpp")
    with pytest.raises(BenchmarkError, match="no such folder"):
        judged_here(Trained(), "mean_hbpp", str(tmp_path / "nowhere"))
    untold = Predictor.from_pretrained("mean_word_length")
    with pytest.raises(PredictorError, match="does not tell which prompts"):
        judged_here(untold, "mean_hbpp")
