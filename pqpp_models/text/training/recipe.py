"""What the trainers of the text predictors have in common: options, data, their description."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_models.checkpoint import check_place
from pqpp_models.encoder.normaliser import normalise
from pqpp_models.text.training.texts import with_relevant_counts
from pqpp_models.training.card import versions
from pqpp_models.training.data import Rows, load_rows
from pqpp_models.training.number_format import FORMATS
from pqpp_models.training.options import RecipeError, RunOptions, TargetOptions, option
from pqpp_models.training.publish import refuse_finished
from pqpp_models.training.refit import RefitOptions, split_in_words


@dataclass(kw_only=True)
class TextRecipe(RefitOptions, TargetOptions, RunOptions):
    """A collection of captions, and an encoder that sees it; a trainer adds what it fits."""

    validation_split: str = option("validation", "the split that is scored at the end")
    model: str = option(
        "sentence-transformers/all-MiniLM-L6-v2", "the encoder: name or folder", path="name"
    )
    layers: list[int] = option([0, 2, 6], "layers whose states are used; 0 is the first's input")
    captions: str | None = option(
        None,
        "captions of the collection: one on each line, or a table with a column caption",
        required=True,
        path="file",
    )
    collection_captions: int = option(12000, "how many of them are in the collection", above=0)
    sources_dir: str | None = option(
        None,
        "folder of the studies of `alignment`, one folder each, instead of downloads",
        path="folder",
        decides=False,
    )
    mixed_precision: str = option("no", "number format in which texts are encoded", FORMATS)
    cache: str | None = option(
        None,
        "folder that keeps the encoder's states for the next run",
        decides=False,
        path="output",
    )

    @property
    def encoder_name(self) -> str:
        """The encoder as a card may name it: a folder by the title of its own card, or its name."""
        folder = Path(self.model)
        if not folder.is_dir():
            return self.model
        card = folder / "README.md"
        text = card.read_text("utf-8", errors="replace") if card.is_file() else ""
        title = re.search(r"^# +(\S.*?)\s*$", text, re.MULTILINE)
        return title[1][:80] if title else folder.resolve().name

    def check_output(self, kind: str) -> None:
        """Check, before the training, that the predictor may be saved in the output folder."""
        check_place(self.output_dir, kind)
        refuse_finished(Path(self.output_dir), self)

    def read(self, split: str) -> Rows:
        """Read the prompts of a split that have all targets, normalised."""
        rows = load_rows(self, split)
        known = np.flatnonzero(~np.isnan(rows.targets).any(axis=1))
        if not len(known):
            raise RecipeError(f"no prompt of {split} has all targets; name fewer of them")
        prompts = [normalise(rows.prompts[i]) for i in known]
        return Rows(prompts, rows.targets[known], rows.table.select(known), rows.limits)

    def goals(self, train: Rows) -> np.ndarray:
        """Return what is fitted to: targets, and for PQPP the log number of relevant images."""
        is_pqpp = self.dataset == "pqpp" and self.subset in (None, "pqpp", "pqpp-v1.0")
        if not is_pqpp or "prompt_id" not in train.table.column_names:
            return train.targets
        return with_relevant_counts(train.targets, train.table, self.data_dir, self.train_split)

    def describe(self, train: Rows, captions: int) -> dict[str, Any]:
        """Return what a configuration and a card tell of every training."""
        is_folder = Path(self.dataset).is_dir()
        dataset = Path(self.dataset).resolve().name if is_folder else self.dataset
        return {
            "data": f"{self.subset or dataset}, split {split_in_words(self.train_split)}",
            "training": {
                "prompts": len(train),
                "captions": captions,
                "seed": self.seed,
                "encoder": self.encoder_name,
                "versions": versions(),
            },
        }
