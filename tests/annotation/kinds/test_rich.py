"""The kind `rich`: points, words and scores, and exports consolidated as in RichHF."""

import copy
import json

import numpy as np
import pytest
from support.kinds import find_error, make_item, make_vote

from pqpp_annotation.kinds import get_task_kind
from pqpp_metrics.functional import richhf_consolidation

KIND = get_task_kind("rich")
PROMPT = 'A red cat: "on, a mat"?'  # six tokens by the published rule


def make_answer(**others):
    scores = {"plausibility": 3, "alignment": 4, "aesthetics": 5, "overall": 2}
    answer = {"implausible": [[0.5, 0.5]], "misaligned": [], "words": [1], "scores": scores}
    return copy.deepcopy({**answer, "inappropriate": False, **others})


def get_error(**others):
    return find_error(KIND, make_answer(**others), make_item(1, prompt=PROMPT), {})


def test_accepts_valid_feedback():
    assert get_error() is None
    assert get_error(implausible=[], words=[]) is None
    assert get_error(implausible=[[0, 1], [1, 0]], words=[5, 0]) is None
    assert get_error(scores={}, inappropriate=True) is None


@pytest.mark.parametrize(
    "others",
    [
        {"implausible": [[1.01, 0.5]]},
        {"misaligned": [[-0.1, 0.5]]},
        {"implausible": [[0.5]]},
        {"implausible": [[0.5, "a"]]},
        {"implausible": [[0.5, 0.5]] * 501},
        {"words": [6]},
        {"words": [1, 1]},
        {"words": [-1]},
        {"scores": {"overall": 3}},
        {"scores": {"overall": 6}},
        {"scores": {"beauty": 3}},
    ],
)
def test_rejects_invalid_feedback(others):
    assert get_error(**others)


def test_rejects_flag_if_not_offered():
    item = make_item(1, prompt=PROMPT)
    flagged = make_answer(scores={}, inappropriate=True)
    assert "not used in this study" in find_error(KIND, flagged, item, {"inappropriate": False})


def make_three_votes(seed=0, height=60, width=90):
    """Return three votes on an image, and the pixels of their points."""
    random = np.random.default_rng(seed)
    votes, pixels = [], []
    for name in ("ann", "bob", "cy"):
        rows = random.integers(0, height, 4)
        columns = random.integers(0, width, 4)
        pixels.append(np.stack([rows, columns], axis=1)[: random.integers(0, 5)].tolist())
        # A browser sends the centre of the pixel.
        points = [[(column + 0.5) / width, (row + 0.5) / height] for row, column in pixels[-1]]
        names = ("plausibility", "alignment", "aesthetics", "overall")
        scores = {score: int(random.integers(1, 6)) for score in names}
        words = sorted(random.choice(6, random.integers(0, 4), replace=False).tolist())
        answer = make_answer(implausible=points, misaligned=points[:1], words=words, scores=scores)
        size = {"height": height, "width": width}
        votes.append(make_vote("1.png", name, answer, prompt=PROMPT, **size))
    return votes, pixels


@pytest.mark.parametrize("seed", range(5))
def test_consolidates_like_the_paper(seed):
    """Exported rows give the same consolidation as the clicked pixels."""
    votes, pixels = make_three_votes(seed)
    labels = [[int(n not in vote.value["words"]) for n in range(6)] for vote in votes]
    scores = [list(vote.value["scores"].values()) for vote in votes]
    expected = richhf_consolidation(scores, labels, pixels, 60, 90)
    files = KIND.export_tables(votes)
    rows = [json.loads(json.dumps(row)) for row in files["feedback"]]
    from_export = richhf_consolidation(
        [row["scores"] for row in rows],
        [row["keyword_labels"] for row in rows],
        [row["implausible_points"] for row in rows],
        rows[0]["height"],
        rows[0]["width"],
    )
    for name, array in expected.items():
        np.testing.assert_array_equal(from_export[name], array)
    [row] = files["consolidated"]
    names = ("plausibility", "alignment", "aesthetics", "overall")
    np.testing.assert_array_equal([row[name] for name in names], expected["scores"])
    assert row["keyword_labels"] == expected["keyword_labels"].tolist()
    from_points = richhf_consolidation(scores, labels, row["implausible_points"], 60, 90)
    np.testing.assert_array_equal(from_points["heatmap"], expected["heatmap"])
    assert (row["annotators"], row["height"], row["width"]) == (3, 60, 90)


def test_edge_clicks_are_on_outermost_pixels():
    answer = make_answer(implausible=[[0, 0], [1, 1]])
    votes = [make_vote("1.png", "ann", answer, prompt=PROMPT, height=40, width=70)]
    [row] = KIND.export_tables(votes)["feedback"]
    assert row["implausible_points"] == [[0.0, 0.0], [39.0, 69.0]]


def test_excludes_inappropriate_images():
    flagged = make_answer(scores={}, inappropriate=True)
    size = {"prompt": PROMPT, "height": 40, "width": 70}
    votes = [make_vote("1.png", "ann", make_answer(), **size)]
    votes.append(make_vote("1.png", "bob", flagged, **size))
    votes.append(make_vote("2.png", "ann", make_answer(), **size))
    votes.append(make_vote("3.png", "ann", make_answer(), purpose="training", **size))
    files = KIND.export_tables(votes)
    assert [row["inappropriate"] for row in files["feedback"]] == [False, True, False]
    assert files["feedback"][1]["scores"] == [None] * 4
    assert [row["image"] for row in files["consolidated"]] == ["2.png"]
