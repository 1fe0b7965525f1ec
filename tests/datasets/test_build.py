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
from support.votes import scores

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark import build, options
from pqpp_datasets.own_benchmark.prompts import split_strata
from pqpp_datasets.own_benchmark.write import write_benchmark
from pqpp_files.errors import FileError

BuildOptions = functools.partial(options.BuildOptions, scale="pqpp")


def build_benchmark(judgments=None, runs=None, relevance=None, options=None):
    """Build from labels of PQPP, whatever a file has of them."""
    return build.build_benchmark(judgments, runs, relevance, options or BuildOptions())


HEADER = ["prompt", "image", "model", "annotator", "label", "control"]
# The control group: two people, four images of which two are references.
CONTROL = [
    ("A cat.", "1", "sdxl", 2),
    ("A cat.", "2", "glide", 0),
    ("A cat.", "r", "reference", 2),
    ("A dog.", "r", "reference", 2),
    ("A dog.", "1", "sdxl", -1),
]


def good(name, **other):
    """Agree with the control group but for the images named in `other`."""
    return [(p, i, m, name, other.get(m, label), False) for p, i, m, label in CONTROL]


def control_group():
    return [(*row[:3], name, row[3], True) for name in ("ann", "bob") for row in CONTROL]


def write(path, rows, header=HEADER):
    table = pa.table({n: list(c) for n, c in zip(header, zip(*rows, strict=True), strict=True)})
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


JUDGMENTS = [*control_group(), *good("eve"), *good("joe", glide=1), *good("kim"), *good("lea")]
JUDGMENTS += good("zoe", sdxl=1, reference=0)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_counts_votes_of_the_best_three_annotators(tmp_path, suffix):
    built = build_benchmark(write(tmp_path / f"votes{suffix}", JUDGMENTS))
    found = {annotator.name: annotator for annotator in built.generation.annotators}
    assert set(found) == {"eve", "joe", "kim", "lea", "zoe"}
    assert found["eve"].kappas == {"ann": 1.0, "bob": 1.0} and found["eve"].reasons == ()
    assert found["zoe"].reference_share == 0.0
    kappa, reference = found["zoe"].reasons[0], found["zoe"].reasons[-1]
    assert "with ann is below 0.41" in kappa and "0.0% of the reference images" in reference
    # joe has the fourth best kappa: his vote for the glide image does not count.
    assert scores(built, "glide_hbpp") == {"A cat.": 0.0, "A dog.": None}
    assert scores(built, "sdxl_hbpp") == {"A cat.": 2.0, "A dog.": -1.0}
    assert scores(built, "mean_hbpp") == {"A cat.": 1.0, "A dog.": None}
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
    found = built.generation.annotators
    kappas = [cohen_kappa_score(labels[:40, one], truth[:40]) for one in range(6)]
    assert [not a.reasons for a in found] == [kappa >= 0.41 for kappa in kappas]
    assert [a.kappa for a in found] == pytest.approx(kappas)
    kept, best = np.full((120, 6), np.nan), np.argsort(kappas)[::-1]
    best = [one for one in best if kappas[one] >= 0.41]
    for own in np.split(np.arange(120), 30):
        for one in [a for a in best if np.isfinite(labels[own, a]).any()][:3]:
            kept[own, one] = labels[own, one]
    assert built.generation.counted.size == np.isfinite(kept).sum()
    from pqpp_metrics.functional import hbpp

    ids, values = hbpp(kept, [f"p{image // 4}" for image in range(120)])
    assert scores(built, "sdxl_hbpp") == pytest.approx(dict(zip(ids, values, strict=True)))


def test_scores_retrieval_runs(tmp_path):
    runs = [("A cat.", "clip", f"i{n}", 1 - n / 10) for n in range(4)]
    runs += [("A dog.", "clip", "i9", -3.5), ("A cow.", "clip", "i1", 1.0)]
    runs += [("A cat.", "blip2", "i2", 0.5)]
    votes = [("A cat.", "i1", "a", 0), ("A cat.", "i1", "b", 1), ("A cat.", "i2", "a", 1)]
    votes += [("A cat.", "i0", "a", 0), ("A dog.", "i9", "a", 0), ("A hen.", "i9", "a", 1)]
    path = write(tmp_path / "runs.csv", runs, ["prompt", "model", "image", "score"])
    relevance = write(tmp_path / "rel.csv", votes, ["prompt", "image", "annotator", "label"])
    built = build_benchmark(runs=path, relevance=relevance)
    # Not judged: null. Not in the run: null. Judged without a relevant image: 0.
    nothing = {"A cow.": None, "A hen.": None}
    assert scores(built, "clip_rr") == {"A cat.": 0.5, "A dog.": 0.0, **nothing}
    assert scores(built, "clip_p10") == {"A cat.": 0.2, "A dog.": 0.0, **nothing}
    assert scores(built, "blip2_rr") == {"A cat.": 1.0, "A dog.": None, **nothing}
    assert scores(built, "mean_rr") == {"A cat.": 0.75, "A dog.": None, **nothing}
    strict = BuildOptions(min_relevant_votes=2, k=3)
    assert scores(build_benchmark(None, path, relevance, strict), "clip_p3")["A cat."] == 0.0


