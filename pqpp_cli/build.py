"""`pqpp build`: build a benchmark from your own judgments."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pqpp_cli.command import LIBRARY, Command, Group
from pqpp_cli.output import print_notes
from pqpp_files.errors import PqppError
from pqpp_files.escape import escape_controls
from pqpp_files.names import pluralize
from pqpp_files.options.option import option

if TYPE_CHECKING:
    from pqpp_datasets.own_benchmark.build import Outcome
    from pqpp_datasets.own_benchmark.write import WriteOptions


class ReadingOptions(Group):
    """Options for reading votes and labels."""

    TITLE = "reading votes"
    from_format: str | None = option(
        LIBRARY,
        metavar="label-studio|argilla|imagereward|pickapic|hpd|mturk",
        also=("from",),
        known="pqpp_datasets.own_benchmark.formats:FORMATS",
    )
    columns: dict[str, str] = option(LIBRARY, metavar="ROLE=COLUMN,...", commas="pairs")
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


class ScoringOptions(Group):
    """Options for turning votes into scores and splits."""

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


class StorageOptions(Group):
    """Options for the written files and the report.

    Attributes:
        keep_images: What to store of the rated images: names or URLs (path), the images themselves
            (bytes), or nothing (none).
        pseudonym_key: File of random bytes that determines the annotators' numbers, so that the
            same votes give the same files (default: none).
        license: Licence of the data, such as cc-by-4.0; required to publish on the Hub.
        language: Languages of the prompts, such as en,de (default: detected).
        annotations_creators: Who rated: crowdsourced, expert-generated, machine-generated, found or
            other.
        collection: For the card: when people rated, their instructions and pay.
        plan_width: Desired width of the reliability's 95% interval.
    """

    TITLE = "output and report"
    keep_images: str = option("path", choices=("path", "bytes", "none"))
    image_dir: str | None = option(None, "folder of the rated images", path="images")
    votes: bool = option(True, "do not store the votes")
    keep_annotators: bool = option(False, "store annotators' names (default: random numbers)")
    pseudonym_key: str | None = option(None, path="file")
    license: str | None = option(None, metavar="KEY")
    language: tuple[str, ...] = option((), metavar="CODE,...")
    citation: str | None = option(None, "BibTeX file for the card", metavar="FILE.bib", path="file")
    annotations_creators: str = option("other", metavar="KEY")
    collection: str | None = option(None, metavar="TEXT")
    plan_width: float = option(0.1, gt=0, lt=1)


class Build(
    ScoringOptions,
    ReadingOptions,
    StorageOptions,
    Command,
    takes=("pqpp_datasets.own_benchmark.options:BuildOptions",),
):
    r"""Build a benchmark of prompts with scores from people's votes.

    pqpp filters annotators, aggregates votes to HBPP, P@k and RR, splits the prompts, and writes
    Parquet files with a card and a quality report.

    examples:
      pqpp build votes.csv --output my-benchmark
      pqpp build --runs runs.parquet --relevance relevance.jsonl --output my-benchmark
      pqpp build --judgments votes.csv --runs runs.csv --relevance relevance.csv --output b
      pqpp build votes.csv --columns prompt=caption,annotator=id --scale 1..7 --output b
      pqpp build wide.csv --annotator-columns rater1,rater2 --model-name sdxl --scale yes-no \
          --missing-labels -1 --output b
      pqpp build --from label-studio export.json --columns prompt=caption --output b
      pqpp build --from pickapic train.parquet --output b

    Files are CSV, TSV, JSON, JSONL, Parquet or Excel. The columns are
      judgments: prompt, image, model, label; optionally annotator, control (true if the annotator
                 is in the control group), seconds (time needed). In JSON, a label can be a list
                 of votes, or an object from model to votes. Instead of label, `score` is the
                 final score of an image
      preferences: prompt, model_a, model_b, choice (a, b, tie or the model's name); optionally
                 annotator, image_a, image_b, seconds. If choices are numbers, --scale says what
                 they mean: share (1, .5, 0, as in Pick-a-Pic's label_0), index (0, 1), place (1, 2,
                 0 for a tie), sign (1, -1, 0)
      rankings:  prompt, model, rank (1 is best, equal ranks tie); optionally annotator, image,
                 seconds
      runs:      prompt, model, image, score (higher is better)
      relevance: prompt, image, label (relevant or irrelevant); optionally annotator
    All can have source, prompt_id and category. A row without a source gets that of the same prompt
    in the other files, if there is only one. Rows with the model `reference` are reference images.

    Scales: pqpp (2, 1, 0, -1, or high relevance, low relevance, no relevance, unrealistic), yes-no
    (also true and false, 1 and 0), likert5 (1 to 5), 0-10, and any range such as 1..7.
    Aggregation: majority (PQPP's two levels), mean, median, mos (mean of z-scores per annotator),
    positive (share of positive votes). A prompt's score is the mean over its images. Load the
    folder with load_dataset("my-benchmark"); `pqpp datasets push` publishes it.

    Attributes:
        judgments: Votes on generated images.
        preferences: Choices between two models' images.
        rankings: Rankings of images.
        runs: Retrieval results: tables or TREC runs, each with its model.
        relevance: Votes on retrieved images: tables or TREC qrels.
    """

    judgments: tuple[str, ...] | None = option(None, path="file", word="too", several=True)
    preferences: tuple[str, ...] | None = option(None, path="file", several=True)
    rankings: tuple[str, ...] | None = option(None, path="file", several=True)
    runs: tuple[str, ...] | None = option(None, metavar="[MODEL=]FILE", path="file", several=True)
    relevance: tuple[str, ...] | None = option(None, path="file", several=True)
    output: str | None = option(None, "folder to write; optional with --plan", path="output")
    overwrite: bool = option(False, "overwrite an earlier benchmark")
    name: str = option("My benchmark", "name of the benchmark, for its card")
    plan: bool = option(False, "print how reliable a larger or smaller study would be")

    def __post_init__(self) -> None:
        """Require an output folder unless only a plan is printed, and valid split names."""
        super().__post_init__()
        if not (self.output or self.plan):
            raise PqppError("`output` is missing; set it to a folder for the benchmark")
        for name in self.fractions:
            if not re.fullmatch(r"\w+(\.\w+)*", name):  # as `datasets` requires
                raise PqppError(f"invalid split {name!r} in `fractions`; use letters and digits")

    def run(self) -> None:
        """Build, write the folder and print a summary."""
        from pqpp_backbones.training.publish import check_no_result
        from pqpp_datasets.own_benchmark.build import BuildOptions, build_benchmark
        from pqpp_datasets.own_benchmark.trust.figures import plan_without_votes
        from pqpp_datasets.own_benchmark.write import WriteOptions, write_benchmark
        from pqpp_files.figures import format_tables
        from pqpp_files.options.flags import replace_option_names
        from pqpp_models.text.reading.language import find_language_codes

        if self.output:
            check_no_result(Path(self.output), self)
        writing = WriteOptions(**self.get_arguments(WriteOptions) | {"images": self.keep_images})
        options = BuildOptions(**self.get_arguments(BuildOptions))
        run_files = dict(word.split("=", 1) for word in self.runs or () if "=" in word)
        if self.runs and 0 < len(run_files) < len(self.runs):
            raise PqppError(f"`runs` is {' '.join(self.runs)}; write MODEL=FILE for every file")
        kinds = ("judgments", "preferences", "rankings", "relevance")
        files = {kind: getattr(self, kind) for kind in kinds} | {"runs": run_files or self.runs}
        if self.plan and not any(files.values()):
            if self.output:
                raise PqppError("no votes to build from; give a file of votes, or remove `output`")
            return print(format_tables("table", *plan_without_votes()))
        built = build_benchmark(**files, options=options)
        if not self.language:
            codes = find_language_codes(built.prompts["prompt"].to_pylist())
            writing = replace(writing, language=codes)
        folder = write_benchmark(built, self.output, self.name, writing) if self.output else None
        votes = built.generation and built.generation.table
        for line in _summarise(built, writing, bool(self.exclude), self.plan):
            print(escape_controls(replace_option_names(line, Build)))
        for warning in built.warnings:
            print(f"pqpp: warning: {replace_option_names(warning, Build)}", file=sys.stderr)
        if folder is None:
            return
        if self.keep_annotators:
            print_notes("the votes have annotators' names; publish them only with their consent")
        elif self.votes and not self.pseudonym_key and votes and votes.has_annotators:
            what = "the annotators' numbers are random and change every time"
            print_notes(f"{what}; use --pseudonym-key FILE to keep them")
        print(escape_controls(f"written: {folder} (quality report: {folder / 'report.html'})"))


def _summarise(built: Outcome, options: WriteOptions, exclude: bool, plan: bool) -> Iterator[str]:
    """Yield the lines that summarise a benchmark on the terminal."""
    from pqpp_files.figures import format_tables
    from pqpp_models.text.ridge.fitting import FEWEST_PROMPTS

    yield from (*built.reliability_summaries, *built.notes)
    trust = built.generation and built.generation.trust
    if trust and trust.agreement and trust.agreement.figures:
        yield from ("", *format_tables("table", [trust.agreement.summary_table]).splitlines(), "")
    if plan and trust and (plan_tables := trust.plan_studies(options.plan_width)):
        yield from (*format_tables("table", [plan_tables[0]], [plan_tables[1]]).splitlines(), "")
    elif plan:
        yield "no plan: at least two annotators must rate the same prompts"
    yield from built.preferences.describe_models() if built.preferences else ()
    for split, table in built.splits.items():
        yield f"{split}: {pluralize(table.num_rows, 'prompt')}"
    if "train" in built.splits and built.splits["train"].num_rows < FEWEST_PROMPTS:
        yield f"pqpp fit needs {FEWEST_PROMPTS} prompts in train: rate more, or change `fractions`"
    if built.generation and (annotators := built.generation.annotators):
        count = sum(not annotator.reasons for annotator in annotators)
        yield f"the votes of {count} of {len(annotators)} annotators count"
    for names, people in built.flagged_annotators:
        aliases = dict(zip(names, options.get_display_names(names), strict=True))
        for name, reason in people[:20]:
            number = "" if aliases[name] == name else f" ({aliases[name]} in the report)"
            yield f"flagged: {name}{number} {reason}"
        if people:
            what = "left out" if exclude else "leave them out with --exclude flagged"
            yield f"{len(people)} of {pluralize(len(names), 'annotator')} flagged; {what}"
