"""What the evaluate modules share: inputs, descriptions, results, and the checks evaluate lacks."""

import contextlib
import inspect
import itertools
import numbers
import reprlib
from pathlib import Path
from typing import ClassVar

import datasets
import evaluate
import numpy as np

from pqpp_metrics.errors import InputFormError, MetricInputError

_NUMBER = datasets.Value("float64")
_TEXT = datasets.Value("string")
_NUMBERS = datasets.Sequence(_NUMBER)
_TABLE = datasets.Sequence(_NUMBERS)


# What stands for "no misfit", and what each type of value may be given as.
_NONE = object()
_ALLOWED = {
    "string": {"text"},
    "int64": {"whole"},
    "float64": {"whole", "fraction"},
}


def _features(**inputs):
    return datasets.Features(inputs)


PAIRS = _features(predictions=_NUMBER, references=_NUMBER)
RANKINGS = _features(predictions=_NUMBERS, references=_NUMBERS)
MAPS = _features(predictions=_TABLE, references=_TABLE)
VECTORS = _features(predictions=_NUMBERS, references=_NUMBERS)
TEXTS = _features(predictions=_TEXT, references=_TEXT)
PREFERENCES = _features(predictions=_NUMBERS, references=_NUMBER)
TWO_PREDICTORS = _features(predictions=_NUMBER, other_predictions=_NUMBER, references=_NUMBER)
TWO_GROUPS = _features(x=_NUMBERS, y=_NUMBERS)
P_VALUES = _features(p_values=_NUMBER)
VOTES = _features(votes=_NUMBERS)
NUMERIC_RATINGS = _features(ratings=_NUMBERS)
FEEDBACK = _features(scores=_TABLE, keyword_labels=_TABLE, points=datasets.Sequence(_TABLE))
QUESTIONNAIRES = _features(
    positive=_TABLE,
    negative=_TABLE,
    levels=_NUMBERS,
    question_weights=_NUMBERS,
    level_weights=_NUMBERS,
)
SCENES = _features(coverage=_NUMBER, consistency=_NUMBER)
OVERLAPS = _features(overlap_depths=_TABLE, outside_depths=_TABLE, confidences=_TABLE)
CUES = _features(scores=_NUMBERS)
# evaluate takes the first of several alternatives that fits; text first, because a number
# feature would also accept "12".
LABELS_BY_PROMPT = [
    _features(labels=_NUMBERS, prompt_ids=_TEXT),
    _features(labels=_NUMBERS, prompt_ids=datasets.Value("int64")),
]
MATCHES = [
    _features(matches=_NUMBER, groups=datasets.Sequence(_TEXT)),
    _features(matches=_NUMBER, groups=_NUMBERS),
    _features(matches=_NUMBER, groups=_TEXT),
    _features(matches=_NUMBER, groups=_NUMBER),
]
KEYWORDS = [TEXTS, _features(predictions=_NUMBERS, references=_NUMBERS)]
RATINGS = [_features(ratings=datasets.Sequence(_TEXT)), _features(ratings=_NUMBERS)]
CATEGORIES = [TEXTS, PAIRS]


def info(function, inputs, citation):
    """Describe a module by the docstring of the function that it adapts.

    Args:
        function: The function of `pqpp_metrics.functional`.
        inputs: The features of the inputs, or a list of alternatives.
        citation: The source, as text.

    Returns:
        An `evaluate.MetricInfo`.
    """
    text = inspect.getdoc(function)
    return evaluate.MetricInfo(
        description=text.split("\n\n")[0],
        citation=citation,
        inputs_description="\n\n" + text,
        features=inputs,
    )


def per_item(name, scores, **companions):
    """Results of a metric with one value an item: its mean, the values, and companions.

    Args:
        name: The key of the mean.
        scores: One value an item; NaN for an item without one, which the mean leaves out.
        **companions: Arrays that go with the scores.

    Returns:
        dict of plain Python values.
    """
    scores = np.asarray(scores)
    valued = scores[~np.isnan(scores)]
    mean = float(valued.mean()) if valued.size else float("nan")
    return plain({name: mean, "scores": scores} | companions)


def per_row(name, rows):
    """Results of a function that gives a dict for every row: one list a key, and the main mean.

    Args:
        name: The key of the main value.
        rows: Dicts with the same keys.

    Returns:
        dict of plain Python values.
    """
    columns = {key: [row[key] for row in rows] for key in rows[0] if key != name}
    return per_item(name, [row[name] for row in rows]) | plain(columns)


