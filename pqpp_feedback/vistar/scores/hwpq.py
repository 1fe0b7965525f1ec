"""HWPQ: the weighted share of facts whose two questions a vision-language model answers correctly.

A language model writes one questionnaire per prompt, which is checked, stored and never replaced.
"""

import contextlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from pqpp_backbones.chat.chat import Chat, Request, hash_pixels, parse_json_reply
from pqpp_backbones.errors import ServiceError
from pqpp_backbones.pretrained import ModelId
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.vistar.vistar import LEVELS, flatten_questions, validate_questionnaire
from pqpp_feedback.assess.assessor import Verdict, make_rng
from pqpp_feedback.assess.pictures import Picture, open_pictures
from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.vistar.choices import load_params
from pqpp_feedback.vistar.score import VistarScore
from pqpp_feedback.vistar.vision import Vision
from pqpp_files.atomic_write import write_file
from pqpp_files.foreign.json_values import read_json
from pqpp_files.hashes import hash_parts
from pqpp_files.paths import expand
from pqpp_metrics.functional.vistar import hwpq

INSTRUCTION = Path(__file__).parents[1] / "instruction.txt"
SCHEMA = Path(__file__).parents[3] / "pqpp_datasets" / "vistar" / "questionnaire.schema.json"


def hash_instruction() -> str:
    """Return the hash of the language model's instruction.

    Example:
        >>> len(hash_instruction())
        64
    """
    return hash_parts([INSTRUCTION.read_text("utf-8")])


class Questionnaires:
    """A folder with one questionnaire per prompt.

    Args:
        folder: The folder; created if missing.
        writer: The model that writes missing questionnaires.

    Example:
        >>> import tempfile
        >>> Questionnaires(tempfile.mkdtemp(), None).get_path("a cat").is_file()
        False
    """

    def __init__(self, folder: str | Path, writer: Chat) -> None:
        self.folder, self.writer = expand(folder), writer

    def get_path(self, prompt: str) -> Path:
        """Return the file of a prompt."""
        return self.folder / f"{hash_parts([prompt])[:32]}.json"

    def get_questionnaire(self, prompt: str) -> dict[str, Any]:
        """Return a prompt's questionnaire, writing it if missing.

        Raises:
            FeedbackError: The questionnaire is not usable.
            ServiceError: The language model does not reply.
        """
        path = self.get_path(prompt)
        if path.is_file():
            try:
                entry = read_json(path)
                if entry.get("prompt") != prompt:
                    raise ValueError("the file is for another prompt")
                validate_questionnaire(entry.get("questionnaire"))
            except (ValueError, AttributeError) as error:
                problem = f"{path} is not a usable questionnaire ({str(error)[:120]})"
                raise FeedbackError(f"{problem}; remove the file and run again") from None
            return entry["questionnaire"]
        questionnaire, tries = write_questionnaire(self.writer, prompt)
        entry = {
            "prompt": prompt,
            "model": self.writer.name,
            "instruction_sha256": hash_instruction(),
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "tries": tries,
            "questionnaire": questionnaire,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps(entry, ensure_ascii=False, indent=1))
        return questionnaire


def write_questionnaire(writer: Chat, prompt: str) -> tuple[dict[str, Any], int]:
    """Let a language model write a questionnaire; return it with the number of attempts.

    Each new request includes the problem of the last reply. The sum of the weights may differ from
    1 by 1e-3, and is then normalised.

    Raises:
        FeedbackError: No attempt gave a usable questionnaire.

    Example:
        >>> from types import SimpleNamespace
        >>> pair = {"node": "cat", "question_weight": 1.0, "P": "A cat?", "N": "No cat?"}
        >>> level = {"level_weight": 0.25, "questions": [pair]}
        >>> reply = SimpleNamespace(text=json.dumps({name: level for name in LEVELS}))
        >>> writer = SimpleNamespace(name="writer", ask=lambda request: reply)
        >>> questionnaire, tries = write_questionnaire(writer, "a cat")
        >>> questionnaire["L1"]["questions"][0]["node"], tries
        ('cat', 1)
    """
    tries, problem, correction = load_params("hwpq")["questionnaire_tries"], "", ""
    for seed in range(tries):
        reply = writer.ask(_build_request(prompt, correction, seed)).text
        try:
            return normalise_weights(parse_json_reply(reply)), seed + 1
        except ValueError as error:
            problem = " ".join(str(error).split())[:300]
            correction = f"\n\nYour last reply could not be used: {problem}. Reply again."
    fault = f"{writer.name} wrote no usable questionnaire ({problem})"
    raise FeedbackError(f"{fault}; let another model write it")


