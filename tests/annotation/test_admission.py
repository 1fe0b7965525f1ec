"""Annotator filtering of a running study, and the detection of careless annotators."""

import random

import numpy as np
import pandas as pd
import pytest
from support.kinds import make_vote, to_frame, write_csv
from support.votes import build

from pqpp_annotation.demo import Persona
from pqpp_annotation.kinds import get_task_kind
from pqpp_annotation.kinds.rich.kind import RICH_SCORES
from pqpp_annotation.protocol.admission import filter_people, to_study_votes
from pqpp_annotation.protocol.signals import find_careless_people
from pqpp_datasets.own_benchmark.options import BuildOptions

SETTINGS = {"relevance": {}, "rating": {"low": 1, "high": 5}}


def simulate_votes(people, kind_name="relevance", prompts=60, seed=0, share=0.7):
    """Return simulated votes, by each person on a share of the prompts and all control prompts."""
    kind, draw = get_task_kind(kind_name), random.Random(seed)
    labels = kind.list_choices(SETTINGS[kind_name])
    images = ("a_0", "a_1", "b_0", "reference")
    truth = {(p, i): draw.random() for p in range(prompts) for i in images}
    truth |= {(p, "reference"): 0.99 for p in range(prompts)}
    votes = []
    for person in people:
        rated = [p for p in range(prompts) if p % 4 == 0 or draw.random() < share]
        if person.role == "control":
            rated = [p for p in rated if p % 4 == 0]
        for p in rated:
            for image in images:
                level = person.draw_label(truth[p, image], len(labels), draw)
                model = image.partition("_")[0]
                fields = {"prompt_id": f"p{p}", "prompt": f"prompt {p}", "model": model}
                fields["purpose"] = "control" if p % 4 == 0 else "work"
                fields["is_control"] = person.role == "control"
                votes.append(make_vote(f"{p}/{image}.png", person.name, labels[level], **fields))
    return votes


PEOPLE = [
    Persona("member-1", noise=0.05, role="control"),
    Persona("member-2", noise=0.05, role="control"),
    *(Persona(f"honest-{n}", noise=n / 20) for n in range(5)),
    Persona("random", "random"),
    Persona("constant", "constant"),
]


@pytest.mark.parametrize("kind_name", ["relevance", "rating"])
@pytest.mark.parametrize("with_control", [True, False])
@pytest.mark.parametrize("rules", [{}, {"min_kappa": 0.7}, {"exclude": "flagged"}])
def test_live_filtering_agrees_with_build(tmp_path, kind_name, with_control, rules):
    kind, settings = get_task_kind(kind_name), SETTINGS[kind_name]
    people = [x for x in PEOPLE if with_control or x.role != "control"]
    votes = simulate_votes(people, kind_name)
    table = to_study_votes(to_frame(votes, kind_name), kind, settings)
    result = filter_people(table, BuildOptions(best=2, **rules))
    path = write_csv(tmp_path / "judgments.csv", kind.export_tables(votes)["judgments"])
    built = build(path, scale=kind.get_scale(settings), best=2, **rules).generation
    assert [x.name for x in result.annotators] == [x.name for x in built.annotators]
    for live, offline in zip(result.annotators, built.annotators, strict=True):
        assert live.reasons == offline.reasons and live.flag == offline.flag
        assert live.reference_share == pytest.approx(offline.reference_share, abs=1e-12)
        assert live.kappas == pytest.approx(offline.kappas, abs=1e-12)
        assert live.control_images == offline.control_images
    agreements = (result.agreements.agreement, built.agreements.agreement)
    np.testing.assert_allclose(*agreements, rtol=0, atol=1e-12)
    assert result.counted.tolist() == built.counted.tolist()


