"""One fit of a head to prompts that have been read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_models.record.record import TrainingRecord, means_in
from pqpp_models.text.arrays import INT8_SCALE, Floats, Singles, chunks
from pqpp_models.text.calibration import CALIBRATION, SPREAD, distance_to_nearest
from pqpp_models.text.conformal import calibrate_targets
from pqpp_models.text.ridge.blocks import ReadPrompts
from pqpp_models.text.ridge.forms import (
    BASE,
    NETWORK,
    STACK,
    Blocks,
    FormFit,
    kept_form,
    strength_of,
)
from pqpp_models.text.ridge.predictor import RidgePredictor
from pqpp_models.text.ridge.sentence_encoder import SentenceEncoder

MOSTLY_FAR = 0.2
"""If so many of the prompts are in no plain English, others like them are predicted, too."""

_CHUNK = 1024


@dataclass(frozen=True)
class Head:
    """What a head is fitted on.

    Attributes:
        network: the predictor `static`.
        sentence_encoder: one beside it.
        limits: the lowest and highest value of each target.
        base: the target of the network's that each fit begins at.
    """

    network: Any
    sentence_encoder: SentenceEncoder | None
    limits: Mapping[str, tuple[float, float]]
    base: str | None = None

    def fit(
        self,
        reading: ReadPrompts,
        texts: list[str],
        values: Floats,
        far: NDArray[np.bool_],
        with_forms: bool = False,
    ) -> tuple[RidgePredictor, dict[str, Any]]:
        """Fit to distinct prompts.

        Args:
            reading: of the prompts.
            texts: the prompts, normalised.
            values: shape ``(prompts, targets)``, NaN where there is none.
            far: the prompts that are in no plain English.
            with_forms: predict by every form, too, as the target ``target_by_form(target, form)``.

        Returns:
            The predictor, and by target the form that is kept and its strength.
        """
        blocks = Blocks(reading)
        based = () if self.base is None else (BASE,)
        forms = (None, *blocks.kernels, STACK, *based) if with_forms else (None,)
        names = [target_by_form(target, form) for form in forms for target in self.limits]
        columns = _Columns(blocks, len(names))
        choice: dict[str, Any] = {"form": {}, "strength": {}}
        distance = _distances(reading.points)
        # Targets that are known for the same prompts share their kernels.
        unknown, group = np.unique(np.isnan(values), axis=1, return_inverse=True)
        for number, known in enumerate(~unknown.T):
            members = np.flatnonzero(group.ravel() == number)
            scored = values[np.ix_(known, members)]
            deviation = scored.std(axis=0)
            goals = (scored - scored.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
            fitted = blocks.fit(known, goals)
            known_texts = [texts[row] for row in np.flatnonzero(known)]
            for place, member in enumerate(members):
                target = list(self.limits)[member]
                kept = kept_form(fitted, goals, place)
                choice["form"][target] = kept
                choice["strength"][target] = strength_of(fitted[kept], place)
                for form in forms:
                    chosen = fitted[form or kept]
                    column = names.index(target_by_form(target, form))
                    columns.put(column, chosen, place)
                    columns.calibrate(
                        column,
                        chosen.ridge.left_out[:, place],
                        scored[:, place],
                        known_texts,
                        distance[known],
                    )
        predictor = RidgePredictor(
            self.network,
            blocks.standardisation,
            columns.weights[NETWORK].astype(np.float32),
            (columns.intercept - blocks.base_slope * blocks.base_level).astype(np.float32),
            np.rint(reading.points * INT8_SCALE).astype(np.int8),
            {
                target_by_form(target, form): self.limits[target]
                for form in forms
                for target in self.limits
            },
            calibration={k: v.astype(np.float32) for k, v in columns.calibration.items()},
            sentence_encoder=self.sentence_encoder,
            base=self.base,
            base_slope=blocks.base_slope,
            reads_any_language=bool(far.mean() >= MOSTLY_FAR),
            **blocks.parts(columns.weights),
        )
        predictor.record = TrainingRecord(means=means_in(list(self.limits), values))
        return predictor, choice


def target_by_form(target: str, form: str | None) -> str:
    """Return what a target is called that is predicted by a form; itself by that which is kept.

    >>> target_by_form("rating", None), target_by_form("rating", "stack")
    ('rating', 'rating by stack')
    """
    return target if form is None else f"{target} by {form}"


class _Columns:
    """The weights, intercepts and calibrations of targets, one a column."""

    def __init__(self, blocks: Blocks, count: int) -> None:
        self.weights = {name: np.zeros((blocks.columns(name), count)) for name in blocks.kernels}
        self.intercept = np.zeros(count)
        self.calibration = {name: np.zeros((count, *ends)) for name, ends in CALIBRATION.items()}

    def put(self, column: int, fitted: FormFit, place: int) -> None:
        """Take the weights of one target of a form."""
        for name, weights in fitted.weights.items():
            self.weights[name][:, column] = weights[:, place]
        self.intercept[column] = fitted.ridge.intercept[place]

    def calibrate(
        self, column: int, left_out: Floats, true: Floats, texts: list[str], distance: Floats
    ) -> None:
        """Fit units and deviations; those of a part of the prompts may be all the same."""
        if true.std() == 0:
            for name in ("offset", "prior"):
                self.calibration[name][column] = true.mean()
            return
        fitted = calibrate_targets(left_out[:, None], true[:, None], texts, distance)
        # The shape of the deviations was fitted to the errors that scale them.
        fitted["spread"][0, 0] += len(SPREAD) / (2 * len(true))
        for name, numbers in fitted.items():
            self.calibration[name][column] = numbers[0]


def _distances(points: Singles) -> Floats:
    """Return each training prompt's distance to the others."""
    parts = [distance_to_nearest(part, points.T, own=True) for part in chunks(points, _CHUNK)]
    return np.concatenate(parts)