def _build_request(prompt: str, correction: str = "", seed: int = 0) -> Request:
    text, instruction = f"The prompt:\n{prompt}{correction}", INSTRUCTION.read_text("utf-8")
    return Request(text, instruction, None, read_json(SCHEMA), seed, max_tokens=4096)


def normalise_weights(questionnaire: Any) -> dict[str, Any]:
    """Return a questionnaire with weights that sum to exactly 1.

    Raises:
        BenchmarkError: The questionnaire is invalid, or the sum of its weights differs from 1 by
            more than 1e-3.

    Example:
        >>> pair = {"node": "cat", "question_weight": 0.9995, "P": "A cat?", "N": "No cat?"}
        >>> level = {"level_weight": 0.25, "questions": [pair]}
        >>> questionnaire = normalise_weights({name: level for name in LEVELS})
        >>> questionnaire["L1"]["questions"][0]["question_weight"]
        1.0
    """
    levels = []
    try:
        for name in LEVELS:
            questions = _normalise(questionnaire[name]["questions"], "question_weight", name)
            levels.append({**questionnaire[name], "questions": questions})
        levels = _normalise(levels, "level_weight", "the four levels")
    except (TypeError, KeyError):
        raise BenchmarkError("the reply is not a JSON object in the requested form") from None
    checked = {**questionnaire, **dict(zip(LEVELS, levels, strict=True))}
    validate_questionnaire(checked)
    return checked


def _normalise(entries: Any, name: str, where: str) -> list[dict[str, Any]]:
    total = math.fsum(entry[name] for entry in entries)
    if not abs(total - 1) <= load_params("hwpq")["weight_tolerance"]:
        raise BenchmarkError(f"`{name}` of {where} must sum to 1; got {total:g}")
    return [{**entry, name: entry[name] / total} for entry in entries]


SIDES = ("positive", "negative")
SYSTEM = (
    "You look at one image and answer questions about it from what can be seen. Answer each "
    'question by true or false. Reply with one JSON object like {"q1": true, "q2": false} that '
    "has every question once, and nothing else."
)


class VoteCollector:
    """A collector of a vision-language model's answers to questions.

    Args:
        votes: Number of votes on each question.
    """

    def __init__(self, chat: Chat, votes: int = 3) -> None:
        self.chat, self.votes = chat, votes

    def collect(self, image: Any, questions: dict[str, list]) -> dict[str, Any]:
        """Return the votes on each `positive` and `negative` question; unreadable votes are None.

        Args:
            image: An RGB image (PIL).
            questions: The output of `pqpp_datasets.vistar.vistar.flatten_questions`.

        Raises:
            ServiceError: The model does not reply.
        """
        answers: dict[str, Any] = {side: [[] for _ in questions[side]] for side in SIDES}
        for side, seed, unanswered, request in self.make_requests(image, questions):
            votes: dict[int, bool | None] = {}
            for attempt in range(load_params("hwpq")["answer_tries"]):
                if unanswered:  # ask unreadable answers again
                    if attempt:
                        texts = [questions[side][n] for n in unanswered]
                        request = make_request(image, texts, seed + attempt * self.votes)
                    parsed = parse_answers(self.chat.ask(request).text, len(unanswered))
                    votes |= dict(zip(unanswered, parsed, strict=True))
                    unanswered = [n for n in unanswered if votes[n] is None]
            for number, vote in votes.items():
                answers[side][number].append(vote)
        return answers

    def make_requests(
        self, image: Any, questions: Mapping[str, list]
    ) -> Iterator[tuple[str, int, list[int], Request]]:
        """Yield the side, seed, order of questions and first request of each vote."""
        pixels = hash_pixels(image)
        for side, seed in itertools.product(SIDES, range(self.votes)):
            # Shuffled, so that no question is always asked first.
            order = make_rng(pixels, side, seed).permutation(len(questions[side])).tolist()
            yield side, seed, order, make_request(image, [questions[side][n] for n in order], seed)