def plain(value):
    """Numpy values, also within lists and dicts, as plain Python ones."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


class Metric(evaluate.Metric):
    """An evaluate metric that refuses bad input and leaves nothing locked when it does."""

    # What the function calls an input, where the module calls it differently.
    input_names: ClassVar[dict[str, str]] = {}
    # What one entry of the inputs is.
    item: ClassVar[str] = "item"
    # Whether a file's whole column of numbers is one entry, a group, whose length is its own.
    takes_groups: ClassVar[bool] = False

    def add(self, *, prediction=None, reference=None, **others):
        """Add one item; as `evaluate.Metric.add`."""
        item = {"predictions": prediction, "references": reference, **others}
        self._check_batch({name: [value] for name, value in item.items()})
        super().add(prediction=prediction, reference=reference, **others)

    def add_batch(self, *, predictions=None, references=None, **others):
        """Add a batch of items; as `evaluate.Metric.add_batch`."""
        batch = {"predictions": predictions, "references": references, **others}
        self._check_batch(batch)
        super().add_batch(**batch)

    def compute(self, **inputs_and_options):
        """Compute the metric; as `evaluate.Metric.compute`."""
        self._refuse_unknown_options(inputs_and_options)
        names = self._feature_names()
        if self.writer is None and all(inputs_and_options.get(name) is None for name in names):
            raise MetricInputError(f"nothing was given to score; give {' and '.join(names)}")
        try:
            return super().compute(**inputs_and_options)
        except MetricInputError as error:
            self._discard()
            raise type(error)(self._in_own_words(str(error))) from None
        except Exception:
            self._discard()
            raise

    def _check_batch(self, batch):
        """Raise for missing, empty and unequally long inputs, other nesting, and text for numbers.

        evaluate would say less about most of them, fail itself over nesting where there are
        alternatives, and turn "0.5" into 0.5.
        """
        alternatives = self._alternatives()
        lengths, depths, kinds = {}, {}, {}
        for name in self._feature_names():
            column = batch.get(name)
            if column is None:
                raise MetricInputError(
                    f"`{name}` is missing; give {' and '.join(self._feature_names())}"
                )
            depths[name] = self._fitting_depths(name, column, alternatives)
            lengths[name], kinds[name] = len(column), _kinds(column)
            self._check_kinds(name, kinds[name], alternatives)
        if not all(lengths.values()):
            empty = next(name for name, length in lengths.items() if not length)
            raise MetricInputError(f"`{empty}` is empty; nothing to score")
        if len(set(lengths.values())) > 1:
            came = " and ".join(f"{n} `{name}`" for name, n in lengths.items())
            raise MetricInputError(f"{came} were given; give as many of each")
        if not any(_fits(features, depths, kinds) for features in alternatives):
            forms = ", or ".join(_described(features) for features in alternatives)
            raise InputFormError(f"the inputs are of different forms; give {forms}")

    def _alternatives(self):
        """The features that an input may have: those of the first batch, once there was one."""
        if self.selected_feature_format:
            return [self.selected_feature_format]
        return self.features if isinstance(self.features, list) else [self.features]

    def _fitting_depths(self, name, column, alternatives):
        """Return the depths of lists that an input may and does have; raise where there is none."""
        forms = {_form(features[name]): _depth(features[name]) for features in alternatives}
        misfits = {d: next(_misfits(column, d + 1), _NONE) for d in forms.values()}
        fitting = {depth for depth, misfit in misfits.items() if misfit is _NONE}
        if fitting:
            return fitting
        came = " ".join(reprlib.repr(plain(next(iter(misfits.values())))).split())
        examples = " or ".join(f"{name}=[{'[' * d}...{']' * d}, ...]" for d in misfits)
        raise InputFormError(
            f"`{name}` holds {came}; give a {' or a '.join(forms)} for each {self.item}: {examples}"
        )

    def _check_kinds(self, name, kinds, alternatives):
        """Raise for text where numbers belong, fractions where whole numbers do, and a mixture."""
        allowed = {_leaf(features[name]) for features in alternatives}
        if "text" in kinds and "string" not in allowed:
            raise MetricInputError(f"`{name}` holds text; it must hold numbers: convert it")
        if kinds - {"text"} and allowed == {"string"}:
            raise MetricInputError(f"`{name}` holds numbers; it must hold text")
        if "text" in kinds and len(kinds) > 1:
            raise MetricInputError(f"`{name}` mixes text and numbers; give one kind")
        if "fraction" in kinds and "float64" not in allowed:
            raise MetricInputError(f"`{name}` holds fractions; give whole numbers or text")

    def _in_own_words(self, message):
        """Name the inputs in a function's error as this module names them."""
        for theirs, ours in self.input_names.items():
            message = message.replace(f"`{theirs}`", f"`{ours}`")
        return message

    def _refuse_unknown_options(self, given):
        """Raise for an option that this metric does not have."""
        allowed = set(inspect.signature(self._compute).parameters)
        # `evaluate.combine` passes these two to every module, as None where they were not given.
        unused = {name for name in ("predictions", "references") if given.get(name) is None}
        unknown = [name for name in given if name not in allowed | unused]
        if unknown:
            options = sorted(allowed - set(self._feature_names()))
            raise MetricInputError(
                f"`{self.name}` has no input or option `{unknown[0]}`; its inputs are "
                f"{', '.join(self._feature_names())} and its options {', '.join(options) or 'none'}"
            )

    def _discard(self):
        """Forget what was added and release the cache files, so that the next try starts clean."""
        self.writer = self.data = self.buf_writer = None
        paths = self.file_paths or [self.cache_file_name]
        locks = self.filelocks or [self.filelock]
        self.file_paths = self.filelocks = self.cache_file_name = self.filelock = None
        for path, lock in zip(paths, locks, strict=True):
            if path is not None:
                with contextlib.suppress(OSError):
                    Path(path).unlink()
            if lock is not None:
                lock.release()


