"""Training data of predictors, and the metrics of their evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.training.reading import explain_load_errors
from pqpp_datasets.benchmarks import BENCHMARKS, DEFAULT
from pqpp_datasets.target_columns import drop_single_means, get_measure, get_targets
from pqpp_files.errors import PqppError
from pqpp_files.hashes import hash_parts
from pqpp_models.prompts import COLUMN, ID, read_prompts
from pqpp_models.record.record import fill_means, find_mean_targets
from pqpp_models.targets import Limits, get_limits, unscale_targets
from pqpp_models.training.recipe import PredictorRecipe


@dataclass(frozen=True)
class Rows:
    """Prompts with the true values of targets.

    Attributes:
        targets: `(rows, targets)` in the targets' own units, NaN if missing.
        table: The dataset, for further columns.
        limits: Lowest and highest value of each target whose measure has no fixed range, from
            the dataset or else from these rows.
    """

    prompts: list[str]
    targets: NDArray[np.float64]
    table: Any
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.prompts)

    @property
    def as_table(self) -> dict[str, list[Any]]:
        """The prompts and their ids, if there are any, as columns."""
        has_ids = self.table is not None and ID in self.table.column_names
        return {COLUMN: self.prompts, **({ID: list(self.table[ID])} if has_ids else {})}


def load_rows(recipe: PredictorRecipe, split: str, images: bool = False) -> Rows:
    """Load a split of the recipe's dataset.

    Args:
        recipe: The recipe; if it has no targets, it gets those of the dataset.

    Raises:
        PqppError: The dataset cannot be loaded, or has no usable rows.
        BenchmarkError: The benchmark's files are missing or damaged.
    """
    from pqpp_datasets.load import load_benchmark
    from pqpp_datasets.own_benchmark.images import add_saved_images

    is_listed = recipe.dataset in BENCHMARKS
    options = get_image_options(recipe) if images and is_listed else {}
    if recipe.data_dir is not None:
        options["data_dir"] = recipe.data_dir
    option = "train_split" if split == recipe.train_split else "validation_split"
    with explain_load_errors(recipe.dataset, f"check `dataset`, `subset` and `{option}`"):
        table = load_benchmark(recipe.dataset, recipe.subset, split, **options)
        if images and not is_listed:
            table = add_saved_images(table, recipe.dataset, recipe.image_dir)
    if recipe.source is not None:  # the paper's Tables 6, 7 and 9 train on one
        sources = list(table["source"]) if "source" in table.column_names else []
        if recipe.source not in sources:
            known = ", ".join(dict.fromkeys(sources)) or "none"
            raise PqppError(
                f"{split} has no source {recipe.source!r} (sources: {known}); change `source`"
            )
        rows = [index for index, source in enumerate(sources) if source == recipe.source]
        table = table.select(rows)
    if split == recipe.train_split and recipe.max_train_rows is not None:
        table = table.select(range(min(len(table), recipe.max_train_rows)))
    known = get_targets(table.features)
    recipe.targets = recipe.targets or list(drop_single_means(known))
    if not recipe.targets:
        raise PqppError(
            f"{recipe.dataset} has no column <model>_<measure>; choose `targets` from "
            f"{', '.join(table.column_names)[:200]}"
        )
    if missing := [name for name in ("prompt", *recipe.targets) if name not in table.column_names]:
        names, columns = " or ".join(map(repr, missing)), ", ".join(table.column_names)
        fault = f"{recipe.dataset}, {split}: no column {names} (columns: {columns})"
        raise PqppError(f"{fault}; add it")
    limits = {name: target.limits for name, target in known.items() if target.limits}
    targets, own_limits = _find_targets(table, recipe.targets, split, limits)
    return Rows(read_prompts(table), targets, table, own_limits)


def get_image_options(recipe: PredictorRecipe) -> dict[str, str]:
    """Return the option of `load_dataset` that adds images.

    Raises:
        PqppError: The dataset needs `image_dir`.
    """
    if recipe.image_dir:
        return {"image_dir": recipe.image_dir}
    known = BENCHMARKS.get(recipe.subset or DEFAULT) if recipe.dataset == "pqpp" else None
    if known and "image_dir" in known.options:
        raise PqppError(
            f"{known.name} does not include its images; download them from {known.images}, and set "
            "`image_dir` to their folder"
        )
    return {}


def _find_targets(
    table: Any, names: Sequence[str], split: str, limits: Limits
) -> tuple[NDArray[np.float64], dict[str, tuple[float, float]]]:
    """Return the values of targets, and the limits of those whose measure has no fixed range."""
    values = np.column_stack([_read_numbers(table, name, split) for name in names])
    own_limits = {}
    for name, scores, low, high in zip(names, values.T, *get_limits(names, limits), strict=True):
        if np.isnan(scores).all():
            raise PqppError(f"no row of {split} has a value for {name}; remove the target")
        lowest, highest = float(np.nanmin(scores)), float(np.nanmax(scores))
        if lowest < low or highest > high:
            raise PqppError(
                f"{name} must be from {low:g} to {high:g}; in {split} it is from {lowest:g} to "
                f"{highest:g}; rescale it"
            )
        measure = get_measure(name)
        if measure is None or measure.limits is None:
            own_limits[name] = bounds = limits.get(name) or (lowest, highest)
            if bounds[0] == bounds[1]:
                raise PqppError(f"{name} is {bounds[0]:g} in every row; remove the target")
    return values, own_limits


def _read_numbers(table: Any, name: str, split: str) -> NDArray[np.float64]:
    try:
        column = np.array(table[name], dtype=np.float64)
    except (TypeError, ValueError):
        column = np.empty(0)
    if column.shape != (len(table),):
        feature = getattr(table.features[name], "dtype", table.features[name])
        raise PqppError(f"column {name!r} of {split} must be numeric, not {feature}; remove it")
    return column


def hash_rows(rows: Rows) -> str:
    """Return the SHA-256 of prompts and their targets.

    Example:
        >>> len(hash_rows(Rows(["a cat"], np.zeros((1, 1)), None)))
        64
    """
    targets = np.ascontiguousarray(rows.targets, dtype="<f8").tobytes()
    return hash_parts([*(f"{prompt}\0" for prompt in rows.prompts), targets])


def correlate_targets(
    predicted: NDArray[np.float64], true: NDArray[np.float64], targets: Sequence[str]
) -> dict[str, float]:
    """Return Pearson's and Kendall's coefficients of each target and their means.

    Undefined coefficients are 0, so that epochs can be compared.

    Example:
        >>> predicted, true = np.array([[1.0], [2.0]]), np.array([[0.5], [0.7]])
        >>> figures = correlate_targets(predicted, true, ["mean_rr"])
        >>> figures["kendall"], figures["mean_rr_kendall"]
        (1.0, 1.0)
    """
    from pqpp_metrics.functional import qpp_values

    values = {kind: np.nan_to_num(row) for kind, row in qpp_values(predicted, true).items()}
    figures = {f"{t}_{k}": float(r[n]) for n, t in enumerate(targets) for k, r in values.items()}
    return figures | {kind: float(row.mean()) for kind, row in values.items()}


def correlate_scores(
    scores: NDArray[np.float64], targets: Sequence[str], training: Rows, validation: Rows
) -> dict[str, float]:
    """Convert scores from 0 .. 1 to the targets' units, and correlate them with the true values.

    Args:
        scores: shape `(rows of validation, targets)`.

    Example:
        >>> train = Rows(["a", "b"], np.array([[0.1], [0.9]]), None)
        >>> correlate_scores(np.array([[0.2], [0.8]]), ["mean_rr"], train, train)["kendall"]
        1.0
    """
    predicted = unscale_targets(scores, targets, training.limits)
    predicted = fill_means(predicted, targets, find_mean_targets(targets, training.targets))
    return correlate_targets(predicted, validation.targets, targets)
