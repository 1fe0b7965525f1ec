"""What every predictor tells of itself, and how it is saved."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from pqpp_backbones.checkpoint import Tensors, write_checkpoint
from pqpp_backbones.errors import ModelError
from pqpp_files.errors import in_a_line
from pqpp_models.record.record import TrainingRecord
from pqpp_models.registration import NUMPY


class Saved(ABC):
    """The part of a `Predictor` that is about folders, cards and what it was fitted to.

    Attributes:
        name, targets, details, record: see `Predictor`.
        shipped_as: the name that it was loaded by, if the package ships it.
    """

    name: str
    targets: tuple[str, ...]
    details: Mapping[str, Any] = MappingProxyType({})
    record: TrainingRecord = TrainingRecord()
    shipped_as: str | None = None

    @property
    def called(self) -> str:
        """What messages call it: the name of what ships, the kind of anything else.

        >>> from pqpp_models import Predictor
        >>> Predictor.from_pretrained("static-train").called
        'static-train'
        """
        return self.shipped_as or self.name

    @property
    def trained_on(self) -> str | None:
        """The configuration of PQPP that it was trained on, None where that is not told.

        >>> from pqpp_models import Predictor
        >>> Predictor.from_pretrained("static").trained_on
        'pqpp-v1.0'
        """
        recipe = self.details.get("recipe") or {}
        texts = [self.details.get("data"), recipe.get("dataset")]
        words = " ".join(text for text in [*texts, recipe.get("subset")] if isinstance(text, str))
        names = re.findall(r"(?<![\w/-])pqpp(?:-v1\.0)?(?![\w/-])", words)
        return max(names, key=len, default=None)

    @property
    def fitted_on(self) -> str | None:
        """The split that it was trained on, as cards name it, None where that is not told.

        >>> from pqpp_models import Predictor
        >>> Predictor.from_pretrained("static-train").fitted_on
        'train'
        """
        data = self.details.get("data")
        match = re.search(r", split (.+)", data) if isinstance(data, str) else None
        recipe = self.details.get("recipe") or {}
        split = match[1] if match else recipe.get("train_split")
        return re.sub(r" *\+ *", " + ", split) if isinstance(split, str) else None

    @property
    def unlearned(self) -> tuple[str, ...]:
        """The targets that it predicts no better than by chance, as its fit measured them.

        Those whose Spearman's coefficient on prompts left out of the fit is 0 or less.

        >>> from pqpp_models import Predictor
        >>> Predictor.from_pretrained("static").unlearned
        ()
        """
        training = self.details.get("training")
        figures = training.get("cross_validation") if isinstance(training, Mapping) else None
        known = figures.items() if isinstance(figures, Mapping) else ()
        ranks = {name: row.get("spearman") for name, row in known if isinstance(row, Mapping)}
        return tuple(
            name
            for name in self.targets
            if isinstance(rank := ranks.get(name), int | float) and rank <= 0
        )

    def _state(self) -> tuple[dict[str, Any], Tensors]:
        """Return the configuration and the weights to save; none of either here."""
        return {}, {}

    def _files(self) -> dict[str, bytes]:
        """Return further files to save, like those of a tokenizer."""
        return {}

    def _card(self) -> str:
        """Return the card: the template of the predictor's name with targets and details."""
        from pqpp_hub.card import render_card

        return render_card(f"predictors/{self.name}", targets=self.targets, **self.details)

    def card(self) -> str:
        """Return the model card's text, in Markdown.

        Raises:
            ModelError: What its configuration tells of it is not what such a card tells.

        >>> from pqpp_models import Predictor
        >>> Predictor.from_pretrained("n_words").card().startswith("---")
        True
        """
        try:
            return self._card()
        except Exception as error:  # `details` may come from a foreign configuration
            raise ModelError(
                f"no card can be written of what the configuration of this {self.called} tells "
                f"({in_a_line(error)}); correct its `details`"
            ) from error

    @classmethod
    @abstractmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the predictor saved in a folder whose files have been read."""

    def save_pretrained(self, folder: str | os.PathLike[str]) -> Path:
        """Write configuration, weights and model card; an older checkpoint is replaced whole.

        Raises:
            ModelError: the folder holds other things than a checkpoint.
        """
        config, tensors = self._state()
        facts, files = self.record.to_files()
        full = {
            "model_type": NUMPY,
            **config,
            **facts,
            "predictor_type": self.name,
            "targets": list(self.targets),
        }
        return write_checkpoint(folder, full, tensors, self.card(), {**self._files(), **files})
