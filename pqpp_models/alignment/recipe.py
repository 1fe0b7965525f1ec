"""What the static predictor is trained by."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pqpp_models.alignment.sources import SOURCES
from pqpp_models.alignment.teacher import SourceSettings
from pqpp_models.text.static.distillation import DistilSettings
from pqpp_models.text.training.collection_model import FitSettings
from pqpp_models.text.training.recipe import TextRecipe
from pqpp_models.text.training.tuning import TuneSettings
from pqpp_models.training.number_format import FORMATS
from pqpp_models.training.options import option


@dataclass(kw_only=True)
class StaticRecipe(TextRecipe):
    """What the static predictor is trained by."""

    output_dir: str = option("runs/static", "folder to write the predictor to")
    parti: str | None = option(None, "PartiPrompts.tsv, for the student to read", path="file")
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
        None,
        "where to write, as JSON, what builds score that leave each study out",
        decides=False,
    )
    builds_dir: str | None = option(
        None,
        "folder to write those builds to, each as without_STUDY; they are not saved if left out",
        decides=False,
        path="output",
    )
    beside: str | None = option(
        None,
        "another predictor to score in that table: a name or a folder",
        decides=False,
        path="name",
    )
    card_table: str | None = option(
        None, "the file that --leave_one_out wrote, for the card", decides=False, path="file"
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
    mixed_precision: str = option(
        "no", "number format of all encoding and training; bf16 wants a processor that has it"
    )

    def __post_init__(self) -> None:
        """Give the number format to each part that names none of its own."""
        super().__post_init__()
        for name in ("tuned_on_targets", "tuned_on_sources", "student"):
            settings = getattr(self, name)
            if settings.mixed_precision == FORMATS[0]:
                setattr(self, name, replace(settings, mixed_precision=self.mixed_precision))
