"""The studies that `alignment` is learned from: what is read, and what stays out."""

import numpy as np
import pytest
from support.alignment_folders import KINDS, write_studies

from pqpp_models.errors import PredictorError
from pqpp_models.text.training.studies import SOURCES, read_match_shares, read_studies


@pytest.fixture
def studies(tmp_path, cache):
    return str(write_studies(tmp_path / "studies"))


def test_scores_match_hand_computed_values(studies):
    found = read_studies(studies)
    assert tuple(found) == SOURCES
    assert found["agiqa"].scores == [5.0, 4.5, 4.0, 3.5, 3.0, 2.5]  # AttnGAN's images don't count
    # Six images: the first of the three votes says yes to five of them, the last to all.
    assert found["tia2_counting"].scores[:2] == pytest.approx([11 / 12, 10 / 12])
    assert found["gimbrr"].scores == [0.75, 0.5, 0.25, 0.0, 0.75, 0.5]
    assert found["gimbrr"].groups == ["Relations", "Counting"] * 3
    assert found["genai"].scores == [5.0, 4.0, 3.0, 2.0, 1.0, 1.0]
    assert found["drawbench"].scores == [2.0, 1.5, 1.0, 0.5, 0.0, -0.5]
    assert found["drawbench"].prompts == [f"drawbench {kind}" for kind in KINDS]
    assert read_match_shares(studies, found["genai"].prompts).tolist() == [1, 1, 0, 0, 0, 0]
    # Six prompts a tenth apart, of either generator: 2.5, 1.5 ... tenths from its mean.
    away = np.array([2.5, 1.5, 0.5, -0.5, -1.5, -2.5]) / np.sqrt(35 / 12)
    assert found["aigiqa"].scores == pytest.approx(away)
    assert found["imagenhub"].scores == pytest.approx(away)


def test_drops_prompts_of_excluded_studies(studies, tmp_path):
    path = tmp_path / "studies/agiqa/data.csv"
    path.write_text(path.read_text("utf-8").replace("agiqa a cat", "T2V a CAT."), "utf-8")
    assert "T2V a CAT." in read_studies(studies)["agiqa"].prompts
    found = read_studies(studies, ["t2v"])
    assert "t2v" not in found and len(found["agiqa"].prompts) == 5
    assert "T2V a CAT." not in found["agiqa"].prompts


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
    found = real_studies
    sizes = {name: len(one.prompts) for name, one in found.items()}
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
    told = read_match_shares(str(real_data), found["genai"].prompts)
    assert told.mean() == pytest.approx(0.52638, abs=1e-5)
    for prompt in ("the word 'START'", "a green pepper"):  # they stand in studies held back
        assert prompt not in found["t2v"].prompts
    assert np.mean(found["agiqa"].scores) == pytest.approx(2.6983, abs=1e-3)
