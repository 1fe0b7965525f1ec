"""Votes in the formats of other tools, compared with pandas."""

import itertools
import json
import random

import pandas as pd
import pytest
from support.votes import build, to_dict

from pqpp_datasets.errors import BenchmarkError

MODELS = ("flux", "sdxl", "sd2.1")
BOM = "\ufeff"
PAIR_COLUMNS = ["prompt", "a", "b", "person", "share"]


def make_votes(seed=0, prompts=40, people=("7", "12", "31"), low=1, high=5):
    """Return random votes of several annotators on one image per prompt and model."""
    rng = random.Random(seed)
    rows = [
        {"prompt": f"Ein Bild, Nr. {n}", "model": model, "image": f"{model}/{n}.png"}
        | {"person": person, "vote": rng.randint(low, high), "seconds": rng.randint(20, 900) / 10}
        for n, model, person in itertools.product(range(prompts), MODELS, people)
        if rng.random() < 0.9
    ]
    return pd.DataFrame(rows)


def make_tasks(votes):
    """Return a Label Studio task per image; some have cancelled or empty annotations."""
    tasks = []
    for n, ((prompt, model, image), rows) in enumerate(
        votes.groupby(["prompt", "model", "image"], sort=False)
    ):
        annotations = [
            {
                "id": 1000 * n + k,
                "completed_by": int(row.person) if k % 2 else {"id": int(row.person)},
                "was_cancelled": False,
                "ground_truth": False,
                "lead_time": row.seconds,
                "result": [
                    {"from_name": "stars", "to_name": "image", "type": "rating"}
                    | {"value": {"rating": row.vote}},
                    {"from_name": "why", "to_name": "image", "type": "textarea"}
                    | {"value": {"text": ["so"]}},
                ],
            }
            for k, row in enumerate(rows.itertuples())
        ]
        cancelled = {**annotations[0], "was_cancelled": True, "completed_by": 99}
        empty = {**annotations[0], "result": [], "completed_by": 98}
        data = {"caption": prompt, "image": image, "meta": {"model": model}}
        skipped = [cancelled] * (n % 3 == 0) + [empty] * (n % 5 == 0)
        annotations += skipped
        tasks.append({"id": n, "data": data, "annotations": annotations, "predictions": []})
    return tasks


def average_votes(votes):
    """Compute the mean vote of each prompt by model, and over the models, with pandas."""
    means = votes.groupby(["prompt", "model"]).vote.mean().unstack("model")
    return means.assign(mean=means.mean(axis=1, skipna=False))


def assert_scores(built, expected, measure="rating"):
    """Compare all targets with a frame of prompts and models."""
    for model in expected:
        column = f"{model}_{measure}"
        computed = pd.Series(to_dict(built, column), dtype=float).reindex(expected.index)
        pd.testing.assert_series_equal(computed, expected[model], check_names=False, rtol=1e-11)


def test_reads_label_studio_json(tmp_path):
    votes = make_votes()
    assert len(votes) > 300
    path = tmp_path / "project-1.json"
    path.write_text(BOM + json.dumps(make_tasks(votes), indent=1), "utf-8")
    built = build(path, from_format="label-studio", columns={"model": "meta.model"}, scale="1..5")
    assert_scores(built, average_votes(votes))
    table = built.generation.table
    assert sorted(table.annotator_names) == ["12", "31", "7"] and len(table) == len(votes)
    assert table.seconds.sum() == pytest.approx(votes.seconds.sum())
    assert "40 cancelled annotations" in " ".join(built.notes)


def test_reads_label_studio_json_min(tmp_path):
    votes = make_votes(1)
    records = [
        {"prompt": row.prompt, "image": row.image, "model": row.model, "id": n}
        | {"stars": [{"rating": row.vote}], "annotator": int(row.person), "annotation_id": n}
        | {"created_at": "2026-01-01", "lead_time": row.seconds}
        for n, row in enumerate(votes.itertuples())
    ]
    path = tmp_path / "min.json"
    path.write_text(json.dumps(records))
    assert_scores(build(path, from_format="label-studio", scale="1..5"), average_votes(votes))


