"""`build_benchmark`: annotator filtering, aggregation, splits, output folder and report."""

import functools
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from support.votes import to_dict

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark import build, options
from pqpp_datasets.own_benchmark.prompts import split_strata
from pqpp_datasets.own_benchmark.write import write_benchmark
from pqpp_files.errors import FileError

BuildOptions = functools.partial(options.BuildOptions, scale="pqpp")


def build_benchmark(judgments=None, runs=None, relevance=None, options=None):
    """Build a benchmark from labels on PQPP's scale."""
    options = options or BuildOptions()
    return build.build_benchmark(judgments, runs=runs, relevance=relevance, options=options)


HEADER = ["prompt", "image", "model", "annotator", "label", "control"]
# The votes of each control member, two of them on reference images.
CONTROL_VOTES = [
    ("A cat.", "1", "sdxl", 2),
    ("A cat.", "2", "glide", 0),
    ("A cat.", "r", "reference", 2),
    ("A dog.", "r", "reference", 2),
    ("A dog.", "1", "sdxl", -1),
]


def make_votes(name, **other):
    """Return votes that agree with the control group, except for the models in `other`."""
    return [(p, i, m, name, other.get(m, label), False) for p, i, m, label in CONTROL_VOTES]


def write(path, rows, header=HEADER):
    table = pa.table({n: list(c) for n, c in zip(header, zip(*rows, strict=True), strict=True)})
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


JUDGMENTS = [(*row[:3], name, row[3], True) for name in ("ann", "bob") for row in CONTROL_VOTES]
JUDGMENTS += make_votes("eve") + make_votes("joe", glide=1)
JUDGMENTS += make_votes("kim") + make_votes("lea") + make_votes("zoe", sdxl=1, reference=0)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_counts_votes_of_the_best_three_annotators(tmp_path, suffix):
    built = build_benchmark(write(tmp_path / f"votes{suffix}", JUDGMENTS))
    annotators = {annotator.name: annotator for annotator in built.generation.annotators}
    assert set(annotators) == {"eve", "joe", "kim", "lea", "zoe"}
    assert annotators["eve"].kappas == {"ann": 1.0, "bob": 1.0} and annotators["eve"].reasons == ()
    assert annotators["zoe"].reference_share == 0.0
    kappa, reference = annotators["zoe"].reasons[0], annotators["zoe"].reasons[-1]
    assert "with ann is below 0.41" in kappa and "0.0% of the reference images" in reference
    # joe's vote on the GLIDE image does not count, as his kappa is only the fourth best.
    assert to_dict(built, "glide_hbpp") == {"A cat.": 0.0, "A dog.": None}
    assert to_dict(built, "sdxl_hbpp") == {"A cat.": 2.0, "A dog.": -1.0}
    assert to_dict(built, "mean_hbpp") == {"A cat.": 1.0, "A dog.": None}
    assert built.generation.labels == {2: 3, 1: 0, 0: 3, -1: 3}
    assert (len(built.generation.table.value), built.generation.counted.size) == (35, 9)
    assert built.generation.trust.agreement.figures["Fleiss' kappa"][0] == 1.0


def test_annotator_filtering_of_a_worked_example(tmp_path):
    from sklearn.metrics import cohen_kappa_score

    generator = np.random.default_rng(0)
    truth = generator.choice([2, 1, 0, -1], 120)
    noise = np.array([0.05, 0.1, 0.15, 0.2, 0.8, 0.9])
    is_noise = generator.random((120, 6)) < noise
    labels = np.where(is_noise, generator.choice([2.0, 1, 0, -1], (120, 6)), truth[:, None])
    labels[40:][generator.random((80, 6)) < 0.3] = np.nan
    control = np.full((120, 2), np.nan)
    control[:40] = truth[:40, None]
    rows = [
        (f"p{image // 4}", f"{image}", "sdxl", name, int(votes[image, column]), group)
        for votes, names, group in ((labels, "abcdef", False), (control, "xy", True))
        for column, name in enumerate(names)
        for image in range(120)
        if not np.isnan(votes[image, column])
    ]
    built = build_benchmark(write(tmp_path / "votes.parquet", rows))
    annotators = built.generation.annotators
    kappas = [cohen_kappa_score(labels[:40, column], truth[:40]) for column in range(6)]
    assert [not a.reasons for a in annotators] == [kappa >= 0.41 for kappa in kappas]
    assert [a.kappa for a in annotators] == pytest.approx(kappas)
    counted, best = np.full((120, 6), np.nan), np.argsort(kappas)[::-1]
    best = [column for column in best if kappas[column] >= 0.41]
    for images in np.split(np.arange(120), 30):
        for column in [a for a in best if np.isfinite(labels[images, a]).any()][:3]:
            counted[images, column] = labels[images, column]
    assert built.generation.counted.size == np.isfinite(counted).sum()
    from pqpp_metrics.functional import hbpp

    ids, values = hbpp(counted, [f"p{image // 4}" for image in range(120)])
    assert to_dict(built, "sdxl_hbpp") == pytest.approx(dict(zip(ids, values, strict=True)))


