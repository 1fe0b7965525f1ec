"""Pushes of metrics to a Hub on loopback as Spaces, and loading them with evaluate."""

from functools import partial

import pytest

from pqpp_metrics.registration import list_metrics

FILES = ["ndcg.py", "README.md", "app.py", "requirements.txt"]
COMPUTE_CODE = """
import evaluate
metric = evaluate.load({name!r}, **{how})
result = metric.compute(predictions=[[0.9, 0.8, 0.7]], references=[[0, 2, 1]])["ndcg"]
"""


@pytest.fixture
def push(run_pqpp):
    return partial(run_pqpp, "metrics", "push")


def list_spaces(state) -> dict[str, object]:
    return {
        name: repository
        for (kind, name), repository in state.hub.hub.store.repositories.items()
        if kind == "space"
    }


def test_pushed_space_works_in_evaluate_and_gradio(state, push, run_python):
    push("ndcg", state.owner, "--private")
    name = f"{state.owner}/ndcg"
    (space,) = list_spaces(state).values()
    assert space.private and space.sdk == "gradio" and len(space.commits) == 2
    code = COMPUTE_CODE.format(name=name, how="{}")
    assert "Couldn't find" in state.user.run(code, token="hf_other").error
    assert state.user.run(code).value == pytest.approx(0.6696718)
    page = run_python(
        "import json, pathlib\n"
        "from huggingface_hub import snapshot_download\n"
        f"folder = pathlib.Path(snapshot_download({name!r}, repo_type='space'))\n"
        "from pqpp_metrics import app\n"
        "pages = []\n"
        "app.space.serve_page = pages.append\n"
        "exec((folder / 'app.py').read_text())\n"
        "(click,) = [one for one in pages[0].fns.values() if one.api_name == 'compute']\n"
        "print(json.dumps(click.fn(*(box.value for box in click.inputs))))"
    )
    page, _ = page
    assert page["ndcg"] == pytest.approx(0.6696718)


def test_pushes_several_or_all_metrics(state, push):
    push("ndcg", "hbpp", state.owner)
    assert set(list_spaces(state)) == {f"{state.owner}/ndcg", f"{state.owner}/hbpp"}
    assert push("all", state.owner, "--dry-run").stdout.count("would create") == (
        len(list_metrics()) - 2
    )
    push("all", state.owner)
    assert set(list_spaces(state)) == {f"{state.owner}/{name}" for name in list_metrics()}
    for name, space in list_spaces(state).items():
        files = space.commits[space.branches["main"]].files
        assert {f"{name.split('/')[1]}.py", *FILES[1:]} <= set(files) and len(files) == 5
