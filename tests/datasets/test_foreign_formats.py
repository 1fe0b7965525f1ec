"""Votes in the formats of other tools, compared with pandas."""

import itertools
import json
import random

import pandas as pd
import pytest
from support.votes import build, scores

from pqpp_datasets.errors import BenchmarkError

MODELS = ("flux", "sdxl", "sd2.1")
BOM = "\ufeff"


def voted(seed=0, prompts=40, people=("7", "12", "31"), low=1, high=5):
    """A frame of votes on an image of each model, of several people a prompt."""
    rng = random.Random(seed)
    rows = [
        {"prompt": f"Ein Bild, Nr. {n}", "model": model, "image": f"{model}/{n}.png"}
        | {"person": person, "vote": rng.randint(low, high), "seconds": rng.randint(20, 900) / 10}
        for n, model, person in itertools.product(range(prompts), MODELS, people)
        if rng.random() < 0.9
    ]
    return pd.DataFrame(rows)


def tasks_of(votes):
    """A Label Studio task for each image, with cancelled, empty and odd annotations among them."""
    tasks = []
    for n, ((prompt, model, image), part) in enumerate(
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
            for k, row in enumerate(part.itertuples())
        ]
        cancelled = {**annotations[0], "was_cancelled": True, "completed_by": 99}
        empty = {**annotations[0], "result": [], "completed_by": 98}
        data = {"caption": prompt, "image": image, "meta": {"model": model}}
        odd = [cancelled] * (n % 3 == 0) + [empty] * (n % 5 == 0)
        tasks.append({"id": n, "data": data, "annotations": annotations + odd, "predictions": []})
    return tasks


def means(votes):
    """The mean of each prompt and model, and of each prompt over the models, by pandas alone."""
    of_model = votes.groupby(["prompt", "model"]).vote.mean().unstack("model")
    return of_model.assign(mean=of_model.mean(axis=1, skipna=False))


def compare(built, expected, measure="rating"):
    """Hold every target against a frame of prompts and models."""
    for model in expected:
        column = f"{model}_{measure}"
        found = pd.Series(scores(built, column), dtype=float).reindex(expected.index)
        pd.testing.assert_series_equal(found, expected[model], check_names=False, rtol=1e-11)


def test_reads_label_studio_json(tmp_path):
    votes = voted()
    assert len(votes) > 300
    path = tmp_path / "project-1.json"
    path.write_text(BOM + json.dumps(tasks_of(votes), indent=1), "utf-8")
    built = build(path, from_format="label-studio", columns={"model": "meta.model"}, scale="1..5")
    compare(built, means(votes))
    table = built.generation.table
    assert sorted(table.annotator_names) == ["12", "31", "7"] and len(table) == len(votes)
    assert table.seconds.sum() == pytest.approx(votes.seconds.sum())
    assert "40 cancelled annotations" in " ".join(built.notes)


def test_reads_label_studio_json_min(tmp_path):
    votes = voted(1)
    records = [
        {"prompt": row.prompt, "image": row.image, "model": row.model, "id": n}
        | {"stars": [{"rating": row.vote}], "annotator": int(row.person), "annotation_id": n}
        | {"created_at": "2026-01-01", "lead_time": row.seconds}
        for n, row in enumerate(votes.itertuples())
    ]
    path = tmp_path / "min.json"
    path.write_text(json.dumps(records))
    compare(build(path, from_format="label-studio", scale="1..5"), means(votes))


def pairs_of(seed, rows=240):
    """A frame of choices between two models, some ties, some of one model."""
    rng = random.Random(seed)
    chosen = []
    for n in range(rows):
        a, b = rng.choices(MODELS, k=2)
        chosen.append([f"prompt {n % 30}", a, b, f"p{n % 7}-{n}", rng.choice((1.0, 0.5, 0.0))])
    return pd.DataFrame(chosen, columns=["prompt", "a", "b", "person", "share"])


def shares(pairs):
    """The share of wins of each model on each prompt, by pandas alone."""
    pairs = pairs[pairs.a != pairs.b]
    sides = [
        pairs.assign(model=pairs.a, vote=pairs.share),
        pairs.assign(model=pairs.b, vote=1 - pairs.share),
    ]
    return pd.concat(sides).groupby(["prompt", "model"]).vote.mean().unstack("model")


