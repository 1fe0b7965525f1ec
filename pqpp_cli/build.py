"""`pqpp build`: build a benchmark from your own judgments."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pqpp_cli.command import LIBRARY, Command, Group
from pqpp_files.errors import PqppError
from pqpp_files.names import how_many
from pqpp_files.options.option import NEEDED, option
from pqpp_files.visible import visible

if TYPE_CHECKING:
    from pqpp_datasets.own_benchmark.build import Outcome
    from pqpp_datasets.own_benchmark.write import Extras


class ReadingOptions(Group):
    """How votes are read, and what their labels mean."""

    TITLE = "reading votes"
    from_format: str | None = option(
        LIBRARY,
        metavar="label-studio|argilla|imagereward|pickapic|hpd|mturk",
        also=("from",),
        known="pqpp_datasets.own_benchmark.formats:FORMATS",
    )
    columns: dict[str, str] = option(LIBRARY, metavar="ROLE=COLUMN")
    annotator_columns: tuple[str, ...] = option(LIBRARY, metavar="COL,...", library="annotators")
    model_columns: tuple[str, ...] = option(LIBRARY, metavar="COL,...", library="models")
    question_columns: tuple[str, ...] = option(LIBRARY, metavar="COL,...", library="questions")
    model_name: str | None = option(LIBRARY, library="model")
    model_pattern: str | None = option(LIBRARY, metavar="REGEX")
    encoding: str
    prompts: str | None = option(LIBRARY, path="file")
    images: str | None = option(LIBRARY, path="file")
    same_text: str
    scale: str | None = option(
        LIBRARY, metavar="pqpp|yes-no|likert5|0-10|LOW..HIGH|share|index|place|sign"
    )
    labels: str | None = option(LIBRARY, metavar="MAP.yaml")
    missing_labels: tuple[str, ...] = option(LIBRARY, metavar="MARK,...", library="missing")
    blank: str
    repeats: str
    aggregate: str | None


class RuleOptions(Group):
    """By which rules votes become scores."""

    exclude: str | None
    reference_model: str
    min_kappa: float
    min_reference_share: float
    best: int
    cutoff: int = option(LIBRARY, metavar="K", library="k")
    min_relevant_votes: int
    prior_wins: float
    seed: int
    fractions: dict[str, float] = option(LIBRARY, metavar="SPLIT=SHARE,...", commas=True)


class KeepingOptions(Group):
    """What is written beside the scores.

    Attributes:
        keep_images: Names (or addresses) or pictures of the rated images.
        pseudonym_key: File of random bytes that number the annotators, so that equal votes give
            equal files (default: none).
        license: Licence of the data, like cc-by-4.0; needed for a push to the Hub.
        language: Of the prompts, like en,de (default: as found).
        annotations_creators: Who rated: crowdsourced, expert-generated, machine-generated, found or
            other.
        collection: When people rated, their instructions and pay, for the card.
        plan_width: Width of the reliability's interval that the plan aims at.
    """

    TITLE = "what is kept and reported"
    keep_images: str = option("path", choices=("path", "bytes", "none"))
    image_dir: str | None = option(None, "folder of the rated images", path="images")
    votes: bool = option(True, "do not keep the votes")
    keep_annotators: bool = option(False, "write annotators' names (default: random numbers)")
    pseudonym_key: str | None = option(None, path="file")
    license: str | None = option(None, metavar="KEY")
    language: tuple[str, ...] = option((), metavar="CODE,...")
    citation: str | None = option(None, "BibTeX for the card", metavar="FILE.bib", path="file")
    annotations_creators: str = option("other", metavar="KEY")
    collection: str | None = option(None, metavar="TEXT")
    plan_width: float = option(0.1, gt=0, lt=1)


class Build(
    RuleOptions,
    ReadingOptions,
    KeepingOptions,
    Command,
    takes=("pqpp_datasets.own_benchmark.options:BuildOptions",),
):
    r"""Build a benchmark: scores of prompts from people's votes.

    Filter annotators, aggregate votes to HBPP, P@k and RR, split the prompts, and write Parquet
    files with a card and a quality report.

    examples:
      pqpp build votes.csv --output my-benchmark
      pqpp build --runs runs.parquet --relevance relevance.jsonl --output my-benchmark
      pqpp build --judgments votes.csv --runs runs.csv --relevance relevance.csv --output b
      pqpp build votes.csv --columns prompt=caption --columns annotator=id --scale 1..7 --output b
      pqpp build wide.csv --annotator-columns rater1,rater2 --model-name sdxl --scale yes-no \
          --missing-labels -1 --output b
      pqpp build --from label-studio export.json --columns prompt=caption --output b
      pqpp build --from pickapic train.parquet --output b

    Files are CSV, TSV, JSON, JSONL, Parquet, Excel or Stata, named by what they are, with columns
      judgments: prompt, image, model, label; annotator (who voted), control (true where a member
                 of the control group did), seconds (how long it took). A label in JSON may be a
                 list of votes, or an object of model to votes. `score` in place of label is
                 a ready score of an image
      preferences: prompt, model_a, model_b, choice (a, b, tie or the model's name); annotator,
                 image_a and image_b, seconds. Numbers are told by --scale: share (1, .5, 0, as in
                 Pick-a-Pic's label_0), index (0, 1), place (1, 2, 0 for a tie), sign (1, -1, 0)
      rankings:  prompt, model, rank (1 is the best, equals tie); annotator, image, seconds
      runs:      prompt, model, image, score (higher is better)
      relevance: prompt, image, label (relevant or irrelevant); annotator
    and in each, if wanted, source, prompt_id and category. A row without a source takes the only
    one that its prompt has in any of the files. Rows whose model is `reference` are the reference
    images. Scales: pqpp (2, 1, 0, -1, or high relevance, low relevance, no relevance, unrealistic),
    yes-no (also true and false, 1 and 0), likert5 (1 to 5), 0-10, and any range such as 1..7.
    Rules: majority (PQPP's two levels), mean, median, mos (mean of z-scores for each annotator),
    positive (the share of positive votes); a prompt's score is the mean over its images. The folder
    loads by load_dataset("my-benchmark") and can be pushed as it is.

    Attributes:
        judgments: Judgments of generated images.
        preferences: Which of two models' images is preferred.
        rankings: People's ranks of images, 1 for the best.
        runs: Retrieval results: tables, or runs of TREC, with the model that made each.
        relevance: Votes on results: tables, or qrels of TREC.
    """

    judgments: tuple[str, ...] | None = option(None, path="file", word="too", several=True)
    preferences: tuple[str, ...] | None = option(None, path="file", several=True)
    rankings: tuple[str, ...] | None = option(None, path="file", several=True)
    runs: tuple[str, ...] | None = option(None, metavar="[MODEL=]FILE", path="file", several=True)
    relevance: tuple[str, ...] | None = option(None, path="file", several=True)
    output: str = option(NEEDED, "the folder to write", path="output")
    overwrite: bool = option(False, "overwrite an earlier benchmark")
    name: str = option("My benchmark", "the benchmark's name, for its card")
    plan: bool = option(
        False, "print how reliable other numbers of annotators, images and prompts would be"
    )

    def __post_init__(self) -> None:
        """Refuse names that no split can have."""
        super().__post_init__()
        for name in self.fractions:
            if not re.fullmatch(r"\w+(\.\w+)*", name):  # what `datasets` takes
                raise PqppError(f"`fractions` {name}: write them like train=0.8,test=0.2")

    def run(self) -> None:
        """Build, write the folder and print a summary."""
        from pqpp_backbones.training.publish import refuse_finished
        from pqpp_datasets.own_benchmark.build import BuildOptions, build_benchmark
        from pqpp_datasets.own_benchmark.write import Extras, write_benchmark
        from pqpp_files.options.flags import to_flags
        from pqpp_models.text.reading.language import find_language_codes

        refuse_finished(Path(self.output), self)
        keeping = Extras(**self.arguments(Extras) | {"images": self.keep_images})
        options = BuildOptions(**self.arguments(BuildOptions))
        named = dict(word.split("=", 1) for word in self.runs or () if "=" in word)
        if self.runs and 0 < len(named) < len(self.runs):
            raise PqppError(f"`runs` {' '.join(self.runs)}: give each file a model of its own")
        runs = named or self.runs
        kinds = (self.judgments, runs, self.relevance, options, self.preferences, self.rankings)
        built = build_benchmark(*kinds)
        if not self.language:
            keeping = replace(
                keeping, language=find_language_codes(built.prompts["prompt"].to_pylist())
            )
        folder = write_benchmark(built, self.output, self.name, keeping)
        votes = built.generation and built.generation.table
        for line in _describe(built, keeping, self.exclude, self.plan):
            print(visible(to_flags(line, Build)))
        for warning in built.warnings:
            print(f"pqpp: warning: {to_flags(warning, Build)}", file=sys.stderr)
        if self.keep_annotators:
            print("pqpp: warning: annotators are named; publish with consent only", file=sys.stderr)
        elif self.votes and not self.pseudonym_key and votes and votes.has_annotators:
            what = "annotators got random numbers, new ones in each build"
            print(f"pqpp: note: {what}; --pseudonym-key FILE keeps them", file=sys.stderr)
        print(visible(f"written: {folder} (quality report: {folder / 'report.html'})"))


def _describe(built: Outcome, keeping: Extras, exclude: str | None, plan: bool) -> Iterator[str]:
    """Yield a summary of a build for people."""
    from pqpp_files.figures import format_figures
    from pqpp_models.text.ridge.fitting import FEWEST_PROMPTS

    yield from (*built.trust_lines, *built.notes)
    if (agreement := built.generation and built.generation.trust.agreement) and agreement.figures:
        yield from format_figures("table", [agreement.table]).splitlines()
    if plan and agreement and agreement.is_shared:
        planned, legend = agreement.plan(keeping.plan_width)
        yield from format_figures("table", [planned], [legend]).splitlines()
    elif plan:
        yield "no plan: at least two annotators must rate the same prompts"
    yield from built.preferences.describe_models() if built.preferences else ()
    for split, table in built.splits.items():
        yield f"{split}: {how_many(table.num_rows, 'prompt')}"
    if "train" in built.splits and built.splits["train"].num_rows < FEWEST_PROMPTS:
        yield f"pqpp fit needs {FEWEST_PROMPTS} prompts in train: rate more, or change `fractions`"
    if built.generation and built.generation.annotators:
        annotators = built.generation.annotators
        admitted = sum(not annotator.reasons for annotator in annotators)
        yield f"annotators: {admitted} of {len(annotators)} admitted"
    for names, people in built.flagged_annotators:
        shown = dict(zip(names, keeping.show_names(names), strict=True))
        for name, reason in people[:20]:
            number = "" if shown[name] == name else f" ({shown[name]} in the report)"
            yield f"flagged: {name}{number} {reason}"
        if people:
            what = "left out" if exclude else "--exclude flagged removes them"
            yield f"{len(people)} of {how_many(len(names), 'rater')} flagged; {what}"
