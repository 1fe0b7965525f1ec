"""A predictor's record of its training, in the configuration and beside the weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pqpp_backbones.checkpoint import CONFIG, FITTED_ROWS
from pqpp_backbones.errors import CheckpointError
from pqpp_models.record.means import parts_of_mean
from pqpp_models.record.rows import KEY, FittedRows

MEANS, TRAIN_BUILD = "means_from_parts", "fitted_on_train"
KEYS = frozenset({KEY, MEANS, TRAIN_BUILD})
"""What configurations call the parts of a record."""


@dataclass(frozen=True)
class TrainingRecord:
    """What is recorded of a training; an older checkpoint records nothing.

    Attributes:
        rows: the rows that the predictor was fitted to, None where that is not recorded.
        means: the targets that are computed as the mean of their parts; others are as trained.
        fitted_on_train: where a predictor was refitted on more rows, the build that was fitted on
            the train split alone: a shipped name, or OWNER/REPOSITORY with @REVISION or without.
    """

    rows: FittedRows | None = None
    means: tuple[str, ...] = ()
    fitted_on_train: str | None = None

    def to_files(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return what the configuration says of it, and further files by name."""
        facts: dict[str, Any] = {}
        files: dict[str, bytes] = {}
        if self.rows is not None:
            facts[KEY], files[FITTED_ROWS] = self.rows.to_file()
        if self.means:
            facts[MEANS] = list(self.means)
        if self.fitted_on_train is not None:
            facts[TRAIN_BUILD] = self.fitted_on_train
        return facts, files

    @classmethod
    def read(cls, folder: Path, config: Mapping[str, Any]) -> Self:
        """Return that of a checkpoint.

        Raises:
            CheckpointError: what the configuration tells is not such, or the file of hashes is
                missing, damaged or another checkpoint's.
        """
        means, build = config.get(MEANS, []), config.get(TRAIN_BUILD)
        targets = config.get("targets")
        names = targets if isinstance(targets, list) else []
        names = [name for name in names if isinstance(name, str)]
        if not isinstance(means, list) or not all(
            isinstance(name, str) and name in names and parts_of_mean(name, names) for name in means
        ):
            raise CheckpointError(
                f"{folder / CONFIG}: {MEANS!r} is {means!r:.60}, not a list of targets that are "
                "means of others; save or download the predictor again"
            )
        if build is not None and not (isinstance(build, str) and build):
            raise CheckpointError(
                f"{folder / CONFIG}: {TRAIN_BUILD!r} is {build!r:.60}, not the name of a "
                "predictor; save or download the predictor again"
            )
        return cls(FittedRows.read(folder, config), tuple(means), build)
