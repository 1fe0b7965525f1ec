"""The record of a predictor's training, saved in its checkpoint."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_backbones.checkpoint import CONFIG, FITTED_ROWS
from pqpp_files.foreign.arrays import load_tensors
from pqpp_files.hashes import hash_parts
from pqpp_models.prompts import normalise, read_ids, read_prompts

KEY = "fitted_rows"
"""The key of the hashes in a checkpoint's configuration."""

_TENSOR = "rows"
_STABLE_ID = re.compile(r"(?:mscoco|drawbench)-\d+")


@dataclass(frozen=True, eq=False)
class FittedRows:
    """Hashes of the rows that a predictor was fitted to.

    Attributes:
        hashes: sorted, distinct pairs: the hash of the prompt, and the hash of id and prompt, or 0
            without a stable id.
    """

    hashes: NDArray[np.uint64]

    @classmethod
    def from_rows(cls, rows: Any, scored: NDArray[np.bool_] | None = None) -> Self:
        """Hash the rows of a dataset, without blank prompts.

        Args:
            rows: the rows, as for ``read_prompts``; a column ``prompt_id`` is read too.
            scored: which rows the predictor was fitted to; default: all.

        >>> len(FittedRows.from_rows(["A red cat.", "a red  cat", "a dog", " "]))
        2
        """
        hashes = _hash_rows(rows)
        is_fitted = hashes[:, 0] > 0 if scored is None else (hashes[:, 0] > 0) & scored
        return cls(np.unique(hashes[is_fitted], axis=0))

    def __len__(self) -> int:
        return len(self.hashes)

    def __or__(self, other: Self) -> Self:
        return type(self)(np.unique(np.concatenate([self.hashes, other.hashes]), axis=0))

    def contains(self, rows: Any) -> NDArray[np.bool_]:
        """Return whether each row is recorded.

        >>> FittedRows.from_rows(["A red cat."]).contains(["a dog", "a red cat"]).tolist()
        [False, True]
        """
        texts, with_ids = _hash_rows(rows).T
        known, known_with_ids = self.hashes.T
        is_recorded = np.isin(with_ids, known_with_ids) | np.isin(texts, known[known_with_ids == 0])
        return (texts > 0) & np.where(with_ids > 0, is_recorded, np.isin(texts, known))

    @classmethod
    def read(cls, folder: Path, config: Mapping[str, Any]) -> Self | None:
        """Read the hashes in a checkpoint; None if there are none.

        Raises:
            ValueError: the file is damaged, or belongs to another checkpoint.
        """
        facts = config.get(KEY)
        if facts is None:
            return None
        content = (folder / FITTED_ROWS).read_bytes()
        if hash_parts([content]) != facts["sha256"]:
            raise ValueError(f"{FITTED_ROWS} does not match the SHA-256 in {CONFIG}")
        hashes = load_tensors(content, FITTED_ROWS)[_TENSOR]
        if hashes.dtype != np.uint64 or hashes.shape != (facts["rows"], 2):
            raise ValueError(f"the hashes are {hashes.dtype} of shape {hashes.shape}")
        return cls(hashes)


def _hash_rows(rows: Any) -> NDArray[np.uint64]:
    """Return each row's hash of the prompt and of id and prompt; both are 0 for a blank prompt."""
    rows = rows if hasattr(rows, "__getitem__") else list(rows)
    prompts = read_prompts(rows)
    hashes = np.zeros((len(prompts), 2), np.uint64)
    for index, (prompt, name) in enumerate(zip(prompts, read_ids(rows), strict=True)):
        text = normalise(prompt)
        if text:
            stable_id = name if name is not None and _STABLE_ID.fullmatch(name) else None
            id_hash = 0 if stable_id is None else _hash_text(f"{stable_id}\0{text}")
            hashes[index] = _hash_text(text), id_hash
    return hashes


def _hash_text(text: str) -> int:
    return int(hash_parts([text])[:16], 16) or 1


_PREFIX = "mean_"
_TOLERANCE = 0.01
"""A hundredth of the mean's range, since scores may be rounded to two digits."""


def find_averaged_targets(mean: str, targets: Sequence[str]) -> tuple[str, ...]:
    """Return the targets that a mean target averages; empty for fewer than two.

    >>> find_averaged_targets("mean_hbpp", ["glide_hbpp", "sdxl_hbpp", "mean_hbpp", "clip_rr"])
    ('glide_hbpp', 'sdxl_hbpp')
    >>> find_averaged_targets("mean_rr", ["clip_rr", "mean_rr"])
    ()
    """
    if not mean.startswith(_PREFIX):
        return ()
    ending = mean.removeprefix(_PREFIX[:-1])
    parts = tuple(target for target in targets if target.endswith(ending) and target != mean)
    return parts if len(parts) > 1 else ()


