"""Fitting once more, on train and validation, when the settings are frozen.

Such a release has no validation split of its own any more: what it scores there is what it learned.
Its card shows the figures of the build that the same recipe fitted on the train split alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pqpp_backbones.checkpoint import CONFIG, read_config
from pqpp_backbones.training.options import DataOptions
from pqpp_files.errors import PqppError
from pqpp_files.options.option import option, shown
from pqpp_files.paths import expanded
from pqpp_hub import is_repository_id
from pqpp_models.predictor import Predictor
from pqpp_models.record.record import FittedRows, TrainingRecord
from pqpp_models.training.data import Rows


@dataclass(frozen=True)
class HeldOut:
    """Whether a training leaves the validation split out.

    Attributes:
        rows: how many rows that split has.
        fitted: how many of them are trained on.
        alone: what the build that was fitted on train alone scores, None where none is named.
    """

    rows: int
    fitted: int
    alone: dict[str, Any] | None = None

    def scores(self, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return what the configuration and the card tell as ``evaluation``.

        Args:
            measure: scores the predictor on the validation split; not called for a predictor that
                was fitted to all of it.

        >>> HeldOut(4, 0).scores(lambda: {"validation": 1}), HeldOut(4, 4).scores(lambda: {})
        ({'validation': 1}, {'fitted_rows': 4})
        """
        if not self.rows or self.fitted < self.rows:
            return {**measure(), **({"fitted_rows": self.fitted} if self.fitted else {})}
        alone = {} if self.alone is None else {**self.alone, "fitted_on": "train"}
        return {**alone, "fitted_rows": self.fitted}


@dataclass(kw_only=True)
class RefitOptions(DataOptions):
    """Fitting on train and validation, by ``train_split: train+validation``."""

    train_only: str | None = option(
        None,
        "with train_split train+validation: folder of the build that the same recipe fitted on "
        "the train split; the card shows its figures",
        decides=False,
        path="folder",
    )
    fitted_on_train: str | None = option(
        None,
        "what that build is published as, like static-train or OWNER/REPOSITORY@REVISION: pqpp "
        "bench takes it where rows of validation are scored",
        decides=False,
    )

    def __post_init__(self) -> None:
        """Check that the name of the other build is one."""
        super().__post_init__()
        name = self.fitted_on_train
        if name is not None and not ("/" not in name or is_repository_id(name.partition("@")[0])):
            raise PqppError(
                f"`fitted_on_train` is {shown(name)}; give a shipped name or OWNER/REPOSITORY"
            )

    def held_out(self, kind: str, train: Rows, validation: Rows) -> HeldOut:
        """Find out, before what takes long, whether the validation split can be scored.

        Args:
            kind: the name of the predictors that are trained.
            train: what is trained on.
            validation: what is to be scored.

        Raises:
            PqppError: the other build is named and not needed, or was not scored, or was fitted
                to rows of validation too.
            ModelError: it is no usable checkpoint.
        """
        fitted = int(FittedRows.of(train.identified).among(validation.identified).sum())
        if self.train_only is None:
            return HeldOut(len(validation), fitted)
        if fitted < len(validation):
            raise PqppError(
                f"`train_only` is {shown(self.train_only)}, but {self.train_split} leaves "
                f"{self.validation_split} out; leave it out, or write `train_split`: "
                f"{self.train_split}+{self.validation_split}"
            )
        return HeldOut(len(validation), fitted, self._scores_of_other(kind, validation))

    def _scores_of_other(self, kind: str, validation: Rows) -> dict[str, Any]:
        folder = expanded(self.train_only or "")
        config = read_config(folder)
        scores, remedy = config.get("evaluation"), "name the build that was fitted on train alone"
        if config["predictor_type"] != kind or not isinstance(scores, dict):
            raise PqppError(
                f"`train_only`: {folder / CONFIG} is no {kind!r} with an evaluation; {remedy}"
            )
        known = TrainingRecord.read(folder, config).rows
        same = scores.get("fitted_rows", 0)
        if known is not None:
            same = int(known.among(validation.identified).sum())
        if same:
            raise PqppError(
                f"`train_only`: {folder} was fitted to {same} of the {len(validation)} rows of "
                f"{self.validation_split}; {remedy}"
            )
        return scores

    def record(self, predictor: Predictor, train: Rows) -> None:
        """Record in a trained predictor its rows, its means and the other build."""
        predictor.was_fitted_to(train.identified, train.targets, getattr(self, "targets", None))
        predictor.record = replace(predictor.record, fitted_on_train=self.fitted_on_train)


def split_in_words(split: str) -> str:
    """Return a split as cards and tables name it.

    >>> split_in_words("train+validation"), split_in_words("train")
    ('train + validation', 'train')
    """
    return " + ".join(part.strip() for part in split.split("+"))