@pytest.mark.parametrize("form", ["nested", "flat", "parquet"])
def test_reads_argilla(tmp_path, form):
    votes = voted(4)
    records = []
    for n, ((prompt, model, image), part) in enumerate(
        votes.groupby(["prompt", "model", "image"], sort=False)
    ):
        answers = [(row.person, "submitted", row.vote) for row in part.itertuples()]
        others = [("draft-er", "draft", 5), ("no-er", "discarded", None)]
        fields, about = {"prompt": prompt, "image": image}, {"model": model}
        head = {"id": str(n), "status": "completed", "_server_id": f"s{n}"}
        if form == "nested":
            said = [{"value": value, "user_id": person} for person, _, value in answers]
            records.append(
                {**head, "fields": fields, "metadata": about, "responses": {"fit": said}}
                | {"suggestions": {"fit": {"value": 3, "agent": "gpt"}}, "vectors": {}}
            )
        else:
            people, states, values = zip(*answers, *others, strict=True)
            records.append(
                {**head, **fields, **about, "fit.responses": list(values)}
                | {"fit.responses.users": list(people), "fit.responses.status": list(states)}
                | {"fit.suggestion": 3, "fit.suggestion.agent": "gpt"}
            )
    path = tmp_path / ("records.parquet" if form == "parquet" else "records.json")
    if form == "parquet":
        pd.DataFrame(records).to_parquet(path)
    else:
        path.write_text(json.dumps(records))
    built = build(path, from_format="argilla", scale="1..5")
    compare(built, means(votes))
    assert len(built.generation.table) == len(votes)
    assert any("not submitted" in note for note in built.notes) == (form != "nested")


def test_reads_argilla_rankings(tmp_path):
    rng, rows, records = random.Random(5), [], []
    for n in range(200):
        order = rng.sample(MODELS, 3)
        rows += [[f"prompt {n % 25}", *pair, "", 1.0] for pair in itertools.combinations(order, 2)]
        said = [{"value": order, "user_id": f"u{n}"}]
        records.append(
            {"id": str(n), "fields": {"prompt": f"prompt {n % 25}"}, "metadata": {}}
            | {"responses": {"order": said}}
        )
    path = tmp_path / "r.json"
    path.write_text(json.dumps(records))
    expected = shares(pd.DataFrame(rows, columns=["prompt", "a", "b", "person", "share"]))
    compare(build(path, from_format="argilla"), expected, "rate")


def test_reads_imagereward(tmp_path):
    rng, records, rows = random.Random(6), [], []
    for n in range(220):
        ranks = [rng.randint(1, 3) for _ in range(4)]
        made_by = [*MODELS, MODELS[0]]  # two images of one model, which are not compared
        images = [f"{model}/{n}_{k}.png" for k, model in enumerate(made_by)]
        records.append({"id": str(n), "prompt": f"prompt {n}", "generations": images}
                       | {"ranking": ranks})  # fmt: skip
        for a, b in itertools.combinations(range(4), 2):
            share = 0.5 + 0.5 * ((ranks[a] < ranks[b]) - (ranks[a] > ranks[b]))
            rows.append([f"prompt {n}", made_by[a], made_by[b], "", share])
    path = tmp_path / "test.json"
    path.write_text(json.dumps(records))
    expected = shares(pd.DataFrame(rows, columns=["prompt", "a", "b", "person", "share"]))
    compare(build(path, from_format="imagereward", model_pattern="^([^/]+)/"), expected, "rate")
    with pytest.raises(BenchmarkError, match=r"missing column 'model' .*`model_pattern` REGEX"):
        build(path, from_format="imagereward")

    votes = voted(7, people=("one",), high=7)
    frame = votes.rename(columns={"image": "image_path", "vote": "overall_rating"})
    frame = frame.assign(fidelity_rating=1, rank=1).drop(columns=["person", "seconds"])
    frame.to_parquet(tmp_path / "db.parquet")
    compare(build(tmp_path / "db.parquet", from_format="imagereward"), means(votes))


def test_reads_pickapic(tmp_path):
    pairs = pairs_of(8)
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
    compare(built, shares(pairs), "rate")
    said = " ".join(built.notes)
    assert "rows without a label" in said
    assert f"{(pairs.a == pairs.b).sum()} choices between two images of one model" in said