def test_scores_retrieval_runs(tmp_path):
    runs = [("A cat.", "clip", f"i{n}", 1 - n / 10) for n in range(4)]
    runs += [("A dog.", "clip", "i9", -3.5), ("A cow.", "clip", "i1", 1.0)]
    runs += [("A cat.", "blip2", "i2", 0.5)]
    votes = [("A cat.", "i1", "a", 0), ("A cat.", "i1", "b", 1), ("A cat.", "i2", "a", 1)]
    votes += [("A cat.", "i0", "a", 0), ("A dog.", "i9", "a", 0), ("A hen.", "i9", "a", 1)]
    path = write(tmp_path / "runs.csv", runs, ["prompt", "model", "image", "score"])
    relevance = write(tmp_path / "rel.csv", votes, ["prompt", "image", "annotator", "label"])
    built = build_benchmark(runs=path, relevance=relevance)
    # Null without votes or results, 0 without a relevant image.
    others = {"A cow.": None, "A hen.": None}
    assert to_dict(built, "clip_rr") == {"A cat.": 0.5, "A dog.": 0.0, **others}
    assert to_dict(built, "clip_p10") == {"A cat.": 0.2, "A dog.": 0.0, **others}
    assert to_dict(built, "blip2_rr") == {"A cat.": 1.0, "A dog.": None, **others}
    assert to_dict(built, "mean_rr") == {"A cat.": 0.75, "A dog.": None, **others}
    rating = write(tmp_path / "v.csv", [("A cat.", "i", "m", "b", 5)], HEADER[:5])
    likert = BuildOptions(scale="likert5")
    both = build_benchmark(rating, runs=path, relevance=relevance, options=likert)
    limits = {target.name: target.limits for target in both.targets}
    assert (limits["m_rating"], limits["clip_rr"], limits["mean_p10"]) == ((1, 5), (0, 1), (0, 1))
    assert "1 of 3" in built.notes[0] and "2 of 3" in built.notes[1]
    strict = BuildOptions(min_relevant_votes=2, k=3)
    assert to_dict(build_benchmark(None, path, relevance, strict), "clip_p3")["A cat."] == 0.0
    tied = [("A cat.", "clip", "i1", 1e17), *(("A dog.", "clip", i, 1e17) for i in ("i8", "i9"))]
    path = write(tmp_path / "tied.csv", tied, ["prompt", "model", "image", "score"])
    assert to_dict(build_benchmark(runs=path, relevance=relevance), "clip_rr")["A cat."] == 1.0


FRACTIONS = {"train": 0.6, "validation": 0.2, "test": 0.2}


@pytest.mark.parametrize("seed", range(6))
def test_small_strata_get_their_share_of_each_split(seed):
    generator = np.random.default_rng(seed)
    sizes = [2] * 100 if seed == 0 else generator.integers(1, 1 + 2**seed, 120).tolist()
    strata = [f"s{n}" for n, size in enumerate(sizes) for _ in range(size)]
    ids = [f"p{n}" for n in range(len(strata))]
    shares = FRACTIONS if seed < 4 else {"a": 0.5, "b": 0.0, "c": 0.29, "d": 0.21}
    splits = np.array(split_strata(ids, strata, shares))
    for name, share in shares.items():
        assert abs((splits == name).sum() - share * len(ids)) < 2
        for n, size in enumerate(sizes):
            assert abs(((splits == name) & (np.array(strata) == f"s{n}")).sum() - share * size) <= 1
    assert "b" not in splits
    assert split_strata(ids, strata, shares, seed=1) != splits.tolist()
    with pytest.raises(BenchmarkError, match="sum to 1"):
        split_strata(ids, strata, {"train": 0.5})
    order = generator.permutation(len(ids))
    shuffled = split_strata([ids[n] for n in order], [strata[n] for n in order], shares)
    assert shuffled == splits[order].tolist()


