"""A metric as a module of evaluate: its description, and the checks that evaluate lacks."""

import contextlib
import inspect
from pathlib import Path

import datasets
import evaluate

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.forms import fitting_form
from pqpp_metrics.metric import Metric
from pqpp_metrics.registration import card_section

_DTYPES = {"number": "float64", "text": "string", "whole number": "int64"}


def _features(form):
    features = {}
    for name, entry in form.items():
        features[name] = datasets.Value(_DTYPES[entry.kind])
        for _ in range(entry.depth):
            features[name] = datasets.Sequence(features[name])
    return datasets.Features(features)


class EvaluateMetric(Metric, evaluate.Metric):
    """An evaluate metric that refuses bad input and leaves nothing locked when it does."""

    def _info(self):
        text = inspect.getdoc(self.function)
        features = [_features(form) for form in self.forms]
        return evaluate.MetricInfo(
            description=text.split("\n\n")[0],
            citation=card_section(self.function.__name__, "Source"),
            inputs_description="\n\n" + text,
            features=features if len(features) > 1 else features[0],
        )

    def _compute(self, **given):
        inputs = [given.pop(name) for name in self.input_names()]
        return self.computed(inputs, given)

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
        names = self.input_names()
        # `evaluate.combine` passes these two to every module, as None where they were not given.
        for unused in ("predictions", "references"):
            if unused not in names and inputs_and_options.get(unused) is None:
                inputs_and_options.pop(unused, None)
        self.check_options(inputs_and_options)
        if self.writer is None and all(inputs_and_options.get(name) is None for name in names):
            raise MetricInputError(f"nothing was given to score; give {' and '.join(names)}")
        try:
            return super().compute(**inputs_and_options)
        except MetricInputError as error:
            self._discard()
            raise type(error)(self.in_own_words(str(error))) from None
        except Exception:
            self._discard()
            raise

    def _check_batch(self, batch):
        """Raise for what is not of a form of the metric, or not of that of the batches before."""
        chosen = self.selected_feature_format
        fits = [form for form in self.forms if not chosen or _features(form) == chosen]
        fitting_form(batch, fits, self.each or "item")

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
