"""Recipes from YAML files and flags: precedence, types and errors."""

import dataclasses
import errno

import pytest

pytest.importorskip("yaml", reason="recipes are YAML")

from support.processes import run_python
from support.tiny_models import REPOSITORY, get_recipe_class

from pqpp_backbones.training.reading import explain_load_errors
from pqpp_files.errors import PqppError
from pqpp_files.options.option import NEEDED, Options, option
from pqpp_files.options.recipe import build_recipe, parse_recipe
from pqpp_models.training.recipe import PredictorRecipe


def parse(*flags):
    return parse_recipe(PredictorRecipe, "A script.", "  an example", flags)


def test_flags_override_file_and_file_overrides_defaults(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text("num_train_epochs: 3\nlearning_rate: 5e-5\ntargets: [mean_rr, mean_hbpp]\n")
    recipe = parse("--config", str(path), "--num-train-epochs", "7", "--no-push_to_hub")
    assert (recipe.num_train_epochs, recipe.learning_rate) == (7, 5e-5)
    assert recipe.per_device_train_batch_size == 256
    assert recipe.targets == ["mean_rr", "mean_hbpp"]
    assert recipe.push_to_hub is False


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--save_steps", "0"], "`save_steps` is 0; it must be above 0"),
        (["--save_steps", "many"], "`save_steps` is 'many'; it must be a whole number"),
        (["--save_strategy", "never"], "choose one of epoch, steps"),
        (["--push_to_hub"], "needs `hub_model_id`"),
        (["--targets", "mean_hbp"], "did you mean 'mean_hbpp'"),
        (["--config", "no.yaml"], "cannot be read"),
    ],
)
def test_rejects_invalid_values(flags, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message) as caught:
        parse(*flags)
    assert "\n" not in str(caught.value)


RECIPES = {
    "bert": ("bert", "minilm"),
    "clip": ("clip_generation", "clip_retrieval"),
    "correlation_cnn": ("correlation_cnn_generation", "correlation_cnn_retrieval"),
    "rahf": ("rahf", "rahf_scenes"),
    "static": ("static",),
    "text_ensemble": ("text_ensemble",),
}
FOLDER = REPOSITORY / "training"


def get_recipe(script):
    """Return a script's recipe class, and flags for its required options."""
    pytest.importorskip("peft", reason="the scripts need torch, accelerate and peft")
    kind = get_recipe_class(script)
    paths = {"file": __file__, "folder": str(FOLDER), None: "x"}
    needed = [f for f in dataclasses.fields(kind) if f.default is NEEDED]
    return kind, [part for f in needed for part in (f"--{f.name}", paths[f.metadata.get("path")])]


