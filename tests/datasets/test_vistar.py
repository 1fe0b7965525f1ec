"""VISTAR: structured prompts and questionnaires."""

import json

import pytest
from datasets import load_dataset
from hypothesis import given
from hypothesis import strategies as st
from support.benchmark_folders import QUESTIONNAIRE, VISTAR_PROMPTS, write_vistar

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.vistar.vistar import StructuredPrompt, parse_prompt

pytestmark = pytest.mark.usefixtures("cache")


def load(folder, **options):
    return load_dataset("pqpp", "vistar", data_dir=str(folder), **options)


def test_reads_rows(tmp_path):
    rows = load(write_vistar(tmp_path))
    first, second = rows["core"]
    assert first == {
        "prompt_id": "core-0",
        "structured_prompt": VISTAR_PROMPTS["core"][0],
        "role": "GD",
        "angle": "TR",
        "prompt": 'A poster that says "Go"',
        "parameters": {"key": ["font"], "value": ["Futura"]},
        "questionnaire": None,
    }
    assert second["questionnaire"]["level"] == ["L1", "L2", "L3", "L4"]
    assert second["questionnaire"]["level_weight"] == [0.1, 0.2, 0.3, 0.4]
    assert second["questionnaire"]["positive"][0] == "Is there a girl?"
    assert rows["hard"][0]["parameters"] == {"key": ["a", "b"], "value": ["1", "2"]}
    assert rows["hard"][0]["structured_prompt"] == VISTAR_PROMPTS["hard"][0]


PARSED_PROMPTS = {
    "[GD|TR] A poster": ("GD", "TR", "A poster"),
    '  [ GD | TR ]  two  words\t{ a = "1" , b="2" }{c=""}  ': (
        *("GD", "TR", "two  words"),
        (("a", "1"), ("b", "2"), ("c", "")),
    ),
    '[Graphic Designer|Text Rendering] a [x] | "quoted" \\ text {k.1-x="a \\"b\\" \\\\ c {d}"}': (
        *("Graphic Designer", "Text Rendering", 'a [x] | "quoted" \\ text'),
        (("k.1-x", 'a "b" \\ c {d}'),),
    ),
    '[导演|光] 一只猫 {key="x"}': ("导演", "光", "一只猫", (("key", "x"),)),
}


@pytest.mark.parametrize("text", PARSED_PROMPTS)
def test_parses_structured_prompts(text):
    assert parse_prompt(text) == StructuredPrompt(*PARSED_PROMPTS[text])


NAMES = st.text(st.characters(exclude_characters="[]{}|"), min_size=1).filter(
    lambda s: s == s.strip() and s.strip() and "\n" not in s
)
TEXTS = st.text(st.characters(exclude_characters="{}"), min_size=1).filter(
    lambda s: s == s.strip() and s.strip()
)
KEYS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]*", fullmatch=True)
VALUES = st.text().filter(lambda s: "\n" not in s)


@given(NAMES, NAMES, TEXTS, st.lists(st.tuples(KEYS, VALUES), max_size=4))
def test_parses_formatted_prompts(role, angle, text, pairs):
    quoted = [(key, value.replace("\\", "\\\\").replace('"', '\\"')) for key, value in pairs]
    source = f"[{role}|{angle}]{text}" + "".join(f' {{{key}="{value}"}}' for key, value in quoted)
    assert parse_prompt(source) == StructuredPrompt(role, angle, text, tuple(pairs))


SYNTAX_ERRORS = {
    "": (1, 1, r"got the end, expected \["),
    '[GD|TR] a\nb {font="Fu': (2, 9, "a value in double quotes"),
    '[GD|TR] a {f="x"} more': (1, 19, "got 'more'"),
    '[GD|TR] a {f="x" g="y"}': (1, 18, ", or }"),
    '[GD|TR] a {f="\\n"}': (1, 14, "a value"),
}


@pytest.mark.parametrize("text", SYNTAX_ERRORS)
def test_syntax_error_names_line_and_column(text):
    line, column, expected = SYNTAX_ERRORS[text]
    with pytest.raises(BenchmarkError, match=f"^line {line}, column {column}: .*{expected}"):
        parse_prompt(text)


INVALID_QUESTIONNAIRES = {
    "missing level": (lambda q: q.pop("L2"), "'L2' is a required property"),
    "level weights": (lambda q: q["L4"].__setitem__("level_weight", 0.5), "must sum to 1; got 1.1"),
    "question weights": (
        lambda q: q["L3"]["questions"][0].__setitem__("question_weight", 0.9),
        "question_weight in L3 must sum to 1; got 0.9",
    ),
    "duplicate node": (
        lambda q: q["L1"].__setitem__(
            "questions", [{**q["L1"]["questions"][0], "question_weight": 0.5}] * 2
        ),
        "duplicate node 'girl'",
    ),
}


@pytest.mark.parametrize("name", INVALID_QUESTIONNAIRES)
def test_error_names_invalid_part_of_questionnaire(tmp_path, name):
    change, expected = INVALID_QUESTIONNAIRES[name]
    change(questionnaire := json.loads(json.dumps(QUESTIONNAIRE)))
    line = json.dumps({"prompt_index": 0, "questionnaire": questionnaire})
    (write_vistar(tmp_path) / "core_questionnaires.jsonl").write_text(line)
    with pytest.raises(BenchmarkError, match=rf"core_questionnaires\.jsonl, line 1: .*{expected}"):
        load(tmp_path)


def test_rejects_empty_prompt_file(tmp_path):
    (write_vistar(tmp_path) / "core.txt").write_text("")
    with pytest.raises(BenchmarkError, match=r"core\.txt is empty; write one"):
        load(tmp_path)