def test_reads_hpd(tmp_path):
    pairs = pairs_of(9)
    pairs = pairs[pairs.share != 0.5].reset_index(drop=True)
    second, third, first = [], [], []
    for n, row in enumerate(pairs.itertuples()):
        images, won = [f"{row.a}/{n}a.jpg", f"{row.b}/{n}b.jpg"], int(row.share)
        hash_ = {"user_hash": f"h{n}", "prompt": row.prompt}
        second.append({**hash_, "image_path": images, "human_preference": [won, 1 - won]})
        first.append({**hash_, "file_path": images, "human_preference": 1 - won})
        better, worse = (row.a, row.b) if won else (row.b, row.a)
        third.append({"prompt": row.prompt, "path1": "x", "path2": "y", "model1": better}
                     | {"model2": worse, "confidence": 0.9, "choice_dist": [3, 1]})  # fmt: skip
    path = tmp_path / "train.json"
    for records in (first, second):
        path.write_text(json.dumps(records))
        built = build(path, from_format="hpd", model_pattern="^([^/]+)/")
        compare(built, shares(pairs), "rate")
        assert len(built.preferences.voters) == len(pairs)
    path.write_text(json.dumps(third))
    expected = shares(pairs.assign(share=0.25 + 0.5 * pairs.share))
    compare(build(path, from_format="hpd"), expected, "rate")
    path.write_text(json.dumps([third[0] | {"choice_dist": [10**9, 0]}]))
    with pytest.raises(BenchmarkError, match="above 100"):
        build(path, from_format="hpd")
    path.write_text(json.dumps([{"prompt": "a", "image_path": ["m/1", "n/2", "o/3"],
                                 "rank": [2, 1, 3]}]))  # fmt: skip
    built = build(path, from_format="hpd", model_pattern="^(.)", prior_wins=1)
    assert [scores(built, f"{m}_rate")["a"] for m in "mno"] == [0.5, 1.0, 0.0]


@pytest.mark.parametrize("form", ["column", "buttons", "json"])
def test_reads_mturk(tmp_path, form):
    votes = voted(10)
    head = {"HITId": votes.image, "HITTypeId": "T", "WorkerId": votes.person}
    head |= {"AssignmentStatus": "Approved", "WorkTimeInSeconds": votes.seconds}
    head |= {f"Input.{name}": votes[name] for name in ("prompt", "model", "image")}
    answers = {
        "column": {"Answer.fit": votes.vote},
        "buttons": {f"Answer.fit.{n}": (votes.vote == n).map(str).str.lower() for n in range(1, 6)},
        "json": {"Answer.taskAnswers": [
            json.dumps([{"fit": {str(n): bool(n == vote) for n in range(1, 6)}}])
            for vote in votes.vote]},
    }  # fmt: skip
    frame = pd.DataFrame({**head, **answers[form], "Approve": "", "Reject": ""})
    rejected = frame.head(11).assign(AssignmentStatus="Rejected", WorkerId="spam")
    path = tmp_path / "Batch_1_batch_results.csv"
    pd.concat([frame, rejected]).to_csv(path, index=False, encoding="utf-8-sig")
    built = build(path, from_format="mturk", scale="1..5")
    compare(built, means(votes))
    assert "rejected assignments" in " ".join(built.notes)
    assert built.generation.table.seconds.sum() == pytest.approx(votes.seconds.sum())


def test_dotted_paths_name_nested_columns(tmp_path):
    votes = voted(11)
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
        compare(build(file, columns=columns, scale="1..5"), means(votes))
    with pytest.raises(
        BenchmarkError, match=r"missing column 'data\.txet' .columns: data, who\.am, answer"
    ):
        build(path, columns={**columns, "prompt": "data.txet"}, scale="1..5")


def chosen(*choices):
    """A Label Studio task whose one question took several choices."""
    result = [{"from_name": "q", "type": "choices", "value": {"choices": [*choices]}}]
    data = {"prompt": "a cat", "image": "1.png", "model": "m"}
    return {"data": data, "annotations": [{"completed_by": 1, "result": result}]}


def test_rejects_invalid_files(tmp_path):
    path = tmp_path / "export.json"
    said, two = [{"value": 1, "user_id": "u"}], [chosen("good"), chosen("good", "sharp")]
    for name, content, expected in (
        ("argilla", [{"fields": {"prompt": "a"}, "responses": {"x": said, "y": said}}], "x, y"),
        ("mturk", [{"Answer.taskAnswers": "{", "WorkerId": "w"}], "taskAnswers is not JSON"),
        ("argilla", [{"fields": {"prompt": ["a"]}, "responses": {"x": said}}], "prompt' is a list"),
        ("label-studio", two, "record 2: q: expected one answer"),
        ("hpd", [{"path1": "x", "choice_dist": [float("inf")]}], "not in the format hpd"),
    ):
        path.write_text(json.dumps(content))
        with pytest.raises(BenchmarkError, match=expected):
            build(path, from_format=name)
