"""Votes: scales, layouts, aggregation, blank and repeated votes."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.votes import build, to_dict, write

from pqpp_datasets.errors import BenchmarkError

HEADER = "prompt,image,model,annotator,label"
REPEATED = ["A,i,m,a,1", "A,i,m,b,5", "A,i,m,a,2", "B,i,m,a,3", "A,i,m,a,3"]
SAME_TEXT = ["A,i,m,x,5,1", "A,i,m,x,1,2", "B,i,m,x,3,3", "C,i,m,x,3,4"]


def build_from_labels(path, *labels, **options):
    """Build a benchmark with one vote per image; return it and the values of the votes."""
    built = build(write(path, *(f"p{n},i{n},m,a,{x}" for n, x in enumerate(labels))), **options)
    return built, built.generation.table.value.tolist()


LABELS_BY_SCALE = {
    "pqpp": ["2", "1", "0", "-1"],
    "pqpp ": ["High relevance", "unrealistic"],
    "yes-no": ["True", "False"],
    "likert5": ["1", "5", "3"],
    "likert5 ": ["Strongly agree", "neutral"],
    "0-10": ["0", "10", "7.5"],
}


@pytest.mark.filterwarnings("error")  # agreement is undefined with one vote per image
@pytest.mark.parametrize("name", LABELS_BY_SCALE)
def test_infers_and_notes_the_scale(tmp_path, name):
    built, _ = build_from_labels(tmp_path / "v.csv", *LABELS_BY_SCALE[name])
    assert built.generation.table.scale.name == name.strip()
    assert f"labels: inferred {name.strip()}, the only scale with" in built.notes[0]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "2"], "labels 1, 2 fit pqpp and likert5; set `scale`"),
        (["1", "2", "3", "4"], "labels 1, 2, 3, 4 fit likert5 and 1..4; set `scale`"),
        (["1", "7"], "row 3: 'label' is '7', and labels 1, 7 fit none of pqpp, yes-no,"),
        (["1", "5", "3", "33", "4"], r"row 5: 'label' is '33', and labels .* `missing`=33 if"),
        (["good", "bad"], 'bad, good fit likert5 and others; .*"good": '),
    ],
)
def test_rejects_labels_of_no_or_several_scales(tmp_path, labels, expected):
    with pytest.raises(BenchmarkError, match=expected):
        build_from_labels(tmp_path / "v.csv", *labels)


def test_reads_a_label_map(tmp_path):
    text = "labels: {no: 0, 'on': 1, Great: 4}\npositive: ['on', Great]\nmissing: ['?']\n"
    (tmp_path / "map.yaml").write_text(text)
    labels = str(tmp_path / "map.yaml")
    options = {"labels": labels, "aggregate": "positive"}
    built, values = build_from_labels(tmp_path / "v.csv", "NO", "on", "great", "?", **options)
    positive = built.generation.table.scale.is_positive(np.array(values))
    assert values == [0, 1, 4] and positive.tolist() == [False, True, True]
    assert [target.name for target in built.targets] == ["m_rate", "mean_rate"]
    (tmp_path / "map.yaml").write_text("labels: {a: b}")
    with pytest.raises(BenchmarkError, match="labels, a: expected a number, got 'b'"):
        build_from_labels(tmp_path / "v.csv", "a", labels=labels)


def make_votes(seed=0, images=120, annotators=7, low=1, high=5):
    """Return random votes, shape (images, annotators); NaN for a missing vote."""
    generator = np.random.default_rng(seed)
    matrix = generator.integers(low, high + 1, (images, annotators)).astype(float)
    matrix[generator.random(matrix.shape) < 0.4] = np.nan
    return matrix


def format_rows(matrix, per_prompt=3):
    return [
        f"p{i // per_prompt},i{i},m,a{a},{matrix[i, a]:g}"
        for i, a in np.argwhere(~np.isnan(matrix))
    ]


def average_by_prompt(images, per_prompt=3):
    groups = np.asarray(images).reshape(-1, per_prompt)
    return {f"p{n}": np.nanmean(x) for n, x in enumerate(groups) if not np.isnan(x).all()}


@pytest.mark.parametrize("aggregate", ["mean", "median", "mos", "positive"])
def test_aggregation_matches_numpy_and_scipy(tmp_path, aggregate):
    matrix = make_votes()
    built = build(
        write(tmp_path / "v.csv", *format_rows(matrix)), scale="likert5", aggregate=aggregate
    )
    expected = {
        "mean": lambda: np.nanmean(matrix, axis=1),
        "median": lambda: np.nanmedian(matrix, axis=1),
        "mos": lambda: np.nanmean(stats.zscore(matrix, ddof=1, nan_policy="omit"), axis=1),
        "positive": lambda: np.nanmean(np.where(np.isnan(matrix), np.nan, matrix >= 4), axis=1),
    }[aggregate]()
    measure = {"mos": "score", "positive": "rate"}.get(aggregate, "rating")
    computed = to_dict(built, f"m_{measure}")
    assert computed == pytest.approx(average_by_prompt(expected), abs=1e-9)
    assert len(computed) == 40


def test_mos_excludes_constant_annotators(tmp_path):
    matrix = make_votes()
    matrix[:, 2] = 3.0
    lines = [*format_rows(matrix), "p0,i0,m,once,5"]
    built = build(write(tmp_path / "v.csv", *lines), scale="likert5", aggregate="mos")
    others = np.delete(matrix, 2, axis=1)
    z = np.nanmean(stats.zscore(others, ddof=1, nan_policy="omit"), axis=1)
    assert to_dict(built, "m_score") == pytest.approx(average_by_prompt(z), abs=1e-9)
    assert "the MOS omits 121 votes of annotators who always gave the same vote" in built.notes
    path = write(tmp_path / "v.csv", "p,i,m,a,1", "q,i,m,a,1", "p,i,m,b,3")
    with pytest.raises(BenchmarkError, match="each annotator gave only one label"):
        build(path, scale="likert5", aggregate="mos")
    path = write(tmp_path / "v.csv", "p,i,m,1", "p,j,m,5", header="prompt,image,model,label")
    with pytest.raises(BenchmarkError, match="mos needs annotators"):
        build(path, scale="likert5", aggregate="mos")


WIDE_HEADER = "image,caption,r1,r2,r3"


def test_reads_one_column_per_annotator(tmp_path):
    path = write(tmp_path / "v.csv", "i,A,1,0,-1", "j,A,-1,-1,-1", "k,B,0,,0", header=WIDE_HEADER)
    options = {
        "columns": {"prompt": "caption"},
        "annotators": ["r1", "r2", "r3"],
        "model": "SD 2.1",
        "scale": "yes-no",
        "missing": ["-1"],
    }
    with pytest.raises(BenchmarkError, match=r"row 4: 'r2' is empty; .* `blank` to drop"):
        build(path, **options)
    built = build(path, **options, blank="drop")
    assert to_dict(built, "sd-2.1_rate") == {"A": 0.5, "B": 0.0}
    assert built.notes[1:] == (
        "1 blank vote left out",
        "4 votes marked as missing (-1) left out",
        "annotators: 3 columns, each counted as one person",
    )
    with pytest.raises(BenchmarkError, match=r"missing column 'r4' .columns: image, caption"):
        build(path, **{**options, "annotators": ["r1", "r4"]})


def test_joins_prompts_and_images_by_id(tmp_path):
    votes = write(tmp_path / "v.csv", "1.png,2", "2.png,-1", header="image,label")
    images = write(tmp_path / "i.csv", "1.png,007,SD", "2.png,7,SD", header="image,id,model")
    prompts = write(tmp_path / "p.csv", "007,A,x", "7,B,y", "8,C,x", header="id,text,source")
    options = {"columns": {"prompt_id": "id", "prompt": "text"}, "scale": "pqpp"}
    options |= {"prompts": str(prompts), "images": str(images)}
    built = build(votes, **options)
    rows = [row for table in built.splits.values() for row in table.to_pylist()]
    rows_by_id = {row["prompt_id"]: (row["prompt"], row["source"], row["sd_hbpp"]) for row in rows}
    assert rows_by_id == {"007": ("A", "x", 2.0), "7": ("B", "y", -1.0)}
    assert f"{prompts}: skipped 1 of 3 rows that are not in {votes}" in built.notes
    assert {prompts, images, votes} == set(built.inputs)
    for path, line, expected in (
        (votes, "3.png,2", r"row 4: 'image' is '3\.png', not found in .*i\.csv"),
        (images, "1.png,7,SD", r"i\.csv, row 4: 'image' is '1\.png', the same as in row 2"),
        (prompts, "7,D,x", r"p\.csv, row 5: 'id' is '7', the same as in row 3"),
    ):
        content = path.read_text()
        path.write_text(content + line + "\n")
        with pytest.raises(BenchmarkError, match=expected):
            build(votes, **options)
        path.write_text(content)


def test_reads_lists_of_votes(tmp_path):
    path = tmp_path / "v.json"
    path.write_text('[{"prompt": "A", "model": "m", "image": "i", "label": [5, "", 1]}]')
    with pytest.raises(BenchmarkError, match=r"v\.json, record 1: 'label' is empty"):
        build(path, scale="likert5")
    only_blank = write(tmp_path / "v.csv", "A,m,i,", header="prompt,model,image,label")
    with pytest.raises(BenchmarkError, match=r"v\.csv, row 2: 'label' is empty"):
        build(only_blank)
    built = build(path, scale="likert5", blank="drop")
    assert to_dict(built, "m_rating") == {"A": 3.0}
    assert "annotators: the positions 1, 2, 3 in the lists of label are" in built.notes[1]
    path.write_text('{"7": {"prompt": "A", "label": {"flux": [5, 4], "SD 3": [1, 1]}}}')
    built = build(path, scale="likert5", columns={"prompt_id": "key"})
    assert to_dict(built, "flux_rating") == {"A": 4.5} and to_dict(built, "sd-3_rating") == {"A": 1}
    assert to_dict(built, "prompt_id") == {"A": "7"}
    rows = [{"annotator": "ann", "label": 5}, {"annotator": "bob", "label": 2}]
    rows = [{"prompt": "A", "model": "m", "image": "i", "label": rows}]
    (tmp_path / "v.jsonl").write_text(json.dumps(rows[0]) + "\n")
    built = build(tmp_path / "v.jsonl", scale="likert5")
    assert {a.name for a in built.generation.annotators} == {"ann", "bob"}


def test_reads_scores_of_images(tmp_path):
    path = write(tmp_path / "v.csv", "A,i,m,2.5", "A,j,m,3.5", header="prompt,image,model,mos")
    with pytest.raises(BenchmarkError, match=r"set `scale` to LOW\.\.HIGH"):
        build(path, columns={"score": "mos"})
    built = build(path, columns={"score": "mos"}, scale="1..5")
    assert to_dict(built, "m_rating") == {"A": 3.0} and built.targets[0].limits == (1.0, 5.0)
    assert built.reliability_summaries == []  # there are no votes


def test_gimbrr_reproduces_published_rates(real_data):
    """The published accuracies do not include the Controlled tasks."""
    folder = real_data / "gimbrr"
    columns = {"image": "File_name", "model": "Algorithm", "label": "annotation"}
    columns |= {"prompt_id": "ID", "prompt": "Prompt", "category": "Task"}
    built = build(
        folder / "annotations/annotations_df_230311.csv",
        columns=columns,
        prompts=str(folder / "data/Prompt_dir_230228.csv"),
        same_text="keep",
    )
    assert built.notes[0].startswith("labels: inferred yes-no, the only scale with False, True")
    rows = [row for table in built.splits.values() for row in table.to_pylist()]
    assert len(rows) == 2102
    rows = [row for row in rows if not row["category"].startswith("Controlled")]
    rates = {
        name: round(100 * float(np.mean([row[f"{name}_rate"] for row in rows])), 2)
        for name in ("dalle", "mj", "sd2.1")
    }
    assert rates == {"dalle": 54.74, "mj": 46.44, "sd2.1": 34.33}
    # Stable Diffusion 1.5 has 16 prompts twice and lacks 16, so its rate is the mean of votes.
    votes = built.generation.table
    categories = built.prompts["category"].to_pylist()
    is_controlled = np.array([name.startswith("Controlled") for name in categories])[votes.prompt]
    rows = ~is_controlled & (votes.model == votes.model_names.index("SD1.5"))
    assert round(100 * votes.value[rows].mean(), 2) == 35.08


def test_genai_columns_and_lists_give_same_scores(real_data):
    names = [f"rating_{n}" for n in (1, 2, 3)]
    wide = {"annotators": names, "scale": "likert5", "missing": ["41", "33"]}
    path = real_data / "ratings/genai_bench_527.csv"
    table = pd.read_csv(path, dtype={"prompt_id": str})
    votes = table[names].where(table[names] <= 5).mean(axis=1)
    built = build(path, **wide)
    for model in ("DALLE_3", "SDXL_2_1"):
        expected = votes[table["model"] == model].groupby(table["prompt"]).mean().to_dict()
        assert to_dict(built, f"{model.lower()}_rating") == pytest.approx(expected, abs=1e-9)
    prompt_ids = dict(zip(table["prompt"], table["prompt_id"], strict=True))
    assert to_dict(built, "prompt_id") == prompt_ids
    lists = build(
        real_data / "genai/genai_image.json",
        columns={"prompt_id": "id", "label": "models"},
        scale="likert5",
        missing=["41", "33"],
    )
    assert to_dict(lists, "mean_rating") == to_dict(built, "mean_rating")


def test_reads_trec_runs_and_qrels(tmp_path):
    prompts = write(tmp_path / "p.csv", "01,A", "2,B", header="prompt_id,prompt")
    run = ["01 Q0 x 1 3.5 t", "01 Q0 y 2 2 t", "2 Q0 z 1 1 t"]
    (tmp_path / "clip.trec").write_text("# a run\n" + "\n".join(run) + "\n")
    (tmp_path / "q.qrels").write_text("01 0 y 2\n01 0 x 0\n2 0 z -2\n")
    options = {"relevance": tmp_path / "q.qrels", "prompts": str(prompts), "k": 2}
    built = build(runs=tmp_path / "clip.trec", **options)
    assert to_dict(built, "clip_rr") == {"A": 0.5, "B": 0.0}
    assert to_dict(built, "clip_p2") == {"A": 0.5, "B": 0.0}
    assert to_dict(built, "prompt_id") == {"A": "01", "B": "2"}
    renamed = build(runs={"CLIP 2": tmp_path / "clip.trec"}, **options)
    assert to_dict(renamed, "clip-2_rr") == to_dict(built, "clip_rr")
    rows = [f"{q},{d},{s},clip" for q, _, d, _, s, _ in map(str.split, run)]
    table = write(tmp_path / "r.csv", *rows, header="query_id,image,score,model")
    votes = write(tmp_path / "q.csv", "01,y,1", "2,z,0", header="prompt_id,image,label")
    tables = build(runs=table, **{**options, "relevance": votes})
    assert to_dict(tables, "clip_rr") == to_dict(built, "clip_rr")
    (tmp_path / "topics.tsv").write_text('qid\ttext\n01\tA\n2\tB "x\n')
    topics = build(runs=table, **{**options, "prompts": str(tmp_path / "topics.tsv")})
    assert to_dict(topics, "clip_rr") == {"A": 0.5, 'B "x': 0.0}
    texts = [f"{row},{'AB'[row.startswith('2')]}" for row in rows]
    table = write(tmp_path / "r.csv", *texts, header="query_id,image,score,model,prompt")
    assert build(runs=table, **{**options, "prompts": str(table)}).splits == built.splits
    with pytest.raises(BenchmarkError, match="TREC file contains no prompts"):
        build(runs=tmp_path / "clip.trec", relevance=tmp_path / "q.qrels")
    (tmp_path / "q.qrels").write_text("01 0 y\n")
    with pytest.raises(BenchmarkError, match=r"q\.qrels, line 1"):
        build(runs=tmp_path / "clip.trec", **options)


def test_repeated_votes_follow_the_option(tmp_path):
    path = write(tmp_path / "v.csv", *REPEATED)
    with pytest.raises(BenchmarkError, match=r"row 4: .* is also in row 2; .* `repeats` to first"):
        build(path, scale="likert5")
    ratings = {
        rule: to_dict(build(path, scale="likert5", repeats=rule), "m_rating")["A"]
        for rule in ("first", "last", "mean")
    }
    assert ratings == {"first": 3.0, "last": 4.0, "mean": 3.5}
    lines = [line.replace(",5", ",-1").replace(",3", ",2") for line in REPEATED]
    path = write(tmp_path / "v.csv", *lines)
    with pytest.raises(BenchmarkError, match=r"means of repeated votes; .* `repeats` to first"):
        build(path, scale="pqpp", repeats="mean")


SPELLINGS = {
    "composed": ("Caf\u00e9 {n}", "Cafe\u0301 {n}"),
    "blank": ("A cat {n}.", " A  cat {n}. "),
    "capitals": ("A cat {n}.", "a CAT {n}."),
    "byte order mark": ("A cat {n}.", "\ufeffA cat {n}."),
    "zero width": ("A cat {n}.", "A c\u200bat {n}."),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_merges_equivalent_prompts(tmp_path, name):
    # Two annotators rate one spelling each, with 1 and 5; the mean is 3.
    rows = [
        (text.format(n=n), f"{n}.png", "m", person, label)
        for n in range(60)
        for text, person, label in zip(SPELLINGS[name], "ab", (1, 5), strict=True)
    ]
    path = tmp_path / "v.csv"
    pd.DataFrame(rows, columns=HEADER.split(",")).to_csv(path, index=False)
    built = build(path, scale="likert5")
    texts = [min(text.format(n=n) for text in SPELLINGS[name]) for n in range(60)]
    assert to_dict(built, "m_rating") == dict.fromkeys(texts, 3.0)
    assert sum("60 prompts" in note for note in built.notes) == 1


def test_keeps_equal_texts_with_different_ids(tmp_path):
    path = write(tmp_path / "v.csv", *SAME_TEXT, header=HEADER + ",prompt_id")
    with pytest.raises(BenchmarkError, match=r"row 3: 'prompt_id' is '2', .* `same_text` to keep"):
        build(path, scale="likert5")
    for seed in range(5):
        built = build(path, scale="likert5", same_text="keep", seed=seed)
        results = {
            row["prompt_id"]: (row["m_rating"], name)
            for name, table in built.splits.items()
            for row in table.to_pylist()
        }
        values = {number: value for number, (value, _) in results.items()}
        assert values == {"1": 5.0, "2": 1.0, "3": 3.0, "4": 3.0}
        assert results["1"][1] == results["2"][1]  # no text is in two splits


def test_rejects_too_many_votes_per_image(tmp_path):
    rows = [f"p{number},i{number},m,{number % 4 - 1}" for number in range(30_000)]
    path = write(tmp_path / "v.csv", *rows, *rows[:1] * 20_000, header="prompt,image,model,label")
    with pytest.raises(BenchmarkError, match="up to 20,001 votes is too large"):
        build(path)
