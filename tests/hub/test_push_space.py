"""The page of a predictor pushed to a Hub on loopback as a Space."""

import pytest
import yaml
from support.local_hub import DEFAULT_ACCOUNTS

from pqpp_hub.space import SDK_VERSION

FILES = ["README.md", "app.py", "requirements.txt"]


@pytest.fixture
def push(shared):
    def run(*arguments: str):
        outcome = shared.user.pqpp("models", "push", *arguments)
        assert outcome.error is None, outcome.error
        assert not any(secret in outcome.said for secret in DEFAULT_ACCOUNTS)
        return outcome

    return run


def repositories(shared):
    return shared.hub.hub.store.repositories


def text_of(shared, repository, name):
    commit = repository.commits[repository.branches["main"]]
    return shared.hub.hub.store.text(commit, name)


def test_the_shipped_one(shared, push):
    name = f"{shared.owner}/demo"
    dry = push("--space", name, "--dry-run")
    would = [f"would create the repository {name}", *(f"would add {file}" for file in FILES)]
    assert dry.stdout.splitlines() == [*would, "dry run: nothing was written"]
    assert not repositories(shared)
    done = push("--space", name, "--private").stdout.splitlines()
    assert done[-1].startswith("commit ") and done[-1].endswith(f"/spaces/{name}")
    space = repositories(shared)["space", name]
    assert space.private and space.sdk == "gradio"
    front = yaml.safe_load(text_of(shared, space, "README.md").split("---\n")[1])
    assert front["sdk"] == "gradio" and front["sdk_version"] == SDK_VERSION
    assert front["app_file"] == "app.py" and front["python_version"] == "3.11"
    assert len(front["short_description"]) <= 60 and "models" not in front
    assert (
        text_of(shared, space, "app.py")
        == 'from pqpp_models.demo import serve_demo\n\nserve_demo("static")\n'
    )
    assert text_of(shared, space, "requirements.txt").startswith("pqpp==")
    again = push("--space", name).stdout.splitlines()
    assert again[-1] == f"nothing to do: {name} has these files already"


def test_a_folder_beside_its_model(shared, push):
    from pqpp_models.text.ridge.fitting import fit

    prompts = [f"{number} red cats on a table {'x' * (number % 7)}" for number in range(60)]
    fitted = fit(prompts, [[0.1 + number % 7 / 10] for number in range(60)], ["flux_rate"])
    folder = fitted.save_pretrained(shared.place / "own")
    model, name = f"{shared.owner}/model", f"{shared.owner}/page"
    refused = push(str(folder), "--space", name)
    assert refused.value == 2 and f"push {folder} OWNER/REPOSITORY --space {name}" in refused.stderr
    assert push(str(folder), model, "--space", name, "--dry-run").stdout.count("would create") == 2
    assert not repositories(shared)
    assert push(str(folder), model, "--space", name).value == 0
    assert set(repositories(shared)) == {("model", model), ("space", name)}
    space = repositories(shared)["space", name]
    assert f'serve_demo("{model}")' in text_of(shared, space, "app.py")
    front = yaml.safe_load(text_of(shared, space, "README.md").split("---\n")[1])
    assert front["models"] == [model]
    later = push(model, "--space", f"{shared.owner}/later")
    assert later.value == 0, later.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere", "--space", "{}/x"], "a Space cannot read"),
        (
            ["nqc", "--space", "{}/x"],
            "but only text can be explained; use a text predictor such as static",
        ),
    ],
)
def test_refusals(shared, push, words, said):
    outcome = push(*(word.format(shared.owner) for word in words))
    assert outcome.value == 2 and not outcome.stdout
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("pqpp: error: ") and said in line
    assert not repositories(shared)
