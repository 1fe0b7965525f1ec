"""HWPQ: questionnaires that are checked and kept, votes that are counted and never guessed."""

import copy
import json
from pathlib import Path

import pytest

pytest.importorskip("yaml", reason="VISTAR's scores need pqpp[assess]")
Image = pytest.importorskip("PIL.Image")

from pqpp_backbones.chat.chat import Budget, Chat, Reply  # noqa: E402
from pqpp_datasets.vistar.vistar import LEVELS, flatten_questions  # noqa: E402
from pqpp_feedback.assess.pictures import Picture  # noqa: E402
from pqpp_feedback.vistar.scores.hwpq import (  # noqa: E402  # noqa: E402
    HwpqScore,
    Questionnaires,
    VoteCollector,
    hash_instruction,
    normalise_weights,
)


class Scripted(Chat):
    """Replies in order, or by a function of the request."""

    def __init__(self, replies, name="scripted"):
        self.name, self.budget, self.replies, self.asked = name, Budget(), replies, []

    def _send(self, request, told):
        self.asked.append(request)
        said = self.replies(request) if callable(self.replies) else self.replies.pop(0)
        return Reply(said)


def questionnaire(facts=3):
    def pair(level, n):
        share = round(1 / facts, 3)  # .333 three times
        node = f"{level} fact {n}"
        return {"node": node, "question_weight": share, "P": f"Is {node}?", "N": f"No {node}?"}

    return {
        name: {"level_weight": 0.25, "questions": [pair(name, n) for n in range(facts)]}
        for name in LEVELS
    }


def test_a_questionnaire_is_written_once_and_kept(tmp_path):
    writer = Scripted([json.dumps(questionnaire())])
    kept = Questionnaires(tmp_path / "q", writer)
    first = kept.get_questionnaire("a red cat")
    assert sum(q["question_weight"] for q in first["L1"]["questions"]) == pytest.approx(
        1, abs=1e-12
    )
    entry = json.loads(kept.get_path("a red cat").read_text())
    assert entry["model"] == "scripted" and entry["tries"] == 1
    assert entry["instruction_sha256"] == hash_instruction() and len(entry["date"]) == 10
    before = kept.get_path("a red cat").read_bytes()
    other = Questionnaires(tmp_path / "q", Scripted([], "another"))
    assert other.get_questionnaire("a red cat") == first  # nobody is asked, nothing is replaced
    assert kept.get_path("a red cat").read_bytes() == before
    assert writer.asked[0].schema["required"] == list(LEVELS)


def honest(request):
    """True for what asks `Is ...?`, false for what asks `No ...?`, whatever the order."""
    lines = [line.split(": ", 1) for line in request.text.splitlines()]
    return json.dumps({name: question.startswith("Is") for name, question in lines})


IMAGE = Image.new("RGB", (8, 8), "red") if hasattr(Image, "new") else None
QUESTIONS = flatten_questions(normalise_weights(questionnaire()))


def test_p_and_n_are_never_in_one_request_and_the_order_is_shuffled():
    chat = Scripted(honest)
    found = VoteCollector(chat, votes=3).collect(IMAGE, QUESTIONS)
    assert len(chat.asked) == 6
    for request in chat.asked:
        starts = {line.split(": ", 1)[1][:2] for line in request.text.splitlines()}
        assert len(starts) == 1 and len(request.text.splitlines()) == 12
    assert len({request.text for request in chat.asked}) == 6
    assert [request.seed for request in chat.asked] == [0, 1, 2] * 2
    assert found["positive"] == [[True] * 3] * 12 and found["negative"] == [[False] * 3] * 12


def test_what_is_not_readable_is_asked_again_and_only_that():
    def half(request):
        said = json.loads(honest(request))
        is_first = len(said) == 12
        return json.dumps(
            {name: "well" if is_first and name > "q5" else said[name] for name in said}
        )

    chat = Scripted(half)
    found = VoteCollector(chat, votes=1).collect(IMAGE, QUESTIONS)
    assert found["positive"] == [[True]] * 12 and found["negative"] == [[False]] * 12
    assert [len(request.text.splitlines()) for request in chat.asked] == [12, 4, 12, 4]
    silent = Scripted(lambda request: "no idea")
    assert VoteCollector(silent, votes=1).collect(IMAGE, QUESTIONS)["positive"] == [[None]] * 12
    assert len(silent.asked) == 6


def judged(evidence):
    return HwpqScore().score(evidence, Picture(Path("a.png"), "p"))


def test_score_by_hand_and_reasons():
    found = VoteCollector(Scripted(honest)).collect(IMAGE, QUESTIONS)
    evidence = {"questions": QUESTIONS, **found}
    assert judged(evidence).score == pytest.approx(1)
    one = copy.deepcopy(evidence)
    one["negative"][4] = [True, True, False]  # the second fact of L2: a third of a quarter
    said = judged(one)
    assert said.score == pytest.approx(1 - 0.25 / 3) and "L2 fact 1" in said.reason
    one["negative"][4] = [True, None, False]  # one against one: no majority says yes
    assert judged(one).score == pytest.approx(1) and "1 of 72" in judged(one).reason
    one["negative"][4] = [None] * 3
    assert judged(one).score is None and "1 questions without" in judged(one).reason