@pytest.mark.parametrize("script", RECIPES)
def test_checks_paths_before_training(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a_file").write_text("x")
    (tmp_path / "a_folder").mkdir()
    kind, needed = get_recipe(script)
    invalid = {
        "file": {"nowhere": "no such file", "a_folder": "a folder; use a file"},
        "folder": {"nowhere": "no such folder", "a_file": "a file; use a folder"},
        "name": {"./nowhere": "no such folder", "a_file": "a file; use a folder"},
        "output": {"a_file": "is a file; use a folder", "a_file/in": "is a file; use a folder"},
    }
    path_kinds = {f.name: f.metadata.get("path") for f in dataclasses.fields(kind)}
    for name in filter(path_kinds.get, path_kinds):
        index = needed.index(f"--{name}") if f"--{name}" in needed else len(needed)
        others = needed[:index] + needed[index + 2 :]
        for value, message in invalid[path_kinds[name]].items():
            with pytest.raises(PqppError, match=f"`{name}`.*{message}") as caught:
                parse_recipe(kind, "", "", [*others, f"--{name}", value])
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("script", RECIPES)
def test_shipped_recipes_are_valid(script):
    kind, needed = get_recipe(script)
    for name in RECIPES[script]:
        assert parse_recipe(kind, "", "", ["--config", name, *needed]).output_dir


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("learning_rat: 1", "did you mean 'learning_rate'"),
        ("- seed", "must have `name: value` lines"),
        ("seed: 1.5", "`seed` is 1.5"),
        ("model: 3", "`model` is 3"),
        ("learning_rate: .inf", "`learning_rate` is inf; it must be a finite number"),
        ("seed: .inf", "`seed` is inf; it must be a whole number"),
        ("seed: 1" + ":59" * 5000, "is not YAML .the number .* is too long"),
        ("seed: 0x" + "f" * 5000, "is not YAML"),
        ("model: " + "[" * 20_000, "is not YAML .maximum recursion"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nmodel: [*b, *b]", "is not YAML"),
        ("#" * 1_000_001, "is larger than 1,000,000 bytes"),
        ("x" * 1000 + ": 3", "unknown option"),
    ],
)
def test_invalid_files_give_one_short_line(content, message, tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(content)
    with pytest.raises(PqppError, match=message) as caught:
        parse("--config", str(path))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


@dataclasses.dataclass(kw_only=True)
class Inner:
    layers: tuple[int, ...]
    rate: float = 0.5


@dataclasses.dataclass(kw_only=True)
class Outer(Options):
    """A toy."""

    inner: Inner = option(Inner(layers=(1,)), "settings of a part")
    weights: dict[str, float] | None = option(None, "weight by name")
    captions: str = option(NEEDED, "file of captions")


def test_nested_and_required_options():
    values = {"inner": {"layers": [1, 2.0], "rate": "1e-3"}, "weights": {"a": 1}, "captions": "x"}
    recipe = build_recipe(Outer, values)
    assert recipe.inner == Inner(layers=(1, 2), rate=1e-3) and recipe.weights == {"a": 1.0}
    with pytest.raises(PqppError, match="`captions` is required: file of captions"):
        build_recipe(Outer, {})
    for inner, message in (
        ({"layer": [1]}, "option `layer`; did you mean 'layers'"),
        ({"layers": ["x"]}, r"`inner.layers` is \['x'\]; it must be a list of whole numbers"),
        ({"rate": 1}, r"`inner.layers` is missing"),
        (3, "`inner` is 3; it must be a group of settings"),
    ):
        with pytest.raises(PqppError, match=message):
            build_recipe(Outer, {**values, "inner": inner})


def test_benchmark_name_sets_dataset_and_subset():
    assert (parse().dataset, parse().subset) == ("pqpp", None)
    recipe = parse("--dataset", "sample")
    assert (recipe.dataset, recipe.subset) == ("pqpp", "sample")
    recipe = parse("--dataset", "OWNER/NAME", "--subset", "some")
    assert (recipe.dataset, recipe.subset) == ("OWNER/NAME", "some")
    with pytest.raises(PqppError, match=r"^`dataset` is 'sample', but `subset` is 'pqpp"):
        parse("--dataset", "sample", "--subset", "pqpp-v1.0")


def test_training_values_of_sample_are_its_targets(cache):
    from pqpp_models.text.training.data import read_training_values
    from pqpp_models.text.training.recipe import TextRecipe

    recipe = build_recipe(TextRecipe, {"dataset": "sample", "captions": __file__})
    train = recipe.read_split("train")
    assert read_training_values(recipe, train) is train.targets


def test_help_needs_no_torch(tmp_path):
    heavy = ("torch", "transformers", "accelerate", "peft", "PIL", "faiss")
    code = f"import sys; sys.modules |= dict.fromkeys({heavy})\nfrom pqpp_cli.main import main\n"
    code += "from pqpp_cli.train import TRAINERS\n"
    code += "print([main(['train', name, '--help']) for name in TRAINERS], file=sys.stderr)\n"
    code += "main(['train', 'bert', '--dataset', 'sample'])"
    process = run_python(code, tmp_path)
    statuses, error = process.stderr.splitlines()
    assert statuses == str([0] * 6) and "this command needs torch; run: pip install" in error
    assert process.stdout.count("--output-dir") >= 6 and "TrainingArguments" in process.stdout


def test_read_only_cache_error_names_hf_home():
    with (
        pytest.raises(PqppError, match="set HF_HOME"),
        explain_load_errors("poems", "check its name"),
    ):
        raise OSError(errno.EROFS, "Read-only file system", "/home/me/.cache")
