"""Votes as people have them: scales, layouts, blanks, repeats, and what an image's votes become."""

import numpy as np
import pytest
from scipy import stats

from pqpp_datasets.errors import DataFileError, OptionError
from pqpp_datasets.own_benchmark import BuildOptions, build_benchmark

HEADER = "prompt,image,model,annotator,label"


def write(path, *lines, header=HEADER):
    path.write_text("\n".join([header, *lines]) + "\n", "utf-8")
    return path


def build(path, **options):
    return build_benchmark(path, options=BuildOptions(**options))


def scores(built, column):
    rows = [row for table in built.splits.values() for row in table.to_pylist()]
    return {row["prompt"]: row[column] for row in rows}


def labelled(path, *labels, **options):
    """Build from one vote an image, and return the built and the values of the votes."""
    built = build(write(path, *(f"p{n},i{n},m,a,{x}" for n, x in enumerate(labels))), **options)
    return built, built.generation.table.value.tolist()


GUESSED = {
    "pqpp": ["2", "1", "0", "-1"],
    "pqpp ": ["High relevance", "unrealistic"],
    "yes-no": ["True", "False"],
    "likert5": ["1", "5", "3"],
    "likert5 ": ["Strongly agree", "neutral"],
    "0-10": ["0", "10", "7.5"],
}


@pytest.mark.parametrize("name", GUESSED)
def test_a_scale_is_guessed_and_said(tmp_path, name):
    built, _ = labelled(tmp_path / "v.csv", *GUESSED[name])
    assert built.generation.table.scale.name == name.strip()
    assert f"labels: read as {name.strip()}, which alone has" in built.notes[0]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "2"], "the labels 1, 2 fit pqpp and likert5; say which by --scale"),
        (["0", "1"], "fit pqpp and yes-no;"),
        (["0", "1", "-1"], "fit pqpp and yes-no with --missing=-1"),
        (["1", "2", "3"], "fit likert5 and LOW..HIGH"),
        (["1", "7"], "the labels 1, 7 fit none of pqpp, yes-no, likert5, 0-10; give --scale LOW"),
        (["good", "bad"], "bad, good fit none of .* --labels FILE"),
    ],
)
def test_labels_that_two_scales_or_none_have_ask(tmp_path, labels, expected):
    with pytest.raises(DataFileError, match=expected):
        labelled(tmp_path / "v.csv", *labels)


def test_a_scale_that_the_labels_leave(tmp_path):
    with pytest.raises(DataFileError, match=r"row 2: label is '6', a whole number from 1 to 5 .*"):
        labelled(tmp_path / "v.csv", "5", "6", scale="likert5")
    with pytest.raises(DataFileError, match="--missing=6 leaves such votes out"):
        labelled(tmp_path / "v.csv", "5", "6", scale="likert5")
    built, values = labelled(tmp_path / "v.csv", "5", "6", scale="likert5", missing=["6"])
    assert values == [5.0] and "1 votes marked as missing (6) left out" in built.notes
    with pytest.raises(OptionError, match=r"--scale 5\.\.1: one of pqpp"):
        labelled(tmp_path / "v.csv", "5", scale="5..1")


def test_labels_of_ones_own(tmp_path):
    (tmp_path / "map.yaml").write_text(
        "labels: {no: 0, 'on': 1, Great: 4}\npositive: ['on', Great]\nmissing: ['?']\n"
    )
    labels = str(tmp_path / "map.yaml")
    built, values = labelled(
        tmp_path / "v.csv", "NO", "on", "great", "?", labels=labels, aggregate="positive"
    )
    assert values == [0, 1, 4] and built.generation.table.positive.tolist() == [False, True, True]
    assert [target.name for target in built.targets] == ["m_rate", "mean_rate"]
    for text, expected in (
        ("labels: {a: b}", "give each label a number"),
        ("labels: {a: 1, b: 1}", "all labels have one value"),
        ("scale: 1", "`labels`, label to value, is needed"),
        ("labels: {a: 1, b: 2}\npositive: [c]", "positive has 'c'"),
        ("[", "not readable as YAML"),
    ):
        (tmp_path / "map.yaml").write_text(text)
        with pytest.raises(DataFileError, match=expected) as caught:
            labelled(tmp_path / "v.csv", "a", labels=labels)
        assert "\n" not in str(caught.value)
    with pytest.raises(OptionError, match="give one of them"):
        BuildOptions(scale="pqpp", labels=labels)


def drawn(seed=0, images=120, annotators=7, low=1, high=5):
    """Some votes of each annotator: (images, annotators), NaN where there is none."""
    generator = np.random.default_rng(seed)
    matrix = generator.integers(low, high + 1, (images, annotators)).astype(float)
    matrix[generator.random(matrix.shape) < 0.4] = np.nan
    return matrix


def lines_of(matrix, per_prompt=3):
    return [
        f"p{i // per_prompt},i{i},m,a{a},{matrix[i, a]:g}"
        for i, a in np.argwhere(~np.isnan(matrix))
    ]


