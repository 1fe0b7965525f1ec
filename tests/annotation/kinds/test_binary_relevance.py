"""The kind `relevance` with two grades: pages, ConQA's counts, and the export for `pqpp build`."""

import pytest
from support.kinds import find_error, make_item, make_vote, write_csv
from support.votes import build, to_dict

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds import get_task_kind
from pqpp_annotation.study.study import parse_study
from pqpp_metrics.functional import conqa_relevance

BINARY = {"grades": "binary"}
KIND = get_task_kind("relevance").choose_variant(BINARY)
SETTINGS = KIND.complete_settings(BINARY)


def test_accepts_relevant_not_relevant_and_unsure():
    for label in (1, 0, None):
        assert find_error(KIND, {"label": label}, make_item(1), {}) is None
    assert find_error(KIND, {"label": -1}, make_item(1), {})
    assert find_error(KIND, {"label": None}, make_item(1), {"unsure": False})
    assert KIND.get_label({"label": None}) is None and KIND.get_label({"label": 0}) == 0.0


def test_parses_expected_answers():
    assert KIND.parse_expected("not relevant", SETTINGS) == {"label": 0}
    assert KIND.parse_expected("Relevant", SETTINGS) == {"label": 1}
    assert KIND.parse_expected("unsure", SETTINGS) == {"label": None}
    with pytest.raises(AnnotationError, match=r"one of true, 1, .*; got 'unsure'"):
        KIND.parse_expected("unsure", {"unsure": False})


def make_rows(number, control=()):
    return [
        {"prompt_id": "q", "image": f"{n}.jpg", "control": "true" if n in control else ""}
        for n in range(number)
    ]


@pytest.mark.parametrize(
    ("number", "sizes"), [(50, [50]), (51, [26, 25]), (137, [46, 46, 45]), (2000, [50] * 40)]
)
def test_splits_images_into_even_pages(number, sizes):
    pages = KIND.to_items(make_rows(number), SETTINGS)
    assert [len(page) for page in pages] == sizes
    assert sorted(row["image"] for page in pages for row in page) == sorted(
        row["image"] for row in make_rows(number)
    )


def test_puts_control_images_on_their_own_page():
    # Control members rate whole items only.
    work, control = KIND.to_items(make_rows(50, control=range(0, 50, 10)), SETTINGS)
    assert [row["image"] for row in control] == ["0.jpg", "10.jpg", "20.jpg", "30.jpg", "40.jpg"]
    assert len(work) == 45


def make_votes():
    """Return two annotators' votes on five images, and a vote on a training item."""
    labels_by_image = {"1": (1, 1), "2": (1, 0), "3": (None, 1), "4": (0, 0), "5": (None, None)}
    return [
        make_vote(f"{image}.jpg", name, {"label": label}, "3", "royalty", "")
        for image, labels in labels_by_image.items()
        for name, label in zip(("ann", "bob"), labels, strict=True)
    ] + [make_vote("1.jpg", "ann", {"label": 0}, "3", "royalty", purpose="training")]


def test_exports_conqa_counts():
    rows = {row["image"]: row for row in KIND.export_tables(make_votes())["triples"]}
    names = ("relevant", "not_relevant", "unsure")
    counts = [[row[name] for name in names] for row in rows.values()]
    assert counts == [[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 2, 0], [0, 0, 2]]
    assert conqa_relevance(counts, rule="any").tolist() == [1, 1, 1, 0, 0]
    assert conqa_relevance(counts).tolist() == [1, 0, 0, 0, 0]


def test_build_reads_the_export(tmp_path):
    # Images 1, 2 and 3 are relevant; the run ranks 4, 2, 1, so P@10 is 0.2 and RR is 1/2.
    path = write_csv(tmp_path / "relevance.csv", KIND.export_tables(make_votes())["relevance"])
    assert len(path.read_text("utf-8").splitlines()) == 1 + 7
    run = tmp_path / "run.csv"
    run.write_text(
        "prompt_id,prompt,model,image,score\n"
        "3,royalty,clip,4.jpg,.9\n3,royalty,clip,2.jpg,.8\n3,royalty,clip,1.jpg,.7\n",
        "utf-8",
    )
    built = build(runs=run, relevance=path)
    assert to_dict(built, "clip_p10") == {"royalty": pytest.approx(0.2)}
    assert to_dict(built, "clip_rr") == {"royalty": 0.5}


def test_rejects_unknown_grades_and_settings():
    for grades in ("binery", ["binary"], 2.0):
        with pytest.raises(AnnotationError, match=r"task\.grades: unknown value"):
            parse_study({"name": "mine", "kind": "relevance", "task": {"grades": grades}})
    with pytest.raises(AnnotationError, match="unknown setting task"):
        parse_study({"name": "mine", "kind": "relevance", "task": {"unsure": True}})
