"""A split of a benchmark, and the predictors that are compared on it.

A score on rows that a predictor was fitted to is marked and not ranked. A predictor that was
refitted to more rows names an earlier version that was fitted to the train split only; this version
is used if it was fitted to fewer of the compared rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_datasets.target_columns import (
    Target,
    drop_single_means,
    get_targets,
    is_number,
    sort_targets,
)
from pqpp_files.errors import PqppError
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import read_prompts
from pqpp_models.targets import TARGETS, find_stand_in, resolve_targets

ALL_ROWS = "all rows"
"""The name of the split if rows have no splits."""


@dataclass(frozen=True)
class Split:
    """One split of a benchmark.

    Attributes:
        rows: A `datasets.Dataset` with a column `prompt` and one column per target.
        config: The benchmark's name in tables; for PQPP, the configuration.
        name: The split's name.
        release: The version of the benchmark, None if unknown.
    """

    rows: Any
    config: str
    name: str
    release: str | None = None

    @classmethod
    def from_rows(cls, rows: Any, dataset: str = "") -> Self:
        """Create a split from rows, with the name and release that they record.

        Args:
            dataset: The name, if the rows do not record one.
        """
        info, name = rows.info, str(rows.split or ALL_ROWS)
        if info.dataset_name != "pqpp":
            return cls(rows, dataset or "these rows", name)
        return cls(rows, info.config_name, name, str(info.version))

    @cached_property
    def prompts(self) -> list[str]:
        """The prompts."""
        return self.rows["prompt"][:]

    @cached_property
    def sources(self) -> list[str] | None:
        """The source of each prompt, None if unknown."""
        known = self.rows is not None and "source" in self.rows.column_names
        return [*map(str, self.rows["source"][:])] if known else None  # anything in others' data

    @property
    def is_generated(self) -> bool:
        """Whether the data are generated rather than rated by people."""
        return self.sources is not None and set(self.sources) == {"generated"}

    @cached_property
    def targets(self) -> dict[str, Target]:
        """The descriptions of the rows' targets, by the targets' names."""
        return {} if self.rows is None else get_targets(self.rows.features)

    @cached_property
    def known_targets(self) -> list[str]:
        """The names of the rows' targets, in the order of the tables."""
        return list(sort_targets(self.targets))

    @property
    def is_pqpp(self) -> bool:
        """Whether the rows are of a PQPP configuration with published results."""
        return self.release is not None and set(TARGETS) <= set(self.known_targets)

    def get_true_values(self, targets: Sequence[str]) -> dict[str, list[float | None]]:
        """Return the true values of each target."""
        return {target: self.rows[target][:] for target in targets}

    def choose_targets(
        self, names: str | Sequence[str] | None, predicted: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return the targets to compare on.

        Args:
            names: Names of numeric columns (not ids), separated by commas. Default: all targets of
                the rows, or if there are none, the predictors' targets; a mean over a single model
                is used only if nothing else is predicted.
            predicted: The predictors' targets, for rows that do not describe their targets.

        Raises:
            PredictorError: A column does not exist, or none is a target.
        """
        kinds = self.rows.features.items()
        numbers = [name for name, kind in kinds if is_number(kind) and not name.endswith("_id")]
        known = self.known_targets or [name for name in numbers if name in predicted]
        if names is None and not known:
            fault = f"`targets` is missing; choose from the columns {', '.join(numbers)[:200]}"
            fault = fault if numbers else "no column has numbers; add a column of scores"
            raise PredictorError(f"{self.config}: {fault}")
        distinct = drop_single_means(known)
        if set(distinct) & set(predicted) or not set(known) & set(predicted):
            known = list(distinct)
        return resolve_targets(names, [*dict.fromkeys([*known, *numbers])] if names else known)


@dataclass(frozen=True)
class ComparedPredictors:
    """The predictors to compare on some rows.

    Attributes:
        stands_for: The name of the replaced predictor, by the name of its substitute.
        notes: A note on each substitute that is unavailable.
    """

    predictors: dict[str, Predictor]
    stands_for: dict[str, str]
    notes: list[str]


def find_fitted_rows(predictor: Any, rows: Any) -> NDArray[np.bool_] | None:
    """Return whether a predictor was fitted to each row; None if unknown.

    Args:
        predictor: A predictor; if it was not trained, it was fitted to no row.
        rows: The rows, as for ``FittedRows.contains``.

    Example:
        >>> find_fitted_rows(Predictor.from_pretrained("n_words"), ["a cat"]).tolist()
        [False]
    """
    if predictor.record.rows is not None:
        return predictor.record.rows.contains(rows)
    return None if predictor.supervised else np.zeros(len(read_prompts(rows)), dtype=bool)


def replace_fitted_predictors(
    predictors: Mapping[str, Predictor], rows: Any, targets: Sequence[str] = ()
) -> ComparedPredictors:
    """Replace predictors that were fitted to some of the rows.

    The substitute is the version of the predictor that was fitted to the train split only. This
    version is not used if it was fitted to at least as many of the rows as the predictor, if it is
    itself among the predictors, or if it predicts none of the targets.
    """
    compared = ComparedPredictors({}, {}, [])
    for name, predictor in predictors.items():
        build, count = predictor.record.fitted_on_train, _count_fitted_rows(predictor, rows)
        if build is not None and build not in predictors and count:
            repository, _, revision = build.partition("@")
            try:
                earlier = Predictor.from_pretrained(repository, revision=revision or None)
            except PqppError as error:
                reason = f"was fitted to rows of this split, and {build} is not available: {error}"
                compared.notes.append(f"{name} {reason}")
            else:
                fits = not targets or any(find_stand_in(one, earlier.targets) for one in targets)
                if fits and _count_fitted_rows(earlier, rows) < count:
                    compared.stands_for[build] = name
                    name, predictor = build, earlier
        compared.predictors[name] = predictor
    return compared


def _count_fitted_rows(predictor: Predictor, rows: Any) -> int:
    fitted = find_fitted_rows(predictor, rows)
    return 0 if fitted is None else int(fitted.sum())
