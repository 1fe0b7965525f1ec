"""What holds values, of whatever library, gives what lists give, in every function and module."""

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from metrics.module_cases import CASES

from pqpp_metrics import functional, registration
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.load import load_metric

torch = pytest.importorskip("torch")
MODULES = registration.list_metrics()
rng = np.random.default_rng(11)
VOTES = rng.choice([2.0, 1.0, 0.0, -1.0], (6, 3)).tolist()
MAPS = rng.random((2, 3, 4, 5)).round(1).tolist()
RATES = [[0.5, 0.25, 1.0, 0.75], [0.5, 1.0, 0.125, 0.25]]
# Functions without a module: inputs in their order, and options.
OTHERS = {
    "admit_annotators": ([VOTES], {"control_labels": [[row[0]] for row in VOTES]}),
    "bradley_terry": ([[[0, 3, 1], [1, 0, 2], [2, 1, 0]]], {}),
    "compare_means": ([{"a": {"rr": RATES[0]}, "b": {"rr": RATES[1]}}], {"permutations": 50}),
    "evaluate_rankings": (
        [RATES, [[1, 0, 2, 0], [0, 1, 0, 1]]],
        {"measures": ["rr", "p@2"]},
    ),
    "fixation_map": ([[[0, 1], [2, 3], [0, 1]]], {"height": 4, "width": 5}),
    "image_relevance": ([VOTES], {}),
    "judged_at_k": ([[[0.5, 0.2], [0.1, 0.3]], [[1, None], [0, 1]]], {"k": 2}),
    "keep_best_annotators": ([VOTES, list("aabbba"), [0.5, 0.25, 0.75]], {"best": 2}),
    "majority_labels": ([[[0, 1], [1, 1], [0, 0]]], {}),
    "mean_intervals": ([{"rr": RATES[0]}], {}),
    "points_heatmap": ([[[[0.0, 1.0]], [[2.0, 3.0], [0.0, 0.0]]]], {"height": 4, "width": 5}),
    "qpp_values": ([[[1, 4], [2, 3], [3, 5]], [[1, 1], [2, 2], [4, 3]]], {}),
    "routing_curve": (list(RATES[:1]) * 2 + [[1.0, 1.0, 0.5, 1.0]], {}),
    "routing_gain": (list(RATES[:1]) * 2 + [[1.0, 1.0, 0.5, 1.0]], {"resamples": 50}),
    "compare_routings": (RATES + RATES, {"resamples": 50}),
    "saliency_report": (MAPS, {}),
    "prediction_powered_mean": ([[0.0, 1.0, 1.0, 0.0], RATES[0], RATES[0] * 3], {}),
}
WITHOUT_ARRAYS = {"judgments_needed", "prompt_tokens", "student_t_p_value"}


def example(name):
    """The inputs of a function, as lists, and its options."""
    if name in OTHERS:
        return OTHERS[name]
    if name not in CASES:
        pytest.skip("no array goes in") if name in WITHOUT_ARRAYS else pytest.fail("no example")
    inputs = list(CASES[name].inputs.values())
    return [one[0] for one in inputs] if load_metric(name).each else inputs, CASES[name].options


def dimensions(values):
    """How deep lists of equal lengths are nested; 0 for a single value."""
    if not isinstance(values, list):
        return 0
    below = {(dimensions(value), len(value) if isinstance(value, list) else 0) for value in values}
    return 1 + below.pop()[0] if len(below) == 1 else None


def holds_text(values):
    return isinstance(values, str) or (isinstance(values, list) and any(map(holds_text, values)))


def each(container, most, values):
    """Lists of at most so many dimensions in a container, deeper and ragged ones part by part."""
    deep = dimensions(values)
    if deep == 0 or values == []:
        return values
    return (
        container(values) if deep and deep <= most else [each(container, most, v) for v in values]
    )


