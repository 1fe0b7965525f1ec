"""`pqpp predict`: how well will these prompts do?"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqpp_cli.explanations import add_explain
from pqpp_cli.options import add_output, add_predictors, add_targets
from pqpp_cli.prompt_datasets import add_dataset, refuse_parts
from pqpp_cli.shards import add_shards, wants_shards
from pqpp_files.visible import visible

FORMATS = ("table", "markdown", "csv", "json", "jsonl", "parquet", "html")
_MANY = 20_000
_TABLES = (".txt", ".csv", ".tsv", ".json", ".jsonl", ".parquet", ".gz")

_EPILOG = """examples:
  pqpp predict "a man riding a wave on a surfboard" --target mean_hbpp,mean_p10
  pqpp predict "two robots play chess" --target mean_hbpp --uncertainty
  pqpp predict "two men in suits juggle seven oranges" --target mean_hbpp --explain
  pqpp predict --file prompts.txt --explain --output why.html
  pqpp predict --file prompts.csv --column caption --output predicted.csv
  pqpp predict --dataset sample --split test --output predicted.csv
  pqpp predict --dataset pqpp --split test --image-dir images --predictor runs/clip/model
  cat prompts.txt | pqpp predict --format json
  pqpp predict "a red cat" --predictor n_words
  pqpp predict --file "prompts/*.parquet" --output predicted --workers 8
  pqpp predict --file prompts.parquet --output predicted --shard $SLURM_ARRAY_TASK_ID/64

`alignment` comes first where the predictor knows it: the share of people, 0 to 1, who would say
that an image of a current generator shows what the prompt says; then the targets asked for. A
supervised predictor answers in their own units: HBPP -1 to 2, P@10 and RR 0 to 1, higher is better.
A training-free one gives its own score, and says whether a higher one means easier or harder
prompts: only the order means something. A blank prompt keeps its row and gets no prediction.

A prompt that is not plain English as the predictor was trained on is marked `far`: its prediction
is the average of all prompts. In files the column `far` says so, and `distance` how near it is to
the training prompts.