def test_writes_folder_card_and_report(tmp_path, cache):
    built = build_benchmark(write(tmp_path / "votes.csv", JUDGMENTS))
    folder = write_benchmark(built, tmp_path / "out", "Mine & <yours>")
    rows = load_dataset(str(folder))
    assert rows.num_rows == {name: table.num_rows for name, table in built.splits.items()}
    split = next(iter(rows))
    names = " ".join(rows[split].column_names[:6])
    assert names == "prompt_id source prompt caption_id image_id category"
    page = (folder / "report.html").read_text()
    assert "Mine &amp; &lt;yours&gt;" in page and "zoe" not in page and "<svg" in page
    assert re.search(r"with annotator \d is below 0\.41", page) and "sdxl_hbpp" in page
    write_benchmark(built, folder, "Again")
    assert "Again" in (folder / "README.md").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "out", "votes.csv"]


INVALID_ROWS = {
    "label": ([("A", "1", "m", "a", "3", "")], r"row 2: 'label' is '3', expected one of 2, 1, 0"),
    "control": ([("A", "1", "m", "a", "2", "maybe")], "row 2: 'control' is 'maybe', expected one"),
    "twice": (
        [("A", "1", "m", "a", 2, "")] * 2,
        r"row 3: this .* \('A', 'm', '1', 'a'\) is also in",
    ),
    "roles": (
        [("A", "1", "m", "a", 2, "yes"), ("A", "2", "m", "a", 2, "no")],
        "row 3: 'a' is a control member in other rows",
    ),
    "empty": ([("A", "1", "m", "a", 2, ""), ("A", None, "m", "b", 2, "")], "3: 'image' is empty"),
}


@pytest.mark.parametrize("name", INVALID_ROWS)
def test_error_names_invalid_rows(tmp_path, name, suffix=".csv"):
    rows, expected = INVALID_ROWS[name]
    with pytest.raises(BenchmarkError, match=expected) as excinfo:
        build_benchmark(write(tmp_path / f"votes{suffix}", rows))
    assert "\n" not in str(excinfo.value) and f"votes{suffix}" in str(excinfo.value)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_splits_without_ids_ignore_row_order(tmp_path, suffix):
    header = [*HEADER[:5], "source", "prompt_id"]
    ids = ["" if n % 4 else f"id{n}" for n in range(60)]
    rows = [(f"caption {n}", "1", "m", "a", 1, f"s{n % 3}", key) for n, key in enumerate(ids)]
    path = tmp_path / f"votes{suffix}"

    def get_splits():
        splits = build_benchmark(path).splits
        return {text: name for name, rows in splits.items() for text in rows["prompt"].to_pylist()}

    write(path, rows, header)
    first = get_splits()
    write(path, [rows[n] for n in np.random.default_rng(0).permutation(60)], header)
    assert get_splits() == first and len(first) == 60
    # Prompts with an id stay in their split if the text changes.
    write(path, [(r[0].upper() if r[-1] else r[0], *r[1:]) for r in rows], header)
    with_id = {text for text in first if rows[int(text.split()[1])][-1]}
    assert get_splits() == {t.upper() if t in with_id else t: name for t, name in first.items()}


def test_keeps_foreign_files_in_output_folder(tmp_path):
    path = write(tmp_path / "votes.csv", JUDGMENTS)
    folder = write_benchmark(build_benchmark(path), tmp_path / "mine")
    (folder / "votes.csv").write_bytes(path.read_bytes())
    with pytest.raises(FileError, match=r"contains the input .*votes\.csv; choose another"):
        write_benchmark(build_benchmark(folder / "votes.csv"), folder)
    with pytest.raises(BenchmarkError, match=r"contains other files, such as 'votes\.csv'"):
        write_benchmark(build_benchmark(path), folder)
    content = (write_benchmark(build_benchmark(path), tmp_path / "b") / ".pqpp-export").read_text()
    names = [f"{name}-00000-of-00001.parquet" for name in sorted(build_benchmark(path).splits)]
    data = [f"data/{subset}{name}" for subset in ("images/", "", "votes/") for name in names]
    assert content.split() == ["README.md", *data, "eval.yaml", "report.html"]
