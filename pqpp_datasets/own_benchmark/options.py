"""How votes become a benchmark, and what columns each kind of file has."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pqpp_datasets.errors import OptionError
from pqpp_datasets.own_benchmark.formats import format_names
from pqpp_datasets.target_columns import as_tuple
from pqpp_files.foreign.json_values import read_json

# `--column ROLE=COLUMN` says what a file calls it.
ROLES = (
    *("prompt", "prompt_id", "source", "category"),
    *("image", "model", "annotator", "label", "control", "seconds", "score", "deviation"),
    *("model_a", "model_b", "image_a", "image_b", "choice", "rank"),
)


@dataclass(frozen=True)
class FileKind:
    """The columns of a kind of file.

    Attributes:
        needed: Those that must be there. Where the texts of prompts stand in another file it is
            `prompt_id` instead of `prompt`, and where the prompts of images do, `image`.
        optional: Those that may be missing.
        blank: The one whose cells may be empty; `BuildOptions.blank` says what they do.
    """

    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    blank: str = ""

    @property
    def filled(self) -> list[str]:
        """Those that have no empty cell where they are there."""
        about = ("annotator", "model", "image", "image_a", "image_b") if self.blank else ()
        return [role for role in dict.fromkeys((*self.needed, *about)) if role != self.blank]


FLAGS = {"true": 1, "1": 1, "yes": 1, "false": 0, "0": 0, "no": 0, "": 0}
"""What cells of yes and no say."""
FILE_KINDS = {
    kind: FileKind(**{name: as_tuple(roles) for name, roles in about.items()})
    for kind, about in read_json(Path(__file__).with_name("file_kinds.json")).items()
}
"""`--column KIND.ROLE=COLUMN` is meant for files of that kind alone."""

FRACTIONS = {"train": 0.6, "validation": 0.2, "test": 0.2}
MIN_KAPPA, MIN_REFERENCE_SHARE, BEST = 0.41, 0.5, 3
_MEASURES = ("hbpp", "rating", "rating", "score", "rate", "rating")
AGGREGATES = dict(
    zip(("majority", "mean", "median", "mos", "positive", "robust"), _MEASURES, strict=True)
)
"""What an image's votes become, to the measure of the targets."""
_RANGES = {"min_kappa": (-1, 1), "min_reference_share": (0, 1), "prior_wins": (0, 1e9)}
_RANGES |= dict.fromkeys(("best", "k", "min_relevant_votes"), (1, 10**9))
_CHOICES = {
    "aggregate": (None, *AGGREGATES),
    "blank": ("refuse", "drop"),
    "exclude": (None, "flagged"),
    "from_format": (None, *format_names()),
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
        k: The cut-off of the precision.
        min_relevant_votes: How many votes make an image relevant.
        exclude: "flagged": leave out the votes of annotators who are flagged, see
            `pqpp_datasets.own_benchmark.trust.annotators`; None: only say who they are.
        fractions: Split to its share of each source's prompts.
        scale: What the labels mean: `pqpp`, `yes-no`, `likert5`, `0-10` or `LOW..HIGH`, and of
            numbers that choose between two models `share`, `index`, `place` or `sign`, see
            `pqpp_datasets.own_benchmark.votes.preferences.NUMBER_FORMS`. None: it is guessed where
            only one of them is possible, and said in `Built.notes`.
        labels: A YAML file that maps labels to values, in place of `scale`; see `scale_of_map`.
        aggregate: What an image's votes become, of `AGGREGATES`; None: what the scale has. See
            `pqpp_datasets.own_benchmark.votes.aggregate`.
        missing: Labels that stand for no vote; such votes are left out and counted.
        blank: What an empty label does: "refuse" or "drop", which leaves it out and counts it.
        repeats: What a second vote of one person on one image does: "refuse", or which counts:
            "first", "last" or the "mean" of them.
        columns: What a column is to us, of `ROLES`, to what the files call it; `runs.prompt` is
            that in files of runs alone, and so for each of `FILE_KINDS`.
        annotators: Columns that hold the votes of an annotator each, in a file of one row an image.
        models: Columns that hold the votes on a model's image each, in a file of one row a prompt.
        model: The model of all images, where the file has no such column.
        model_pattern: A regular expression that finds the model in an image's name: its first
            group, or all that it matches.
        encoding: Of the files, as Python calls it; UTF-16 that begins with its mark is known.
        prompts: A file of the prompts' texts, with the columns `prompt_id`, `prompt` and, if
            wanted, `source`, `category`, which is joined to the others by the id, and holds.
        images: A file of the images, with `image` and any of `prompt`, `prompt_id`, `model`,
            `source`, `category`, which is joined to the votes by the image, and holds.
        prior_wins: Of preferences and rankings: wins that each model is given over each other one
            beforehand.
        progress: Whether bars on standard error count the rows that are read.
        same_text: What prompts of one text with ids of their own do: "refuse", or "keep", which
            keeps each, all of a text in one split.
        from_format: The tool that wrote the judgments, of
            `pqpp_datasets.own_benchmark.formats.FORMATS`; None: they are plain tables.
    """

    reference_model: str = "reference"
    min_kappa: float = MIN_KAPPA
    min_reference_share: float = MIN_REFERENCE_SHARE
    best: int = BEST
    k: int = 10
    min_relevant_votes: int = 1
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
    models: Sequence[str] = ()
    model: str | None = None
    model_pattern: str | None = None
    encoding: str = "utf-8"
    prompts: str | None = None
    images: str | None = None
    same_text: str = "refuse"
    prior_wins: float = 0.0
    progress: bool = False
    from_format: str | None = None

    def __post_init__(self):
        for name, (low, high) in _RANGES.items():
            if not low <= (value := getattr(self, name)) <= high:
                raise OptionError(f"{name}={value}: give a number from {low} to {high}")
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise OptionError(
                    f"{name}={getattr(self, name)!r}: choose among "
                    f"{', '.join(filter(None, allowed))}"
                )
        for role in self.columns:
            kind, _, name = role.rpartition(".")
            if name not in ROLES or kind not in ("", *FILE_KINDS):
                raise OptionError(
                    f"columns: {role!r:.60} is not one of {', '.join(ROLES)}, alone or after "
                    f"{', '.join(f'{kind}.' for kind in FILE_KINDS)}"
                )
        _refuse_two(scale=self.scale, labels=self.labels)
        _refuse_two(annotators=self.annotators, models=self.models)
        _refuse_two(model=self.model, model_pattern=self.model_pattern, models=self.models)
        try:
            re.compile(self.model_pattern or "")
        except (re.error, OverflowError, RecursionError) as error:
            raise OptionError(
                f"model_pattern={self.model_pattern!r:.60}: not a regular expression ({error}); "
                "write it like '^([^_]+)_'"
            ) from None
        try:
            " ".encode(self.encoding)  # refuses those of bytes too, like hex
        except (LookupError, ValueError):
            raise OptionError(
                f"encoding={self.encoding!r:.60}: it is unknown; write it like utf-8, "
                "latin-1, cp1252, utf-16 or shift_jis"
            ) from None

    def called(self, kind: str) -> dict[str, str]:
        """Return what files of a kind call a column, by what it is to us.

        Args:
            kind: Of `FILE_KINDS`.

        Example:
            >>> options = BuildOptions(columns={"prompt": "text", "runs.prompt": "query"})
            >>> options.called("runs"), options.called("relevance")
            ({'prompt': 'query'}, {'prompt': 'text'})
        """
        common = {role: name for role, name in self.columns.items() if "." not in role}
        own = {r.partition(".")[2]: n for r, n in self.columns.items() if r.startswith(f"{kind}.")}
        called = common | own
        if kind == "judgments" and "score" in called:
            called["label"] = called["score"]
        return called

    @property
    def is_ready(self) -> bool:
        """Whether the judgments are ready scores of images, made of votes that did not come."""
        return "score" in self.called("judgments")

    def model_of(self, image: str) -> str | None:
        """Return the model that an image's name tells by `model_pattern`, None if it does not.

        Example:
            >>> BuildOptions(model_pattern="^([^_]+)_").model_of("sd1.5_normal_001.jpg")
            'sd1.5'
        """
        assert self.model_pattern is not None
        match = re.search(self.model_pattern, image)
        return match[min(1, match.re.groups)] if match else None


def _refuse_two(**given: object) -> None:
    came = [name for name, value in given.items() if value]
    if len(came) > 1:
        raise OptionError(f"{' and '.join(came)} say the same; give one of them")