def test_order_of_image_ids_does_not_matter_for_pairs():
    draw, names = np.random.default_rng(0), ["member", "anna", "bert"]
    better = draw.choice([1.0, -1.0], (60, 1), p=[0.8, 0.2])
    label = better * draw.choice([1.0, -1.0], (60, 3), p=[0.85, 0.15])
    turned, results = draw.random((60, 3)) < 0.5, []
    for sign in (np.ones((60, 1)), draw.choice([1.0, -1.0], (60, 1))):
        ids = np.repeat(np.arange(60), 3).astype(str)
        table = pd.DataFrame({"image": ids, "annotator": names * 60, "prompt_id": ids})
        table = table.assign(label=(sign * label).ravel(), turned=(turned ^ (sign < 0)).ravel())
        table = table.assign(control=table["annotator"] == "member", model="", seconds=3.0)
        votes = to_study_votes(table, get_task_kind("preference"), {})
        result = filter_people(votes, BuildOptions(min_kappa=-1))
        kappas = [person.kappa for person in result.annotators]
        results.append([*kappas, result.alpha, result.ac1, *result.agreements.agreement])
    assert results[0] == pytest.approx(results[1], abs=1e-12)
    # Without ties, kappa is the share of equal choices minus that of different ones.
    assert results[0][:2] == pytest.approx((label[:, [0]] * label[:, 1:]).mean(axis=0))


def test_exclude_flagged_refuses_flagged_annotators():
    people = [x for x in PEOPLE if x.role != "control"]
    votes = [x for x in simulate_votes(people) if x.model != "reference"]
    table = to_study_votes(to_frame(votes, "relevance"), get_task_kind("relevance"), {})
    default = filter_people(table, BuildOptions())
    assert not any(x.reasons for x in default.annotators)
    flagged = {x.name for x in default.annotators if x.flag}
    assert {"random", "constant"} <= flagged
    strict = filter_people(table, BuildOptions(exclude="flagged"))
    assert {x.name for x in strict.annotators if x.reasons} == flagged


def test_honest_annotators_are_never_flagged_as_careless():
    """In 20 studies, checked after every two prompts, only careless annotators are flagged."""
    false_alarms, n_found = 0, []
    for seed in range(20):
        people = [person for person in PEOPLE if person.role != "control"]
        votes = simulate_votes(people, "rating", 60, seed)
        table = to_frame(votes, "rating")
        for n_prompts in range(2, 61, 2):
            part = table[table["prompt_id"].str[1:].astype(int) < n_prompts]
            careless = set(find_careless_people(part, get_task_kind("rating")))
            false_alarms += len(careless - {"random", "constant"})
        n_found.append(len(careless))
    assert false_alarms == 0 and n_found == [2] * 20


def test_flags_random_points_random_words_and_constant_answers():
    draw, votes = np.random.default_rng(0), []
    for image in range(60):
        place, score = draw.random(2).tolist(), int(draw.integers(1, 6))
        for name in ("ann", "bob", "cy", "points", "words", "lazy"):
            random_point = draw.random(2).tolist()
            words = [int(draw.integers(7)) if name == "words" else image % 7]
            value = {"misaligned": [], "words": words}
            value["implausible"] = [random_point if name == "points" else place]
            value |= {"scores": dict.fromkeys(RICH_SCORES, score), "inappropriate": False}
            if name == "lazy":  # marks nothing, and gives one score to all
                scores = dict.fromkeys(RICH_SCORES, 3)
                value |= {"implausible": [], "words": [], "scores": scores}
            fields = {"prompt_id": f"p{image}", "prompt": "a cat and two dogs at night"}
            votes.append(make_vote(f"{image}.png", name, value, **fields))
    careless = find_careless_people(to_frame(votes, "rich"), get_task_kind("rich"))
    assert careless.keys() == {"points", "words", "lazy"}
    assert "points" in str(careless["points"]) and "words" in str(careless["words"])


def test_flags_answers_faster_than_reading():
    votes = [x for x in simulate_votes(PEOPLE[2:5], "rating", 30) if x.model != "reference"]
    table = to_frame(votes, "rating")  # three images and two words: 1.37 s
    seconds = table["annotator"].map({"honest-0": 1.3, "honest-1": 1.5, "honest-2": 0.0})
    kind, table = get_task_kind("rating"), table.assign(spent=seconds)
    assert [*find_careless_people(table, kind)] == ["honest-0"]
    with np.errstate(all="raise"):  # also if all votes are equal
        find_careless_people(table.assign(label=3), kind)
