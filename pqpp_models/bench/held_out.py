"""Which rows of a table a predictor was fitted to, and the build that was not.

What a predictor scores on rows that it learned says nothing: it is marked and not ranked. A release
that was refitted on more rows names its build that was fitted on the train split alone; that one is
taken where it has learned fewer of the rows.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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


def unranked(results: Iterable[Any]) -> dict[str, int]:
    """Return the predictors that were fitted to rows of a table, and to how many at most."""
    fitted_rows: dict[str, int] = {}
    for result in results:
        if result.fitted_rows:
            known = fitted_rows.get(result.predictor, 0)
            fitted_rows[result.predictor] = max(result.fitted_rows, known)
    return fitted_rows


def marked(name: str, fitted: int | None) -> str:
    """Return a predictor's name as a table shows it.

    Example:
        >>> marked("mine", 3), marked("mine", 0)
        ('mine (fitted to 3 of these rows)', 'mine')
    """
    return f"{name} (fitted to {fitted} of these rows)" if fitted else name


def fitted_notes(results: Iterable[Any]) -> list[str]:
    """Return the lines on what the predictors of a table were fitted to."""
    results = list(results)
    lines = []
    for build, name in dict.fromkeys((r.predictor, r.stands_for) for r in results if r.stands_for):
        lines.append(
            f"{build}, fitted on train alone, stands for {name}, which was fitted to more of these "
            "rows"
        )
    if unranked(results):
        lines.append(f"fitted to rows of this table, not ranked: {', '.join(unranked(results))}")
    taken: dict[tuple[str, str], dict[str, None]] = {}
    for result in results:
        if getattr(result, "stands_in", None):
            taken.setdefault((result.predictor, result.stands_in), {})[result.target] = None
    for (name, own), targets in taken.items():
        without = f"{name} does not predict {', '.join(targets)}"
        lines.append(f"{without}: its {own} stands in, whose order counts")
    unknown = dict.fromkeys(result.predictor for result in results if result.fitted_rows is None)
    if unknown:
        lines.append(f"which rows they were fitted to is not recorded: {', '.join(unknown)}")
    return [*lines, *_split_notes(results)]


def _split_notes(results: Iterable[Any]) -> Iterator[str]:
    """Yield a line on each split that predictors of a table were fitted on, where that is told."""
    fitted: dict[tuple[str, str | None, bool], dict[str, None]] = {}
    out = unranked(results)
    for result in results:
        if result.fitted_on:
            apart = result.fitted_rows is not None and result.predictor not in out
            key = (result.fitted_on, getattr(result, "trained_on", None), apart)
            fitted.setdefault(key, {})[result.predictor] = None
    for (split, data, apart), names in fitted.items():
        of = f" of {data}" if data else ""
        yield f"{', '.join(names)}: fitted on {split}{of}{', on none of these rows' * apart}"
