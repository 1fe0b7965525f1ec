"""One vocabulary of flags: every parser and every recipe is walked."""

import argparse
import dataclasses
import importlib.util
from collections import defaultdict
from pathlib import Path

import pytest

from pqpp_cli.main import build_parser

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(
    path.stem for path in (ROOT / "training").glob("*.py") if path.stem != "train_lexical"
)
"""The training scripts, but for the one that only says what came in its place."""
MEANINGS = {
    "--config": {"FILE"},
    "--dataset": {"NAME_OR_PATH"},
    "--subset": {"NAME", "NAME[,NAME...]"},
    "--data-dir": {"DIR"},
    "--file": {"FILE"},
    "--image-dir": {"DIR"},
    "--scores": {"DATA:COLUMN"},
    "--output": {"FILE", "DIR"},
    "--report": {"FILE"},
    "--seed": {"N"},
}
"""What follows the flags that many commands have."""
RETIRED = {"--out", "--output-dir", "--recipe", "--dataset-config", "--benchmark"}


def options():
    def walk(parser):
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for inner in action.choices.values():
                    yield from walk(inner)
            elif action.help is not argparse.SUPPRESS:
                for flag in action.option_strings:
                    yield parser.prog, flag, action

    return list(walk(build_parser()))


@pytest.mark.parametrize("flag", sorted(MEANINGS))
def test_a_flag_means_the_same_everywhere(flag):
    found = {action.metavar for _, name, action in options() if name == flag}
    assert found <= MEANINGS[flag]


def test_retired_flags_are_not_offered():
    assert [(prog, flag) for prog, flag, _ in options() if flag in RETIRED] == []


def test_every_flag_says_what_it_is():
    assert [(prog, flag) for prog, flag, action in options() if not action.help] == []


def test_a_flag_with_choices_has_one_kind_of_value():
    kinds = defaultdict(set)
    for _, flag, action in options():
        # One that may come again, as `pqpp build --column`, has the same kind of value each time.
        name = type(action).__name__.replace("_AppendAction", "_StoreAction")
        kinds[flag].add((name, action.nargs == 0))
    assert {flag for flag, found in kinds.items() if len(found) > 1} == set()


def recipes():
    """Yield the recipe class of each training script."""
    for name in SCRIPTS:
        place = ROOT / "training" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"script_{name}", place)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        kinds = [
            kind
            for kind in vars(module).values()
            if isinstance(kind, type)
            and dataclasses.is_dataclass(kind)
            and kind.__name__.endswith("Recipe")
        ]
        # A recipe may stand in a package; what it is made of may be imported beside it.
        bases = {base for kind in kinds for base in kind.__mro__[1:]}
        yield name, [kind for kind in kinds if kind not in bases]


def test_every_script_has_one_recipe():
    pytest.importorskip("torch")
    found = dict(recipes())
    assert {name: len(kinds) for name, kinds in found.items()} == dict.fromkeys(SCRIPTS, 1)


def test_recipes_and_commands_have_the_same_words():
    pytest.importorskip("torch")
    words = defaultdict(set)
    for name, kinds in recipes():
        for kind in kinds:
            fields = {field.name for field in dataclasses.fields(kind)}
            assert not fields & {flag[2:].replace("-", "_") for flag in RETIRED - {"--output-dir"}}
            for field in dataclasses.fields(kind):
                kind_of = getattr(field.type, "__name__", str(field.type))
                words[field.name].add(kind_of.partition("[")[0])
            assert {"output_dir", "seed"} <= fields, name
    assert {name: kinds for name, kinds in words.items() if len(kinds) > 1} == {}


def test_the_committed_recipes_name_only_what_their_script_has():
    pytest.importorskip("torch")
    import yaml

    fields = {
        name: {field.name for kind in kinds for field in dataclasses.fields(kind)}
        for name, kinds in recipes()
    }
    for path in sorted((ROOT / "training" / "recipes").glob("*.yaml")):
        given = set(yaml.safe_load(path.read_text("utf-8")))
        assert any(given <= known for known in fields.values()), path.name
