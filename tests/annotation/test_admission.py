"""Who is admitted while a study runs: the very figures of `pqpp build` on the export."""

import random

import numpy as np
import pytest
from support.kinds import frame_of, vote, write_csv
from support.votes import build

from pqpp_annotation.demo import Persona
from pqpp_annotation.kinds import get_task_kind
from pqpp_annotation.kinds.rich.kind import RICH_SCORES
from pqpp_annotation.protocol.admission import filter_people, to_study_votes
from pqpp_annotation.protocol.signals import find_careless_people
from pqpp_datasets.own_benchmark.options import BuildOptions

SETTINGS = {"relevance": {}, "rating": {"low": 1, "high": 5}}


def votes_of(people, kind_name="relevance", prompts=60, seed=0, share=0.7):
    """Votes of people made up, each on a share of the prompts, all on the control prompts."""
    kind, draw = get_task_kind(kind_name), random.Random(seed)
    labels = kind.list_choices(SETTINGS[kind_name])
    images = ("a_0", "a_1", "b_0", "reference")
    truth = {(p, i): draw.random() for p in range(prompts) for i in images}
    truth |= {(p, "reference"): 0.99 for p in range(prompts)}
    found = []
    for one in people:
        own = [p for p in range(prompts) if p % 4 == 0 or draw.random() < share]
        if one.role == "control":
            own = [p for p in own if p % 4 == 0]
        for p in own:
            for image in images:
                level = one.draw_label(truth[p, image], len(labels), draw)
                model = image.partition("_")[0]
                about = {"prompt_id": f"p{p}", "prompt": f"prompt {p}", "model": model}
                about["purpose"] = "control" if p % 4 == 0 else "work"
                about["is_control"] = one.role == "control"
                found.append(vote(f"{p}/{image}.png", one.name, labels[level], **about))
    return found


CROWD = [
    Persona("member-1", noise=0.05, role="control"),
    Persona("member-2", noise=0.05, role="control"),
    *(Persona(f"honest-{n}", noise=n / 20) for n in range(5)),
    Persona("random", "random"),
    Persona("constant", "constant"),
]


def exported(votes, folder, kind_name="relevance"):
    """Write the judgments of the export."""
    rows = get_task_kind(kind_name).export_tables(votes)["judgments"]
    return write_csv(folder / "judgments.csv", rows)


@pytest.mark.parametrize("kind_name", ["relevance", "rating"])
@pytest.mark.parametrize("with_control", [True, False])
@pytest.mark.parametrize("rules", [{}, {"min_kappa": 0.7}, {"exclude": "flagged"}])
def test_live_admission_is_that_of_build(tmp_path, kind_name, with_control, rules):
    kind, settings = get_task_kind(kind_name), SETTINGS[kind_name]
    people = [one for one in CROWD if with_control or one.role != "control"]
    votes = votes_of(people, kind_name)
    found = filter_people(
        to_study_votes(frame_of(votes, kind_name), kind, settings), BuildOptions(best=2, **rules)
    )
    path = exported(votes, tmp_path, kind_name)
    built = build(path, scale=kind.get_scale(settings), best=2, **rules).generation
    assert [one.name for one in found.annotators] == [one.name for one in built.annotators]
    for live, offline in zip(found.annotators, built.annotators, strict=True):
        assert live.reasons == offline.reasons and live.flag == offline.flag
        assert live.reference_share == pytest.approx(offline.reference_share, abs=1e-12)
        assert live.kappas == pytest.approx(offline.kappas, abs=1e-12)
        assert live.control_images == offline.control_images
    agreements = (found.agreements.agreement, built.agreements.agreement)
    np.testing.assert_allclose(*agreements, rtol=0, atol=1e-12)
    assert found.counted.tolist() == built.counted.tolist()


def test_without_control_the_bad_are_flagged_and_refused_where_that_is_asked():
    people = [one for one in CROWD if one.role != "control"]
    votes = [one for one in votes_of(people) if one.model != "reference"]
    table = to_study_votes(frame_of(votes, "relevance"), get_task_kind("relevance"), {})
    told = filter_people(table, BuildOptions())
    assert not any(one.reasons for one in told.annotators)
    assert {"random", "constant"} <= {one.name for one in told.annotators if one.flag}
    asked = filter_people(table, BuildOptions(exclude="flagged"))
    assert {one.name for one in asked.annotators if one.reasons} == {
        one.name for one in told.annotators if one.flag
    }


def test_only_the_bad_are_ever_proven_however_often_one_looks():
    """Twenty studies, looked at after every two prompts; the honest err up to once in five."""
    wrongly, late = 0, []
    for seed in range(20):
        votes = votes_of([one for one in CROWD if one.role != "control"], "rating", 60, seed)
        table = frame_of(votes, "rating")
        for seen in range(2, 61, 2):
            part = table[table["prompt_id"].str[1:].astype(int) < seen]
            proven = set(find_careless_people(part, get_task_kind("rating")))
            wrongly += len(proven - {"random", "constant"})
        late.append(len(proven))
    assert wrongly == 0 and late == [2] * 20


def test_points_and_words_at_random_and_lazy_people_are_named():
    draw, votes = np.random.default_rng(0), []
    for image in range(60):
        place, score = draw.random(2).tolist(), int(draw.integers(1, 6))
        for name in ("ann", "bob", "cy", "points", "words", "lazy"):
            anywhere = draw.random(2).tolist()
            value = {
                "misaligned": [],
                "words": [int(draw.integers(7)) if name == "words" else image % 7],
            }
            value["implausible"] = [anywhere if name == "points" else place]
            value |= {"scores": dict.fromkeys(RICH_SCORES, score), "inappropriate": False}
            if name == "lazy":  # marks nothing, and gives one score to all
                scores = dict.fromkeys(RICH_SCORES, 3)
                value |= {"implausible": [], "words": [], "scores": scores}
            about = {"prompt_id": f"p{image}", "prompt": "a cat and two dogs at night"}
            votes.append(vote(f"{image}.png", name, value, **about))
    found = find_careless_people(frame_of(votes, "rich"), get_task_kind("rich"))
    assert found.keys() == {"points", "words", "lazy"}
    assert "points" in str(found["points"]) and "words" in str(found["words"])


def test_haste_is_told_by_the_words_and_images():
    votes = [one for one in votes_of(CROWD[2:5], "rating", 30) if one.model != "reference"]
    table = frame_of(votes, "rating")  # three images and two words: 1.37 s
    who = table["annotator"].map({"honest-0": 1.3, "honest-1": 1.5, "honest-2": 0.0})
    assert [*find_careless_people(table.assign(spent=who), get_task_kind("rating"))] == ["honest-0"]
    with np.errstate(all="raise"):  # also where all say the same
        find_careless_people(table.assign(spent=who, label=3), get_task_kind("rating"))
