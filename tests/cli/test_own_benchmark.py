"""From your own votes to a benchmark, a predictor and the Hub."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from pqpp_cli.main import main
from pqpp_datasets.load import load_benchmark
from pqpp_models import Predictor
from pqpp_models.bench.protocol import list_experiment_columns

MODELS = {"flux": 0.0, "mini-dalle": 0.4}
TARGETS = ["flux_hbpp", "mini-dalle_hbpp", "mean_hbpp"]


def write_votes(path, prompts: int = 60) -> None:
    """Write votes of three people on images of two models; more objects are harder."""
    random = np.random.default_rng(0)
    lines = ["prompt,image,model,annotator,label"]
    for n in range(prompts):
        count = n % 6
        for model, penalty in MODELS.items():
            raw = 2 - 0.5 * count - penalty + random.normal(0, 0.4, 3)
            labels = np.clip(np.rint(raw), -1, 2).astype(int)
            text = f"A cat and {count} birds number {n}."
            lines += [f"{text},{n}_{model}.png,{model},p{a},{v}" for a, v in enumerate(labels)]
    path.write_text("\n".join(lines))


@pytest.fixture
def mine(tmp_path, monkeypatch, cache, capsys):
    """A benchmark built from votes in the working directory, offline."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    write_votes(tmp_path / "votes.csv")
    assert main(["build", "votes.csv", "--output", "mine"]) == 0
    capsys.readouterr()
    return tmp_path / "mine"


@pytest.mark.slow  # eight seconds of CPU
def test_page_example_with_a_thousand_prompts(tmp_path, monkeypatch, cache, capsys):
    """The four commands of docs/own_benchmark.md."""
    from support import local_hub
    from support.processes import run_warm

    monkeypatch.chdir(tmp_path)
    write_votes(tmp_path / "votes.csv", 1000)  # of three people, on two models' images: 6,000
    text = (tmp_path / "votes.csv").read_text()
    (tmp_path / "votes.csv").write_text(text.replace(",label", ",rating", 1))
    page = Path(__file__).parents[2] / "docs/own_benchmark.md"
    section = page.read_text("utf-8").partition("pqpp build votes.csv")[1:]
    lines = "".join(section).partition("```")[0].strip().splitlines()
    words = [shlex.split(line, comments=True)[1:] for line in lines]
    assert [line[0] for line in words] == ["build", "bench", "fit", "models"]
    for line in words[:3]:
        assert main(line) == 0
    output = capsys.readouterr().out
    assert "train: 600 prompts" in output and "static" in output and "n_words" in output
    push_words = [*words[3][:3], "pqpp/mine", "--dry-run"]  # an existing owner
    push = f"from pqpp_cli.main import main; raise SystemExit(main({push_words!r}))"
    with local_hub.serve() as hub:
        done = run_warm(push, tmp_path, **hub.environment(tmp_path / "home"))
    assert done.returncode == 0 and "model.safetensors" in done.stdout, done.stderr


def run_command(capsys, *words):
    capsys.readouterr()
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_table_of_own_targets_has_no_published_rows(mine, capsys):
    assert set(TARGETS) <= set(
        run_command(capsys, "fit", "mine", "--output", "my_predictor").split()
    )
    words = ("bench", "--dataset", "mine", "--predictors", "static,./my_predictor")
    result = json.loads(run_command(capsys, *words, "--format", "json"))
    assert result["published"] == []
    cells = {(r["predictor"], r["target"]): r for r in result["rows"]}
    assert [t for p, t in cells if p == "./my_predictor"] == TARGETS
    assert [cells["static", t]["stands_in"] for t in TARGETS] == ["mean_hbpp", "mean_hbpp", None]
    rows = load_benchmark(str(mine), split="validation")
    predictor = Predictor.from_pretrained("./my_predictor")
    predicted = predictor.predict(rows["prompt"][:], "mini-dalle_hbpp")[:, 0]
    expected = stats.pearsonr(predicted, rows["mini-dalle_hbpp"][:]).statistic
    cell = cells["./my_predictor", "mini-dalle_hbpp"]
    assert cell["pearson"] == pytest.approx(expected, abs=1e-9) and cell["config"] == "mine"
    text = run_command(capsys, *words)
    assert text.index("flux_hbpp") < text.index("mini-dalle_hbpp") < text.index("mean_hbpp")
    assert "published" not in text
    assert main([*words, "--targets", "nix"]) == 2
    assert capsys.readouterr().err.strip().endswith(", ".join(TARGETS))


def test_pqpp_cross_tables_match_the_paper():
    from pqpp_models import TARGETS as NINE

    cross = {(c.predicted, c.target) for c in list_experiment_columns("cross-model", NINE, [])}
    assert cross == {
        *(("sdxl_hbpp", "glide_hbpp"), ("glide_hbpp", "sdxl_hbpp")),
        *(("blip2_p10", "clip_p10"), ("clip_p10", "blip2_p10")),
        *(("blip2_rr", "clip_rr"), ("clip_rr", "blip2_rr")),
    }
    task = {(c.predicted, c.target) for c in list_experiment_columns("cross-task", NINE, [])}
    assert task == {
        *(("clip_p10", "glide_hbpp"), ("blip2_p10", "sdxl_hbpp")),
        *(("glide_hbpp", "clip_p10"), ("glide_hbpp", "clip_rr")),
        *(("sdxl_hbpp", "blip2_p10"), ("sdxl_hbpp", "blip2_rr")),
    }
