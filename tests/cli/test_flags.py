"""Flags mean the same in all commands, and the same as options in Python and YAML."""

from collections import defaultdict
from typing import get_args, get_type_hints

import pytest

from pqpp_cli.bench import BenchConqa
from pqpp_cli.commands import iterate_command_classes, parse_command
from pqpp_cli.fit import Fit
from pqpp_cli.main import main
from pqpp_files.errors import PqppError
from pqpp_files.options.flags import strip_none
from pqpp_files.options.option import get_fields
from pqpp_files.options.recipe import read_recipe

OUTPUTS = {"output", "output file"}


def get_options():
    """Return every command with each of its options."""
    return [(kind, field) for kind in iterate_command_classes() for field in get_fields(kind)]


def test_flags_have_one_meaning():
    meanings = defaultdict(set)
    for kind, field in get_options():
        hint = strip_none(get_type_hints(kind)[field.name])
        role = field.metadata.get("path")
        items = [item for item in get_args(hint) if item is not ...]
        plain = (items or [hint])[-1].__name__  # a list and a single value mean the same
        if field.metadata.get("word") is not True:
            meanings[field.name].add((plain, "an output" if role in OUTPUTS else role))
    assert {name: types for name, types in meanings.items() if len(types) > 1} == {}


def test_every_flag_has_a_help_text():
    assert [(kind, f.name) for kind, f in get_options() if not f.metadata["help"]] == []


def test_repeated_flags_extend_lists_or_are_refused(capsys):
    words = ["build", "a.csv", "--judgments", "b.csv", "c.csv", "--language", "en,de"]
    _, flags = parse_command([*words, "--output", "new"])
    assert flags["judgments"] == ["a.csv", "b.csv", "c.csv"] and flags["language"] == ["en", "de"]
    _, flags = parse_command(["bench", "--target", "mean_rr", "--targets", "mean_p10, mean_hbpp"])
    assert flags["targets"] == ["mean_rr", "mean_p10", "mean_hbpp"]
    assert main(["bench", "--baselin", "static"]) == 2
    assert "'--baseline'?" in capsys.readouterr().err
    for words in (["predict", "--file", "a", "--file", "b"], ["fit", "a", "--dataset", "b"]):
        assert main(words) == 2 and "is both 'a' and 'b'" in capsys.readouterr().err


def test_python_yaml_and_flags_give_the_same_options(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fit.yaml").write_text("dataset: a.csv\ntargets: [x, y]\nfolds: 3\noutput: new\n")
    (tmp_path / "b.yaml").write_text("format: csv")
    expected = Fit(dataset="a.csv", targets=("x", "y"), folds=3, output="new")
    for words in (
        ["fit", "a.csv", "--targets", "x,y", "--folds", "3", "--output", "new"],
        ["fit", "--config", "fit.yaml"],
        ["fit", "--config", "fit.yaml", "--folds=3"],
    ):
        assert vars(read_recipe(*parse_command(words))) == vars(expected)
    assert read_recipe(*parse_command(["fit", "--config", "fit.yaml", "--folds", "4"])).folds == 4
    with pytest.raises(PqppError, match="`folds` is 'x'; it must be a whole number"):
        read_recipe(Fit, {"folds": "x"})
    with pytest.raises(PqppError, match=r"`runs` is \[1\]; it must be a mapping"):
        read_recipe(BenchConqa, {"runs": [1]})
    with pytest.raises(PqppError, match="`output` is required"):
        Fit(dataset="a.csv")
    fit = ["fit", "--config", "fit.yaml"]
    measure = ["metrics", "compute", "rr", "--run", "b.yaml", "--qrels", "fit.yaml"]
    generate = ["generate", "--file", "fit.yaml", "--command", "a", "--model-name", "b"]
    for words, message in (
        ([*fit, "--folds", "x"], "--folds is 'x'; it must be a whole number"),
        ([*fit, "--output", ""], "--output is empty"),
        ([*fit, "--chat-url", "http://a"], "--chat-url applies only with --chat-model"),
        ([*fit, "--chat-model", "m"], "--folds does not apply with --chat-model"),
        ([*generate, "--output", "c", "--set", "d=1"], "--set applies only with --model"),
        ([*measure, "--output", "a.csv", "--by-query", "./a.csv"], "are the same file"),
        (["predict", "a", "--output", "s3://b/x.csv"], "s3://b/x.csv, a URL"),
        (["models", "push", "static", "a"], "must have the form OWNER/REPOSITORY"),
        (["bench", "--config", "b.yaml", "--output", "./b.yaml"], "is the input b.yaml"),
        (["bench", "--table", "by-source", "--eval-results", "."], "only with --table main"),
        (["models", "push", "--benchmark", "a/b"], "--benchmark applies only with OWNER/REPO"),
        (["search", "build", ".", "--ids", "fit.yaml", "--output", "c"], "--ids does not apply"),
    ):
        assert main(words) == 2
        assert message in capsys.readouterr().err
