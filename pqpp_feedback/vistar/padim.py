"""PaDiM: how unlike the features of an image are to those of reference images, place by place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.assess.errors import AssessError
from pqpp_feedback.vistar.choices import choices

LEAST_REFERENCES = 8


@dataclass(frozen=True)
class Padim:
    """A Gaussian of features at each place, after Defard et al., ICPR 2021.

    Attributes:
        mean: (places, features).
        inverse: (places, features, features), of the covariance.
        usual: The distance that few references exceed when each is left out in turn.

    Example:
        >>> Padim(np.zeros((1, 2)), np.eye(2)[None], 1.0).distance(np.array([[3.0, 4.0]]))
        5.0
    """

    mean: NDArray[np.float64]
    inverse: NDArray[np.float64]
    usual: float

    def distance(self, features: NDArray[np.floating]) -> float:
        """Return the largest Mahalanobis distance of an image over all places.

        Args:
            features: (places, features) of one image.
        """
        apart = features - self.mean
        return float(np.sqrt(np.einsum("pi,pij,pj->p", apart, self.inverse, apart).max()))


def fit_padim(references: Sequence[NDArray[np.floating]]) -> Padim:
    """Fit the Gaussians on references, and the usual distance on each of them left out.

    Args:
        references: At least 8, each (places, features).

    Raises:
        AssessError: There are fewer.

    Example:
        >>> random = np.random.default_rng(0)
        >>> model = fit_padim(random.normal(size=(20, 4, 3)))
        >>> model.distance(np.zeros((4, 3))) < model.usual < model.distance(np.full((4, 3), 9))
        True
    """
    if len(references) < LEAST_REFERENCES:
        raise AssessError(
            f"{len(references)} reference images; give at least {LEAST_REFERENCES}, better hundreds"
        )
    values = np.asarray(references, dtype=float)
    left_out = []
    for number in range(len(values)):
        mean, inverse = _gaussians(np.delete(values, number, axis=0))
        left_out.append(Padim(mean, inverse, 0.0).distance(values[number]))
    usual = float(np.quantile(left_out, choices("geometry")["anomaly_usual"]))
    return Padim(*_gaussians(values), usual)


def _gaussians(values: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
    mean = values.mean(0)
    apart = values - mean
    covariance = np.einsum("npi,npj->pij", apart, apart) / (len(values) - 1)
    covariance += choices("geometry")["anomaly_regularisation"] * np.eye(values.shape[2])
    return mean, np.linalg.inv(covariance)