SHARES = {"train": 0.6, "validation": 0.2, "test": 0.2}


@pytest.mark.parametrize("seed", range(6))
def test_small_strata_get_their_share_of_each_split(seed):
    generator = np.random.default_rng(seed)
    sizes = [2] * 100 if seed == 0 else generator.integers(1, 1 + 2**seed, 120).tolist()
    strata = [f"s{n}" for n, size in enumerate(sizes) for _ in range(size)]
    ids = [f"p{n}" for n in range(len(strata))]
    shares = SHARES if seed < 4 else {"a": 0.5, "b": 0.0, "c": 0.29, "d": 0.21}
    found = np.array(split_strata(ids, strata, shares))
    for name, share in shares.items():
        assert abs((found == name).sum() - share * len(ids)) < 2
        for n, size in enumerate(sizes):
            assert abs(((found == name) & (np.array(strata) == f"s{n}")).sum() - share * size) <= 1
    assert "b" not in found
    assert split_strata(ids, strata, shares, seed=1) != found.tolist()
    with pytest.raises(BenchmarkError, match="sum to 1"):
        split_strata(ids, strata, {"train": 0.5})
    order = generator.permutation(len(ids))
    again = split_strata([ids[n] for n in order], [strata[n] for n in order], shares)
    assert again == found[order].tolist()


def test_writes_folder_card_and_report(tmp_path, cache):
    built = build_benchmark(write(tmp_path / "votes.csv", JUDGMENTS))
    folder = write_benchmark(built, tmp_path / "out", "Mine & <yours>")
    rows = load_dataset(str(folder))
    assert {name: part.num_rows for name, part in rows.items()} == {
        name: table.num_rows for name, table in built.splits.items()
    }
    split = next(iter(rows))
    names = " ".join(rows[split].column_names[:6])
    assert names == "prompt_id source prompt caption_id image_id category"
    page = (folder / "report.html").read_text()
    assert "Mine &amp; &lt;yours&gt;" in page and "zoe" not in page and "<svg" in page
    assert re.search(r"with annotator \d is below 0\.41", page) and "sdxl_hbpp" in page
    write_benchmark(built, folder, "Again")
    assert "Again" in (folder / "README.md").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "out", "votes.csv"]


FAULTS = {
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


@pytest.mark.parametrize("name", FAULTS)
def test_error_names_invalid_rows(tmp_path, name, suffix=".csv"):
    rows, expected = FAULTS[name]
    with pytest.raises(BenchmarkError, match=expected) as caught:
        build_benchmark(write(tmp_path / f"votes{suffix}", rows))
    assert "\n" not in str(caught.value) and f"votes{suffix}" in str(caught.value)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_splits_without_ids_ignore_row_order(tmp_path, suffix):
    header = [*HEADER[:5], "source", "prompt_id"]
    ids = ["" if n % 4 else f"id{n}" for n in range(60)]
    rows = [(f"caption {n}", "1", "m", "a", 1, f"s{n % 3}", own) for n, own in enumerate(ids)]
    path = tmp_path / f"votes{suffix}"

    def split_of():
        splits = build_benchmark(path).splits
        return {one: name for name, rows in splits.items() for one in rows["prompt"].to_pylist()}

    write(path, rows, header)
    first = split_of()
    write(path, [rows[n] for n in np.random.default_rng(0).permutation(60)], header)
    assert split_of() == first and len(first) == 60
    # An id of one's own is what counts: with it another text falls where this one fell.
    write(path, [(r[0].upper() if r[-1] else r[0], *r[1:]) for r in rows], header)
    own = {text for text in first if rows[int(text.split()[1])][-1]}
    assert split_of() == {t.upper() if t in own else t: name for t, name in first.items()}


def test_keeps_foreign_files_in_output_folder(tmp_path):
    path = write(tmp_path / "votes.csv", JUDGMENTS)
    folder = write_benchmark(build_benchmark(path), tmp_path / "mine")
    (folder / "votes.csv").write_bytes(path.read_bytes())
    with pytest.raises(FileError, match=r"contains the input .*votes\.csv; choose another"):
        write_benchmark(build_benchmark(folder / "votes.csv"), folder)
    with pytest.raises(BenchmarkError, match=r"contains other files, such as 'votes\.csv'"):
        write_benchmark(build_benchmark(path), folder)
    listed = (write_benchmark(build_benchmark(path), tmp_path / "b") / ".pqpp-export").read_text()
    names = [f"{name}-00000-of-00001.parquet" for name in sorted(build_benchmark(path).splits)]
    data = [f"data/{subset}{name}" for subset in ("images/", "", "votes/") for name in names]
    assert listed.split() == ["README.md", *data, "eval.yaml", "report.html"]