def framed(values):
    order = rng.permutation(len(values))
    if dimensions(values) == 1:
        return pd.Series(values, index=order)
    names = [f"{'c' * (i + 1)}" for i in range(len(values[0]))]
    return pd.DataFrame(values, index=order, columns=names)


def nullable(values):
    return framed(values).convert_dtypes()


def chunked(values):
    whole = pa.array(values)
    return pa.chunked_array([whole[:1], whole[1:]])


def table(values):
    return pa.table({f"c{i}": column for i, column in enumerate(zip(*values, strict=True))})


def tensor(values, **kwargs):
    values = np.array(values, dtype=float).tolist()  # NaN for None
    return torch.tensor(values, **({"dtype": torch.float64, "requires_grad": True} | kwargs))


def held(container, values):
    """Values in a container, also those of dicts."""
    if isinstance(values, dict):
        return {key: held(container, value) for key, value in values.items()}
    return CONTAINERS[container](values)


def rounded(values):
    """Numbers as bfloat16 has them."""
    if isinstance(values, dict):
        return {key: rounded(value) for key, value in values.items()}
    if isinstance(values, list):
        return [rounded(value) for value in values]
    is_number = isinstance(values, (int, float)) and not isinstance(values, bool)
    return torch.tensor(float(values)).bfloat16().item() if is_number else values


class Foreign:
    """An array of a library that is not known here, read by the protocol of numpy."""

    def __init__(self, values):
        self.array = np.array(values)

    def __array__(self, dtype=None, copy=None):
        return self.array


CONTAINERS = {
    "numpy": lambda v: each(np.array, 9, v),
    "tuples": lambda v: each(tuple, 1, v),
    "rows": lambda v: each(np.array, 1, v),
    "objects": lambda v: each(lambda one: np.array(one, dtype=object), 9, v),
    "pandas": lambda v: each(framed, 2, v),
    "nullable": lambda v: each(nullable, 2, v),
    "arrow": pa.array,
    "chunked": chunked,
    "table": lambda v: table(v) if dimensions(v) == 2 else pa.array(v),
    "datasets": lambda v: datasets.Dataset.from_dict({"c": v})["c"],
    "torch": lambda v: v if holds_text(v) else each(tensor, 9, v),
    "bfloat16": lambda v: (
        v if holds_text(v) else each(lambda one: tensor(one, dtype=torch.bfloat16), 9, v)
    ),
    "foreign": lambda v: each(Foreign, 9, v),
    "unmasked": lambda v: each(np.ma.array, 9, v),
}


def plain(result):
    """Results as nested lists of Python values."""
    if isinstance(result, dict):
        return {key: plain(value) for key, value in result.items()}
    if isinstance(result, (list, tuple)):
        return [plain(value) for value in result]
    result = result.detach() if hasattr(result, "detach") else result
    return result.tolist() if hasattr(result, "tolist") else result


def agree(left, right):
    if isinstance(right, dict):
        return left.keys() == right.keys() and all(agree(left[key], right[key]) for key in right)
    if isinstance(right, list):
        return len(left) == len(right) and all(map(agree, left, right))
    if isinstance(right, float):
        return left == pytest.approx(right, abs=1e-12, nan_ok=True)
    return left == right and type(left) is type(right)


def outcome(function, *inputs, **options):
    """The result, or the message of a typed error of one line."""
    try:
        return plain(function(*inputs, **options))
    except MetricInputError as error:
        assert "\n" not in str(error)
        return str(error)


@pytest.mark.parametrize("name", functional.__all__)
def test_functions(name):
    inputs, options = example(name)
    function = getattr(functional, name)
    whole = outcome(function, *inputs, **options)
    assert not isinstance(whole, str)
    for container in CONTAINERS:
        given, expected = inputs, whole
        if container == "bfloat16":
            given = rounded(inputs)
            expected = outcome(function, *given, **options)
        found = outcome(function, *[held(container, values) for values in given], **options)
        assert agree(found, expected), (container, found, expected)


