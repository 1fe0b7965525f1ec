"""VISTAR: structured prompts for roles and angles, with a questionnaire for the abstract angles.

Source: "VISTAR: A User-Centric and Role-Driven Benchmark for Text-to-Image Evaluation", sections
3.2 and 3.4. It has no published files. Your folder contains `core.txt` and `hard.txt`, one
structured prompt per line, and, if there are questionnaires, `core_questionnaires.jsonl`
and `hard_questionnaires.jsonl`: a line is `{"prompt_index": n, "questionnaire": {...}}`, where n
counts the prompts from 0. `questionnaire.schema.json` is the questionnaire's form.

The structured prompt language: a prompt is ``[role|angle]``, the text that the generator sees, and
optional ``{key="value"}`` pairs. The paper mentions an EBNF but does not print it. pqpp
requires that the text contains no braces. Each pair is in braces of its own, or several pairs are
in one pair of braces, separated by commas. In a value, quotes and backslashes are escaped with a
backslash. Spaces are allowed between all elements.
"""

import functools
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pqpp_datasets.benchmark import load_entry, make_features
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.tables import file_error, load_validator, parse_published_json, read_text
from pqpp_files.extras import require_extra
from pqpp_files.foreign.json_values import read_json

SPLITS = ("core", "hard")
LEVELS = ("L1", "L2", "L3", "L4")

# Weights are written with few digits: 0.333 three times is refused, 0.3333333 is not.
WEIGHT_TOLERANCE = 1e-6
_QUESTIONS = {
    "level": pa.string(),
    "level_weight": pa.float64(),
    "node": pa.string(),
    "question_weight": pa.float64(),
    "positive": pa.string(),
    "negative": pa.string(),
}
_SCHEMA = pa.schema(
    {
        **dict.fromkeys(("prompt_id", "structured_prompt"), pa.string()),
        **dict.fromkeys(("role", "angle", "prompt"), pa.string()),
        "parameters": pa.struct({"key": pa.list_(pa.string()), "value": pa.list_(pa.string())}),
        "questionnaire": pa.struct({name: pa.list_(kind) for name, kind in _QUESTIONS.items()}),
    }
)


_FIELDS = {"ROLE", "ANGLE", "TEXT", "KEY", "VALUE"}
_TERMINALS: dict[str, str] = read_json(Path(__file__).with_name("terminals.json"))


@dataclass(frozen=True)
class StructuredPrompt:
    """The parts of a structured prompt.

    Attributes:
        role: Role of the person who rates the image, such as `GD`.
        angle: The rated aspect, such as `TR`.
        text: The text for the model.
        parameters: Pairs of key and value, in order.
    """

    role: str
    angle: str
    text: str
    parameters: tuple[tuple[str, str], ...] = ()


def parse_prompt(text: str, source: str = "line", line: int = 1) -> StructuredPrompt:
    """Parse a structured prompt.

    Args:
        source: The prompt's file, for errors.
        line: The line of the file on which the prompt begins.

    Raises:
        BenchmarkError: The syntax is invalid.

    Example:
        >>> prompt = parse_prompt('[GD|TR] A poster that says "Go" {font="Futura"}')
        >>> prompt.role, prompt.angle, prompt.text, prompt.parameters
        ('GD', 'TR', 'A poster that says "Go"', (('font', 'Futura'),))
    """
    parser = _get_parser()
    from lark import UnexpectedCharacters, UnexpectedToken

    try:
        tree = parser.parse(text)
    except UnexpectedCharacters as error:
        position, allowed = error.pos_in_stream, error.allowed
        raise _make_syntax_error(text, position, allowed, source, line) from None
    except UnexpectedToken as error:
        # At the end of the text, the library reports the position of the last token.
        position = len(text) if error.token.type == "$END" else error.token.start_pos
        raise _make_syntax_error(text, position, error.expected, source, line) from None
    role, angle, core, *pairs = [
        # In values, a backslash escapes quotes and backslashes.
        re.sub(r"\\(.)", r"\1", token[1:-1]) if token.type == "VALUE" else str(token)
        for token in tree.scan_values(lambda token: token.type in _FIELDS)
    ]
    return StructuredPrompt(role, angle, core, tuple(zip(pairs[::2], pairs[1::2], strict=True)))


@functools.cache
def _get_parser():
    with require_extra("reading VISTAR's prompts", "vistar"):
        from lark import Lark

    grammar = Path(__file__).with_name("structured_prompt.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", maybe_placeholders=False)


def _make_syntax_error(
    text: str, position: int | None, allowed: Any, source: str, line: int
) -> BenchmarkError:
    assert position is not None
    *lines_before, line_start = text[:position].split("\n")
    location = f"{source} {line + len(lines_before)}, column {len(line_start) + 1}"
    got = repr(text[position : position + 12]) if position < len(text) else "the end"
    terminals = {rule.name: rule.pattern.value for rule in _get_parser().terminals} | _TERMINALS
    names = sorted(terminals[name] for name in allowed if name != "BLANK")
    return BenchmarkError(f"{location}: got {got}, expected {' or '.join(names)}")


