"""Questionnaires: written once a prompt by a language model, checked, kept, never replaced."""

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pqpp_backbones.chat.chat import Chat, Request, json_of
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.vistar.vistar import LEVELS, validate_questionnaire
from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.vistar.choices import choices
from pqpp_files.foreign.json_values import read_json
from pqpp_files.hashes import sha256_of_parts
from pqpp_files.paths import expanded
from pqpp_files.write_beside import write_whole

INSTRUCTION = Path(__file__).with_name("instruction.txt")
SCHEMA = Path(__file__).parents[2] / "pqpp_datasets" / "vistar" / "questionnaire.schema.json"


def instruction_hash() -> str:
    """Return the hash of the instruction that the language model is given.

    Example:
        >>> len(instruction_hash())
        64
    """
    return sha256_of_parts([INSTRUCTION.read_text("utf-8")])


class Questionnaires:
    """A folder of questionnaires, a file a prompt.

    Args:
        folder: Where they lie; made where it is not.
        writer: Who writes those that are not there; None: nobody, and a prompt without one cannot
            be assessed.

    Example:
        >>> import tempfile
        >>> Questionnaires(tempfile.mkdtemp()).has("a cat")
        False
    """

    def __init__(self, folder: str | Path, writer: Chat | None = None) -> None:
        self.folder, self.writer = expanded(folder), writer

    def path(self, prompt: str) -> Path:
        """Return the file of a prompt."""
        return self.folder / f"{sha256_of_parts([prompt])[:32]}.json"

    def has(self, prompt: str) -> bool:
        """Return whether a prompt has its questionnaire."""
        return self.path(prompt).is_file()

    def of(self, prompt: str) -> dict[str, Any]:
        """Return a prompt's questionnaire, written now if it has none.

        Raises:
            FeedbackError: There is none and nobody who writes it, or the one kept or written is not
                usable.
            ServiceError: The language model does not reply.
        """
        path = self.path(prompt)
        if path.is_file():
            try:
                entry = read_json(path)
                if entry["prompt"] != prompt:
                    raise ValueError("it is another prompt's")
                validate_questionnaire(entry["questionnaire"])
            except (ValueError, KeyError, TypeError) as error:
                lacking = f"{path}: no usable questionnaire ({str(error)[:120]})"
                raise FeedbackError(f"{lacking}; move it away to have a new one") from None
            return entry["questionnaire"]
        if self.writer is None:
            raise FeedbackError("the prompt has no questionnaire; name a model that writes one")
        questionnaire, tries = write_questionnaire(self.writer, prompt)
        entry = {
            "prompt": prompt,
            "model": self.writer.name,
            "instruction_sha256": instruction_hash(),
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "tries": tries,
            "questionnaire": questionnaire,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(entry, ensure_ascii=False, indent=1))
        return questionnaire


def write_questionnaire(writer: Chat, prompt: str) -> tuple[dict[str, Any], int]:
    """Let a language model write a questionnaire; return it and the number of tries.

    What is wrong with a reply is told in the next try. Weights that sum to 1 within 1e-3 are
    divided by their sum, others are refused.

    Raises:
        FeedbackError: No try gave a usable one.

    Example:
        >>> from types import SimpleNamespace as Made
        >>> pair = {"node": "cat", "question_weight": 1.0, "P": "A cat?", "N": "No cat?"}
        >>> level = {"level_weight": 0.25, "questions": [pair]}
        >>> told = json.dumps({name: level for name in LEVELS})
        >>> writer = Made(name="writer", ask=lambda request: Made(text=told))
        >>> questionnaire, tries = write_questionnaire(writer, "a cat")
        >>> questionnaire["L1"]["questions"][0]["node"], tries
        ('cat', 1)
    """
    schema, instruction = read_json(SCHEMA), INSTRUCTION.read_text("utf-8")
    tries, text = choices("hwpq")["questionnaire_tries"], f"The prompt:\n{prompt}"
    wrong = more = ""
    for seed in range(tries):
        request = Request(text + more, instruction, schema=schema, seed=seed, most_tokens=4096)
        reply = writer.ask(request).text
        try:
            return checked_questionnaire(json_of(reply)), seed + 1
        except ValueError as error:
            wrong = " ".join(str(error).split())[:300]
            more = f"\n\nYour last reply could not be used: {wrong}. Reply again."
    raise FeedbackError(f"{writer.name} wrote no usable questionnaire in {tries} tries ({wrong})")


def checked_questionnaire(questionnaire: Any) -> dict[str, Any]:
    """Return a questionnaire with weights that sum to 1 exactly.

    Raises:
        BenchmarkError: It has another form, or weights whose sum is off by more than 1e-3.

    Example:
        >>> pair = {"node": "cat", "question_weight": 0.9995, "P": "A cat?", "N": "No cat?"}
        >>> level = {"level_weight": 0.25, "questions": [pair]}
        >>> found = checked_questionnaire({name: level for name in LEVELS})
        >>> found["L1"]["questions"][0]["question_weight"]
        1.0
    """
    levels = []
    try:
        for name in LEVELS:
            questions = _scaled(questionnaire[name]["questions"], "question_weight", name)
            levels.append({**questionnaire[name], "questions": questions})
        levels = _scaled(levels, "level_weight", "the four levels")
    except (TypeError, KeyError) as error:
        raise BenchmarkError(f"not of the form that is asked for ({error!r:.60})") from None
    checked = {**questionnaire, **dict(zip(LEVELS, levels, strict=True))}
    validate_questionnaire(checked)
    return checked


def _scaled(entries: Any, name: str, where: str) -> list[dict[str, Any]]:
    total = math.fsum(entry[name] for entry in entries)
    if not abs(total - 1) <= choices("hwpq")["weight_tolerance"]:
        raise BenchmarkError(f"{name} of {where} sums to {total:g}; it must sum to 1")
    return [{**entry, name: entry[name] / total} for entry in entries]
