"""What the evaluate modules share: inputs, descriptions, results, and the checks evaluate lacks."""

import contextlib
import inspect
import numbers
from pathlib import Path
from typing import ClassVar

import datasets
import evaluate
import numpy as np

from pqpp_metrics.errors import MetricInputError

_NUMBER = datasets.Value("float64")
_NUMBERS = datasets.Sequence(_NUMBER)

PAIRS = datasets.Features({"predictions": _NUMBER, "references": _NUMBER})
RANKINGS = datasets.Features({"predictions": _NUMBERS, "references": _NUMBERS})
# evaluate takes the first of several alternatives that fits; strings first, because an integer
# feature would also accept "12".
LABELS_BY_PROMPT = [
    datasets.Features({"labels": _NUMBERS, "prompt_ids": datasets.Value(kind)})
    for kind in ("string", "int64")
]


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
    return {name: mean, "scores": scores.tolist()} | {
        key: values.tolist() for key, values in companions.items()
    }


class Metric(evaluate.Metric):
    """An evaluate metric that refuses bad input and leaves nothing locked when it does."""

    # What the function calls an input, where the module calls it differently.
    input_names: ClassVar[dict[str, str]] = {}

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
            raise MetricInputError(self._in_own_words(str(error))) from None
        except Exception:
            self._discard()
            raise

    def _check_batch(self, batch):
        """Raise for missing, empty and unequally long inputs, and for text where numbers belong.

        evaluate would say less about the first three, and turn "0.5" into 0.5.
        """
        features = self.features[0] if isinstance(self.features, list) else self.features
        lengths = {}
        for name, feature in features.items():
            column = batch.get(name)
            if column is None:
                raise MetricInputError(f"`{name}` is missing; give {', '.join(features)}")
            lengths[name] = len(column)
            if feature in (_NUMBER, _NUMBERS) and _has_text(column):
                raise MetricInputError(f"`{name}` holds text; it must hold numbers: convert it")
        if not all(lengths.values()):
            empty = next(name for name, length in lengths.items() if not length)
            raise MetricInputError(f"`{empty}` is empty; nothing to score")
        if len(set(lengths.values())) > 1:
            came = " and ".join(f"{n} `{name}`" for name, n in lengths.items())
            raise MetricInputError(f"{came} were given; give as many of each")

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


def _has_text(values):
    """Whether nested sequences hold a string anywhere."""
    if isinstance(values, (str, bytes)):
        return True
    if isinstance(values, numbers.Number) or values is None:
        return False
    if hasattr(values, "dtype") and getattr(values.dtype, "kind", "f") not in "OUST":
        return False
    kinds = set(map(type, values))
    if any(issubclass(kind, (str, bytes)) for kind in kinds):
        return True
    nested = {kind for kind in kinds if not issubclass(kind, (numbers.Number, type(None)))}
    return bool(nested) and any(_has_text(value) for value in values)
