"""Seven people's ways, each from their own files to a predictor on its way to the Hub.

Every target and every figure of the comparison is computed again by plain pandas and scipy.
"""

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support import local_hub
from support.processes import run_warm

from pqpp_cli.main import main

MODELS = ("flux", "sdxl")
GERMAN = "Ein {} Hund mit {} Bällen am Strand, Bild {}."
CHINESE = "一只{}色的猫和{}个球，第{}张图。"
ENGLISH = "A {} dog with {} balls on a beach, number {}."


def prompts_of(pattern, n, words=("roter", "blauer", "alter")):
    """Prompts that are harder with every ball."""
    return [pattern.format(words[k % 3], k % 6 + 1, k) for k in range(n)]


def ease(k):
    """How well prompt k does, 0 to 1."""
    return 1 - (k % 6) / 6


def votes_of(prompts, people=6, bad=0, seed=0):
    """A row a vote, 1 to 5, on an image of each model; the first people answer at random."""
    rng = np.random.default_rng(seed)
    rows = []
    for (k, prompt), model, person in itertools.product(enumerate(prompts), MODELS, range(people)):
        honest = np.rint(1 + 4 * ease(k) - 0.5 * (model == "sdxl") + rng.normal(0, 0.5))
        vote = rng.integers(1, 6) if person < bad else int(np.clip(honest, 1, 5))
        rows.append((prompt, f"{model}/{k}.png", model, f"p{person}", int(vote)))
    return pd.DataFrame(rows, columns=["prompt", "image", "model", "annotator", "label"])


def means(votes):
    """Targets of votes: the mean of each image's, and their mean over the models."""
    of_model = votes.groupby(["prompt", "model"]).label.mean().unstack()
    named = of_model.add_suffix("_rating")
    return named.assign(mean_rating=of_model.mean(axis=1, skipna=False))


def shares(pairs):
    """Targets of preferences: the share of a model's comparisons that it won."""
    sides = [
        pairs.assign(model=pairs.a, won=pairs.share),
        pairs.assign(model=pairs.b, won=1 - pairs.share),
    ]
    return pd.concat(sides).groupby(["prompt", "model"]).won.mean().unstack().add_suffix("_rate")


def a_row_a_vote():
    votes = votes_of(prompts_of(GERMAN, 90))
    votes.to_csv("votes.csv", index=False, sep=";")
    return ["votes.csv", "--scale", "1..5", "--language", "de"], means(votes)


def half_the_raters_bad():
    votes = votes_of(prompts_of(GERMAN, 120), 8, 4)
    votes.to_csv("votes.csv", index=False)
    honest = votes[~votes.annotator.isin(["p0", "p1", "p2", "p3"])]
    return ["votes.csv", "--scale", "1..5", "--exclude", "flagged"], means(honest)


def a_column_a_model():
    votes = votes_of(prompts_of(CHINESE, 80, "红蓝黑"), 3)
    wide = votes.pivot(index=["prompt", "annotator"], columns="model", values="label")
    wide.reset_index().to_csv("wide.csv", index=False, encoding="utf-8-sig")
    words = ["wide.csv", "--model-columns", "flux,sdxl", "--scale", "1..5", "--language", "zh"]
    return words, means(votes)


def preferences():
    rng = np.random.default_rng(3)
    rows = [
        (prompt, *rng.permutation(MODELS), f"p{person}")
        for prompt, person in itertools.product(prompts_of(ENGLISH, 70), range(4))
    ]
    pairs = pd.DataFrame(rows, columns=["prompt", "a", "b", "person"])
    better = (pairs.a == "flux") ^ (rng.random(len(pairs)) < 0.3)
    pairs["share"] = np.where(rng.random(len(pairs)) < 0.1, 0.5, better.astype(float))
    called = {"a": "model_a", "b": "model_b", "person": "annotator"}
    named = pairs.rename(columns=called).assign(
        choice=pairs.share.map({1.0: "a", 0.5: "tie", 0.0: "b"})
    )
    named.drop(columns="share").to_parquet("pairs.parquet")
    return ["--preferences", "pairs.parquet"], shares(pairs)


def label_studio():
    votes = votes_of(prompts_of(GERMAN, 60), 3)
    tasks = [
        {"id": n, "data": {"prompt": prompt, "image": image, "model": model}}
        | {"annotations": [
            {"completed_by": {"id": row.annotator}, "lead_time": 2.5, "was_cancelled": False}
            | {"result": [{"from_name": "fit", "type": "rating", "value": {"rating": row.label}}]}
            for row in part.itertuples()]}
        for n, ((prompt, image, model), part) in enumerate(
            votes.groupby(["prompt", "image", "model"], sort=False))
    ]  # fmt: skip
    Path("export.json").write_text(json.dumps(tasks), "utf-8")
    return ["--from", "label-studio", "export.json", "--scale", "1..5"], means(votes)


def argilla():
    votes = votes_of(prompts_of(ENGLISH, 60, ("red", "blue", "old")), 3, seed=5)
    records = [
        {"id": image, "status": "completed", "fields": {"prompt": prompt, "image": image}}
        | {"metadata": {"model": model}, "suggestions": {}, "responses": {"fit": [
            {"value": row.label, "user_id": row.annotator} for row in part.itertuples()]}}
        for (prompt, image, model), part in votes.groupby(["prompt", "image", "model"], sort=False)
    ]  # fmt: skip
    Path("records.json").write_text(json.dumps(records), "utf-8")
    return ["--from", "argilla", "records.json", "--scale", "1..5"], means(votes)


