"""Recipes from YAML and flags: precedence, types, and errors in one line."""

import dataclasses
import subprocess
import sys

import pytest

pytest.importorskip("yaml", reason="recipes are YAML")

from support.tiny_models import REPOSITORY

from pqpp_models import TARGETS
from pqpp_models.training.arguments import Recipe, RecipeError, parse_recipe
from pqpp_models.training.batches import LengthSortedBatches


def parse(*flags):
    return parse_recipe(Recipe, "A script.", "  an example", flags)


def test_flags_win_over_the_file_and_the_file_over_the_defaults(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text("epochs: 3\nlearning_rate: 5e-5\ntargets: [mean_rr, mean_hbpp]\n")
    recipe = parse("--config", str(path), "--epochs", "7", "--no-length_sorted")
    assert (recipe.epochs, recipe.learning_rate, recipe.batch_size) == (7, 5e-5, 256)
    assert recipe.targets == ["mean_rr", "mean_hbpp"]
    assert recipe.length_sorted is False


def test_all_targets_are_the_default():
    assert parse().targets == list(TARGETS)


def test_every_field_is_a_flag_with_help(capsys):
    with pytest.raises(SystemExit, match="0"):
        parse("--help")
    text = capsys.readouterr().out
    assert "examples:\n  an example" in text
    for field in dataclasses.fields(Recipe):
        assert f"--{field.name}" in text
        assert field.metadata["help"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--epochs", "0"], "`epochs` is 0; it must be above 0"),
        (["--epochs", "many"], "`epochs` is 'many'; it must be a int"),
        (["--schedule", "steps"], "choose among linear, cosine, constant"),
        (["--warmup_ratio", "1"], "`warmup_ratio` is 1.0"),
        (["--push_to_hub"], "needs `hub_model_id`"),
        (["--targets", "mean_hbp"], "did you mean 'mean_hbpp'"),
        (["--config", "no.yaml"], "cannot be read"),
    ],
)
def test_values_that_are_not_allowed(flags, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message) as caught:
        parse(*flags)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("learning_rat: 1", "did you mean `learning_rate`"),
        ("- epochs", "holds no `name: value` lines"),
        ("a: [", "is no YAML"),
        ("epochs: 1.5", "`epochs` is 1.5"),
        ("grid: 1", "`grid` is 1"),
        ("model: 3", "`model` is 3"),
    ],
)
def test_files_that_are_not_allowed(content, message, tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(content)
    with pytest.raises(RecipeError, match=message):
        parse("--config", str(path))


@pytest.mark.parametrize("script", ["train_bert", "train_clip", "train_correlation_cnn"])
def test_every_recipe_of_a_script_is_accepted(script):
    pytest.importorskip("accelerate", reason="the scripts need accelerate")
    from support.tiny_models import load_script

    module = load_script(script)
    (kind,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Recipe) and value is not Recipe
    )
    begins = {"train_bert": ("bert.yaml", "minilm.yaml"), "train_clip": "clip_*.yaml"}
    begins = begins.get(script, "correlation_cnn_*.yaml")
    patterns = begins if isinstance(begins, tuple) else (begins,)
    paths = [p for g in patterns for p in (REPOSITORY / "training" / "recipes").glob(g)]
    assert paths
    for path in paths:
        assert parse_recipe(kind, "", "", ["--config", str(path)]).epochs >= 1


@pytest.mark.slow
def test_a_wrong_flag_ends_a_script_with_one_line_and_code_2(tmp_path):
    pytest.importorskip("accelerate", reason="the scripts need accelerate")
    script = str(REPOSITORY / "training" / "train_bert.py")
    result = subprocess.run(
        [sys.executable, script, "--epochs", "-1"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 2
    assert result.stderr.strip() == "error: `epochs` is -1; it must be above 0"


@pytest.mark.parametrize("n", [1, 7, 64, 65])
@pytest.mark.parametrize("sort", [True, False])
def test_batches_hold_every_row_once_in_an_order_of_the_seed_and_epoch(n, sort):
    lengths = [(i * 7) % 11 for i in range(n)]

    def order(seed, epoch):
        batches = LengthSortedBatches(lengths, 8, seed, sort, pool=3)
        batches.epoch = epoch
        assert len(batches) == len(list(batches))
        return list(batches)

    first = order(0, 0)
    assert sorted(i for batch in first for i in batch) == list(range(n))
    assert all(len(batch) == 8 for batch in first[:-1])
    assert first == order(0, 0)
    if n > 8:
        assert first != order(0, 1) and first != order(1, 0)


def test_batches_hold_rows_of_like_length():
    lengths = [(i * 37) % 50 for i in range(400)]
    spread = [
        max(lengths[i] for i in b) - min(lengths[i] for i in b)
        for b in LengthSortedBatches(lengths, 8, seed=0)
    ]
    assert max(spread) <= 2