PARTS = [[*CONTAINERS][part::4] for part in range(4)]
"""Each container goes into each fourth module, daily into all."""
EACH_FOURTH = [
    pytest.param(name, part, marks=() if (place + part) % 4 == 0 else pytest.mark.daily)
    for place, name in enumerate(MODULES)
    for part in range(4)
]


@pytest.mark.parametrize(("name", "part"), EACH_FOURTH)
def test_modules(name, part):
    options, score = CASES[name].options, load_metric(name).score
    for container in PARTS[part]:
        inputs = CASES[name].inputs
        if container == "bfloat16":
            inputs = {key: rounded(values) for key, values in inputs.items()}
        found = outcome(score, held(container, inputs), options)
        expected = outcome(score, inputs, options)
        assert agree(found, expected), (container, found, expected)


@pytest.mark.parametrize("name", functional.__all__)
def test_masked_entries_are_never_values(name):
    inputs, options = example(name)
    for place, values in enumerate(inputs):
        if isinstance(values, list) and dimensions(values):
            masked = np.ma.array(values, mask=np.zeros(np.shape(values), bool))
            masked.mask.flat[0] = True
            for one in (masked, list(masked) if masked.ndim > 1 else masked):
                with pytest.raises(MetricInputError, match="masked"):
                    changed = [*inputs[:place], one, *inputs[place + 1 :]]
                    getattr(functional, name)(*changed, **options)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (torch.eye(3).to_sparse(), "no dense tensor"),
        (np.zeros(3, dtype=[("a", float)]), "must hold numbers"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "must hold numbers"),
        ([2**60, 2**60 + 1, None], "inexact as float64"),
        ([2**70, 1], "inexact as float64"),
        ({1.0, 2.0}, "must hold numbers"),
        (pd.Series(["a", None]), "must hold numbers"),
        (pa.array([{"a": 1}]), "must hold numbers"),
    ],
)
def test_what_no_number_is_in_is_refused_in_a_line(values, words):
    with pytest.raises(MetricInputError, match=words) as caught:
        functional.rmse_qpp(values, [1.0, 2.0, 3.0])
    assert "\n" not in str(caught.value)


def test_an_array_that_numpy_cannot_read_is_refused_in_a_line():
    class Elsewhere:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("it lies on another device")

    with pytest.raises(MetricInputError, match=r"Elsewhere.*another device.*give a numpy"):
        functional.rmse_qpp(Elsewhere(), [1.0, 2.0])


def test_missing_values_of_nullable_columns_are_nan():
    votes = pd.DataFrame({"a": [2, None], "b": [1, 0]}, index=[9, 3]).convert_dtypes()
    assert functional.image_relevance(votes).tolist() == [1.5, 0.0]
    columns = pa.table({"a": [2, None], "b": [1, 0]})
    assert functional.image_relevance(columns).tolist() == [1.5, 0.0]
    with pytest.raises(MetricInputError, match="1 NaN"):
        functional.rmse_qpp(pd.Series([1, None], dtype="Int64"), [1, 2])
    with pytest.raises(MetricInputError, match=r"NaN|NoneType"):
        functional.cohen_kappa(pd.Series([1, None], dtype="Int64"), [1, 2])


def test_a_generator_is_a_list():
    assert functional.rmse_qpp((i for i in range(3)), range(3))["rmse_qpp"] == 0


def test_a_frame_of_columns_of_different_kinds():
    rows = [["a", 2**60, True], ["a", 2**60 + 1, True], ["b", 2**60, False]]
    names = ["task", "seed", "control"]
    expected = functional.match_rate([1, 0, 1], rows, names)
    frame = pd.DataFrame(rows, columns=names, index=[2, 0, 1])
    for groups in (
        frame,
        frame.convert_dtypes(),
        pa.Table.from_pandas(frame, preserve_index=False),
    ):
        assert functional.match_rate([1, 0, 1], groups, names) == expected
        score = load_metric("match_rate").score
        found = score({"matches": [1, 0, 1], "groups": groups}, {"group_names": names})
        assert found == expected
        for row, own in zip(found["groups"], rows, strict=True):
            assert [(row[name], type(row[name])) for name in names] == [(v, type(v)) for v in own]