def of_prompts(images, per_prompt=3):
    groups = np.asarray(images).reshape(-1, per_prompt)
    return {f"p{n}": np.nanmean(own) for n, own in enumerate(groups) if not np.isnan(own).all()}


@pytest.mark.parametrize("aggregate", ["mean", "median", "mos", "positive"])
def test_rules_are_those_of_numpy_and_scipy(tmp_path, aggregate):
    matrix = drawn()
    built = build(
        write(tmp_path / "v.csv", *lines_of(matrix)), scale="likert5", aggregate=aggregate
    )
    expected = {
        "mean": lambda: np.nanmean(matrix, axis=1),
        "median": lambda: np.nanmedian(matrix, axis=1),
        "mos": lambda: np.nanmean(stats.zscore(matrix, ddof=1, nan_policy="omit"), axis=1),
        "positive": lambda: np.nanmean(np.where(np.isnan(matrix), np.nan, matrix >= 4), axis=1),
    }[aggregate]()
    measure = {"mos": "score", "positive": "rate"}.get(aggregate, "rating")
    found = scores(built, f"m_{measure}")
    assert found == pytest.approx(of_prompts(expected), abs=1e-9)
    assert len(found) == 40


def test_mos_leaves_out_who_never_varies_and_needs_annotators(tmp_path):
    matrix = drawn()
    matrix[:, 2] = 3.0
    lines = [*lines_of(matrix), "p0,i0,m,once,5"]
    built = build(write(tmp_path / "v.csv", *lines), scale="likert5", aggregate="mos")
    others = np.delete(matrix, 2, axis=1)
    z = np.nanmean(stats.zscore(others, ddof=1, nan_policy="omit"), axis=1)
    assert scores(built, "m_score") == pytest.approx(of_prompts(z), abs=1e-9)
    assert "121 votes of annotators who always voted alike left out of the mos" in built.notes
    path = write(tmp_path / "v.csv", "p,i,m,1", "p,j,m,5", header="prompt,image,model,label")
    with pytest.raises(OptionError, match="no annotators came"):
        build(path, scale="likert5", aggregate="mos")


def test_majority_is_for_the_labels_of_pqpp(tmp_path):
    path = write(tmp_path / "v.csv", "p,i,m,a,3", "p,j,m,a,5")
    with pytest.raises(OptionError, match="the scale likert5 came; PQPP's two levels"):
        build(path, scale="likert5", aggregate="majority")


WIDE = "image,caption,r1,r2,r3"


def test_a_column_an_annotator(tmp_path):
    path = write(tmp_path / "v.csv", "i,A,1,0,-1", "j,A,-1,-1,-1", "k,B,0,,0", header=WIDE)
    options = {
        "columns": {"prompt": "caption"},
        "annotators": ["r1", "r2", "r3"],
        "model": "SD 2.1",
        "scale": "yes-no",
        "missing": ["-1"],
    }
    with pytest.raises(DataFileError, match=r"row 3: label is empty; .* --blank drop"):
        build(path, **options)
    built = build(path, **options, blank="drop")
    assert scores(built, "sd-2.1_rate") == {"A": 0.5, "B": 0.0}
    assert built.notes[1:] == (
        "1 blank votes left out",
        "4 votes marked as missing (-1) left out",
        "annotators: the columns r1, r2, r3, each taken as one person",
    )
    table = built.generation.table
    assert [table.places.of(row)[-5:] for row in table.row] == ["row 1"] * 2 + ["row 3"] * 2
    with pytest.raises(DataFileError, match="no column r4 among image, caption"):
        build(path, **{**options, "annotators": ["r1", "r4"]})
    with pytest.raises(OptionError, match="leave --column annotator"):
        build(path, **{**options, "columns": {"annotator": "r1"}})


def test_without_annotators_it_is_built_and_said(tmp_path):
    path = write(
        tmp_path / "v.csv", "A,i,m,2", "A,i,m,2", "A,i,m,0", header="prompt,image,model,label"
    )
    built = build(path, scale="pqpp")
    assert scores(built, "m_hbpp") == {"A": 2.0}
    assert "whom to trust cannot be checked" in built.notes[1]
    assert built.generation.annotators == []


REPEATED = ["A,i,m,a,1", "A,i,m,b,5", "A,i,m,a,2", "B,i,m,a,3", "A,i,m,a,3"]


def test_repeats_are_refused_or_chosen(tmp_path):
    path = write(tmp_path / "v.csv", *REPEATED)
    with pytest.raises(DataFileError, match=r"row 3: .* stands in row 1; .* --repeats first, last"):
        build(path, scale="likert5")
    found = {
        rule: scores(build(path, scale="likert5", repeats=rule), "m_rating")["A"]
        for rule in ("first", "last", "mean")
    }
    assert found == {"first": 3.0, "last": 4.0, "mean": 3.5}
    lines = [line.replace(",5", ",-1").replace(",3", ",2") for line in REPEATED]
    path = write(tmp_path / "v.csv", *lines)
    with pytest.raises(OptionError, match=r"means of repeated votes came; .* --repeats first or"):
        build(path, scale="pqpp", repeats="mean")