def make_pairs(seed, rows=240):
    """Return random choices between two models, with ties and pairs of one model."""
    rng = random.Random(seed)
    pairs = []
    for n in range(rows):
        a, b = rng.choices(MODELS, k=2)
        pairs.append([f"prompt {n % 30}", a, b, f"p{n % 7}-{n}", rng.choice((1.0, 0.5, 0.0))])
    return pd.DataFrame(pairs, columns=PAIR_COLUMNS)


def compute_win_shares(pairs):
    """Compute the share of wins of each model on each prompt with pandas."""
    pairs = pairs[pairs.a != pairs.b]
    other = pairs.rename(columns={"a": "b", "b": "a"}).assign(share=1 - pairs.share)
    return pd.concat([pairs, other]).groupby(["prompt", "a"]).share.mean().unstack("a")


@pytest.mark.parametrize("form", ["nested", "flat", "parquet"])
def test_reads_argilla(tmp_path, form):
    votes = make_votes(4)
    records = []
    for n, ((prompt, model, image), part) in enumerate(
        votes.groupby(["prompt", "model", "image"], sort=False)
    ):
        answers = [(row.person, "submitted", row.vote) for row in part.itertuples()]
        unsubmitted = [("draft-er", "draft", 5), ("no-er", "discarded", None)]
        fields, metadata = {"prompt": prompt, "image": image}, {"model": model}
        attributes = {"id": str(n), "status": "completed", "_server_id": f"s{n}"}
        if form == "nested":
            responses = [{"value": value, "user_id": person} for person, _, value in answers]
            records.append(
                {**attributes, "fields": fields, "metadata": metadata}
                | {"responses": {"fit": responses}}
                | {"suggestions": {"fit": {"value": 3, "agent": "gpt"}}, "vectors": {}}
            )
        else:
            people, states, values = zip(*answers, *unsubmitted, strict=True)
            records.append(
                {**attributes, **fields, **metadata, "fit.responses": list(values)}
                | {"fit.responses.users": list(people), "fit.responses.status": list(states)}
                | {"fit.suggestion": 3, "fit.suggestion.agent": "gpt"}
            )
    path = tmp_path / ("records.parquet" if form == "parquet" else "records.json")
    if form == "parquet":
        pd.DataFrame(records).to_parquet(path)
    else:
        path.write_text(json.dumps(records))
    built = build(path, from_format="argilla", scale="1..5")
    assert_scores(built, average_votes(votes))
    assert len(built.generation.table) == len(votes)
    assert any("not submitted" in note for note in built.notes) == (form != "nested")


def test_reads_argilla_rankings(tmp_path):
    rng, rows, records = random.Random(5), [], []
    for n in range(200):
        order = rng.sample(MODELS, 3)
        rows += [[f"prompt {n % 25}", *pair, "", 1.0] for pair in itertools.combinations(order, 2)]
        responses = [{"value": order, "user_id": f"u{n}"}]
        records.append(
            {"id": str(n), "fields": {"prompt": f"prompt {n % 25}"}, "metadata": {}}
            | {"responses": {"order": responses}}
        )
    path = tmp_path / "r.json"
    path.write_text(json.dumps(records))
    expected = compute_win_shares(pd.DataFrame(rows, columns=PAIR_COLUMNS))
    assert_scores(build(path, from_format="argilla"), expected, "rate")


