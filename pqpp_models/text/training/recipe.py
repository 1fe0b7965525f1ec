"""What the text predictors are trained by."""

import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_backbones.checkpoint import check_place
from pqpp_backbones.encoder.normaliser import content
from pqpp_backbones.training.number_format import FORMATS
from pqpp_backbones.training.options import RunOptions
from pqpp_backbones.training.publish import refuse_finished, versions
from pqpp_datasets.target_columns import measure_of
from pqpp_files.errors import PqppError
from pqpp_files.options.option import NEEDED, option
from pqpp_models.text.training.distillation import DistilSettings
from pqpp_models.text.training.studies import SOURCES
from pqpp_models.text.training.teacher import (
    FitSettings,
    SourceSettings,
    TunedSettings,
    TuneSettings,
)
from pqpp_models.training.data import Rows, load_rows
from pqpp_models.training.recipe import TargetOptions
from pqpp_models.training.refit import RefitOptions, split_in_words


@dataclass(kw_only=True)
class TextRecipe(RefitOptions, TargetOptions, RunOptions):
    """A collection of captions, and an encoder that sees it; a trainer adds what it fits."""

    validation_split: str = option("validation", "the split that is scored at the end")
    model: str = option(
        "sentence-transformers/all-MiniLM-L6-v2", "the encoder: name or folder", path="name"
    )
    layers: list[int] = option([0, 2, 6], "layers whose states are used; 0 is the first's input")
    captions: str = option(
        NEEDED,
        "captions of the collection: one on each line, or a table with a column caption",
        path="file",
    )
    collection_captions: int = option(12000, "how many of them are in the collection", above=0)
    sources_dir: str | None = option(
        None,
        "folder of the studies of `alignment`, one folder each, instead of downloads",
        path="folder",
        decides=False,
    )
    mixed_precision: str = option(
        "no",
        "number format of the encoding, and of a static predictor's training; bf16 wants a "
        "processor that has it",
        FORMATS,
    )
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
            raise PqppError(f"no prompt of {split} has all targets; name fewer of them")
        prompts = [content(rows.prompts[i]) for i in known]
        return Rows(prompts, rows.targets[known], rows.table.select(known), rows.limits)

    def describe(self, train: Rows, captions: int, *groups: str) -> dict[str, Any]:
        """Return what a configuration and a card tell of a training, with groups of settings."""
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
                **{name: asdict(getattr(self, name)) for name in groups},
            },
        }


@dataclass(kw_only=True)
class StaticRecipe(TextRecipe):
    """What the static predictor is trained by."""

    output_dir: str = option("runs/static", "folder to write the predictor to")
    parti: str | None = option(None, "PartiPrompts.tsv, for the student to read", path="file")
    alignment: bool = option(
        True,
        "learn `alignment`, from its studies; without it they are neither needed nor read, and "
        "those in a sources_dir are scored at the end by mean_hbpp",
    )
    lexicon: str | None = option(
        None,
        "words of a dictionary, one on each line, so that rare words are told from garbled ones",
        path="file",
    )
    made_up: int = option(12000, "prompts to make up of words and pieces of captions", least=0)
    labelled_captions: int = option(
        8000, "captions that the teacher of `alignment` labels, beside the other texts", least=0
    )
    without: list[str] = option(
        [],
        "studies of `alignment` that are left out and scored at the end; with leave_one_out each "
        "of these in turn, all if left out",
        choices=SOURCES,
    )
    leave_one_out: str | None = option(
        None, "where to write, as JSON, what builds score that leave each study out", decides=False
    )
    builds_dir: str | None = option(
        None,
        "folder to write those builds to, each as without_STUDY; they are not saved if left out",
        decides=False,
        path="output",
    )
    spread_seeds: list[int] = option(
        [], "further seeds, trained and scored to tell the spread, not saved", decides=False
    )
    teacher: FitSettings = option(FitSettings(), "how the teacher of the targets is fitted")
    tuned_on_targets: TuneSettings = option(
        TuneSettings(), "how the teacher of `alignment` is tuned on the targets"
    )
    tuned_on_sources: SourceSettings = option(
        SourceSettings(), "how it is tuned on the studies of `alignment` thereafter"
    )
    student: DistilSettings = option(DistilSettings(), "how the network is trained")

    def __post_init__(self) -> None:
        """Give the number format to each part that names none of its own."""
        super().__post_init__()
        for name in ("tuned_on_targets", "tuned_on_sources", "student"):
            settings = getattr(self, name)
            if settings.mixed_precision == FORMATS[0]:
                setattr(self, name, replace(settings, mixed_precision=self.mixed_precision))
        if not self.alignment and (self.without or self.leave_one_out):
            raise PqppError(
                "`alignment` is not learned, so no study can be left out; take `without` and "
                "`leave_one_out` away"
            )


@dataclass(kw_only=True)
class EnsembleRecipe(TextRecipe):
    """What the text ensemble is trained by."""

    output_dir: str = option("runs/text_ensemble", "folder to write the predictor to")
    collection_captions: int = option(42000)
    folds: int = option(0, "cross-validate in so many parts", least=0, decides=False)
    fit: FitSettings = option(FitSettings(networks=8), "how kernel ridge and networks are fitted")
    tuned: TunedSettings = option(TunedSettings(), "how the encoder is fine-tuned")

    def __post_init__(self) -> None:
        """Check the number of parts, and that the fine-tuned targets are among the others."""
        super().__post_init__()
        if self.folds == 1:
            raise PqppError("`folds` is 1; give 0, or 2 and more")
        layer = next(
            (wanted for wanted in self.fit.kernel_layers if wanted not in self.layers), None
        )
        if layer is not None:
            raise PqppError(f"`fit.kernel_layers` has {layer}, which is not in `layers`")
        other = [target for target in self.tuned.targets if target not in self.targets]
        if self.targets and other:
            raise PqppError(f"`tuned.targets` has {other[0]}, which is not in `targets`")

    @property
    def tuned_targets(self) -> list[str]:
        """The targets that the fine-tuned encoder has a share in."""
        generation = [name for name in self.targets if measure_of(name).task == "generation"]
        return self.tuned.targets or generation or self.targets
