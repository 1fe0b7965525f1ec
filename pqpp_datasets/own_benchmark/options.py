"""How votes become a benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pqpp_datasets.errors import OptionError
from pqpp_datasets.own_benchmark import admission
from pqpp_datasets.own_benchmark.splits import FRACTIONS
from pqpp_datasets.own_benchmark.votes.scales import AGGREGATES

# What a column of a file is to us; `--column ROLE=COLUMN` says what a file calls it.
ROLES = (
    *("prompt", "prompt_id", "source", "category"),
    *("image", "model", "annotator", "label", "control", "seconds", "score", "deviation"),
    *("model_a", "model_b", "choice"),
)
_CHOICES = {
    "aggregate": (None, *AGGREGATES),
    "blank": ("refuse", "drop"),
    "exclude": (None, "flagged"),
    "repeats": ("refuse", "first", "last", "mean"),
    "same_text": ("refuse", "keep"),
}


@dataclass(frozen=True)
class BuildOptions:
    """How judgments become a benchmark.

    Attributes:
        reference_model: The `model` of the reference images in the judgments.
        min_kappa: The least Cohen's kappa of an annotator with each of the control group.
        min_reference_share: The share of reference images to be called highly relevant, exceeded.
        best: How many annotators of a prompt count.
        vote_ties: What an even vote does, as in `pqpp_metrics.functional.hbpp`.
        k: The cut-off of the precision.
        min_relevant_votes: How many votes make an image relevant.
        rank_ties: How equal scores are ordered, as in `pqpp_metrics.functional.precision_at_k`.
        exclude: "flagged": leave out the votes of annotators who are flagged, see
            `pqpp_datasets.own_benchmark.trust.annotators`; None: only say who they are.
        fractions: Split to its share of each source's prompts.
        scale: What the labels mean: `pqpp`, `yes-no`, `likert5`, `0-10` or `LOW..HIGH`. None: it is
            guessed where only one of them is possible, and said in `Built.notes`.
        labels: A YAML file that maps labels to values, in place of `scale`; see `scale_of_map`.
        aggregate: What an image's votes become, of `AGGREGATES`; None: what the scale has. See
            `pqpp_datasets.own_benchmark.votes.aggregate`.
        missing: Labels that stand for no vote; such votes are left out and counted.
        blank: What an empty label does: "refuse" or "drop", which leaves it out and counts it.
        repeats: What a second vote of one person on one image does: "refuse", or which counts:
            "first", "last" or the "mean" of them.
        columns: What a column is to us, of `ROLES`, to what the files call it.
        annotators: Columns that hold the votes of an annotator each, in a file of one row an image.
        model: The model of all images, where the file has no such column.
        prompts: A file of the prompts' texts, with the columns `prompt_id`, `prompt` and, if
            wanted, `source`, `category`, which is joined to the others by the id, and holds.
        images: A file of the images, with `image` and any of `prompt`, `prompt_id`, `model`,
            `source`, `category`, which is joined to the votes by the image, and holds.
        prior_wins: Of preferences: wins that each model is given over each other one beforehand.
        progress: Whether bars on standard error count the rows that are read.
        same_text: What prompts of one text with ids of their own do: "refuse", or "keep", which
            keeps each, all of a text in one split.
    """

    reference_model: str = "reference"
    min_kappa: float = admission.MIN_KAPPA
    min_reference_share: float = admission.MIN_REFERENCE_SHARE
    best: int = admission.BEST
    vote_ties: str = "mean"
    k: int = 10
    min_relevant_votes: int = 1
    rank_ties: str = "expected"
    exclude: str | None = None
    fractions: Mapping[str, float] = field(default_factory=lambda: dict(FRACTIONS))
    seed: int = 0
    scale: str | None = None
    labels: str | None = None
    aggregate: str | None = None
    missing: Sequence[str] = ()
    blank: str = "refuse"
    repeats: str = "refuse"
    columns: Mapping[str, str] = field(default_factory=dict)
    annotators: Sequence[str] = ()
    model: str | None = None
    prompts: str | None = None
    images: str | None = None
    same_text: str = "refuse"
    prior_wins: float = 0.0
    progress: bool = False

    def __post_init__(self):
        for name, low, high in (("min_kappa", -1, 1), ("min_reference_share", 0, 1)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise OptionError(f"{name}={value}: a number from {low} to {high} is allowed")
        if not 0 <= self.prior_wins < float("inf"):
            raise OptionError(f"prior_wins={self.prior_wins}: 0 or more is allowed")
        for name in ("best", "k", "min_relevant_votes"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name}={getattr(self, name)}: 1 or more is allowed")
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise OptionError(
                    f"{name}={getattr(self, name)!r}: {', '.join(filter(None, allowed))} is allowed"
                )
        unknown = [role for role in self.columns if role not in ROLES]
        if unknown:
            raise OptionError(f"columns: {unknown[0]!r:.60} is none of {', '.join(ROLES)}")
        if self.scale and self.labels:
            raise OptionError("scale and labels say the same; give one of them")
