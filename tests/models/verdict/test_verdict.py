"""The verdict on prompts: what its sentence names, its ranks and costs, and how it is shown."""

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
    ("prompt", "why"),
    [
        ("ein Hund auf dem Tisch", "it is in German (write the prompt in English)"),
        ("asdf qwlkj zxmn", "some words are garbled (asdf, qwlkj, zxmn)"),
        ("a Zyphlo", "the word zyphlo is unknown"),
        ("Negative prompt: a cat", "it names nothing to show"),
    ],
)
def test_unread_prompts_explain_missing_verdict(prompt, why):
    assert pqpp.verdict(prompt).sentence == f"no verdict: {why}"


@pytest.mark.parametrize("name", ["castle, fog, ravens, moonlight", LONG])
def test_unreliable_prompt_kinds_have_no_rank(name):
    found = verdict(name)
    assert found.level == "unknown" and "are not reliable" in found.sentence
    assert math.isnan(found.easier_than_people) and math.isnan(found.value) and not found.costs


def test_cost_is_difference_of_two_ranks():
    predictor = Predictor.from_pretrained("static")
    reference = read_reference(predictor)
    for prompt in ("nine red dogs on a table", "a cat to the left of a dog"):
        found = verdict(prompt)
        dearest, cost = found.costs[0]
        asked = predictor.predict([dearest.plain, prompt], reference.target)[:, 0]
        plain, own = reference.rank(asked)
        assert cost == pytest.approx(plain - own) and cost > COSTS
        assert found.easier_than_people == pytest.approx(own)
        assert found.skill == dearest.name and dearest.says in found.sentence


def test_ranks_weigh_studies_equally():
    predictor = Predictor.from_pretrained("n_words")
    captions = [" ".join("a" * n) for n in range(1, 202)]
    people = {"one": captions[:101], "two": captions[100:] * 3}
    told = make_reference(predictor, captions, people)
    quantiles = map(np.array, (told["captions"], told["people"]))
    reference = VerdictReference(told["target"], *quantiles)
    ranks = reference.rank([1, 51, 101, 201], "captions")
    assert ranks == pytest.approx([0, 25, 50, 100], abs=0.6)
    # Each study weighs the same, however many prompts it has.
    assert reference.rank([101], "people") == pytest.approx([50], abs=0.6)
    assert math.isnan(reference.rank([math.nan])[0])


def test_level_follows_rounded_rank():
    found = verdict("a t-shirt that says hello world")
    assert 32.5 < found.easier_than_people < 33 and "33 of 100" in found.rank
    assert found.level == "average"


def test_blank_and_unread_prompts_have_no_rank():
    blank, cat, far = verdict(["  ", "a cat", "qwx zzyv 77"])
    assert far.level == "unknown" and far.as_record()["easier_than_people"] is None
    assert math.isnan(far.value) and cat.caveat and not far.caveat
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
    remedy = verdict("a parking lot without any cars").remedy  # its plain text says the contrary
    assert "easier than" in remedy and "cars" not in remedy


def test_html_is_an_escaped_table():
    page = verdict(["<script>alert(1)</script> nine cats", "a dog"])._repr_html_()
    assert "<script" not in page and "&lt;script&gt;" in page and page.count("<tr>") == 3
    found = verdict(["nine cats", "a dog", "an astornaut rides a horse"])
    assert found[2].sentence.endswith("unknown word: astornaut")
    assert str(found).startswith("nine cats | hard: counts nine things\na dog | "), str(found)
    table = found.as_table()[:2]
    assert list(table.columns) == ["prompt", *VERDICT_COLUMNS] and table["skill"][0] == "count"


def test_verdict_flag_adds_columns(tmp_path, capsys):
    out = tmp_path / "p.json"
    assert main(["predict", "nine cats", "", "--verdict", "--output", str(out)]) == 0
    rows = json.loads(out.read_text())
    assert rows[0]["skill"] == "count" and rows[1]["verdict"] is None
    assert set(VERDICT_COLUMNS) <= set(rows[0])
    assert main(["predict", "nine cats", "--verdict", "--predictor", "n_words"]) == 2
    assert "gives no verdicts; use static" in capsys.readouterr().err
