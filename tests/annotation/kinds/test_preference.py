"""The kind `preference`: pairs, ties, and the export that `pqpp build` reads."""

import numpy as np
import pytest
from support.kinds import find_error, make_item, make_vote, to_frame, write_csv
from support.votes import build, to_dict

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds import get_task_kind
from pqpp_annotation.protocol.admission import filter_people, to_study_votes
from pqpp_datasets.own_benchmark.options import BuildOptions

KIND = get_task_kind("preference")
SETTINGS = KIND.complete_settings({})


def test_accepts_choices_with_and_without_side():
    for choice in ("a", "b", "tie"):
        assert find_error(KIND, {"choice": choice}, make_item(1, 2), {}) is None
        assert find_error(KIND, {"choice": choice, "left": "b"}, make_item(1, 2), {}) is None
    answer = KIND.answer_from_page({"choice": []}, {"x": 2, "y": 1})
    assert find_error(KIND, answer, make_item(1), {})
    assert find_error(KIND, {"choice": "a", "left": "tie"}, make_item(1, 2), {})
    assert find_error(KIND, {"choice": "tie"}, make_item(1, 2), {"tie": False})
    assert [KIND.get_label({"choice": choice}) for choice in ("a", "tie", "b")] == [1, 0, -1]


def test_parses_expected_answers():
    assert KIND.parse_expected("B", SETTINGS) == {"choice": "b"}
    assert KIND.is_right({"choice": "b", "left": "a"}, {"choice": "b"})
    with pytest.raises(AnnotationError, match="must be one of a, b; got 'tie'"):
        KIND.parse_expected("tie", {"tie": False})


def test_pairs_images_of_different_models():
    models = {"1": "sdxl", "2": "sdxl", "3": "glide", "4": "flux"}
    rows = [{"prompt_id": "7", "image": name, "model": model} for name, model in models.items()]
    pairs = [tuple(row["image"] for row in pair) for pair in KIND.to_items(rows, SETTINGS)]
    assert pairs == [("1", "3"), ("1", "4"), ("2", "3"), ("2", "4"), ("3", "4")]
    with pytest.raises(AnnotationError, match="prompt '7': expected images from two"):
        KIND.to_items(rows[:2], SETTINGS)


def test_build_reads_the_export(tmp_path):
    # Of four comparisons, sdxl wins two and ties one.
    images = (("7/1.png", "sdxl", 11), ("7/2.png", "glide", 12))
    swapped = images[::-1]  # a is the lower id, whatever the order
    cases = [
        ("ann", "a", images),
        ("bob", "a", swapped),
        ("cy", "tie", images),
        ("dan", "b", images),
    ]
    votes = [make_vote("", n, {"choice": c, "left": "b"}, model="", images=p) for n, c, p in cases]
    votes.append(make_vote("", "eve", {"choice": "a"}, model="", images=images, purpose="training"))
    path = write_csv(tmp_path / "preferences.csv", KIND.export_tables(votes)["preferences"])
    line = path.read_text("utf-8").splitlines()[2]
    assert line == "1,A cat.,sdxl,glide,a,bob,7/1.png,7/2.png,b,false,3.0"
    built = build(preferences=path)
    assert to_dict(built, "sdxl_rate") == {"A cat.": pytest.approx(2.5 / 4)}


def test_flags_annotators_who_always_pick_left(tmp_path):
    """A running study and `pqpp build` flag the same annotators, and not fans of one model."""
    draw, votes = np.random.default_rng(0), []
    for pair in range(75):
        images = ((f"{pair}/1.png", "sdxl", 2 * pair), (f"{pair}/2.png", "glide", 2 * pair + 1))
        better = draw.choice(["a", "b"])
        for name in ("ann", "bob", "cy", "left", "glide"):
            left = draw.choice(["a", "b"])
            choice = {"left": left, "glide": "b"}.get(name, better)
            fields = {"prompt_id": f"p{pair}", "prompt": f"prompt {pair}", "images": images}
            votes.append(make_vote("", name, {"choice": choice, "left": left}, model="", **fields))
    path = write_csv(tmp_path / "preferences.csv", KIND.export_tables(votes)["preferences"])
    built = dict(build(preferences=path).preferences.flagged_voters)
    table = to_study_votes(to_frame(votes, "preference"), KIND, SETTINGS)
    people = filter_people(table, BuildOptions()).annotators
    live = {person.name: person.flag for person in people if person.flag}
    assert built == live and "chose the first image in 100% of 75" in built["left"]
    assert "chose" not in built.get("glide", "") and not {"ann", "bob", "cy"} & set(built)