def test_reads_imagereward(tmp_path):
    rng, records, rows = random.Random(6), [], []
    for n in range(220):
        ranks = [rng.randint(1, 3) for _ in range(4)]
        models = [*MODELS, MODELS[0]]  # the images of one model are not compared
        images = [f"{model}/{n}_{k}.png" for k, model in enumerate(models)]
        records.append({"id": str(n), "prompt": f"prompt {n}", "generations": images}
                       | {"ranking": ranks})  # fmt: skip
        for a, b in itertools.combinations(range(4), 2):
            share = 0.5 + 0.5 * ((ranks[a] < ranks[b]) - (ranks[a] > ranks[b]))
            rows.append([f"prompt {n}", models[a], models[b], "", share])
    path = tmp_path / "test.json"
    path.write_text(json.dumps(records))
    expected = compute_win_shares(pd.DataFrame(rows, columns=PAIR_COLUMNS))
    built = build(path, from_format="imagereward", model_pattern="^([^/]+)/")
    assert_scores(built, expected, "rate")
    with pytest.raises(BenchmarkError, match=r"missing column 'model' .*`model_pattern` REGEX"):
        build(path, from_format="imagereward")

    votes = make_votes(7, people=("one",), high=7)
    frame = votes.rename(columns={"image": "image_path", "vote": "overall_rating"})
    frame = frame.assign(fidelity_rating=1, rank=1).drop(columns=["person", "seconds"])
    frame.to_parquet(tmp_path / "db.parquet")
    assert_scores(build(tmp_path / "db.parquet", from_format="imagereward"), average_votes(votes))


def test_reads_pickapic(tmp_path):
    pairs = make_pairs(8)
    frame = pd.DataFrame(
        {"caption": pairs.prompt, "user_id": pairs.person, "model_0": pairs.a, "model_1": pairs.b}
        | {"label_0": pairs.share, "label_1": 1 - pairs.share, "has_label": True}
        | {f"image_{side}_uid": [f"{side}-{n}" for n in range(len(pairs))] for side in (0, 1)}
        | {f"jpg_{side}": [b"\xff\xd8"] * len(pairs) for side in (0, 1)}
    )
    unlabelled = frame.head(9).assign(has_label=False, label_0=None, label_1=None)
    path = tmp_path / "pairs.parquet"
    pd.concat([unlabelled, frame]).to_parquet(path)
    built = build(path, from_format="pickapic")
    assert_scores(built, compute_win_shares(pairs), "rate")
    notes = " ".join(built.notes)
    assert "rows without a label" in notes
    assert f"{(pairs.a == pairs.b).sum()} choices between two images of one model" in notes


def test_reads_hpd(tmp_path):
    pairs = make_pairs(9)
    pairs = pairs[pairs.share != 0.5].reset_index(drop=True)
    version_2, version_3, version_1 = [], [], []
    for n, row in enumerate(pairs.itertuples()):
        images, won = [f"{row.a}/{n}a.jpg", f"{row.b}/{n}b.jpg"], int(row.share)
        columns = {"user_hash": f"h{n}", "prompt": row.prompt}
        version_2.append({**columns, "image_path": images, "human_preference": [won, 1 - won]})
        version_1.append({**columns, "file_path": images, "human_preference": 1 - won})
        better, worse = (row.a, row.b) if won else (row.b, row.a)
        version_3.append({"prompt": row.prompt, "path1": "x", "path2": "y", "model1": better}
                     | {"model2": worse, "confidence": 0.9, "choice_dist": [3, 1]})  # fmt: skip
    path = tmp_path / "train.json"
    for records in (version_1, version_2):
        path.write_text(json.dumps(records))
        built = build(path, from_format="hpd", model_pattern="^([^/]+)/")
        assert_scores(built, compute_win_shares(pairs), "rate")
        assert len(built.preferences.voters) == len(pairs)
    path.write_text(json.dumps(version_3))
    expected = compute_win_shares(pairs.assign(share=0.25 + 0.5 * pairs.share))
    assert_scores(build(path, from_format="hpd"), expected, "rate")
    path.write_text(json.dumps([version_3[0] | {"choice_dist": [10**9, 0]}]))
    with pytest.raises(BenchmarkError, match="above 100"):
        build(path, from_format="hpd")
    path.write_text(json.dumps([{"prompt": "a", "image_path": ["m/1", "n/2", "o/3"],
                                 "rank": [2, 1, 3]}]))  # fmt: skip
    built = build(path, from_format="hpd", model_pattern="^(.)", prior_wins=1)
    assert [to_dict(built, f"{m}_rate")["a"] for m in "mno"] == [0.5, 1.0, 0.0]


