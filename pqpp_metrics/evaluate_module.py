"""A metric as a module of evaluate, with its description and further checks."""

import inspect
import json
from typing import Any

import datasets
import evaluate

from pqpp_files.foreign.json_values import parse_json
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.forms import Form, map_labels, to_plain
from pqpp_metrics.functional._containers import to_numpy
from pqpp_metrics.metric import Metric
from pqpp_metrics.registration import read_card_section


def _get_features(form: Form) -> datasets.Features:
    features = {}
    for name, entry in form.items():
        features[name] = datasets.Value("float64" if entry.kind == "number" else "string")
        for _ in range(entry.depth):
            features[name] = datasets.Sequence(features[name])
    return datasets.Features(features)


class EvaluateMetric(Metric, evaluate.Metric):
    """An evaluate metric that refuses invalid input, and can be used again after it.

    Inputs of a single call of `compute` in one process are scored directly. Batches, and inputs of
    several processes, go through evaluate's cache files, with labels as JSON to keep their types.
    """

    def _info(self):
        name = self.function.__name__
        text = "\n\n".join(read_card_section(name, heading) for heading in ("Inputs", "Options"))
        features = [_get_features(form) for form in self.forms]
        return evaluate.MetricInfo(
            description=inspect.getdoc(self.function).split("\n\n")[0],
            citation=read_card_section(name, "Source"),
            inputs_description=f"\n\n{text}",
            features=features if len(features) > 1 else features[0],
        )

    def _compute(self, **inputs_and_options):
        inputs = []
        for name, entry in self.forms[0].items():
            column = inputs_and_options.pop(name)
            inputs.append(map_labels(parse_json, column) if entry.kind == "label" else column)
        return self.compute_checked(inputs, inputs_and_options)

    def add(self, *, prediction: Any = None, reference: Any = None, **others: Any) -> None:
        """Add one item; as `evaluate.Metric.add`."""
        item = {"predictions": prediction, "references": reference, **others}
        self.add_batch(**{k: None if value is None else [value] for k, value in item.items()})

    def add_batch(self, *, predictions: Any = None, references: Any = None, **others: Any) -> None:
        """Add a batch of items; as `evaluate.Metric.add_batch`."""
        batch = {"predictions": predictions, "references": references, **others}
        self.check_options([name for name in batch if batch[name] is not None])
        columns = {}
        for name, values in self.select_inputs(batch, self.forms[0]).items():
            column = to_plain(to_numpy(values))
            is_label = self.forms[0][name].kind == "label"
            columns[name] = map_labels(json.dumps, column) if is_label else column
        super().add_batch(**columns)

    def compute(self, **inputs_and_options: Any) -> dict[str, Any]:
        """Compute the metric; as `evaluate.Metric.compute`.

        If the inputs are refused, items that were added before are kept.
        """
        names = self.get_input_names()
        # `evaluate.combine` passes these two to every module, as None where they were not given.
        for unused in ("predictions", "references"):
            if unused not in names and inputs_and_options.get(unused) is None:
                inputs_and_options.pop(unused, None)
        self.check_options(inputs_and_options)
        inputs = {name: inputs_and_options.pop(name, None) for name in names}
        if self.writer is None and self.num_process == 1:
            return self.score(inputs, inputs_and_options)
        if any(column is not None for column in inputs.values()):
            self.add_batch(**inputs)
        try:
            return super().compute(**inputs_and_options)
        except MetricInputError as error:
            raise MetricInputError(self.rename_inputs(str(error))) from None
