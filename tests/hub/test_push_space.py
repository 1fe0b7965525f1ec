"""Pushes of demo pages to a Hub on loopback as Spaces."""

from functools import partial

import pytest
import yaml

from pqpp_hub.space import SDK_VERSION

FILES = ["README.md", "app.py", "requirements.txt"]


@pytest.fixture
def push(run_pqpp):
    return partial(run_pqpp, "models", "push")


def repositories(state):
    return state.hub.hub.store.repositories


def read_file(state, repository, name):
    commit = repository.commits[repository.branches["main"]]
    return state.hub.hub.store.read_text(commit, name)


def test_pushes_page_of_shipped_predictor(state, push):
    name = f"{state.owner}/demo"
    dry_run = push("--space", name, "--dry-run")
    expected = [f"would create the repository {name}", *(f"would add {file}" for file in FILES)]
    assert dry_run.stdout.splitlines() == [*expected, "dry run: nothing was written"]
    assert not repositories(state)
    lines = push("--space", name, "--private").stdout.splitlines()
    assert lines[-1].startswith("commit ") and lines[-1].endswith(f"/spaces/{name}")
    space = repositories(state)["space", name]
    assert space.private and space.sdk == "gradio"
    front = yaml.safe_load(read_file(state, space, "README.md").split("---\n")[1])
    assert front["sdk"] == "gradio" and front["sdk_version"] == SDK_VERSION
    assert front["app_file"] == "app.py" and front["python_version"] == "3.11"
    assert len(front["short_description"]) <= 60 and "models" not in front
    app = 'from pqpp_models.demo import serve_demo\n\nserve_demo("static")\n'
    assert read_file(state, space, "app.py") == app
    assert read_file(state, space, "requirements.txt").startswith("pqpp==")
    lines = push("--space", name).stdout.splitlines()
    assert lines[-1] == f"nothing to do: {name} has these files already"


def test_pushes_model_with_its_page(state, push):
    from pqpp_models.text.ridge.fitting import fit

    prompts = [f"{number} red cats on a table {'x' * (number % 7)}" for number in range(60)]
    fitted = fit(prompts, [[0.1 + number % 7 / 10] for number in range(60)], ["flux_rate"])
    folder = fitted.save_pretrained(state.folder / "own")
    model, name = f"{state.owner}/model", f"{state.owner}/page"
    outcome = push(str(folder), "--space", name, fails=True)
    assert outcome.value == 2 and f"push {folder} OWNER/REPOSITORY --space {name}" in outcome.stderr
    assert push(str(folder), model, "--space", name, "--dry-run").stdout.count("would create") == 2
    assert not repositories(state)
    push(str(folder), model, "--space", name)
    assert set(repositories(state)) == {("model", model), ("space", name)}
    space = repositories(state)["space", name]
    assert f'serve_demo("{model}")' in read_file(state, space, "app.py")
    front = yaml.safe_load(read_file(state, space, "README.md").split("---\n")[1])
    assert front["models"] == [model]
    push(model, "--space", f"{state.owner}/later")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "--space", "{}/x"], "a Space cannot read"),
        (
            ["nqc", "--space", "{}/x"],
            "but only text can be explained; use a text predictor such as static",
        ),
    ],
)
def test_rejects_unsuitable_predictors(state, push, words, message):
    outcome = push(*(word.format(state.owner) for word in words), fails=True)
    assert outcome.value == 2 and not outcome.stdout
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("pqpp: error: ") and message in line
    assert not repositories(state)