--explain says what each word adds to the prediction of the first target. It is exact for up to 8
words and sampled, with standard errors, beyond. Without any word stands the mean that the predictor
was fitted to or, where it tells none, its mean prediction for single words. These are contributions
to the prediction, not causes of what the images will look like. An HTML page shows them alone.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "predict",
        help="predict how well prompts will do",
        description="Predict the performance of prompts in image generation and retrieval.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("prompts", nargs="*", metavar="PROMPT", help="a prompt, in quotes")
    parser.add_argument(
        "--file",
        metavar="FILE",
        help="read prompts from a text, CSV, TSV, JSON, JSONL or Parquet file (- is standard "
        "input, one prompt on each line); its other columns stay in an output file",
    )
    parser.add_argument(
        "--column",
        default="prompt",
        help="the file's or dataset's column of prompts (default: %(default)s)",
    )
    add_dataset(parser)
    add_targets(
        parser,
        "all that the predictor has",
        "what to predict, like mean_hbpp; pqpp models show NAME tells what a predictor has",
    )
    add_predictors(parser, "static, which comes with the package")
    parser.add_argument(
        "--uncertainty",
        action="store_true",
        help="also give each prediction's standard deviation; in files, columns TARGET_deviation",
    )
    add_explain(parser)
    parser.add_argument("--revision", help="branch, tag or commit of a predictor on the Hub")
    add_output(parser, FORMATS, by_name=True)
    add_shards(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Predict and print."""
    from pqpp_cli.errors import CommandError
    from pqpp_cli.explanations import Explainer
    from pqpp_cli.output import format_of

    if wants_shards(options):
        _predict_shards(options)
        return
    style = format_of(options, FORMATS)
    if style == "parquet" and options.output is None:
        raise CommandError("--format parquet: a terminal can't show it; name a file by --output")
    if style == "html" and not options.explain:
        raise CommandError("--format html: a page shows explanations; add --explain")
    _check_sources(options)
    predictor = _predictor(options)
    asked = _asked(options, predictor.inputs == "text+images")
    if asked.dataset is not None:
        predictor.require_columns(asked.dataset.column_names, options.dataset)
    explainer = Explainer(predictor, options) if options.explain else None
    if asked.blank:
        print(
            f"pqpp: note: {asked.blank} of {asked.count} prompts are blank and get no prediction",
            file=sys.stderr,
        )
    if style in ("table", "markdown"):
        _print(options, style, asked, predictor, explainer)
    elif style == "html":
        _write_page(options, asked, predictor, explainer)
    else:
        _write(options, style, asked, predictor, explainer)
    if explainer is not None:
        print(explainer.told(), file=sys.stderr)


def _predict_shards(options: argparse.Namespace) -> None:
    """Predict from shard to shard."""
    from dataclasses import asdict

    from pqpp_cli.errors import CommandError
    from pqpp_cli.options import names_of
    from pqpp_cli.shards import refuse_with_shards, work_on_shards
    from pqpp_models import DEFAULT_PREDICTOR
    from pqpp_models.predict import PredictShard, alignment_first

    refuse_with_shards(options, "prompts", "dataset", "explain", "format")
    names = names_of(options.predictors) or [DEFAULT_PREDICTOR]
    if len(names) != 1:
        raise CommandError(f"{len(names)} predictors came, one is used")

    def begin() -> tuple[PredictShard, dict, str]:
        job = PredictShard(names[0], None, options.uncertainty, options.column, options.revision)
        job.targets = alignment_first(job.loaded, options.targets)
        return job, {"job": "predict", **asdict(job)}, options.output

    work_on_shards(options, begin)


def _print(options, style: str, asked: _Asked, predictor, explainer) -> None:
    """Print tables for people, or write them to a file."""
    from pqpp_cli.answers import format_answers
    from pqpp_cli.explanations import format_explanations
    from pqpp_cli.output import emit

    found: dict[str, list] = {}
    for _, predicted in _answers(options, asked, predictor, False):
        for name, cells in predicted.items():
            found.setdefault(name, []).extend(cells)
    text = format_answers(style, found, predictor.far_means)
    text += f"\n\n{predictor.direction}" if predictor.one_score else ""
    if explainer is not None:
        text += "\n\n" + format_explanations(style, explainer.explain(found["prompt"]))
    emit(text, options.output)


def _write_page(options, asked: _Asked, predictor, explainer) -> None:
    """Write the page of the explanations."""
    from pqpp_cli.output import emit
    from pqpp_models.explain.page import render_explanations
    from pqpp_models.prompts import read_prompts

    prompts = [one for _, rows in asked.parts(False) for one in read_prompts(rows)]
    direction = predictor.direction if predictor.one_score else ""
    found = explainer.explain(prompts)
    emit(render_explanations(found, predictor.called, direction, explainer.note), options.output)


@dataclass
class _Asked:
    """The prompts, and what else is known of them.

    Attributes:
        count: How many there are.
        blank: How many of them are blank.
        characters: How many they have together.
        parts: Gives some thousand rows at a time: their columns, and what a predictor takes;
            whether numbers of a CSV file become numbers is its argument.
        dataset: All rows of a dataset.
    """

    count: int
    blank: int
    characters: int
    parts: Callable[[bool], Iterable[tuple[dict, Any]]]
    dataset: Any = None


def _asked(options: argparse.Namespace, images: bool = False) -> _Asked:
    """Find the prompts that were given."""
    if options.dataset:
        from pqpp_cli.prompt_datasets import dataset_rows, parts_of

        rows = dataset_rows(options, images=images)
        texts = (part["prompt"] for part, _ in parts_of(rows, ["prompt"]))
        return _Asked(*_counted(texts), lambda typed: parts_of(rows), rows)
    if options.prompts:
        prompts = _words(options.prompts)
        return _Asked(*_counted([prompts]), lambda typed: [({"prompt": prompts}, prompts)])
    table, column = _table_of(options)
    return _Asked(
        table.rows,
        table.blank,
        table.characters,
        lambda typed: ((part, part[column]) for part in table.parts(typed)),
    )


def _counted(parts: Iterable[list[str]]) -> tuple[int, int, int]:
    """Return how many prompts there are, how many blank ones, and how many characters."""
    counts = [(len(p), sum(not one.strip() for one in p), sum(map(len, p))) for p in parts]
    count, blank, characters = map(sum, zip(*counts, strict=True))
    return count, blank, characters


def _table_of(options: argparse.Namespace) -> tuple[Any, str]:
    """Return the file, or standard input, as a `TableParts`, and its column of prompts."""
    from pqpp_cli.errors import CommandError
    from pqpp_cli.texts import standard_input
    from pqpp_files.read_table import TableParts

    if options.file in (None, "-"):
        if sys.stdin is None or sys.stdin.isatty():
            raise CommandError(
                'no prompt came; write pqpp predict "a prompt", name a --file, or pipe prompts in'
            )
        return standard_input(), "prompt"
    column = options.column
    table = TableParts(options.file, column, column, "name it with --column")
    if table.is_whole and table.rows > _MANY:
        said = f"{options.file} is held in memory as a whole; .jsonl is read part by part"
        print(f"pqpp: note: {said}", file=sys.stderr)
    return table, column


def _words(prompts: list[str]) -> list[str]:
    """Return the prompts that stand in the command itself."""
    from pqpp_cli.errors import CommandError

    for prompt in prompts:
        if not prompt.isprintable() and any("\ud800" <= c <= "\udfff" for c in prompt):
            raise CommandError(f"{prompt!r}: not UTF-8; write it in a UTF-8 terminal or a --file")
        if prompt.endswith(_TABLES) and Path(prompt).is_file():
            raise CommandError(f"{prompt!r} is a file, not a prompt; did you mean --file {prompt}?")
    return prompts


def _answers(
    options: argparse.Namespace, asked: _Asked, predictor: Any, typed: bool
) -> Iterator[tuple[dict, dict]]:
    """Give parts of what was given, and what is predicted for them.

    There is a bar where there are many and somebody looks.
    """
    from pqpp_models.predict import alignment_first, predicted_columns

    targets = alignment_first(predictor, options.targets)
    shown: Any = contextlib.nullcontext()
    if asked.count > _MANY and sys.stderr.isatty():
        from tqdm import tqdm

        shown = tqdm(total=asked.count, unit="prompt")
    with shown as bar:
        for given, rows in asked.parts(typed):
            yield given, predicted_columns(predictor, rows, targets, options.uncertainty)
            if bar is not None:
                bar.update(len(rows))


def _write(
    options: argparse.Namespace, style: str, asked: _Asked, predictor: Any, explainer: Any
) -> None:
    """Read, predict and write part by part, so that no number of prompts fills the memory."""
    from pqpp_cli.output import show
    from pqpp_files.full_disk import require_room
    from pqpp_files.write_beside import write_beside
    from pqpp_files.write_table import table_text, write_parquet

    typed = style != "csv"
    renamed: list[str] = []

    def answers() -> Iterator[dict]:
        for given, found in _answers(options, asked, predictor, typed):
            if explainer is not None:
                found |= explainer.column(found["prompt"])
            yield _beside(given, found, renamed)

    if options.output is None:
        for text in table_text(style, answers()):
            show(text)
        return
    if style != "parquet":  # which packs the texts
        require_room(options.output, asked.characters)
    with write_beside(options.output) as beside:
        if style == "parquet":
            write_parquet(beside, answers(), (given for given, _ in asked.parts(typed)))
        else:
            with beside.open("w", encoding="utf-8", newline="") as file:
                file.writelines(table_text(style, answers()))
    print(f"written: {visible(str(options.output))}", file=sys.stderr)


def _beside(given: dict, found: dict, renamed: list[str]) -> dict:
    """Put predictions behind the columns that were given, all of which stay."""
    added = {name: cells for name, cells in found.items() if name != "prompt"}
    while taken := ", ".join(sorted(set(added) & set(given))):
        if taken not in renamed:  # said once, not for each part
            print(f"the input has {taken}: predictions end in _predicted", file=sys.stderr)
            renamed.append(taken)
        added = {f"{name}_predicted": cells for name, cells in added.items()}
    return {**given, **added}


def _check_sources(options: argparse.Namespace) -> None:
    """Check that prompts come from one source."""
    from pqpp_cli.errors import CommandError

    if options.prompts and options.file:
        raise CommandError("prompts came both as words and by --file; give one of the two")
    if options.dataset and (options.prompts or options.file):
        raise CommandError("prompts came by --dataset and in another way too; give one of the two")
    if options.neighbours is not None and not options.explain:
        raise CommandError("--neighbours: it is about explanations; add --explain")
    if (options.neighbours or 0) < 0:
        raise CommandError(f"--neighbours {options.neighbours}: give a number from 0")
    refuse_parts(options, ("data_dir",) if options.explain else ())


def _predictor(options: argparse.Namespace):
    """Load the predictor and check that it can do with prompts alone, if these came."""
    from pqpp_cli.errors import CommandError
    from pqpp_cli.options import names_of
    from pqpp_models import DEFAULT_PREDICTOR, Predictor

    names = names_of(options.predictors) or [DEFAULT_PREDICTOR]
    if len(names) != 1:
        raise CommandError(f"{len(names)} predictors came, one is used; compare by pqpp bench")
    predictor = Predictor.from_pretrained(names[0], revision=options.revision)
    if predictor.inputs != "text" and not options.dataset:
        raise CommandError(
            f"{names[0]} needs {predictor.inputs}, these are texts; name a --dataset that has "
            "them, or call its predict in Python"
        )
    return predictor
