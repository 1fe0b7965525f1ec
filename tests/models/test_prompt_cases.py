"""300 prompts with expected properties: `prompt_cases.yaml`, which also lists known failures."""

from pathlib import Path

import pytest
import yaml

from pqpp_backbones.prompt.prompt import Prompt
from pqpp_datasets.prompt_text import normalise
from pqpp_models import Predictor
from pqpp_models.verdict.reference import read_reference
from pqpp_models.verdict.verdict import verdict

CASES = yaml.safe_load(Path(__file__).with_name("prompt_cases.yaml").read_text("utf-8"))
KNOWN_FAILURES = CASES.pop("wrong")
LEVELS = {"hard": {"hard", "very hard"}, "easy": {"easy", "very easy"}, "none": {"unknown", ""}}


@pytest.fixture(scope="module")
def static():
    return Predictor.from_pretrained("static")


@pytest.fixture(scope="module")
def alignment(static):
    return lambda *prompts: static.predict(prompts, "alignment")[:, 0]


def is_not_garbled(name, static, alignment):
    (rank,) = read_reference(static).rank(alignment(name))
    (ignored,) = static.predict_with_uncertainty([name]).ignored
    return "garbled" not in ignored and rank >= 5


def ignores_commas(pair, static, alignment):
    return len({*alignment(", ".join(pair), " ".join(pair))}) == 1


def respects_counts(case, static, alignment):
    prompt, other = alignment(case["prompt"], case.get("than") or case["like"])
    return prompt <= other if "than" in case else abs(prompt - other) <= 0.1


def has_no_level(tags, static, alignment):
    return verdict(tags).level in LEVELS["none"]


def is_harder(pair, static, alignment):
    unusual, common = alignment(*pair)
    return unusual < common


def matches_human_level(case, static, alignment):
    judged = verdict(case["prompt"])
    is_level = case["level"] == "open" or judged.level in LEVELS[case["level"]]
    return is_level and (judged.skill or "") == case["skill"]


def reads_content(case, static, alignment):
    return normalise(Prompt.read(case["text"]).content) == normalise(case["content"])


def is_flag(flag, static, alignment):
    prompt = Prompt.read(f"a knight {flag}")
    return prompt.normalised == "a knight" and {kind for kind, _ in prompt.ignored} == {"flag"}


CHECKS = {
    "names": is_not_garbled,
    "styles": ignores_commas,
    "counting": respects_counts,
    "tags": has_no_level,
    "conflicts": is_harder,
    "real": matches_human_level,
    "pasted": reads_content,
    "flags": is_flag,
}


@pytest.mark.parametrize("group", CASES)
def test_only_listed_cases_fail(group, static, alignment):
    check = CHECKS[group]
    failures = [case for case in CASES[group] if not check(case, static, alignment)]
    assert failures == KNOWN_FAILURES.get(group, [])
