"""`pqpp build`: a benchmark of one's own from raw judgments."""

from __future__ import annotations

import argparse
import sys

from pqpp_cli.errors import CommandError
from pqpp_cli.options import add_retired, given_once, names_of
from pqpp_cli.output import OutputFolder
from pqpp_files.names import how_many
from pqpp_files.visible import visible

_EPILOG = """examples:
  pqpp build votes.csv --output my-benchmark
  pqpp build --runs runs.parquet --relevance relevance.jsonl --output my-benchmark
  pqpp build --judgments votes.csv --runs runs.csv --relevance relevance.csv --output my-benchmark
  pqpp build votes.csv --column prompt=caption --column annotator=Worker --scale likert5 --output b
  pqpp build wide.csv --annotators rater1,rater2 --model sdxl --scale yes-no --missing -1 --output b

Files are CSV, TSV, JSON, JSONL or Parquet, named by what they are, with the columns
  judgments: prompt, image, model, label; annotator (who voted), control (true where a member of the
             control group did), seconds (how long it took). A label in JSON may be a list of votes,
             or an object of model to votes. `score` (and deviation) in place of label is a ready
             score of an image
  preferences: prompt, model_a, model_b, choice (a, b, tie or the model's name); annotator,
             image_a and image_b, seconds
  runs:      prompt, model, image, score (higher is better)
  relevance: prompt, image, label (relevant or irrelevant); annotator
and in each, if wanted, source, prompt_id and category. A row without a source takes the only one
that its prompt has in any of the files. Rows whose model is `reference` are the reference images.
Scales: pqpp (2, 1, 0, -1, or high relevance, low relevance, no relevance, unrealistic), yes-no
(also true and false, 1 and 0), likert5 (1 to 5), 0-10, and any range such as 1..7.
Rules: majority (PQPP's two levels), mean, median, mos (mean of z-scores for each annotator),
positive (the share of positive votes); a prompt's score is the mean over its images.
The folder loads by load_dataset("my-benchmark") and can be pushed as it is.
"""

