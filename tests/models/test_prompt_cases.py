"""300 prompts and what holds of each: `prompt_cases.yaml`, which lists those that are wrong yet."""

from pathlib import Path

import pytest
import yaml

from pqpp_backbones.prompt.prompt import Prompt
from pqpp_datasets.prompt_text import normalise
from pqpp_models import Predictor
from pqpp_models.verdict.reference import read_reference
from pqpp_models.verdict.verdict import verdict

CASES = yaml.safe_load(Path(__file__).with_name("prompt_cases.yaml").read_text("utf-8"))
WRONG = CASES.pop("wrong")
LEVELS = {"hard": {"hard", "very hard"}, "easy": {"easy", "very easy"}, "none": {"unknown", ""}}


@pytest.fixture(scope="module")
def static():
    return Predictor.from_pretrained("static")


@pytest.fixture(scope="module")
def alignment(static):
    return lambda *prompts: static.predict(prompts, "alignment")[:, 0]


def is_no_garbage(name, static, alignment):
    (rank,) = read_reference(static).rank(alignment(name))
    (ignored,) = static.predict_with_uncertainty([name]).ignored
    return "garbled" not in ignored and rank >= 5


def is_one_prompt(pair, static, alignment):
    return len({*alignment(", ".join(pair), " ".join(pair))}) == 1


def is_counted(case, static, alignment):
    prompt, other = alignment(case["prompt"], case.get("than") or case["like"])
    return prompt <= other if "than" in case else abs(prompt - other) <= 0.1


def has_no_level(tags, static, alignment):
    return verdict(tags).level in LEVELS["none"]


def is_harder(pair, static, alignment):
    unusual, usual = alignment(*pair)
    return unusual < usual


def is_said_as_people_say(case, static, alignment):
    said = verdict(case["prompt"])
    is_level = case["level"] == "open" or said.level in LEVELS[case["level"]]
    return is_level and (said.skill or "") == case["skill"]


def is_read(case, static, alignment):
    return normalise(Prompt.read(case["text"]).content) == normalise(case["content"])


def is_flag(flag, static, alignment):
    reading = Prompt.read(f"a knight {flag}")
    return reading.normalised == "a knight" and {kind for kind, _ in reading.ignored} == {"flag"}


JUDGES = {
    "names": is_no_garbage,
    "styles": is_one_prompt,
    "counting": is_counted,
    "tags": has_no_level,
    "conflicts": is_harder,
    "real": is_said_as_people_say,
    "pasted": is_read,
    "flags": is_flag,
}


@pytest.mark.parametrize("group", CASES)
def test_only_listed_cases_fail(group, static, alignment):
    judge = JUDGES[group]
    wrong = [case for case in CASES[group] if not judge(case, static, alignment)]
    assert wrong == WRONG.get(group, [])
