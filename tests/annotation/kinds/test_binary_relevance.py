"""Relevant or not: ConQA's triples, PQPP's pages of candidates, what `pqpp build` reads."""

import pytest
from support.kinds import answer_error, shown, vote, write_csv
from support.votes import build, scores

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds import get_task_kind
from pqpp_annotation.study.study import parse_study
from pqpp_metrics.functional import conqa_relevance

BINARY = {"grades": "binary"}
KIND = get_task_kind("relevance").choose_variant(BINARY)
SETTINGS = KIND.complete_settings(BINARY)


def test_answers():
    for label in (1, 0, None):
        assert answer_error(KIND, {"label": label}, shown(1), {}) is None
    assert answer_error(KIND, {"label": -1}, shown(1), {})
    assert answer_error(KIND, {"label": None}, shown(1), {"unsure": False})
    assert KIND.get_label({"label": None}) is None and KIND.get_label({"label": 0}) == 0.0


def test_expected():
    assert KIND.parse_expected("not relevant", SETTINGS) == {"label": 0}
    assert KIND.parse_expected("Relevant", SETTINGS) == {"label": 1}
    assert KIND.parse_expected("unsure", SETTINGS) == {"label": None}
    with pytest.raises(AnnotationError, match=r"one of true, 1, .*; got 'unsure'"):
        KIND.parse_expected("unsure", {"unsure": False})


def rows(number, control=()):
    return [
        {"prompt_id": "q", "image": f"{n}.jpg", "control": "true" if n in control else ""}
        for n in range(number)
    ]


@pytest.mark.parametrize(
    ("number", "sizes"), [(50, [50]), (51, [26, 25]), (137, [46, 46, 45]), (2000, [50] * 40)]
)
def test_pages(number, sizes):
    pages = KIND.to_items(rows(number), SETTINGS)
    assert [len(page) for page in pages] == sizes
    assert sorted(row["image"] for page in pages for row in page) == sorted(
        row["image"] for row in rows(number)
    )


def test_batch_of_45_results_and_5_controls():
    """Controls are an item of their own, as an item is judged by the control members or is not."""
    work, control = KIND.to_items(rows(50, control=range(0, 50, 10)), SETTINGS)
    assert [row["image"] for row in control] == ["0.jpg", "10.jpg", "20.jpg", "30.jpg", "40.jpg"]
    assert len(work) == 45


def votes():
    """Of five images one is relevant to both, one to one, one unsure and relevant, two to none."""
    said = {"1": (1, 1), "2": (1, 0), "3": (None, 1), "4": (0, 0), "5": (None, None)}
    return [
        vote(f"{image}.jpg", name, {"label": label}, "3", "royalty", "")
        for image, labels in said.items()
        for name, label in zip(("ann", "bob"), labels, strict=True)
    ] + [vote("1.jpg", "ann", {"label": 0}, "3", "royalty", purpose="training")]


def test_triples():
    found = {row["image"]: row for row in KIND.export_tables(votes())["triples"]}
    names = ("relevant", "not_relevant", "unsure")
    counts = [[row[name] for name in names] for row in found.values()]
    assert counts == [[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 2, 0], [0, 0, 2]]
    assert conqa_relevance(counts, rule="any").tolist() == [1, 1, 1, 0, 0]
    assert conqa_relevance(counts).tolist() == [1, 0, 0, 0, 0]


def test_export_is_read_by_build(tmp_path):
    """By hand: relevant are 1, 2 and 3; the run shows 4, 2, 1, so P@10 is .2 and RR 1/2."""
    path = write_csv(tmp_path / "relevance.csv", KIND.export_tables(votes())["relevance"])
    assert len(path.read_text("utf-8").splitlines()) == 1 + 7
    run = tmp_path / "run.csv"
    run.write_text(
        "prompt_id,prompt,model,image,score\n"
        "3,royalty,clip,4.jpg,.9\n3,royalty,clip,2.jpg,.8\n3,royalty,clip,1.jpg,.7\n",
        "utf-8",
    )
    built = build(runs=run, relevance=path)
    assert scores(built, "clip_p10") == {"royalty": pytest.approx(0.2)}
    assert scores(built, "clip_rr") == {"royalty": 0.5}


def test_grades_that_there_are_not_are_refused():
    for grades in ("binery", ["binary"], 2.0):
        with pytest.raises(AnnotationError, match=r"task\.grades: unknown value"):
            parse_study({"name": "mine", "kind": "relevance", "task": {"grades": grades}})
    with pytest.raises(AnnotationError, match="unknown setting task"):
        parse_study({"name": "mine", "kind": "relevance", "task": {"unsure": True}})
