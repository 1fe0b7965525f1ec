"""Verdicts: sentences, ranks, costs and output."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

import pqpp
from pqpp_cli.main import main
from pqpp_models import Predictor
from pqpp_models.text.training.reference import make_reference
from pqpp_models.verdict.reference import VerdictReference, read_reference
from pqpp_models.verdict.skills import find_skills
from pqpp_models.verdict.verdict import COSTS, VERDICT_COLUMNS, verdict

CASES = [
    (row["prompt"], row["names"], row["never"])
    for row in csv.DictReader(
        Path(__file__).with_name("cases.tsv").open(encoding="utf-8"),
        delimiter="\t",
        quoting=csv.QUOTE_NONE,
    )
]

LONG = (
    "an old man in a grey coat walks along a quiet street in the rain with a small dog while a "
    "woman on a balcony waters her flowers and two children play behind a green gate"
)


@pytest.fixture(scope="module")
def verdicts():
    return dict(zip([case[0] for case in CASES], verdict([case[0] for case in CASES]), strict=True))


@pytest.mark.parametrize(("prompt", "names", "never"), CASES)
def test_sentence_names_only_present_skills(verdicts, prompt, names, never):
    sentence = verdicts[prompt].sentence
    assert all(part in sentence for part in names.split(";")), sentence
    assert not [part for part in never.split(";") if part and part in sentence], sentence


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("ein Hund auf dem Tisch", "it is in German (write the prompt in English)"),
        ("asdf qwlkj zxmn", "some words are garbled (asdf, qwlkj, zxmn)"),
        ("a Zyphlo", "the word zyphlo is unknown"),
        ("Negative prompt: a cat", "it names nothing to show"),
    ],
)
def test_unread_prompts_explain_missing_verdict(prompt, reason):
    assert pqpp.verdict(prompt).sentence == f"no verdict: {reason}"


@pytest.mark.parametrize("name", ["castle, fog, ravens, moonlight", LONG])
def test_unreliable_prompt_kinds_have_no_rank(name):
    judged = verdict(name)
    assert judged.level == "unknown" and "are not reliable" in judged.sentence
    assert math.isnan(judged.easier_than_people) and math.isnan(judged.value) and not judged.costs


def test_cost_is_difference_of_two_ranks():
    predictor = Predictor.from_pretrained("static")
    reference = read_reference(predictor)
    for prompt in ("nine red dogs on a table", "a cat to the left of a dog"):
        judged = verdict(prompt)
        skill, cost = judged.costs[0]
        values = predictor.predict([skill.plain, prompt], reference.target)[:, 0]
        plain_rank, rank = reference.rank(values)
        assert cost == pytest.approx(plain_rank - rank) and cost > COSTS
        assert judged.easier_than_people == pytest.approx(rank)
        assert judged.skill == skill.name and skill.says in judged.sentence


def test_ranks_weigh_studies_equally():
    predictor = Predictor.from_pretrained("n_words")
    captions = [" ".join("a" * n) for n in range(1, 202)]
    people = {"one": captions[:101], "two": captions[100:] * 3}
    facts = make_reference(predictor, captions, people)
    quantiles = map(np.array, (facts["captions"], facts["people"]))
    reference = VerdictReference(facts["target"], *quantiles)
    ranks = reference.rank([1, 51, 101, 201], "captions")
    assert ranks == pytest.approx([0, 25, 50, 100], abs=0.6)
    # Each study has the same weight, regardless of its number of prompts.
    assert reference.rank([101], "people") == pytest.approx([50], abs=0.6)
    assert math.isnan(reference.rank([math.nan])[0])


def test_level_follows_rounded_rank():
    judged = verdict("a t-shirt that says hello world")
    assert 32.5 < judged.easier_than_people < 33 and "33 of 100" in judged.rank
    assert judged.level == "average"


def test_blank_and_unread_prompts_have_no_rank():
    blank, cat, unread = verdict(["  ", "a cat", "qwx zzyv 77"])
    assert unread.level == "unknown" and unread.as_record()["easier_than_people"] is None
    assert math.isnan(unread.value) and cat.caveat and not unread.caveat
    assert (blank.sentence, blank.level, math.isnan(blank.value)) == ("", "", True)
    assert cat == verdict("a cat") and not verdict([])


def test_plain_prompt_removes_the_skill():
    for prompt, name, plain in (
        ("nine dogs on a mat", "count", "dogs on a mat"),
        ("a room with no chairs", "negation", "a room with chairs"),
        ("a cat left of a dog", "relation", "a cat near a dog"),
        ("a sign that says 'STOP'", "text", "a sign"),
        ("a mouse bigger than a house", "comparison", "a mouse near a house"),
        ("an orange tiger with blue stripes", "conflict", "an orange tiger with stripes"),
        ("a cat, a dog and a bird on a mat", "subjects", "a cat on a mat"),
    ):
        assert {skill.name: skill.plain for skill in find_skills(prompt)}[name] == plain
    # The plain text of a negation has the opposite meaning, so the remedy does not quote it.
    remedy = verdict("a parking lot without any cars").remedy
    assert "easier than" in remedy and "cars" not in remedy


def test_html_is_an_escaped_table():
    page = verdict(["<script>alert(1)</script> nine cats", "a dog"])._repr_html_()
    assert "<script" not in page and "&lt;script&gt;" in page and page.count("<tr>") == 3
    judged = verdict(["nine cats", "a dog", "an astornaut rides a horse"])
    assert judged[2].sentence.endswith("unknown word: astornaut")
    assert str(judged).startswith("nine cats | hard: counts nine things\na dog | "), str(judged)
    table = judged.as_table()[:2]
    assert list(table.columns) == ["prompt", *VERDICT_COLUMNS] and table["skill"][0] == "count"


def test_verdict_flag_adds_columns(tmp_path, capsys):
    out = tmp_path / "p.json"
    assert main(["predict", "nine cats", "", "--verdict", "--output", str(out)]) == 0
    rows = json.loads(out.read_text())
    assert rows[0]["skill"] == "count" and rows[1]["verdict"] is None
    assert set(VERDICT_COLUMNS) <= set(rows[0])
    assert main(["predict", "nine cats", "--verdict", "--predictor", "n_words"]) == 2
    assert "gives no verdicts; use static" in capsys.readouterr().err
