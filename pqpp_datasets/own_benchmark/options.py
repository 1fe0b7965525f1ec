"""The options of a build, and the columns of each kind of file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import get_annotations
from pathlib import Path
from typing import Literal, get_args, get_origin

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.formats import FORMATS
from pqpp_files.foreign.json_values import read_json
from pqpp_files.names import did_you_mean

# `--column ROLE=COLUMN` sets the column of a role.
ROLES = (
    *("prompt", "prompt_id", "source", "category"),
    *("image", "model", "annotator", "label", "control", "seconds", "score"),
    *("model_a", "model_b", "image_a", "image_b", "left", "choice", "rank"),
)


@dataclass(frozen=True)
class FileKind:
    """The columns of a kind of file.

    Attributes:
        needed: Required roles. `prompt_id` replaces `prompt` if the table `prompts` is joined, and
            `image` replaces `prompt` if the table `images` is joined.
        optional: Optional roles.
        blank: The role whose cells can be empty, as `BuildOptions.blank` allows.
    """

    needed: Sequence[str]
    optional: Sequence[str] = ()
    blank: str = ""

    @property
    def filled_roles(self) -> list[str]:
        """Roles whose cells must not be empty."""
        roles = ("annotator", "model", "image", "image_a", "image_b") if self.blank else ()
        return [role for role in dict.fromkeys((*self.needed, *roles)) if role != self.blank]


FLAGS = {"true": 1, "1": 1, "yes": 1, "false": 0, "0": 0, "no": 0, "": 0}
"""Values of the cells of yes-or-no columns."""
FILE_KINDS = {
    kind: FileKind(**columns)
    for kind, columns in read_json(Path(__file__).with_name("file_kinds.json")).items()
}
"""Columns of each kind of file; `--column KIND.ROLE=COLUMN` applies to one kind."""

FRACTIONS = {"train": 0.6, "validation": 0.2, "test": 0.2}
MIN_KAPPA, MIN_REFERENCE_SHARE, BEST = 0.41, 0.5, 3
AGGREGATES = {"majority": "hbpp", "mean": "rating", "median": "rating", "mos": "score"}
AGGREGATES |= {"positive": "rate"}
"""Measure of the targets for each rule that aggregates the votes on an image."""
_RANGES = {"min_kappa": (-1, 1), "min_reference_share": (0, 1), "prior_wins": (0, 1e9)}
_RANGES |= dict.fromkeys(("best", "k", "min_relevant_votes"), (1, 10**9))


@dataclass(frozen=True)
class BuildOptions:
    """The options of a build; `pqpp build --help` prints the first sentence of each description.

    Attributes:
        reference_model: Model name that marks reference images.
        min_kappa: Minimum Cohen's kappa with each member of the control group.
        min_reference_share: Annotators must rate more than this share of reference images highly
            relevant.
        best: Number of annotators whose votes count, for each prompt, with a control group.
        k: Number of documents for precision at k.
        min_relevant_votes: Number of votes that make an image relevant.
        exclude: Leave out annotators who agree less than half as much as the median. See
            `pqpp_datasets.own_benchmark.trust.annotators`; without it, they are only named.
        fractions: Splits and their shares. A share is of each source's prompts.
        seed: Seed of the split.
        scale: Scale of the labels (default: inferred if only one fits). For numbers that choose
            between two models see `pqpp_datasets.own_benchmark.votes.preferences.NUMBER_FORMS`;
            `Outcome.notes` names the inferred scale.
        labels: Your own labels: `labels` (values by label), `positive` and `missing` (lists). A
            YAML file, or a JSON object, instead of `scale`; see `read_label_map`.
        aggregate: How to aggregate the votes on an image (default: majority for pqpp, positive for
            yes-no, else mean). See `choose_aggregation`.
        missing: Labels that are not votes, such as -1. Such votes are left out and counted.
        blank: Whether to refuse or drop empty labels. Dropped labels are counted.
        repeats: Which vote counts if an annotator rated an image twice.
        columns: Column of a role, such as prompt=caption, or of one file, such as
            runs.prompt=query; dots name nested fields; repeatable. Keys are names of `ROLES`, alone
            or after one of `FILE_KINDS`.
        annotators: Columns that contain the votes of one annotator each. A row is an image.
        models: Columns that contain the votes on one model's images each. A row is a prompt.
        questions: Columns that contain the answers to one question each; each becomes a target.
            Their labels are on one scale; the target's name is the model's, followed by the
            question.
        model: Model of all images, if no column names it.
        model_pattern: Regular expression that finds the model in an image's name, such as
            '^([^_]+)_'. Its first group is the model; without groups, the whole match.
        encoding: Encoding of your files, as in Python (default: utf-8, or utf-16 if marked).
        prompts: Table of prompts: prompt_id, prompt; optionally source, category. The table is
            joined by the id and overrides the other files.
        images: Table of images: image, prompt or prompt_id; optionally model. The table, which may
            also have `source` and `category`, is joined by the image and overrides the other files.
        prior_wins: Wins to add for each model over every other, with preferences or rankings.
        same_text: Whether to refuse or keep prompts with the same text but different ids. Kept
            prompts with the same text are in the same split.
        from_format: Tool that wrote the votes. See `pqpp_datasets.own_benchmark.formats.FORMATS`;
            without a tool, the files are plain tables.
    """

    reference_model: str = "reference"
    min_kappa: float = MIN_KAPPA
    min_reference_share: float = MIN_REFERENCE_SHARE
    best: int = BEST
    k: int = 10
    min_relevant_votes: int = 1
    exclude: Literal[None, "flagged"] = None
    fractions: Mapping[str, float] = field(default_factory=lambda: dict(FRACTIONS))
    seed: int = 0
    scale: str | None = None
    labels: str | None = None
    aggregate: Literal[None, "majority", "mean", "median", "mos", "positive"] = None
    missing: Sequence[str] = ()
    blank: Literal["refuse", "drop"] = "refuse"
    repeats: Literal["refuse", "first", "last", "mean"] = "refuse"
    columns: Mapping[str, str] = field(default_factory=dict)
    annotators: Sequence[str] = ()
    models: Sequence[str] = ()
    questions: Sequence[str] = ()
    model: str | None = None
    model_pattern: str | None = None
    encoding: str = "utf-8"
    prompts: str | None = None
    images: str | None = None
    same_text: Literal["refuse", "keep"] = "refuse"
    prior_wins: float = 0.0
    from_format: str | None = None

    def __post_init__(self):
        for name, (low, high) in _RANGES.items():
            if not low <= (value := getattr(self, name)) <= high:
                raise BenchmarkError(f"`{name}` must be from {low} to {high}; got {value}")
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                choices = ", ".join(filter(None, allowed))
                raise BenchmarkError(f"`{name}` must be one of {choices}; got {vars(self)[name]!r}")
        for role in self.columns:
            kind, _, name = role.rpartition(".")
            if name not in ROLES or kind not in ("", *FILE_KINDS):
                kinds = ", ".join(f"{kind}." for kind in FILE_KINDS)
                choices = f"{', '.join(ROLES)}, alone or after {kinds}"
                hint = did_you_mean(name, ROLES, f"use one of {choices}")
                raise BenchmarkError(f"`columns`: unknown role {role!r:.60}; {hint}")
        _refuse_several(scale=self.scale, labels=self.labels)
        _refuse_several(annotators=self.annotators, models=self.models, questions=self.questions)
        _refuse_several(model=self.model, model_pattern=self.model_pattern, models=self.models)
        try:
            re.compile(self.model_pattern or "")
        except (re.error, OverflowError, RecursionError) as error:
            problem = f"`model_pattern` {self.model_pattern!r:.60} is not a regular expression"
            raise BenchmarkError(f"{problem} ({error}); correct the pattern") from None
        try:
            " ".encode(self.encoding)  # also refuses codecs of bytes, such as hex
        except (LookupError, ValueError):
            remedy = "use an encoding such as utf-8, latin-1, cp1252, utf-16 or shift_jis"
            raise BenchmarkError(f"unknown `encoding` {self.encoding!r:.60}; {remedy}") from None

    def get_columns(self, kind: str) -> dict[str, str]:
        """Return the user's column names for a kind of file, by role.

        Args:
            kind: A key of `FILE_KINDS`.

        Example:
            >>> options = BuildOptions(columns={"prompt": "text", "runs.prompt": "query"})
            >>> options.get_columns("runs"), options.get_columns("relevance")
            ({'prompt': 'query'}, {'prompt': 'text'})
        """
        prefix, items = f"{kind}.", self.columns.items()
        columns = {role: name for role, name in items if "." not in role}
        columns |= {r.removeprefix(prefix): name for r, name in items if r.startswith(prefix)}
        if kind == "judgments" and "score" in columns:
            columns["label"] = columns["score"]
        return columns

    @property
    def has_scores(self) -> bool:
        """Whether judgments are scores of images instead of votes."""
        return "score" in self.get_columns("judgments")

    def find_model(self, image: str) -> str | None:
        """Return the model that `model_pattern` finds in an image's name; None without a match.

        Example:
            >>> BuildOptions(model_pattern="^([^_]+)_").find_model("sd1.5_normal_001.jpg")
            'sd1.5'
        """
        assert self.model_pattern is not None
        match = re.search(self.model_pattern, image)
        return match[min(1, match.re.groups)] if match else None


_CHOICES = {
    n: get_args(t) for n, t in get_annotations(BuildOptions).items() if get_origin(t) is Literal
}
_CHOICES["from_format"] = (None, *FORMATS)


def _refuse_several(**options: object) -> None:
    names = [f"`{name}`" for name, value in options.items() if value]
    if len(names) > 1:
        raise BenchmarkError(f"{' and '.join(names)} exclude each other; set only one")