class RankingMetric(Metric):
    """A metric of retrieval scores, given as predictions, and relevance, given as references."""

    input_names: ClassVar[dict[str, str]] = {"scores": "predictions", "relevance": "references"}


def _leaf(feature):
    """The type of the values that a feature holds at its innermost."""
    while not isinstance(feature, datasets.Value):
        feature = feature.feature
    return feature.dtype


def _depth(feature):
    """How many lists stand around a value."""
    depth = 0
    while not isinstance(feature, datasets.Value):
        feature, depth = feature.feature, depth + 1
    return depth


def _form(feature):
    """What one entry of an input is, in words: "text", "list of numbers"."""
    word = {"string": "text", "int64": "whole number"}.get(_leaf(feature), "number")
    depth = _depth(feature)
    plural = word if word == "text" or not depth else word + "s"
    return "list of " * bool(depth) + "lists of " * (depth - 1) + plural


def _described(features):
    """What one entry of every input is, in words."""
    return " and ".join(f"a {_form(feature)} for `{name}`" for name, feature in features.items())


def _fits(features, depths, kinds):
    """Whether inputs, nested so and of these kinds, together are what one alternative says."""
    return all(
        _depth(feature) in depths[name] and kinds[name] <= _ALLOWED[_leaf(feature)]
        for name, feature in features.items()
    )


def _misfits(values, depth):
    """The parts of nested sequences that do not stand `depth` lists deep; None fits anywhere."""
    level = [values]
    for left in range(depth, -1, -1):
        one_of = {type(part): part for part in level}
        if left == 0:
            level = list(one_of.values())  # of plain values one of a type is enough
        if left == 0 or not one_of.keys() <= {list, tuple}:
            wrong, level = _sorted_out(level, left)
            yield from wrong
        if left:
            level = list(itertools.chain.from_iterable(level))


def _sorted_out(parts, depth):
    """Which parts are not nested so deep, and which must be looked into to know."""
    wrong, unknown = [], []
    for part in parts:
        dimensions = getattr(part, "ndim", None)
        if part is None:
            continue
        if dimensions is not None and getattr(part.dtype, "kind", "") != "O":
            if dimensions != depth:
                wrong.append(part)
            continue
        is_list = hasattr(part, "__len__") and not isinstance(part, (str, bytes))
        (unknown if is_list == (depth > 0) else wrong).append(part)
    return wrong, unknown


def _kinds(values):
    """What nested sequences hold: of "text", "whole" and "fraction" numbers; None is neither."""
    if isinstance(values, (str, bytes)):
        return {"text"}
    if isinstance(values, numbers.Integral):
        return {"whole"}
    if isinstance(values, numbers.Number):
        return {"fraction"}
    if values is None:
        return set()
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if kind in "biuf":
        return {"fraction" if kind == "f" else "whole"}
    if type(values).__module__ == "torch":
        return {"fraction" if values.is_floating_point() else "whole"}
    found = set()
    for one_of in {type(value): value for value in values}.values():
        # Sequences may hold anything: look into each; of plain values one of a type is enough.
        nested = not isinstance(one_of, (str, bytes, numbers.Number, type(None)))
        for value in values if nested else [one_of]:
            found |= _kinds(value)
    return found
