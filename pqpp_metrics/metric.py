"""A metric with its inputs, options and result, for evaluate and the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from pqpp_metrics import functional
from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.forms import Form, to_plain
from pqpp_metrics.functional._containers import Values, mean_without_nan, unwrap
from pqpp_metrics.functional._inputs import check_lengths, not_allowed_error
from pqpp_metrics.functional._rankings.inputs import get_parameters


class Metric:
    """A function of `pqpp_metrics.functional` with the forms of its inputs.

    A subclass is in a file with the name of its function. The function's first parameters are the
    inputs; the others are options. Class arguments: `inputs`, one of `pqpp_metrics.forms`; `each`,
    the name of a row, if the function accepts one row at a time; `kept`, the keys of such a row's
    result that are listed (None: all); `takes_groups`, whether a file's whole column is one entry
    of any length; `function`, if it has another name.
    """

    function: ClassVar[Callable[..., Any]]
    forms: ClassVar[Sequence[Form]]
    each: ClassVar[str | None]
    kept: ClassVar[Sequence[str] | None]
    takes_groups: ClassVar[bool]

    def __init_subclass__(
        cls,
        inputs: Sequence[Form] = (),
        function: Callable[..., Any] | None = None,
        each: str | None = None,
        kept: Sequence[str] | None = None,
        takes_groups: bool = False,
        **kwargs: Any,
    ) -> None:
        """Record the declarations of a metric's module."""
        super().__init_subclass__(**kwargs)
        if inputs:
            function = function or getattr(functional, cls.__module__.rpartition(".")[2])
            cls.function, cls.forms, cls.each = staticmethod(function), inputs, each
            cls.kept, cls.takes_groups = kept, takes_groups

    @classmethod
    def get_input_names(cls) -> list[str]:
        """Return the names of the inputs."""
        return list(cls.forms[0])

    @classmethod
    def get_options(cls) -> dict[str, Any]:
        """Return options and their defaults; `inspect.Parameter.empty` for required ones."""
        return dict([*get_parameters(cls.function).items()][len(cls.forms[0]) :])

    @classmethod
    def score(
        cls, inputs: Mapping[str, Any], options: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Check the inputs and compute the metric; the result is that of `evaluate.compute`.

        Raises:
            MetricInputError: the metric cannot use an input; one line names it.
        """
        cls.check_options([*inputs, *(options or ())])
        columns = cls.select_inputs(inputs, cls.forms[-1])
        for name, column in columns.items():
            if not len(column):
                raise MetricInputError(f"`{name}` must not be empty; add at least one value")
            if cls.each and cls.forms[0][name].depth and not hasattr(column[0], "__len__"):
                raise MetricInputError(f"`{name}` must be a list of lists, one per {cls.each}")
        check_lengths("inputs of the same length", **columns)
        try:
            return cls.compute_checked(list(columns.values()), options or {})
        except MetricInputError as error:
            raise MetricInputError(cls.rename_inputs(str(error))) from None

    @classmethod
    def select_inputs(cls, values: Mapping[str, Any], required: Iterable[str]) -> dict[str, Any]:
        """Return the inputs that are given; raise an error if a required one is missing."""
        names = cls.get_input_names()
        inputs = {n: unwrap(n, values[n]) for n in names if values.get(n) is not None}
        for name in required:
            if name not in inputs:
                raise MetricInputError(f"`{name}` is missing; give {' and '.join(required)}")
        for name, column in inputs.items():
            if not hasattr(column, "__len__") or getattr(column, "ndim", 1) == 0:
                raise not_allowed_error(name, column, "must be a list")
        return inputs

    @classmethod
    def check_options(cls, names: Iterable[str]) -> None:
        """Raise an error for an input or option that this metric does not have."""
        name, inputs, options = cls.function.__name__, cls.get_input_names(), cls.get_options()
        unknown = [key for key in names if key not in inputs and key not in options]
        if unknown:
            known = ", ".join([*inputs, *sorted(options)])
            fault = f"{name} has no input or option {unknown[0]!r}"
            raise MetricInputError(f"{fault}; choose one of {known}")

    @classmethod
    def compute_checked(cls, inputs: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Compute from checked inputs, in their order; raise if an option is missing."""
        for name, default in cls.get_options().items():
            if default is inspect.Parameter.empty and options.get(name) is None:
                raise MetricInputError(f"the option `{name}` is required")
        return cls.compute_results(inputs, options)

    @classmethod
    def compute_results(cls, inputs: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the function's result, or the results of all rows, as a dict of plain values."""
        name, parameters = cls.function.__name__, inspect.signature(cls.function).parameters

        def call(values: Sequence[Any]) -> Any:
            return cls.function(**dict(zip(parameters, values, strict=False)), **options)

        if cls.each is None:
            return cls.shape_result(call(inputs))
        rows = [call(row) for row in zip(*inputs, strict=True)]
        if not isinstance(rows[0], Mapping):
            return summarise_items(name, [float(row) for row in rows])
        keys = [key for key in rows[0] if key != name] if cls.kept is None else cls.kept
        columns = {key: [row[key] for row in rows] for key in keys}
        return summarise_items(name, [row[name] for row in rows], **columns)

    @classmethod
    def shape_result(cls, result: Any) -> dict[str, Any]:
        """Return the function's result as a dict, with the mean if the main value is an array."""
        name = cls.function.__name__
        result = dict(result) if isinstance(result, Mapping) else {name: result}
        if np.ndim(result[name]):
            return summarise_items(name, result.pop(name), **result)
        return to_plain(result)

    @classmethod
    def rename_inputs(cls, message: str) -> str:
        """Replace the function's input names in an error message with the metric's."""
        parameters = inspect.signature(cls.function).parameters
        for parameter, name in zip(parameters, cls.forms[0], strict=False):
            message = message.replace(f"`{parameter}`", f"`{name}`")
        return message


def summarise_items(name: str, scores: Values, **companions: Any) -> dict[str, Any]:
    """Return the mean of scores without NaN, the scores, and further results of each item.

    Example:
        >>> summarise_items("ndcg", [0.5, float("nan")])
        {'ndcg': 0.5, 'scores': [0.5, nan]}
    """
    scores = np.asarray(scores)
    return to_plain({name: mean_without_nan(scores), "scores": scores} | companions)


def get_base(module: str = "") -> type[Metric]:
    """Return the base of a metric's class: `Metric` in this package, `EvaluateMetric` elsewhere.

    evaluate loads its own copy of a metric's file. Importing evaluate takes much longer than
    computing a metric.

    Args:
        module: The name of the metric's module; metrics published before 0.4 give none.
    """
    if module.startswith("pqpp_metrics."):
        return Metric
    from pqpp_metrics.evaluate_module import EvaluateMetric

    return EvaluateMetric