def make_request(image: Any, questions: Sequence[str], seed: int) -> Request:
    r"""Return a request with questions about an image.

    Example:
        >>> make_request(None, ["A cat?", "A dog?"], 0).text
        'q1: A cat?\nq2: A dog?'
    """
    params, names = load_params("hwpq"), [f"q{number}" for number in range(1, len(questions) + 1)]
    schema = {
        "type": "object",
        "properties": {name: {"type": "boolean"} for name in names},
        "required": names,
        "additionalProperties": False,
    }
    text = "\n".join(map(": ".join, zip(names, questions, strict=True)))
    max_tokens = 64 + params["tokens_an_answer"] * len(names)
    return Request(text, SYSTEM, image, schema, seed, params["temperature"], max_tokens)


def parse_answers(text: str, number: int) -> list[bool | None]:
    """Return the answers of a reply; anything but true or false is None.

    Example:
        >>> parse_answers('{"q1": true, "q2": "maybe"}', 3), parse_answers("Yes, it does.", 1)
        ([True, None, None], [None])
    """
    reply: Any = None
    with contextlib.suppress(ValueError):
        reply = parse_json_reply(text)
    reply = reply if isinstance(reply, dict) else {}
    answers = [reply.get(f"q{index}") for index in range(1, number + 1)]
    return [answer if isinstance(answer, bool) else None for answer in answers]


_TYPICAL_QUESTIONS = ["Is the thing that the prompt names there, as it says?"] * 12