def find_mean_targets(targets: Sequence[str], values: ArrayLike) -> tuple[str, ...]:
    """Return the mean targets that equal the mean of the targets they average in every row.

    Only rows in which none of these is missing are compared.

    Args:
        targets: the names of the columns.
        values: true values, shape ``(rows, targets)``, NaN if missing.

    >>> find_mean_targets(["a_rr", "b_rr", "mean_rr"], [[0.2, 0.4, 0.3], [1.0, 0.5, 0.75]])
    ('mean_rr',)
    >>> find_mean_targets(["a_rr", "b_rr", "mean_rr"], [[0.2, 0.4, 0.3], [1.0, 0.5, 0.9]])
    ()
    """
    array = np.asarray(values, dtype=np.float64).reshape(-1, len(targets))
    means = []
    for column, target in enumerate(targets):
        parts = [targets.index(part) for part in find_averaged_targets(target, targets)]
        known = ~np.isnan(array[:, [column, *parts]]).any(axis=1)
        if not parts or not known.any():
            continue
        mean = array[known, column]
        difference = np.abs(mean - array[np.ix_(known, np.array(parts))].mean(axis=1))
        if difference.max() <= _TOLERANCE * max(np.ptp(mean), np.finfo(float).eps):
            means.append(target)
    return tuple(means)


def fill_means(
    values: NDArray[np.float64], targets: Sequence[str], means: Sequence[str]
) -> NDArray[np.float64]:
    """Replace the predictions of mean targets with the means of the predictions they average.

    Args:
        values: shape ``(rows, targets)``.
        targets: names of the columns.
        means: the mean targets; those that average fewer than two of ``targets`` are unchanged.

    >>> fill_means(np.array([[0.2, 0.4, 0.9]]), ["a_rr", "b_rr", "mean_rr"], ["mean_rr"]).round(9)
    array([[0.2, 0.4, 0.3]])
    """
    filled = values.copy()
    for column, target in enumerate(targets):
        parts = [targets.index(part) for part in find_averaged_targets(target, targets)]
        if target in means and parts:
            filled[:, column] = values[:, parts].mean(axis=1)
    return filled


MEANS, TRAIN_BUILD = "means_from_parts", "fitted_on_train"
KEYS = frozenset({KEY, MEANS, TRAIN_BUILD})
"""The keys of a record in configurations."""


@dataclass(frozen=True)
class TrainingRecord:
    """The record of a predictor's training.

    Attributes:
        rows: the rows that the predictor was fitted to, None if unknown.
        means: targets that are predicted as the mean of other targets.
        fitted_on_train: the version of the predictor that was fitted to the train split only: a
            shipped name, or OWNER/REPOSITORY with optional @REVISION.
    """

    rows: FittedRows | None = None
    means: tuple[str, ...] = ()
    fitted_on_train: str | None = None

    def to_files(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return the entries of the configuration, and the files by name."""
        from safetensors.numpy import save

        facts: dict[str, Any] = {}
        files: dict[str, bytes] = {}
        if self.rows is not None:
            content = save({_TENSOR: np.ascontiguousarray(self.rows.hashes)})
            facts[KEY] = {"rows": len(self.rows), "sha256": hash_parts([content])}
            files[FITTED_ROWS] = content
        if self.means:
            facts[MEANS] = list(self.means)
        if self.fitted_on_train is not None:
            facts[TRAIN_BUILD] = self.fitted_on_train
        return facts, files

    @classmethod
    def read(cls, folder: Path, config: Mapping[str, Any]) -> Self:
        """Read the record in a checkpoint.

        Raises:
            ValueError: the record is invalid, or its file is damaged.
        """
        means, build = config.get(MEANS, []), config.get(TRAIN_BUILD)
        targets = config.get("targets", [])
        if not all(name in targets and find_averaged_targets(name, targets) for name in means):
            raise ValueError(f"{MEANS!r} must be a list of mean targets; got {means!r:.60}")
        if build is not None and not (isinstance(build, str) and build):
            raise ValueError(f"{TRAIN_BUILD!r} must name a predictor; got {build!r:.60}")
        return cls(FittedRows.read(folder, config), tuple(means), build)
