"""Pre-retrieval predictors: hand-computed counts and values."""

import math

import numpy as np
import pytest

from pqpp_files.errors import FileError
from pqpp_models import Predictor
from pqpp_models.errors import PredictorError
from pqpp_models.measures.caption_statistics import CaptionStatistics, open_statistics
from pqpp_models.measures.pre_retrieval import MEASURES
from pqpp_models.measures.predictor import MeasurePredictor

# df: a 3, cat 2, dog 2, red 1; cf: a 5, cat 2, dog 4, red 1; N = 4, T = 12.
CAPTIONS = ["A cat.", "a dog, a dog", "a red cat, a", "Dog dog"]
LN = math.log


@pytest.fixture(scope="module")
def collection() -> CaptionStatistics:
    return CaptionStatistics.from_texts(CAPTIONS)


def compute_value(name: str, prompt: str, statistics: CaptionStatistics) -> float:
    return MEASURES[name].compute([prompt], statistics)[0]


class TestStatistics:
    def test_counts_terms(self, collection):
        assert collection.terms == ("a", "cat", "dog", "red")
        assert collection.document_frequency.tolist() == [3, 2, 2, 1]
        assert collection.collection_frequency.tolist() == [5, 2, 4, 1]
        assert (collection.n_documents, collection.n_tokens) == (4, 12)
        # ln f of "a": 0, ln 2, ln 2; of "dog": ln 2, ln 2.
        expected = [LN(2) * math.sqrt(2) / 3, 0, 0, 0]
        np.testing.assert_allclose(collection.log_deviation, expected, atol=1e-15)
        documents = [collection.list_documents(index).tolist() for index in range(4)]
        assert documents == [[0, 1, 2], [0, 2], [1, 3], [2]]

    def test_rejects_files_that_are_not_utf8(self, tmp_path):
        (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
        with pytest.raises(FileError, match="latin"):
            open_statistics(str(tmp_path / "latin.txt"))


# The terms of the prompt "a red cat": df 3, 1, 2 and cf 5, 1, 2 of N = 4, T = 12.
IDF = [LN(4 / 3), LN(4), LN(2)]
SCQ = [(1 + LN(5)) * LN(1 + 4 / 3), LN(5), (1 + LN(2)) * LN(3)]
VAR = [LN(2) * math.sqrt(2) / 3 * LN(1 + 4 / 3), 0, 0]
# Captions that contain both: a and red 1, a and cat 2, red and cat 1.
PMI = [LN(4 * 1 / 3), LN(4 * 2 / 6), LN(4 * 1 / 2)]


class TestMeasures:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("avg_idf", sum(IDF) / 3),
            ("max_idf", LN(4)),
            ("sum_idf", sum(IDF)),
            ("std_idf", float(np.std(IDF))),
            ("avg_ictf", (LN(12 / 5) + LN(12) + LN(6)) / 3),
            ("avg_scq", sum(SCQ) / 3),
            ("max_scq", max(SCQ)),
            ("sum_scq", sum(SCQ)),
            ("avg_var", sum(VAR) / 3),
            ("max_var", max(VAR)),
            ("sum_var", sum(VAR)),
            ("scs", sum(math.log2(12 / cf / 3) / 3 for cf in (5, 1, 2))),
            ("query_scope", LN(4 / 3)),
            ("avg_pmi", sum(PMI) / 3),
            ("max_pmi", max(PMI)),
        ],
    )
    def test_matches_hand_computed_values(self, collection, name, expected):
        assert compute_value(name, "A red cat!", collection) == pytest.approx(expected, abs=1e-12)

    def test_repeated_terms_and_terms_without_a_common_caption(self, collection):
        expected = 2 / 3 * math.log2(2 / 3 * 12 / 5) + 1 / 3 * math.log2(1 / 3 * 12 / 2)
        assert compute_value("scs", "a cat, a", collection) == pytest.approx(expected, abs=1e-12)
        expected = (LN(4 * 1 / 3) + LN(4 * 1 / 6)) / 2  # a and red, a and dog, but not red and dog
        assert compute_value("avg_pmi", "a red dog", collection) == pytest.approx(expected)


class TestPredictor:
    @pytest.mark.parametrize("name", MEASURES)
    def test_saved_predictor_predicts_the_same(self, collection, tmp_path, monkeypatch, name):
        (tmp_path / "idf.txt").write_text("\n".join(CAPTIONS) + "\n\n")
        monkeypatch.setenv("PQPP_COLLECTION", str(tmp_path / "idf.txt"))
        predictor = MeasurePredictor(name, collection)
        loaded = Predictor.from_pretrained(predictor.save_pretrained(tmp_path / "saved"))
        rows = [*CAPTIONS, "a unicorn", ""]
        np.testing.assert_array_equal(loaded.predict(rows), predictor.predict(rows))
        assert loaded.predict(rows, "mean_rr,mean_p10").shape == (6, 2)
        for setting in ("", str(tmp_path / "no.txt")):
            monkeypatch.setenv("PQPP_COLLECTION", setting)
            with pytest.raises(PredictorError, match=r"PQPP_COLLECTION(?!.*download it again)"):
                Predictor.from_pretrained(tmp_path / "saved")