@pytest.mark.parametrize("ids", [[2**60, 2**60 + 1, 2**60], [7, 3, 7], ["b", "a", "b"]])
def test_ids_in_columns_of_any_library(ids):
    one = pd.Series(ids, index=[2, 0, 1])
    columns = [one, one.convert_dtypes(), pd.Index(ids), pa.array(ids), chunked(ids), np.array(ids)]
    columns += (
        [torch.tensor(ids), Foreign(ids)] if isinstance(ids[0], int) else [one.astype("category")]
    )
    for column in columns:
        names, scores = functional.hbpp([[2], [0], [1]], column)
        assert names.tolist() == ids[:2] and scores.tolist() == [1.5, 0.0]
    with pytest.raises(MetricInputError, match="masked"):
        functional.hbpp([[2], [0], [1]], np.ma.array(ids, mask=[0, 1, 0]))


def column(kind, texts):
    """Texts in a column of a library, encoded or not."""
    held = {
        "str": lambda: pd.Series(texts),
        "object": lambda: pd.Series(texts, dtype=object),
        "category": lambda: pd.Series(pd.Categorical(texts, categories=["z", "c", "b", "a"])),
        "index": lambda: pd.Index(texts),
        "numpy": lambda: np.array(texts),
        "arrow": lambda: pa.array(texts),
        "large": lambda: pa.array(texts, pa.large_string()),
        "view": lambda: pa.array(texts, pa.string_view()),
        "encoded": lambda: pa.array(texts).dictionary_encode(),
        "twice": lambda: pa.DictionaryArray.from_arrays(range(len(texts)), texts),
        "chunks": lambda: pa.chunked_array([pa.array(texts[:2]), pa.array(texts[2:])]),
        "datasets": lambda: datasets.Dataset.from_dict({"c": texts})["c"],
        "polars": lambda: pytest.importorskip("polars").Series(texts),
        "polars category": lambda: (
            (pl := pytest.importorskip("polars")).Series(texts).cast(pl.Categorical)
        ),
    }
    return held[kind]()


TEXT_COLUMNS = [
    *("str", "object", "category", "index", "numpy", "arrow", "large", "view", "encoded", "twice"),
    *("chunks", "datasets", "polars", "polars category"),
]


@pytest.mark.parametrize("kind", TEXT_COLUMNS)
def test_ids_and_labels_of_text_are_what_lists_give(kind):
    texts, others = list("cabacabbca"), list("ccbaabbbca")
    votes = np.arange(20).reshape(10, 2) % 4 - 1
    names, scores = functional.hbpp(votes, texts)
    found = functional.hbpp(votes, column(kind, texts))
    assert names.tolist() == found[0].tolist() == ["c", "a", "b"]
    assert {type(name) for name in found[0]} == {str} and scores.tolist() == found[1].tolist()
    both = column(kind, texts), column(kind, others)
    assert functional.cohen_kappa(*both, weights="linear") == functional.cohen_kappa(
        texts, others, weights="linear"
    )
    module = load_metric("hbpp").score({"labels": votes, "prompt_ids": both[0]})
    assert module["prompt_ids"] == ["c", "a", "b"] and module["scores"] == scores.tolist()


@pytest.mark.parametrize("kind", ["str", "object", "category", "arrow", "encoded", "datasets"])
def test_a_missing_id_is_refused_in_every_column(kind):
    with pytest.raises(MetricInputError, match="none missing"):
        functional.hbpp([[1], [2], [0]], column(kind, ["a", None, "b"]))
    with pytest.raises(MetricInputError, match=r"none missing|NoneType"):
        functional.cohen_kappa(column(kind, ["a", None, "b"]), ["a", "b", "b"])
