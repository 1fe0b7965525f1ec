"""Which rows of a table a predictor was fitted to, and the build that was not.

What a predictor scores on rows that it learned says nothing: it is marked and not ranked. A release
that was refitted on more rows names its build that was fitted on the train split alone; that one is
taken where it has learned fewer of the rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_files.errors import PqppError
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import read_prompts
from pqpp_models.targets import stand_in


@dataclass(frozen=True)
class Builds:
    """The predictors that are compared on some rows.

    Attributes:
        predictors: Name to predictor.
        stands_for: The name of a build to that of the release that it was taken for.
        notes: A line on each build that could not be had.
    """

    predictors: dict[str, Predictor]
    stands_for: dict[str, str]
    notes: list[str]


def fitted_among(predictor: Any, rows: Any) -> NDArray[np.bool_] | None:
    """Tell to which of some rows a predictor was fitted; None where that is not recorded.

    Args:
        predictor: One without training was fitted to none.
        rows: As ``FittedRows.among`` takes them.

    Example:
        >>> fitted_among(Predictor.from_pretrained("n_words"), ["a cat"]).tolist()
        [False]
    """
    record = getattr(predictor, "record", None)
    if record is not None and record.rows is not None:
        return record.rows.among(rows)
    if getattr(predictor, "supervised", False):
        return None
    return np.zeros(len(read_prompts(rows)), dtype=bool)


def held_out_builds(
    predictors: Mapping[str, Predictor], rows: Any, targets: Sequence[str] = ()
) -> Builds:
    """Take for each release that learned some of the rows its build that learned fewer or none.

    A build that was named itself is taken for no other: then both have a row of their own. One
    that has nothing to say of the targets, by `stand_in`, is not taken where they are given: then
    the release is shown, marked by the rows that it was fitted to.
    """
    builds = Builds({}, {}, [])
    for name, predictor in predictors.items():
        build, known = predictor.record.fitted_on_train, _known(predictor, rows)
        if build is not None and build not in predictors and known:
            place, _, revision = build.partition("@")
            try:
                other = Predictor.from_pretrained(place, revision=revision or None)
            except PqppError as error:
                reason = f"was fitted to rows of this split, and {build} is not there: {error}"
                builds.notes.append(f"{name} {reason}")
            else:
                has_some = not targets or any(stand_in(one, other.targets) for one in targets)
                if has_some and _known(other, rows) < known:
                    builds.stands_for[build] = name
                    name, predictor = build, other
        builds.predictors[name] = predictor
    return builds


def _known(predictor: Predictor, rows: Any) -> int:
    fitted = fitted_among(predictor, rows)
    return 0 if fitted is None else int(fitted.sum())
