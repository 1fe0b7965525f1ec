"""The choices that the paper leaves open: each has a reason, a use, and a line in the card."""

from pathlib import Path

import pytest

pytest.importorskip("yaml", reason="VISTAR's scores need pqpp[assess]")

import pqpp_feedback.vistar
from pqpp_feedback.vistar.choices import card, choices, stated

CODE = "".join(
    path.read_text("utf-8") for path in Path(pqpp_feedback.vistar.__file__).parent.rglob("*.py")
)


@pytest.mark.parametrize("one", stated(), ids=lambda one: f"{one['score']}.{one['name']}")
def test_each_has_a_reason_and_is_used(one):
    assert len(one["why"]) > 20
    assert f'["{one["name"]}"]' in CODE


def test_the_card_quotes_them_all():
    text = card()
    for one in stated():
        assert f"| {one['score']} | {one['name']} |" in text.replace("\\_", "_")
    assert "after VISTAR" in text


def test_choices_cannot_be_changed_by_chance():
    with pytest.raises(TypeError):
        choices("light")["phrases"] = {}
