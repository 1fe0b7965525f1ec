"""Post-retrieval predictors: hand-computed values and loops."""

import math

import numpy as np
import pytest

from pqpp_models import Predictor, PredictorError
from pqpp_models.measures.caption_statistics import CaptionStatistics
from pqpp_models.measures.post_retrieval import (
    MEASURES,
    autocorrelation,
    clarity,
    coherence,
    n_sigma,
    nqc,
    pair_ratio,
    query_drift,
    score_variation,
    sigma_max,
    smv,
    wig,
)
from pqpp_models.measures.predictor import MeasurePredictor

NAN = math.nan
SCORES = [4.0, 2.0, 1.0, 1.0]


class TestScores:
    @pytest.mark.parametrize(
        ("actual", "expected"),
        [
            # Top 2: mean 3, deviation 1; the collection's mean score is 2.
            (nqc(SCORES, k=2), 1 / 2),
            (nqc(SCORES, k=2, collection_score=-4), 1 / 4),
            (nqc(SCORES, k=2, collection_score=NAN), 1 / 2),  # an empty cell
            (nqc(SCORES), math.sqrt(6) / 2 / 2),
            (nqc([1.0]), 0.0),
            (wig(SCORES, 4, k=2), (3 - 2) / 2),
            (wig(SCORES, 9, k=1, collection_score=1), (4 - 1) / 3),
            (smv(SCORES, k=2), (4 * math.log(4 / 3) + 2 * math.log(3 / 2)) / 2 / 2),
            (smv(SCORES, k=2, collection_score=-1), 2 * math.log(4 / 3) + math.log(3 / 2)),
            # Deviations of the top 1 to 4: 0, 1, 1.2472, 1.2247.
            (sigma_max(SCORES), math.sqrt(14 / 9)),
            # At least half of 4: 4 and 2; at least a quarter: all.
            (n_sigma(SCORES, 1), 1.0),
            (n_sigma(SCORES, 4, share=0.25), math.sqrt(6) / 2 / 2),
            (n_sigma(SCORES, 1, share=1), 0.0),
            (score_variation(SCORES, k=2), 1.0),
            (score_variation(SCORES), 1.5),
        ],
    )
    def test_matches_hand_computed_values(self, actual, expected):
        assert actual == pytest.approx(expected, rel=1e-12)


class TestRankings:
    @pytest.mark.parametrize(
        ("one", "two", "k", "expected"),
        [
            ([1, 2, 3], [3, 2, 1], 3, 1.0),
            ([1, 2, 3], [4, 5, 6], 3, 0.0),
            ([1, 2, 3, 4], [2, 1, 9, 8], 3, 0.5),
            ([1, 2, 3, 4], [2, 1, 9, 8], 100, 1 / 3),
            ([1, 2, -1], [1, -1, -1], 3, 0.5),
            ([1, 2], [-1, -1], 2, 0.0),
            ([-1, -1], [-1, -1], 2, NAN),
        ],
    )
    def test_query_drift(self, one, two, k, expected):
        np.testing.assert_allclose(query_drift(one, two, k), expected)


class TestEmbeddings:
    AXES = ((1.0, 0.0), (0.0, 1.0), (0.6, 0.8), (0.0, 0.0))

    def test_coherence_by_hand(self):
        # Cosines of the first three: 0, .6, .8; the vector of zeros adds three pairs of 0.
        assert coherence([4, 3, 2, 1], self.AXES, k=3) == pytest.approx(1.4 / 3)
        assert coherence([4, 3, 2, 1], self.AXES) == pytest.approx(1.4 / 6)
        assert coherence([1, 2, 3, 0], self.AXES, k=2) == pytest.approx(0.8)

    def test_pair_ratio_by_hand(self):
        vectors = [[1, 0], [0.6, 0.8], [1, 0], [0.8, 0.6], [0, 1]]
        result = pair_ratio([5, 4, 3, 2, 1], vectors, top=2, bottom=2, k=5)
        # Upper: .6; lower: (.8 + 0 + .6) / 3.
        assert result == pytest.approx(0.6 / (1.4 / 3))

    def test_autocorrelation_matches_loop(self):
        rng = np.random.default_rng(3)
        scores, vectors = rng.normal(size=12), rng.normal(size=(12, 5))
        top = sorted(range(12), key=lambda index: -scores[index])[:10]
        unit = vectors / np.linalg.norm(vectors, axis=1)[:, None]
        means = []
        for index in top:
            others = [(float(unit[index] @ unit[o]), o) for o in top if o != index]
            best = [(w, o) for w, o in sorted(others, reverse=True)[:4] if w > 0]
            total = sum(w for w, _ in best)
            mean = np.mean(scores[top])
            means.append(sum(w * (scores[o] - mean) for w, o in best) / total if best else 0.0)
        expected = np.corrcoef(scores[top], means)[0, 1]
        result = autocorrelation(scores, vectors, k=10, neighbours=4)
        assert result == pytest.approx(expected)


