"""People's votes on generated images, checked once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import as_floats, to_numpy
from pqpp_metrics.functional._types import Values


@dataclass
class RaterVotes:
    """Labels as int8 and which of them are there, both (annotators, images); absent ones are 0.

    One row for each annotator: sums over the long axis cost a fraction of sums over the short.
    """

    labels: np.ndarray
    present: np.ndarray

    @property
    def images(self) -> int:
        """How many images there are."""
        return self.labels.shape[1]

    def of(self, mask: NDArray[np.bool_]) -> RaterVotes:
        """Only the votes that a mask, broadcast to (annotators, images), lets count."""
        present = self.present & mask
        return RaterVotes(self.labels * present, present)


def as_votes(name: str, labels: Values) -> RaterVotes:
    """Check labels, (images, annotators).

    Raises:
        MetricInputError: wrong dimensions, no images or annotators, another label than 2, 1, 0, -1
            and NaN.
    """
    labels = to_numpy(as_floats(name, labels, ndim=2))
    present = ~np.isnan(labels)
    given = labels if present.all() else np.where(present, labels, 0.0)
    with np.errstate(invalid="ignore"):
        votes = given.astype(np.int8)
    known = (votes == given) & (votes >= -1) & (votes <= 2)
    if not known.all():
        row, column = np.argwhere(~known)[0]
        raise MetricInputError(
            f"`{name}` holds {given[row, column]:g} at [{row}, {column}]; a label is 2, 1, 0 or "
            "-1, and NaN where an annotator did not vote"
        )
    return RaterVotes(votes.T.copy(), present.T.copy())


def as_mask(reference_images: Values, images: int) -> NDArray[np.bool_]:
    """Check which images are reference images, as bool (images,)."""
    mask = to_numpy(as_floats("reference_images", reference_images, ndim=1))
    require_images("reference_images", len(mask), images)
    if not np.isin(mask, (0, 1)).all():
        raise MetricInputError("`reference_images` must hold true or false for each image")
    return mask == 1


def require_images(name: str, came: int, wanted: int, one: str = "row") -> None:
    """Raise unless an input has as many images as the labels."""
    if came != wanted:
        raise MetricInputError(
            f"`{name}` has {came} images and `labels` {wanted}; give one {one} for each image"
        )