class HwpqScore(VistarScore):
    """The score from hierarchical weighted questions, for VISTAR's abstract angles (section 3.4).

    Args:
        questionnaires: The prompts' questionnaires; not needed to score stored evidence.
        answers: The collector of answers; not needed to score stored evidence.
    """

    angles: ClassVar = ("SF", "CUL", "MA")
    is_default = False  # it needs a chat model

    def __init__(
        self, questionnaires: Questionnaires | None = None, answers: VoteCollector | None = None
    ) -> None:
        super().__init__()
        self._questionnaires: Any = questionnaires
        self._answers: Any = answers
        self.chat = answers.chat if answers else None
        if answers and questionnaires:
            self.models["answers"] = ModelId(answers.chat.name)
            self.models["questions"] = ModelId(questionnaires.writer.name)

    @classmethod
    def from_options(cls, vision: Vision | None, options: Any) -> Self:
        """Return the score that the options define; see `VistarScore.from_options`.

        Raises:
            FeedbackError: An option is missing.
            ServiceError: A model is not available.
        """
        if options.evidence:
            return cls()
        for name in ("chat_model", "questionnaires"):
            if not getattr(options, name):
                raise FeedbackError(f"the score hwpq requires `{name}`")
        chat_options = options.make_budget(), options.device, options.dtype
        answerer = writer = options.open_chat(options.chat_model, *chat_options, images=True)
        if options.writer not in (None, options.chat_model):
            writer = options.open_chat(options.writer, *chat_options, images=True)
        questionnaires = Questionnaires(options.questionnaires, writer)
        return cls(questionnaires, VoteCollector(answerer, options.answers_per_question))

    def prepare(self, pictures: Sequence[Picture]) -> None:
        """Check the budget, and fetch the replies of models that reply in batches."""
        if not (self._questionnaires and self._answers):
            return
        prompts = dict.fromkeys(picture.prompt for picture in pictures if not picture.problem)
        get_path = self._questionnaires.get_path
        new_prompts = [prompt for prompt in prompts if not get_path(prompt).is_file()]
        writer, chat = self._questionnaires.writer, self._answers.chat
        writing_costs = writer.get_max_costs(map(_build_request, new_prompts))
        requests = self._estimate_requests(pictures, _TYPICAL_QUESTIONS)
        chat.budget.check_calls(itertools.chain(writing_costs, chat.get_max_costs(requests)))
        if writer.batch:
            writer.prepare(map(_build_request, new_prompts))
            for prompt in new_prompts:
                with contextlib.suppress(FeedbackError, ServiceError):  # reported with its image
                    self._questionnaires.get_questionnaire(prompt)
        if chat.batch:
            chat.prepare(self._estimate_requests(pictures, []))

    def _estimate_requests(
        self, pictures: Sequence[Picture], default_questions: list[str]
    ) -> Iterator[Request]:
        """Yield requests for votes; prompts without a questionnaire have the default questions."""
        for image, picture in open_pictures(pictures):
            questions = dict.fromkeys(SIDES, default_questions)
            if self._questionnaires.get_path(picture.prompt).is_file():
                with contextlib.suppress(FeedbackError):  # reported with its image
                    stored = self._questionnaires.get_questionnaire(picture.prompt)
                    questions = flatten_questions(stored)
            for _, _, order, request in self._answers.make_requests(image, questions):
                if order:
                    yield request

    @property
    def settings(self) -> Mapping[str, Any]:
        """The open parameters of the paper, the instruction's hash and the number of votes."""
        votes = self._answers.votes if self._answers else None
        return {**super().settings, "instruction": hash_instruction(), "votes": votes}

    def observe_image(self, image: Any, picture: Picture) -> dict[str, Any]:
        """Return the questions with their weights, and the votes on each."""
        questions = flatten_questions(self._questionnaires.get_questionnaire(picture.prompt))
        return {"questions": questions, **self._answers.collect(image, questions)}

    def score_evidence(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the weighted share of confirmed facts; None if a question has no majority."""
        questions = evidence["questions"]
        votes = [vote for side in SIDES for question in evidence[side] for vote in question]
        unreadable = f"{votes.count(None)} of {len(votes)} answers unreadable"
        sides = [[_get_majority(question) for question in evidence[side]] for side in SIDES]
        if unanswered := sum(side.count(None) for side in sides):
            return Verdict(None, None, f"{unanswered} questions without a majority; {unreadable}")
        levels = [LEVELS.index(level) + 1 for level in questions["level"]]
        weights = dict(zip(levels, questions["level_weight"], strict=True))
        level_weights = np.array([weights[n] for n in (1, 2, 3, 4)], dtype=float)
        weight = np.array(questions["question_weight"], dtype=float)
        # Stored evidence has six decimals, so weights such as thirds do not sum to exactly 1.
        shares = weight / np.bincount(levels, weight)[levels]
        level_shares = level_weights / level_weights.sum()
        positive, negative = (np.array(side)[:, None] for side in sides)
        score = hwpq(positive, negative, levels, shares, level_shares)
        confirmed = zip(questions["node"], score["confirmed"], strict=True)
        unconfirmed = ", ".join(node for node, is_right in confirmed if not is_right)
        reason = f"not confirmed: {unconfirmed}" if unconfirmed else "all facts confirmed"
        return Verdict(None, score["hwpq"], f"{reason}; {unreadable}")


def _get_majority(votes: list[bool | None]) -> bool | None:
    """Return whether most readable votes are yes; None if as many are no."""
    yes, no = votes.count(True), votes.count(False)
    return None if yes == no else yes > no
