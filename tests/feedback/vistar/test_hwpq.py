"""HWPQ: stored questionnaires, votes on questions, and the score by hand."""

import copy
import json
from pathlib import Path

import pytest

pytest.importorskip("yaml", reason="VISTAR's scores need pqpp[assess]")
Image = pytest.importorskip("PIL.Image")

from pqpp_backbones.chat.chat import Budget, Chat, Reply  # noqa: E402
from pqpp_datasets.vistar.vistar import LEVELS, flatten_questions  # noqa: E402
from pqpp_feedback.assess.pictures import Picture  # noqa: E402
from pqpp_feedback.vistar.scores.hwpq import (  # noqa: E402
    HwpqScore,
    Questionnaires,
    VoteCollector,
    hash_instruction,
    normalise_weights,
)


class ScriptedChat(Chat):
    """A chat model with given replies, or replies by a function of the request."""

    def __init__(self, replies, name="scripted"):
        self.name, self.budget, self.replies, self.asked = name, Budget(), replies, []

    def _send(self, request, _):
        self.asked.append(request)
        reply = self.replies(request) if callable(self.replies) else self.replies.pop(0)
        return Reply(reply)


def make_questionnaire(facts=3):
    def pair(level, n):
        weight = round(1 / facts, 3)  # 3 * .333 = .999, which is normalised
        node = f"{level} fact {n}"
        return {"node": node, "question_weight": weight, "P": f"Is {node}?", "N": f"No {node}?"}

    return {
        name: {"level_weight": 0.25, "questions": [pair(name, n) for n in range(facts)]}
        for name in LEVELS
    }


def test_writes_questionnaire_once(tmp_path):
    writer = ScriptedChat([json.dumps(make_questionnaire())])
    questionnaires = Questionnaires(tmp_path / "q", writer)
    first = questionnaires.get_questionnaire("a red cat")
    weights = [question["question_weight"] for question in first["L1"]["questions"]]
    assert sum(weights) == pytest.approx(1, abs=1e-12)
    entry = json.loads(questionnaires.get_path("a red cat").read_text())
    assert entry["model"] == "scripted" and entry["tries"] == 1
    assert entry["instruction_sha256"] == hash_instruction() and len(entry["date"]) == 10
    before = questionnaires.get_path("a red cat").read_bytes()
    reopened = Questionnaires(tmp_path / "q", ScriptedChat([], "another"))
    assert reopened.get_questionnaire("a red cat") == first  # without a request
    assert questionnaires.get_path("a red cat").read_bytes() == before
    assert writer.asked[0].schema["required"] == list(LEVELS)


def answer_truthfully(request):
    """Answer `Is ...?` with true and `No ...?` with false, in any order."""
    lines = [line.split(": ", 1) for line in request.text.splitlines()]
    return json.dumps({name: question.startswith("Is") for name, question in lines})


IMAGE = Image.new("RGB", (8, 8), "red") if hasattr(Image, "new") else None
QUESTIONS = flatten_questions(normalise_weights(make_questionnaire()))


def test_separates_and_shuffles_positive_and_negative_questions():
    chat = ScriptedChat(answer_truthfully)
    votes = VoteCollector(chat, votes=3).collect(IMAGE, QUESTIONS)
    assert len(chat.asked) == 6
    for request in chat.asked:
        starts = {line.split(": ", 1)[1][:2] for line in request.text.splitlines()}
        assert len(starts) == 1 and len(request.text.splitlines()) == 12
    assert len({request.text for request in chat.asked}) == 6
    assert [request.seed for request in chat.asked] == [0, 1, 2] * 2
    assert votes["positive"] == [[True] * 3] * 12 and votes["negative"] == [[False] * 3] * 12


def test_repeats_only_unreadable_answers():
    def answer_partly(request):
        answers = json.loads(answer_truthfully(request))
        is_first = len(answers) == 12
        return json.dumps(
            {name: "well" if is_first and name > "q5" else answers[name] for name in answers}
        )

    chat = ScriptedChat(answer_partly)
    votes = VoteCollector(chat, votes=1).collect(IMAGE, QUESTIONS)
    assert votes["positive"] == [[True]] * 12 and votes["negative"] == [[False]] * 12
    assert [len(request.text.splitlines()) for request in chat.asked] == [12, 4, 12, 4]
    silent = ScriptedChat(lambda request: "no idea")
    assert VoteCollector(silent, votes=1).collect(IMAGE, QUESTIONS)["positive"] == [[None]] * 12
    assert len(silent.asked) == 6


def score_evidence(evidence):
    return HwpqScore().score(evidence, Picture(Path("a.png"), "p"))


def test_score_and_reasons_by_hand():
    votes = VoteCollector(ScriptedChat(answer_truthfully)).collect(IMAGE, QUESTIONS)
    evidence = {"questions": QUESTIONS, **votes}
    assert score_evidence(evidence).score == pytest.approx(1)
    changed = copy.deepcopy(evidence)
    changed["negative"][4] = [True, True, False]  # the second fact of L2: a third of a quarter
    verdict = score_evidence(changed)
    assert verdict.score == pytest.approx(1 - 0.25 / 3) and "L2 fact 1" in verdict.reason
    for undecided in ([True, None, False], [None] * 3):
        changed["negative"][4] = undecided
        verdict = score_evidence(changed)
        assert verdict.score is None and f"{undecided.count(None)} of 72" in verdict.reason