_FLAGGED_SAID = 20
_READING = (
    *("scale", "labels", "model", "aggregate", "blank", "repeats", "prompts", "images"),
    *("same_text", "exclude", "model_pattern", "encoding"),
)
# Of `BuildOptions`, which is not imported until the command runs: default, metavar and help.
_RULES = {
    "reference_model": ("reference", "NAME", "the model of the reference images in the judgments"),
    "min_kappa": (0.41, "X", "least agreement with each of the control group"),
    "min_reference_share": (0.5, "X", "reference images found highly relevant, over this share"),
    "best": (3, "N", "annotators a prompt"),
    "k": (10, "K", "cut-off of the precision"),
    "min_relevant_votes": (1, "N", "votes that make an image relevant"),
    "prior_wins": (0.0, "W", "of preferences: wins given to each model over each other one"),
    "seed": (0, "N", "of the split"),
}


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "build",
        help="build a benchmark from your own judgments",
        description="Admit annotators, pick the best votes, aggregate them to HBPP, P@k and RR, "
        "split, and write Parquet files with a card and a quality report.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", nargs="*", help="another way to name the judgments")
    parser.add_argument(
        "--judgments", metavar="FILE", nargs="+", help="judgments of generated images"
    )
    parser.add_argument(
        "--preferences", metavar="FILE", nargs="+", help="which of two models' images is preferred"
    )
    parser.add_argument(
        "--runs",
        metavar="[MODEL=]FILE",
        nargs="+",
        help="retrieval results: tables, or runs of TREC, with the model that made each",
    )
    parser.add_argument(
        "--relevance",
        metavar="FILE",
        nargs="+",
        help="relevance votes for the results: tables, or qrels of TREC",
    )
    parser.add_argument(
        "--output", type=OutputFolder, metavar="DIR", required=True, help="the folder to write"
    )
    add_retired(parser, "--out", "--output")
    _add_reading(parser)
    parser.add_argument("--name", default="My benchmark", help="of the benchmark, for its card")
    parser.add_argument(
        "--exclude",
        choices=("flagged",),
        help="leave out annotators who agree with the others by less than half of the usual",
    )
    _add_keeping(parser)
    for rule, (default, metavar, text) in _RULES.items():
        parser.add_argument(
            "--" + rule.replace("_", "-"),
            type=type(default),
            default=default,
            metavar=metavar,
            help=f"{text} (default: %(default)s)",
        )
    parser.add_argument(
        "--fractions",
        default="train=0.6,validation=0.2,test=0.2",
        metavar="SPLIT=SHARE,...",
        help="the splits (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def _add_keeping(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is written beside the scores."""
    kept = parser.add_argument_group("what is kept and told")
    kept.add_argument(
        "--keep-images",
        choices=("path", "url", "bytes", "none"),
        default="path",
        help="how the judged images are kept: their names, addresses, the pictures, or not "
        "(default: %(default)s)",
    )
    kept.add_argument("--image-dir", metavar="DIR", help="folder of the judged images")
    kept.add_argument("--no-votes", action="store_true", help="do not keep the votes")
    kept.add_argument(
        "--keep-annotators",
        action="store_true",
        help="name annotators in what is written (default: by random numbers)",
    )
    kept.add_argument(
        "--license", metavar="KEY", help="of the data, like cc-by-4.0; needed for a push to the Hub"
    )
    kept.add_argument(
        "--language", metavar="CODE,...", default="en", help="of the prompts (default: %(default)s)"
    )
    kept.add_argument("--citation", metavar="FILE.bib", help="BibTeX for the card")
    kept.add_argument(
        "--annotations-creators",
        metavar="KEY",
        default="other",
        help="who judged: crowdsourced, expert-generated, machine-generated, found or other "
        "(default: %(default)s)",
    )


def _add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how votes are read and what becomes of them."""
    votes = parser.add_argument_group("how votes are read")
    votes.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="ROLE=COLUMN",
        help="what your files call a column, like prompt=caption, or those of one kind, like "
        "runs.prompt=query; as often as is needed",
    )
    votes.add_argument(
        "--annotators", metavar="COL,COL,...", help="columns with the votes of an annotator each"
    )
    votes.add_argument(
        "--models", metavar="COL,COL,...", help="columns with the votes on a model's image each"
    )
    votes.add_argument(
        "--model", metavar="NAME", help="of all images, where no column says which made them"
    )
    votes.add_argument(
        "--model-pattern",
        metavar="REGEX",
        help="finds the model in an image's name, like '^([^_]+)_': its first group",
    )
    votes.add_argument(
        "--encoding",
        metavar="NAME",
        default="utf-8",
        help="of your files, like latin-1 or cp1252 (default: %(default)s, and utf-16 where its "
        "mark stands first)",
    )
    votes.add_argument(
        "--prompts",
        metavar="FILE",
        help="texts of prompts, joined by their id: prompt_id, prompt; source, category",
    )
    votes.add_argument(
        "--images",
        metavar="FILE",
        help="what is known of images, joined by their name: image; prompt or prompt_id, model",
    )
    votes.add_argument(
        "--same-text",
        choices=("refuse", "keep"),
        default="refuse",
        help="what prompts of one text with ids of their own do (default: %(default)s)",
    )
    _add_meaning(votes)


def _add_meaning(votes: argparse._ArgumentGroup) -> None:
    """Add the options that say what labels mean, and what empty and repeated ones do."""
    votes.add_argument(
        "--scale",
        metavar="pqpp|yes-no|likert5|0-10|LOW..HIGH",
        help="what the labels mean (default: guessed where only one is possible, and said)",
    )
    votes.add_argument(
        "--labels",
        metavar="MAP.yaml",
        help="labels of your own: `labels` (label to value), `positive` and `missing` (lists)",
    )
    votes.add_argument(
        "--missing", metavar="MARK,...", help="labels that stand for no vote, like -1"
    )
    votes.add_argument(
        "--blank",
        choices=("refuse", "drop"),
        default="refuse",
        help="what an empty label does (default: %(default)s)",
    )
    votes.add_argument(
        "--repeats",
        choices=("refuse", "first", "last", "mean"),
        default="refuse",
        help="which counts of several votes of one person on one image (default: %(default)s)",
    )
    votes.add_argument(
        "--aggregate",
        choices=("majority", "mean", "median", "mos", "positive"),
        help="what an image's votes become (default: majority for pqpp, positive for yes-no, else "
        "mean)",
    )


def run(options: argparse.Namespace) -> None:
    """Build, write the folder and say what came of it."""
    from pqpp_datasets.own_benchmark import BuildOptions, build_benchmark, write_benchmark
    from pqpp_datasets.own_benchmark.write import Keeping
    from pqpp_files.write_beside import tidied_when_terminated

    rules = {name: getattr(options, name) for name in _RULES}
    rules["fractions"] = fractions_of(options.fractions)
    rules |= {name: getattr(options, name) for name in _READING}
    rules["progress"] = sys.stderr.isatty()
    rules["columns"] = columns_given(options.column)
    rules["annotators"] = names_of(options.annotators) or ()
    rules["models"] = names_of(options.models) or ()
    rules["missing"] = names_of(options.missing) or ()
    keeping = Keeping(
        options.keep_images,
        options.image_dir,
        not options.no_votes,
        options.keep_annotators,
        options.license,
        tuple(names_of(options.language) or ()),
        options.citation,
        options.annotations_creators,
    )
    judgments = options.judgments
    if options.file:
        judgments = given_once(options.file, "--judgments", options.judgments)
    built = build_benchmark(
        judgments,
        options.runs and runs_of(options.runs),
        options.relevance,
        BuildOptions(**rules),
        options.preferences,
    )
    with tidied_when_terminated():
        folder = write_benchmark(built, options.output, options.name, keeping)
    for note in built.notes:
        print(visible(note))
    if built.preferences:
        for line in built.preferences.lines():
            print(visible(line))
    for split, table in built.splits.items():
        print(f"{split}: {how_many(table.num_rows, 'prompt')}")
    if built.generation and built.generation.annotators:
        annotators = built.generation.annotators
        admitted = sum(not annotator.reasons for annotator in annotators)
        print(f"annotators: {admitted} of {len(annotators)} admitted")
        flagged = [(one.name, one.flag) for one in annotators if one.flag]
        _say_flagged(flagged, options.exclude)
    if built.preferences:
        _say_flagged(built.preferences.flagged, options.exclude)
    if built.generation:
        _say_reliable(built.generation.trust)
    for warning in built.warnings:
        print(f"pqpp: warning: {warning}", file=sys.stderr)
    if options.keep_annotators:
        what = "annotators are named in what was written; do not publish it without their consent"
        print(f"pqpp: warning: {what}", file=sys.stderr)
    report = folder / "report.html"
    print(visible(f"written: {folder} (quality report: {report})"))


def runs_of(words: list[str]) -> list[str] | dict[str, str]:
    """Read files of runs, each with its model or none.

    Raises:
        CommandError: Only some have one, or one has two files.

    Example:
        >>> runs_of(["clip=a.trec", "blip2=b.trec"]), runs_of(["runs.csv"])
        ({'clip': 'a.trec', 'blip2': 'b.trec'}, ['runs.csv'])
    """
    pairs = [word.partition("=")[::2] for word in words]
    named = dict(pair for pair in pairs if pair[1])
    if not named:
        return words
    if len(named) < len(words):
        raise CommandError(f"--runs {' '.join(words)}: give each file a model of its own")
    return named


def _say_flagged(flagged: list[tuple[str, str]], exclude: str | None) -> None:
    for name, reason in flagged[:_FLAGGED_SAID]:
        print(visible(f"flagged: {name} {reason}"))
    if flagged:
        what = "left out" if exclude else "--exclude flagged leaves them out"
        print(f"flagged annotators: {len(flagged)}; {what}")


def _say_reliable(trust) -> None:
    found = trust.reliability
    if found.needed:
        print(
            f"reliability of a prompt's mean vote: {found.value:.2f} ({found.low:.2f} to "
            f"{found.high:.2f}) with {found.annotators:.1f} annotators a prompt; {found.needed} "
            "would be needed for 0.8"
        )


def columns_given(pairs: list[str]) -> dict[str, str]:
    """Read what columns are called, each like `prompt=caption`.

    Raises:
        CommandError: If one is written otherwise, or a role comes twice.

    Example:
        >>> columns_given(["prompt=caption", "label=a=b"])
        {'prompt': 'caption', 'label': 'a=b'}
    """
    found: dict[str, str] = {}
    for pair in pairs:
        role, sign, column = pair.partition("=")
        if not sign or not column or found.setdefault(role, column) != column:
            raise CommandError(f"--column {pair}: write it like prompt=caption, and each role once")
    return found


def fractions_of(text: str) -> dict[str, float]:
    """Read shares like `train=0.8,test=0.2`.

    Raises:
        CommandError: If it is written otherwise.

    Example:
        >>> fractions_of("train=0.8, test=0.2")
        {'train': 0.8, 'test': 0.2}
    """
    import re

    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = (piece.strip() for piece in part.partition("="))
        # What `datasets` takes as the name of a split.
        if not re.fullmatch(r"\w+(\.\w+)*", name) or name in found:
            raise CommandError(f"--fractions {text}: write them like train=0.8,test=0.2")
        try:
            found[name] = float(share)
        except ValueError:
            raise CommandError(f"--fractions {text}: {share!r} is no number") from None
    return found