def list_files(folder: Path | None, split: str) -> tuple[str, ...]:
    """List the files of a split, with the questionnaires if they exist."""
    questionnaires = f"{split}_questionnaires.jsonl"
    exists = folder is not None and (folder / questionnaires).is_file()
    return (f"{split}.txt", questionnaires) if exists else (f"{split}.txt",)


def read(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the prompts and questionnaires of a split.

    Raises:
        BenchmarkError: A prompt or questionnaire is invalid.
    """
    paths = [folder / name for name in list_files(folder, split)]
    lines = read_text(paths[0]).removesuffix("\n").split("\n")
    rows: list[dict[str, Any]] = []
    if lines == [""]:
        raise BenchmarkError(f"{paths[0]} is empty; write one structured prompt per line")
    for number, line in enumerate(lines):
        line = line.removesuffix("\r")
        prompt = parse_prompt(line, f"{paths[0]}, line", number + 1)
        keys, values = zip(*prompt.parameters, strict=True) if prompt.parameters else ((), ())
        rows.append(
            {
                "prompt_id": f"{split}-{number}",
                "structured_prompt": line,
                "role": prompt.role,
                "angle": prompt.angle,
                "prompt": prompt.text,
                "parameters": {"key": list(keys), "value": list(values)},
            }
        )
    # After the prompts, so that errors in prompts are reported for their own file.
    questionnaires = _read_questionnaires(paths[1], len(lines)) if len(paths) > 1 else {}
    for number, row in enumerate(rows):
        row["questionnaire"] = questionnaires.get(number)
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _read_questionnaires(path: Path, prompts: int) -> dict[int, dict]:
    questionnaires: dict[int, dict] = {}
    for number, line in enumerate(read_text(path).removesuffix("\n").split("\n"), 1):
        location = f"{path}, line {number}"
        entry = parse_published_json(line, str(path), number)
        if not isinstance(entry, dict) or set(entry) != {"prompt_index", "questionnaire"}:
            raise file_error(location, "expected an object with prompt_index and questionnaire")
        index = entry["prompt_index"]
        if type(index) is not int or not 0 <= index < prompts or index in questionnaires:
            allowed = f"expected an unused index from 0 to {prompts - 1}"
            raise file_error(location, f"prompt_index is {index!r}, {allowed}")
        try:
            questionnaires[index] = flatten_questions(entry["questionnaire"])
        except BenchmarkError as error:
            raise BenchmarkError(f"{location}: {error}") from None
    return questionnaires


def validate_questionnaire(questionnaire: Any) -> None:
    """Validate a questionnaire.

    Besides the schema, level weights and the question weights of each level must sum to 1 (within
    1e-6), and nodes must be unique in a level.

    Raises:
        BenchmarkError: The questionnaire is invalid.

    Example:
        >>> pair = {"node": "girl", "question_weight": 1, "P": "Is there a girl?",
        ...         "N": "Is nobody there?"}
        >>> level = {"level_weight": 0.25, "questions": [pair]}
        >>> validate_questionnaire({name: level for name in LEVELS})
        >>> validate_questionnaire({})
        Traceback (most recent call last):
        pqpp_datasets.errors.BenchmarkError: questionnaire: 'L1' is a required property; ...
    """
    from jsonschema.exceptions import best_match

    validator = load_validator(Path(__file__).with_name("questionnaire.schema.json"))
    if (error := best_match(validator.iter_errors(questionnaire))) is not None:
        location = "".join(f"[{part!r}]" for part in error.absolute_path)
        reason = " ".join(error.message.split())[:200]
        raise BenchmarkError(f"questionnaire{location}: {reason}; see questionnaire.schema.json")
    _require_sum("level_weight of L1 to L4", [questionnaire[n]["level_weight"] for n in LEVELS])
    for name in LEVELS:
        pairs = questionnaire[name]["questions"]
        _require_sum(f"question_weight in {name}", [pair["question_weight"] for pair in pairs])
        node, count = Counter(pair["node"] for pair in pairs).most_common(1)[0]
        if count > 1:
            raise BenchmarkError(f"questionnaire[{name!r}]: duplicate node {node!r:.60}")


def _require_sum(name: str, weights: list[float]) -> None:
    total = math.fsum(weights)
    if abs(total - 1) > WEIGHT_TOLERANCE:
        raise BenchmarkError(f"questionnaire: {name} must sum to 1; got {total:.9g}")


def flatten_questions(questionnaire: Mapping[str, Mapping]) -> dict[str, list]:
    """Convert a questionnaire to one list per field, with an entry for each pair of questions."""
    validate_questionnaire(questionnaire)
    rows = [
        (name, questionnaire[name]["level_weight"], q["node"], q["question_weight"], q["P"], q["N"])
        for name in LEVELS
        for q in questionnaire[name]["questions"]
    ]
    return dict(zip(_QUESTIONS, map(list, zip(*rows, strict=True)), strict=True))


BENCHMARKS = (load_entry("vistar", features=make_features(_SCHEMA), read=read, files=list_files),)
