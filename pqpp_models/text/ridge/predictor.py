"""The ridge predictor: a linear head for anybody's scores on the shipped network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_models import registry
from pqpp_models.checkpoint import CONFIG, WEIGHTS, Tensors, check_tensors
from pqpp_models.encoder.normaliser import normalise
from pqpp_models.errors import CheckpointError, PredictorError
from pqpp_models.predictor import Uncertain
from pqpp_models.text.calibration import (
    CalibratedPredictor,
    calibration_tensors,
    distance_to_nearest,
    read_calibration,
)
from pqpp_models.text.ridge.features import (
    BUCKETS,
    Floats,
    Standardisation,
    hashed_words,
    measure,
)
from pqpp_models.text.words import DIFFICULTY_FEATURES

ENCODER = "static"
"""The predictor on whose network the head stands."""
SCALE = 127.0
"""What int8 points are divided by."""

_STANDARD = ("mean", "deviation", "weight")
_REMEDY = "save or download the predictor again"


class RidgePredictor(CalibratedPredictor):
    """Predicts any targets by a ridge head, fitted by `pqpp_models.text.ridge.fitting.fit`.

    Predictions are in each target's own units and within its limits. How a prompt is typed
    (capitals, blanks, Unicode forms, marks at its end) changes nothing.

    Args:
        encoder: gives the layers and the points; saved with the head.
        standardisation: of the columns besides the hashed words.
        weights: shape ``(columns, targets)``, the hashed words' columns first.
        intercept: one a target.
        references: int8 points of the training prompts, for the distance.
        calibration: as in `CalibratedPredictor`.
        targets: any names, in the order of the weights.
        limits: the lowest and highest value of each target.
        details: what the configuration tells beside: how it was trained and what it scores.
    """

    name = "ridge"
    made_by = "pqpp fit DATASET --targets NAME --output DIR"
    supervised = True
    chunk_size = 1024

    def __init__(
        self,
        encoder: Any,
        standardisation: Standardisation,
        weights: NDArray[np.float32],
        intercept: NDArray[np.float32],
        references: NDArray[np.int8],
        calibration: Mapping[str, NDArray[np.float32]],
        targets: Sequence[str],
        limits: Sequence[Sequence[float]],
        details: Mapping[str, Any] | None = None,
    ) -> None:
        self.encoder, self.standardisation = encoder, standardisation
        self.weights, self.intercept, self.references = weights, intercept, references
        self.calibration, self.tables = dict(calibration), encoder.tables
        self.known_words = encoder.known_words
        self.targets = tuple(targets)
        self.limits = {name: (low, high) for name, (low, high) in zip(targets, limits, strict=True)}
        self.details = dict(details or {})
        self._points = references.astype(np.float32).T / SCALE

    def embed(self, rows: Any) -> NDArray[np.float32]:
        """Return the points, of length one, in the space that distances are measured in."""
        return self.encoder.embed([normalise(prompt) for prompt in self._read_rows(rows)])

    def raw_scores(self, prompts: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the standardised scores of all targets, and the distances."""
        texts = [normalise(prompt) for prompt in prompts]
        points, blocks = measure(self.encoder, texts)
        rows = np.hstack([hashed_words(texts), self.standardisation(np.hstack(blocks))])
        return rows @ self.weights + self.intercept, distance_to_nearest(points, self._points)

    def _measure(self, prompts: list[str], targets: tuple[str, ...]) -> Uncertain:
        found = super()._measure(prompts, targets)
        low, high = self._limits(targets)
        # Nothing between two limits can vary more; far from all prompts the fit would say so.
        return found._replace(deviations=np.minimum(found.deviations, (high - low) / 2))

    def _limits(self, targets: Sequence[str]) -> tuple[Floats, Floats]:
        low, high = np.array([self.limits[target] for target in targets]).T
        return low, high

    def _state(self) -> tuple[dict[str, Any], Tensors]:
        encoder, tensors = self.encoder._state()
        standard = vars(self.standardisation)
        config = {
            **self.details,
            "limits": [list(self.limits[target]) for target in self.targets],
            "encoder": {
                "predictor_type": self.encoder.name,
                "targets": list(self.encoder.targets),
                **encoder,
            },
        }
        return config, {
            "weights": self.weights,
            "intercept": self.intercept,
            "references": self.references,
            **{f"standard.{name}": value for name, value in standard.items()},
            **{f"calibration.{name}": value for name, value in self.calibration.items()},
            **{f"encoder.{name}": value for name, value in tensors.items()},
        }

    def _card(self) -> str:
        from pqpp_hub.card import render_card

        limits = [(name, *self.limits[name]) for name in self.targets]
        facts = {name: self.details.get(name) for name in ("data", "training")}
        return render_card("predictors/ridge", limits=limits, **facts)

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the predictor of a folder whose files have been read.

        Raises:
            CheckpointError: the configuration or the weights are not those of such a predictor.
        """
        targets, limits = _read_targets(folder, config)
        encoder = _read_encoder(folder, config, tensors)
        sizes = encoder.represent(["a"])
        point = sizes[0].shape[1]
        columns = sum(one.shape[1] for one in sizes[1:]) + len(DIFFICULTY_FEATURES)
        known = len(tensors["references"]) if "references" in tensors else 0
        check_tensors(
            folder,
            tensors,
            {
                "weights": ("float32", (BUCKETS + columns, len(targets))),
                "intercept": ("float32", (len(targets),)),
                "references": ("int8", (max(known, 1), point)),
                **{f"standard.{name}": ("float32", (columns,)) for name in _STANDARD},
                **calibration_tensors(tensors, len(targets)),
            },
        )
        if (tensors["standard.deviation"] <= 0).any():
            raise CheckpointError(f"{folder / WEIGHTS} holds impossible deviations; {_REMEDY}")
        own = ("predictor_type", "format_version", "weights_sha256", "targets", "limits", "encoder")
        return cls(
            encoder,
            Standardisation(*(tensors[f"standard.{name}"] for name in _STANDARD)),
            tensors["weights"],
            tensors["intercept"],
            tensors["references"],
            read_calibration(tensors),
            targets,
            limits,
            {key: value for key, value in config.items() if key not in own},
        )


def check_names(targets: Sequence[Any]) -> tuple[str, ...]:
    """Return names of targets: any, but each one once and without commas or blanks around.

    Raises:
        PredictorError: they are not so.

    >>> check_names(["rating", "flux_hbpp"])
    ('rating', 'flux_hbpp')
    """
    for name in targets:
        if not isinstance(name, str) or not name.strip() or name != name.strip() or "," in name:
            raise PredictorError(
                f"{name!r:.60} is no name of a target; give a text without commas or blanks around"
            )
    if not targets or len(set(targets)) < len(targets):
        raise PredictorError(f"targets are {list(targets)}; name at least one, and each one once")
    return tuple(targets)


def _read_targets(
    folder: Path, config: Mapping[str, Any]
) -> tuple[tuple[str, ...], list[tuple[float, float]]]:
    try:
        targets = check_names(list(config["targets"]))
        limits = [(float(low), float(high)) for low, high in config["limits"]]
        if len(limits) != len(targets) or not all(
            np.isfinite([low, high]).all() and low < high for low, high in limits
        ):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise CheckpointError(
            f"{folder / CONFIG} has no usable 'targets' and 'limits'; {_REMEDY}"
        ) from None
    return targets, limits


def _read_encoder(folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Any:
    told = config.get("encoder")
    if not isinstance(told, Mapping) or told.get("predictor_type") != ENCODER:
        raise CheckpointError(f"{folder / CONFIG} has no encoder of type {ENCODER!r}; {_REMEDY}")
    prefix = "encoder."
    own = {name.removeprefix(prefix): tensors[name] for name in tensors if name.startswith(prefix)}
    return registry.predictor_class(ENCODER).from_checkpoint(folder, told, own)
