"""Predictors whose prediction is a measure."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.checkpoint import Tensors
from pqpp_backbones.errors import ModelError
from pqpp_files.names import did_you_mean
from pqpp_models.errors import PredictorError
from pqpp_models.measures import ego_network, linguistic, post_retrieval, pre_retrieval
from pqpp_models.measures.measure import Measure
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import COLUMN, read_rows

_FAMILIES = (linguistic, ego_network, pre_retrieval, post_retrieval)


class MeasurePredictor(Predictor):
    """A predictor whose score for every target is a measure.

    The score is 0.0 if the measure is undefined. A checkpoint contains only the name and options of
    the measure; an environment variable has the path of the data.

    Args:
        evidence: the measure's data, like `CaptionStatistics`, if it needs any.
        options: options of the measure; options that are not given have their defaults.

    Raises:
        PredictorError: the measure or an option does not exist, or the data are missing.

    >>> MeasurePredictor("mean_word_length").predict(["a red", "horse"]).tolist()
    [[2.0], [5.0]]
    >>> rows = [{"prompt": "a cat", "scores": [3.0, 1.0]}, {"prompt": "a dog", "scores": []}]
    >>> MeasurePredictor("score_variation", options={"k": 1}).predict(rows, "mean_p10").tolist()
    [[0.0], [0.0]]
    """

    is_scalar = True

    def __init__(
        self, name: str, evidence: Any = None, options: Mapping[str, Any] | None = None
    ) -> None:
        self.name, self.evidence, self.measure = name, evidence, find_measure(name)
        known = self.measure.options
        if other := [option for option in options or () if option not in known]:
            names = ", ".join(known) or "none"
            raise PredictorError(f"{name} has no option {other[0]!r} (options: {names}); remove it")
        if evidence is None and self.measure.evidence is not None:
            raise PredictorError(f"`evidence` is missing; pass {self.measure.evidence.data}")
        self.options = {**known, **(options or {})}
        self.higher_is = self.measure.higher_is
        if self.measure.columns:
            self.inputs, self.chunk_size = "text+scores", 256
            columns = (COLUMN, *self.measure.columns)
            self.required_columns = tuple((name,) for name in columns)
            self.read_rows = partial(read_rows, columns=columns, reader=name)

    def __reduce__(self) -> tuple[Any, ...]:
        return MeasurePredictor, (self.name, self.evidence, self.options)

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        try:
            values = self.measure.compute(rows, self.evidence, **self.options)
        except (ArithmeticError, IndexError, TypeError, ValueError) as error:
            if isinstance(error, ModelError) or not self.measure.columns:
                raise
            names = ", ".join(self.measure.columns)
            raise PredictorError(f"{self.name} cannot read the columns {names}: {error}") from None
        return np.repeat(np.where(np.isnan(values), 0.0, values)[:, None], len(targets), axis=1)

    def _get_state(self) -> tuple[dict[str, Any], Tensors]:
        return ({"options": self.options} if self.options else {}), {}

    def _render_card(self) -> str:
        from pqpp_hub.card import render_card

        facts = {"measure": self.measure, "direction": self.direction, "options": self.options}
        return render_card("predictors/measure", title=self.name, **facts)

    @classmethod
    def from_shipped(cls, name: str, options: Mapping[str, Any] | None = None) -> Self:
        """Return the predictor of a measure, with data from its environment variable, if any."""
        evidence = find_measure(name).evidence
        return cls(name, evidence.load_from_environment() if evidence else None, options)

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return a saved predictor with its options."""
        return cls.from_shipped(config["predictor_type"], config.get("options"))


def find_measure(name: str) -> Measure:
    """Return a measure by name.

    Raises:
        PredictorError: there is no such measure.

    >>> find_measure("avg_idf").about
    'mean rarity of the words'
    """
    known = {n: measure for family in _FAMILIES for n, measure in family.MEASURES.items()}
    if name not in known:
        hint = did_you_mean(name, known, "`pqpp models list` lists all")
        raise PredictorError(f"unknown measure {name!r}; {hint}")
    return known[name]