def automatic_scores():
    rng = np.random.default_rng(6)
    scores = votes_of(prompts_of(ENGLISH, 60, ("red", "blue", "old")), 1)
    scores["label"] = np.round(scores.label / 5 + rng.normal(0, 0.02, len(scores)), 6).clip(0, 1)
    scores = scores.drop(columns="annotator").rename(columns={"label": "clip"})
    scores.to_json("scores.jsonl", orient="records", lines=True)
    expected = means(scores.rename(columns={"clip": "label"}))
    return ["scores.jsonl", "--columns", "score=clip", "--scale", "0..1"], expected


def rankings():
    rng = np.random.default_rng(7)
    rows, pairs = [], []
    for prompt, person in itertools.product(prompts_of(GERMAN, 70), range(3)):
        ranks = dict(zip((*MODELS, "glide"), rng.integers(1, 4, 3).tolist(), strict=True))
        rows += [(prompt, model, rank, f"p{person}") for model, rank in ranks.items()]
        for a, b in itertools.combinations(ranks, 2):
            share = 0.5 + 0.5 * np.sign(ranks[b] - ranks[a])
            pairs.append((prompt, a, b, share))
    frame = pd.DataFrame(rows, columns=["prompt", "model", "place", "annotator"])
    frame.to_csv("ranks.tsv", sep="\t", index=False)
    expected = shares(pd.DataFrame(pairs, columns=["prompt", "a", "b", "share"]))
    return ["--rankings", "ranks.tsv", "--columns", "rank=place"], expected


def trec_runs():
    rng = np.random.default_rng(8)
    prompts = prompts_of(ENGLISH, 80, ("red", "blue", "old"))
    relevant = {
        k: {f"d{d}" for d in rng.choice(40, 3 + k % 6, replace=False)} for k in range(len(prompts))
    }
    expected = pd.DataFrame(index=pd.Index(prompts, name="prompt"))
    words, orders = ["--runs"], {}
    for model in ("clip", "blip2"):
        orders[model] = {k: [f"d{d}" for d in rng.permutation(40)[:20]] for k in relevant}
        lines = [
            f"q{k} Q0 {name} {place} {21 - place} {model}"
            for k, names in orders[model].items()
            for place, name in enumerate(names, 1)
        ]
        Path(f"{model}.trec").write_text("\n".join(lines) + "\n")
        words.append(f"{model}={model}.trec")
    judged = [f"q{k} 0 {name} 1\n" for k, names in relevant.items() for name in names]
    Path("judged.qrels").write_text("".join(judged))
    ids = [f"q{k}" for k in relevant]
    pd.DataFrame({"prompt_id": ids, "prompt": prompts}).to_csv("texts.csv", index=False)
    for model, order in orders.items():
        hits = [[name in relevant[k] for name in order[k]] for k in relevant]
        expected[f"{model}_p10"] = [sum(some[:10]) / 10 for some in hits]
        expected[f"{model}_rr"] = [1 / (some.index(True) + 1) if any(some) else 0 for some in hits]
    for measure in ("p10", "rr"):
        both = [f"{model}_{measure}" for model in orders]
        expected[f"mean_{measure}"] = expected[both].mean(axis=1)
    return [*words, "--relevance", "judged.qrels", "--prompts", "texts.csv"], expected


WAYS = (
    a_row_a_vote,
    half_the_raters_bad,
    a_column_a_model,
    preferences,
    label_studio,
    argilla,
    automatic_scores,
    rankings,
    trec_runs,
)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_from_own_files_to_a_pushed_predictor(way, tmp_path, monkeypatch, cache):
    monkeypatch.chdir(tmp_path)
    words, expected = way()
    assert main(["build", *words, "--name", "Mine", "--license", "mit", "--output", "mine"]) == 0
    files = sorted((tmp_path / "mine" / "data").glob("*.parquet"))
    built = pd.concat([pd.read_parquet(file) for file in files]).set_index("prompt")
    assert len(built) == len(expected)
    for target in expected:
        found = built[target].astype(float).reindex(expected.index)
        np.testing.assert_allclose(found, expected[target], rtol=0, atol=1e-11, err_msg=target)

    target = next((name for name in expected if name.startswith("mean_")), expected.columns[0])
    noise = np.random.default_rng(9).normal(0, 0.5, len(built))
    said = pd.DataFrame({"prompt": built.index, "mine": built[target].to_numpy() + noise})
    said.to_csv("said.csv", index=False)
    test = pd.read_parquet(next(file for file in files if file.name.startswith("test")))
    words = ["bench", "--dataset", "mine", "--split", "test", "--targets", target]
    words += ["--predictors", "said.csv:mine", "--format", "csv", "--output", "b.csv"]
    assert main(words) == 0
    (row,) = pd.read_csv("b.csv").itertuples()
    x = test.prompt.map(said.set_index("prompt").mine)
    tau, r = stats.kendalltau(x, test[target]), stats.pearsonr(x, test[target])
    assert [row.n, row.pearson] == pytest.approx([len(test), r.statistic], abs=5e-12)
    assert [row.pearson_p, row.kendall] == pytest.approx([r.pvalue, tau.statistic], abs=5e-12)

    assert main(["fit", "mine", "--targets", target, "--output", "fitted"]) == 0
    given = ["models", "push", "fitted", "pqpp/mine", "--anyway"]
    push = f"from pqpp_cli.main import main; raise SystemExit(main({given!r}))"
    with local_hub.serve() as hub:
        done = run_warm(push, tmp_path, **hub.environment(tmp_path / "home"))
    assert done.returncode == 0 and "model.safetensors" in done.stdout, done.stderr
