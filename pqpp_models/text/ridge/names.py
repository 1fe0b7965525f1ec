"""Names that are being changed elsewhere, under one roof until they have been."""

# ruff: noqa: F401
from __future__ import annotations

try:
    from pqpp_models.text.calibration import (
        CalibratedPredictor,
        distance_to_nearest,
        fit_calibration,
    )
    from pqpp_models.text.words import DIFFICULTY_FEATURES, WordTables, difficulty_features
except ImportError:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pqpp_models.text.calibrated import CalibratedPredictor, spread_inputs
    from pqpp_models.text.calibrated import distance_to_nearest as _distance
    from pqpp_models.text.words import CUES as DIFFICULTY_FEATURES
    from pqpp_models.text.words import WordTables
    from pqpp_models.text.words import cue_features as difficulty_features

    _Z90 = 1.6449
    _GATE = 4

    def distance_to_nearest(vectors, points, own=False):
        """Return how far unit vectors are from the nearest of some points."""
        if not own:
            return _distance(vectors, points)
        cosines = vectors @ points
        cosines[cosines >= 0.9999] = -1
        most = min(5, points.shape[1])
        near = np.partition(cosines, -most, axis=1)[:, -most:]
        return (1 - near.mean(axis=1)).astype(np.float64)

    def fit_calibration(
        scores: NDArray[np.float64],
        targets: NDArray[np.float64],
        distance: NDArray[np.float64],
        rates: NDArray[np.float64],
        generation: Sequence[bool],
    ) -> dict[str, NDArray[np.float32]]:
        """Fit units and deviations to predictions for prompts that were left out.

        Args:
            scores: standardised predictions.
            targets: the true values.
            distance: of each prompt to the other training prompts.
            rates: how often images follow instructions, for how much wider deviations are where the
                gate is open.
            generation: which targets the gate concerns.
        """
        fitted = {"slope": [], "offset": [], "spread": []}
        inputs = spread_inputs(scores, distance, np.zeros(len(scores), np.float32))
        for column in range(targets.shape[1]):
            slope, offset = np.polyfit(scores[:, column], targets[:, column], 1)
            error = np.abs(targets[:, column] - slope * scores[:, column] - offset) + 1e-3
            rows = inputs[:, column, :_GATE]
            spread = _fit_spread(rows, error)
            usual = np.exp((rows @ spread).mean())
            # As far as prompts of one kind could at most differ: images follow them, or they don't.
            most = 3 * np.sqrt((rates * (1 - rates)).mean())
            wider = max(0.0, np.log(most / usual)) if generation[column] else 0.0
            fitted["slope"].append(slope)
            fitted["offset"].append(offset)
            fitted["spread"].append([*spread, wider])
        fitted["far"] = [np.quantile(distance, 0.99)]
        return {name: np.array(values, np.float32) for name, values in fitted.items()}

    def _fit_spread(rows: NDArray[np.float64], error: NDArray[np.float64]) -> NDArray[np.float64]:
        spread = np.linalg.lstsq(rows, np.log(error), rcond=None)[0]
        if spread[1] < 0:  # deviations never fall with the distance
            others = np.linalg.lstsq(np.delete(rows, 1, axis=1), np.log(error), rcond=None)[0]
            spread = np.insert(others, 1, 0.0)
        # Ninety in a hundred errors are to lie within 1.645 deviations.
        spread[0] += np.log(np.quantile(error / np.exp(rows @ spread), 0.9) / _Z90)
        return spread
