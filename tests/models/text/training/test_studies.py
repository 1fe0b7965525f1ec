"""The studies for `alignment`: hand-computed scores, exclusion and errors."""

import numpy as np
import pytest
from support.alignment_folders import TEXTS, write_studies

from pqpp_models.errors import PredictorError
from pqpp_models.text.training.studies import SOURCES, read_match_shares, read_studies


@pytest.fixture
def studies(tmp_path, cache):
    return str(write_studies(tmp_path / "studies"))


def test_scores_match_hand_computed_values(studies):
    result = read_studies(studies)
    assert tuple(result) == SOURCES
    assert result["agiqa"].scores == [5.0, 4.5, 4.0, 3.5, 3.0, 2.5]  # without AttnGAN's images
    # Six images with three votes each.
    assert result["tia2_counting"].scores[:2] == pytest.approx([11 / 12, 10 / 12])
    assert result["gimbrr"].scores == [0.75, 0.5, 0.25, 0.0, 0.75, 0.5]
    assert result["gimbrr"].groups == ["Relations", "Counting"] * 3
    assert result["genai"].scores == [5.0, 4.0, 3.0, 2.0, 1.0, 1.0]
    assert result["drawbench"].scores == [2.0, 1.5, 1.0, 0.5, 0.0, -0.5]
    assert result["drawbench"].prompts == [f"drawbench {kind}" for kind in TEXTS]
    assert read_match_shares(studies, result["genai"].prompts).tolist() == [1, 1, 0, 0, 0, 0]
    # Six prompts a tenth apart, of either generator: 2.5, 1.5 ... tenths from its mean.
    away = np.array([2.5, 1.5, 0.5, -0.5, -1.5, -2.5]) / np.sqrt(35 / 12)
    assert result["aigiqa"].scores == pytest.approx(away)
    assert result["imagenhub"].scores == pytest.approx(away)


def test_drops_prompts_of_excluded_studies(studies, tmp_path):
    path = tmp_path / "studies/agiqa/data.csv"
    path.write_text(path.read_text("utf-8").replace("agiqa a cat", "T2V a CAT."), "utf-8")
    assert "T2V a CAT." in read_studies(studies)["agiqa"].prompts
    result = read_studies(studies, ["t2v"])
    assert "t2v" not in result and len(result["agiqa"].prompts) == 5
    assert "T2V a CAT." not in result["agiqa"].prompts


def test_reports_unreadable_studies(studies, tmp_path):
    with pytest.raises(PredictorError, match="keep at least one"):
        read_studies(studies, SOURCES)
    with pytest.raises(PredictorError, match=r"the study agiqa .*absent/agiqa' is not a folder"):
        read_studies(str(tmp_path / "absent"))
    (tmp_path / "studies/genai/genai_image.json").unlink()
    with pytest.raises(PredictorError, match="the study genai of `alignment`: "):
        read_studies(studies)


@pytest.mark.daily
@pytest.mark.realdata
def test_real_studies_have_expected_sizes(real_studies, real_data, cache):
    studies = real_studies
    sizes = {name: len(one.prompts) for name, one in studies.items()}
    assert sizes == {
        "agiqa": 300,
        "tia2_composition": 300,
        "tia2_counting": 150,
        "gimbrr": 1598,
        "genai": 527,
        "t2v": 504,
        "drawbench": 120,
        "aigiqa": 6851,
        "imagenhub": 147,
    }
    shares = read_match_shares(str(real_data), studies["genai"].prompts)
    assert shares.mean() == pytest.approx(0.52638, abs=1e-5)
    for prompt in ("the word 'START'", "a green pepper"):  # they are also in studies for evaluation
        assert prompt not in studies["t2v"].prompts
    assert np.mean(studies["agiqa"].scores) == pytest.approx(2.6983, abs=1e-3)