class TestClarity:
    # P(cat) = 1/2, P(dog) = 1/4, P(red) = 1/4.
    COLLECTION = CaptionStatistics.from_texts(["cat dog", "red cat"])

    def test_matches_hand_computed_values(self):
        # .6 of the caption, .4 of the collection: cat .2, dog .4, red .4 and so on.
        model = {"cat": 0.6 / 2 + 0.4 / 2, "dog": 0.6 / 2 + 0.4 / 4, "red": 0.4 / 4}
        back = {"cat": 1 / 2, "dog": 1 / 4, "red": 1 / 4}
        expected = sum(share * math.log2(share / back[word]) for word, share in model.items())
        assert clarity(["cat, dog"], [0.0], self.COLLECTION) == pytest.approx(expected)

    def test_weighs_captions_by_score(self):
        # exp(ln 3) : exp(0) is 3 : 1.
        scores = clarity(["dog", "cat"], [math.log(3), 0.0], self.COLLECTION, smoothing=1.0)
        expected = 3 / 4 * math.log2((3 / 4) / (1 / 4)) + 1 / 4 * math.log2((1 / 4) / (1 / 2))
        assert scores == pytest.approx(expected)
        shifted = clarity(["dog", "cat"], [9 + math.log(3), 9], self.COLLECTION, smoothing=1.0)
        assert shifted == pytest.approx(expected)


def make_row(prompt: str, n: int, seed: int = 0) -> dict:
    """Return a row with the columns of all measures, for a result list of n documents."""
    rng = np.random.default_rng(seed)
    return {
        "prompt": prompt,
        "scores": rng.uniform(0.1, 1, n).tolist(),
        "embeddings": rng.normal(size=(n, 3)).tolist(),
        "results": list(range(n)),
        "perturbed": list(range(n // 2, n + n // 2)),
        "captions": [f"cat {number % 3}" for number in range(n)],
    }


ROWS = [make_row("a red cat", 8, 1), make_row("a dog", 5, 2)]


class TestPredictor:
    CAPTIONS = ("a red cat", "cat 0", "cat 1 2")
    STATISTICS = CaptionStatistics.from_texts(CAPTIONS)

    @pytest.mark.parametrize("name", MEASURES)
    def test_predicts_value_of_function(self, name):
        options = {"pair_ratio": {"top": 2, "bottom": 2, "k": 5}}.get(name)
        statistics = self.STATISTICS if name == "clarity" else None
        predictions = MeasurePredictor(name, statistics, options).predict(ROWS, "mean_p10")[:, 0]
        functions = {
            "nqc": lambda one: nqc(one["scores"]),
            "wig": lambda one: wig(one["scores"], len(one["prompt"].split())),
            "smv": lambda one: smv(one["scores"]),
            "sigma_max": lambda one: sigma_max(one["scores"]),
            "n_sigma": lambda one: n_sigma(one["scores"], len(one["prompt"].split())),
            "score_variation": lambda one: score_variation(one["scores"]),
            "autocorrelation": lambda one: autocorrelation(one["scores"], one["embeddings"]),
            "coherence": lambda one: coherence(one["scores"], one["embeddings"]),
            "pair_ratio": lambda one: pair_ratio(one["scores"], one["embeddings"], 2, 2, 5),
            "query_drift": lambda one: query_drift(one["results"], one["perturbed"]),
            "clarity": lambda one: clarity(one["captions"], one["scores"], statistics),
        }
        np.testing.assert_allclose(predictions, [functions[name](one) for one in ROWS], rtol=1e-12)
        assert np.unique(predictions).size == 2

    @pytest.mark.parametrize("name", MEASURES)
    def test_saved_predictor_predicts_the_same(self, tmp_path, monkeypatch, name):
        (tmp_path / "captions.txt").write_text("\n".join(self.CAPTIONS))
        monkeypatch.setenv("PQPP_COLLECTION", str(tmp_path / "captions.txt"))
        options = {name: 7 for name in MEASURES[name].options if name == "k"}
        options |= {"top": 2, "bottom": 3} if name == "pair_ratio" else {}
        statistics = self.STATISTICS if name == "clarity" else None
        predictor = MeasurePredictor(name, statistics, options)
        loaded = Predictor.from_pretrained(predictor.save_pretrained(tmp_path / "saved"))
        assert loaded.options == predictor.options
        np.testing.assert_array_equal(loaded.predict(ROWS), predictor.predict(ROWS))

    def test_refuses_an_option_beyond_a_float(self):
        with pytest.raises(PredictorError, match="n_sigma"):
            MeasurePredictor("n_sigma", options={"share": 10**400}).predict(ROWS)
