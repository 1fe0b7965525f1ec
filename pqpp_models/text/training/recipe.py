"""The recipes of the text predictors."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_backbones.checkpoint import check_checkpoint_folder
from pqpp_backbones.encoder.normaliser import normalise_prompt
from pqpp_backbones.training.number_format import FORMATS
from pqpp_backbones.training.options import DataOptions, RunOptions
from pqpp_backbones.training.publish import check_no_result, get_library_versions
from pqpp_datasets.target_columns import get_measure
from pqpp_files.errors import PqppError
from pqpp_files.options.option import NEEDED, option, quote
from pqpp_hub import is_repository_id
from pqpp_models.predictor import Predictor
from pqpp_models.record.record import FittedRows
from pqpp_models.text.training.settings import (
    DistilSettings,
    EnsembleTuning,
    FitSettings,
    PairSettings,
    SourceSettings,
    TuneSettings,
)
from pqpp_models.text.training.studies import SOURCES
from pqpp_models.training.data import Rows, load_rows
from pqpp_models.training.recipe import TargetOptions


@dataclass(kw_only=True)
class TextRecipe(DataOptions, TargetOptions, RunOptions):
    """Settings shared by the trainers of text predictors.

    A published predictor is fitted with the final settings and ``train_split: train+validation``.
    The validation split is then training data, so the card shows the scores of a predictor that was
    fitted to the train split only.

    Attributes:
        train_only: With train+validation: folder of the predictor fitted to train only, whose
            results the card shows.
        fitted_on_train: Published name of that predictor, for `pqpp bench`: static-train or
            OWNER/REPOSITORY@REVISION.
        model: Encoder: name or folder.
        captions: Captions of the collection: one per line, or a column caption.
        sources_dir: Folder of the studies of `alignment`, with one folder each and two files in
            `ratings` (default: download them).
        mixed_precision: Number format for encoding, and for training a static predictor.
    """

    train_only: str | None = option(None, decides=False, path="folder")
    fitted_on_train: str | None = option(None, decides=False)
    validation_split: str = option("validation", "split to evaluate at the end")
    model: str = option("sentence-transformers/all-MiniLM-L6-v2", path="name")
    layers: list[int] = option(
        [0, 2, 6], "layers whose states are used; 0 is the input of the first"
    )
    captions: str = option(NEEDED, path="file")
    collection_captions: int = option(12000, "number of captions in the collection", gt=0)
    sources_dir: str | None = option(None, path="folder", decides=False)
    mixed_precision: str = option("no", choices=FORMATS)

    def __post_init__(self) -> None:
        """Check the name in `fitted_on_train`."""
        super().__post_init__()
        name = self.fitted_on_train
        if name is not None and not ("/" not in name or is_repository_id(name.partition("@")[0])):
            raise PqppError(
                "`fitted_on_train` must be a shipped predictor or OWNER/REPOSITORY; got "
                f"{quote(name)}"
            )

    def check_output_dir(self, predictor_type: str) -> None:
        """Check that the predictor can be saved in the output folder."""
        check_checkpoint_folder(self.output_dir, predictor_type)
        check_no_result(Path(self.output_dir), self)

    def read_split(self, split: str) -> Rows:
        """Read the prompts of a split that have values for all targets, and normalise them."""
        rows = load_rows(self, split)
        known = np.flatnonzero(~np.isnan(rows.targets).any(axis=1))
        if not len(known):
            raise PqppError(f"no prompt of {split} has all targets; choose fewer targets")
        prompts = [normalise_prompt(rows.prompts[i]) for i in known]
        return Rows(prompts, rows.targets[known], rows.table.select(known), rows.limits)

    def read_evaluation(self, predictor_type: str, train: Rows, validation: Rows) -> dict[str, Any]:
        """Read the results of the predictor `train_only`, if there is one.

        Raises:
            PqppError: `train_only` is not needed, or was fitted to validation rows.
            ModelError: `train_only` cannot be loaded.
        """
        if self.train_only is None:
            return {}
        if not FittedRows.from_rows(train.as_table).contains(validation.as_table).all():
            raise PqppError(
                f"`train_only` needs training on {self.validation_split} too; set `train_split` to "
                f"{self.train_split}+{self.validation_split}, or remove `train_only`"
            )
        predictor = Predictor.from_pretrained(self.train_only)
        scores, rows = predictor.details.get("evaluation"), predictor.record.rows
        is_scored = isinstance(scores, dict) and "validation" in scores
        saw_validation = is_scored and "fitted_rows" in scores
        if rows is not None:
            saw_validation |= bool(rows.contains(validation.as_table).any())
        if predictor.name != predictor_type or not is_scored or saw_validation:
            raise PqppError(
                f"`train_only` must be a {predictor_type} predictor that was evaluated on "
                f"{self.validation_split} and not fitted to it; choose another folder"
            )
        return {**scores, "fitted_on": "train"}

    def record_training(self, predictor: Predictor, train: Rows) -> None:
        """Record the training rows, and the name in `fitted_on_train`, in a predictor."""
        predictor.record_fit(train.as_table, train.targets, self.targets)
        predictor.record = replace(predictor.record, fitted_on_train=self.fitted_on_train)

    def describe_training(self, train: Rows, captions: int, *groups: str) -> dict[str, Any]:
        """Describe the training data and settings, for the configuration and the card."""
        # A card names a folder without its path.
        dataset, encoder = (
            Path(name).resolve().name if Path(name).is_dir() else name
            for name in (self.dataset, self.model)
        )
        splits = " + ".join(part.strip() for part in self.train_split.split("+"))
        return {
            "data": f"{self.subset or dataset}, split {splits}",
            "training": {
                "prompts": len(train),
                "captions": captions,
                "seed": self.seed,
                "encoder": encoder,
                "versions": get_library_versions(),
                **{name: asdict(getattr(self, name)) for name in groups},
            },
        }


@dataclass(kw_only=True)
class StaticRecipe(TextRecipe):
    """Settings of the static predictor.

    Attributes:
        alignment: Do not learn `alignment`; only score the studies of sources_dir.
        network: Predictor to reuse; only `alignment` is learned again.
        without: Studies to leave out and score; with leave_one_out, each in turn.
        leave_one_out: JSON file for the scores of each left-out study.
        tuned_on_targets: Tuning of the teacher of `alignment` on the targets.
        tuned_on_sources: Tuning on the studies of `alignment` after that.
    """

    output_dir: str = option("runs/static", "folder of the predictor")
    parti: str | None = option(None, "PartiPrompts.tsv, to train the student on", path="file")
    alignment: bool = True
    made_up: int = option(12000, "prompts combined from words and captions", ge=0)
    labelled_captions: int = option(8000, "captions that `alignment`'s teacher labels", ge=0)
    network: str | None = option(None, path="name")
    without: list[str] = option([], choices=SOURCES)
    leave_one_out: str | None = option(None, decides=False)
    teacher: FitSettings = option(FitSettings(), "how the targets' teacher is fitted")
    tuned_on_targets: TuneSettings = option(TuneSettings())
    tuned_on_sources: SourceSettings = option(SourceSettings())
    student: DistilSettings = option(DistilSettings(), "how the network is trained")
    pairs: PairSettings = option(PairSettings(), "the layer over pairs of word pieces")

    def __post_init__(self) -> None:
        """Pass the number format to the groups of settings, and check the names of the studies."""
        super().__post_init__()
        for name in ("tuned_on_targets", "tuned_on_sources", "student"):
            settings = getattr(self, name)
            if settings.mixed_precision == FORMATS[0]:
                setattr(self, name, replace(settings, mixed_precision=self.mixed_precision))
        if not self.alignment and (self.without or self.leave_one_out):
            raise PqppError("`without` and `leave_one_out` need `alignment`; set `alignment`")


@dataclass(kw_only=True)
class EnsembleRecipe(TextRecipe):
    """Settings of the text ensemble."""

    output_dir: str = option("runs/text_ensemble", "folder to write the predictor to")
    collection_captions: int = option(42000)
    fit: FitSettings = option(FitSettings(networks=8), "how kernel ridge and networks are fitted")
    tuned: EnsembleTuning = option(EnsembleTuning(), "how the encoder is fine-tuned")

    def __post_init__(self) -> None:
        """Check the layers of the kernels."""
        super().__post_init__()
        if other := [layer for layer in self.fit.kernel_layers if layer not in self.layers]:
            raise PqppError(
                f"layer {other[0]} of `fit.kernel_layers` is not in `layers`; add it to `layers`"
            )

    @property
    def tuned_targets(self) -> list[str]:
        """The generation targets, which the fine-tuned encoder predicts."""
        generation = [name for name in self.targets if get_measure(name).task == "generation"]
        return generation or self.targets