@pytest.mark.parametrize("form", ["column", "buttons", "json"])
def test_reads_mturk(tmp_path, form):
    votes = make_votes(10)
    columns = {"HITId": votes.image, "HITTypeId": "T", "WorkerId": votes.person}
    columns |= {"AssignmentStatus": "Approved", "WorkTimeInSeconds": votes.seconds}
    columns |= {f"Input.{name}": votes[name] for name in ("prompt", "model", "image")}
    answers = {
        "column": {"Answer.fit": votes.vote},
        "buttons": {f"Answer.fit.{n}": (votes.vote == n).map(str).str.lower() for n in range(1, 6)},
        "json": {"Answer.taskAnswers": [
            json.dumps([{"fit": {str(n): bool(n == vote) for n in range(1, 6)}}])
            for vote in votes.vote]},
    }  # fmt: skip
    frame = pd.DataFrame({**columns, **answers[form], "Approve": "", "Reject": ""})
    rejected = frame.head(11).assign(AssignmentStatus="Rejected", WorkerId="spam")
    path = tmp_path / "Batch_1_batch_results.csv"
    pd.concat([frame, rejected]).to_csv(path, index=False, encoding="utf-8-sig")
    built = build(path, from_format="mturk", scale="1..5")
    assert_scores(built, average_votes(votes))
    assert "rejected assignments" in " ".join(built.notes)
    assert built.generation.table.seconds.sum() == pytest.approx(votes.seconds.sum())


def test_dotted_paths_name_nested_columns(tmp_path):
    votes = make_votes(11)
    lines = [
        {"data": {"text": row.prompt, "made": [{"by": row.model, "as": row.image}]}}
        | {"who.am": row.person, "answer": {"stars": row.vote}}
        for row in votes.itertuples()
    ]
    columns = {"prompt": "data.text", "model": "data.made.0.by", "image": "data.made.0.as"}
    columns |= {"annotator": "who.am", "label": "answer.stars"}
    path = tmp_path / "votes.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    pd.DataFrame(lines).to_parquet(tmp_path / "votes.parquet")
    for file in (path, tmp_path / "votes.parquet"):
        assert_scores(build(file, columns=columns, scale="1..5"), average_votes(votes))
    with pytest.raises(
        BenchmarkError, match=r"missing column 'data\.txet' .columns: data, who\.am, answer"
    ):
        build(path, columns={**columns, "prompt": "data.txet"}, scale="1..5")


def make_task(*choices):
    """Return a Label Studio task with one question and the given choices."""
    result = [{"from_name": "q", "type": "choices", "value": {"choices": [*choices]}}]
    data = {"prompt": "a cat", "image": "1.png", "model": "m"}
    return {"data": data, "annotations": [{"completed_by": 1, "result": result}]}


def test_rejects_invalid_files(tmp_path):
    path = tmp_path / "export.json"
    vote, tasks = [{"value": 1, "user_id": "u"}], [make_task("good"), make_task("good", "sharp")]
    for name, content, expected in (
        ("argilla", [{"fields": {"prompt": "a"}, "responses": {"x": vote, "y": vote}}], "x, y"),
        ("mturk", [{"Answer.taskAnswers": "{", "WorkerId": "w"}], "taskAnswers is not JSON"),
        ("argilla", [{"fields": {"prompt": ["a"]}, "responses": {"x": vote}}], "prompt' is a list"),
        ("label-studio", tasks, "record 2: q: expected one answer"),
        ("hpd", [{"path1": "x", "choice_dist": [float("inf")]}], "not in the format hpd"),
        ("argilla", [{"fields": {"prompt": "a"}, "responses": "x"}], "not in the format argilla"),
    ):
        path.write_text(json.dumps(content))
        with pytest.raises(BenchmarkError, match=expected):
            build(path, from_format=name)
    path.write_text(json.dumps([make_task("good")]))
    with pytest.raises(BenchmarkError, match=r"^\S*export\.json has a column of models"):
        build(path, from_format="label-studio", model="sdxl")
