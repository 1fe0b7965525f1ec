"""`pqpp predict`: how well will these prompts do?"""

import argparse
import sys
from pathlib import Path
from typing import Any

from pqpp_cli.options import add_output, add_predictors, add_targets
from pqpp_cli.prompt_datasets import OPTIONS, add_dataset

FORMATS = ("table", "markdown", "csv", "json", "jsonl", "parquet")
_TABLES = (".txt", ".csv", ".tsv", ".json", ".jsonl", ".parquet", ".gz")
FAR_NOTE = "far: unlike all prompts that the predictor was trained on; don't rely on its prediction"

_EPILOG = """examples:
  pqpp predict "a man riding a wave on a surfboard" --target mean_hbpp,mean_p10
  pqpp predict "two robots play chess" --target mean_hbpp --uncertainty
  pqpp predict --file prompts.csv --column caption --output predicted.csv
  pqpp predict --dataset sample --split test --output predicted.csv
  pqpp predict --dataset pqpp --split test --image-dir images --predictor runs/clip/model
  cat prompts.txt | pqpp predict --format json
  pqpp predict "a red cat" --predictor n_words

A supervised predictor answers in the targets' own units: HBPP -1 to 2, P@10 and RR 0 to 1, higher
is better. A training-free one gives its own score, and says whether a higher one means easier or
harder prompts: only the order means something. A blank prompt keeps its row and gets no prediction.

A predictor that knows how near a prompt is to those that it was trained on marks the prompts that
are far from all of them; in files, the columns `distance` and `far` say so.
"""


def add_parser(subparsers) -> None:
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
        "input, a prompt a line); its other columns stay in an output file",
    )
    parser.add_argument(
        "--column",
        default="prompt",
        help="the file's or dataset's column of prompts (default: %(default)s)",
    )
    add_dataset(parser)
    add_targets(parser, "all that the predictor has")
    add_predictors(parser, "static, which comes with the package")
    parser.add_argument(
        "--uncertainty",
        action="store_true",
        help="also give each prediction's standard deviation; in files, columns TARGET_deviation",
    )
    parser.add_argument("--revision", help="branch, tag or commit of a predictor on the Hub")
    add_output(parser, FORMATS, by_name=True)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Predict and print."""
    from pqpp_cli.errors import CommandError
    from pqpp_cli.output import emit, format_of
    from pqpp_models.predict import predicted_columns

    style = format_of(options, FORMATS)
    if style == "parquet" and options.output is None:
        raise CommandError("--format parquet: a terminal can't show it; name a file by --output")
    _check_sources(options)
    given, prompts, rows = _asked(options, typed=style != "csv")
    predictor = _predictor(options, rows)
    asked = prompts if predictor.inputs == "text" else rows
    progress = len(prompts) > 20_000 and sys.stderr.isatty()
    found = predicted_columns(predictor, asked, options.targets, options.uncertainty, progress)
    blank = sum(not prompt.strip() for prompt in prompts)
    if blank:
        print(
            f"pqpp: note: {blank} of {len(prompts)} prompts are blank and get no prediction",
            file=sys.stderr,
        )
    if style not in ("table", "markdown"):
        emit(format_answers(style, _beside(given, found)), options.output)
        return
    direction = f"\n\n{predictor.direction}" if predictor.one_score else ""
    emit(format_answers(style, found) + direction, options.output)


def _asked(options: argparse.Namespace, typed: bool) -> tuple[dict, list[str], Any]:
    """Return the columns that were given, the prompts among them, and the dataset if it is one.

    Numbers of a CSV file stay as they are written, unless `typed`: then they are numbers.
    """
    if options.dataset:
        from pqpp_cli.prompt_datasets import dataset_rows, plain_columns

        rows = dataset_rows(options)
        return plain_columns(rows), list(rows["prompt"]), rows
    if options.file and options.file != "-":
        from pqpp_files.read_table import read_table

        table = read_table(options.file, plain=options.column, remedy="name it with --column")
        prompts = table.texts(options.column)
        columns = {name: table.values(name) if typed else table[name] for name in table.columns}
        return {**columns, options.column: prompts}, prompts, None
    prompts = _prompts(options)
    return {"prompt": prompts}, prompts, None


def _beside(given: dict, found: dict) -> dict:
    """Put predictions behind the columns that were given, all of which stay."""
    added = {name: cells for name, cells in found.items() if name != "prompt"}
    while taken := sorted(set(added) & set(given)):
        print(f"the input has {', '.join(taken)}: predictions end in _predicted", file=sys.stderr)
        added = {f"{name}_predicted": cells for name, cells in added.items()}
    return {**given, **added}


def _check_sources(options: argparse.Namespace) -> None:
    """Check that prompts come from one source."""
    from pqpp_cli.errors import CommandError

    if options.prompts and options.file:
        raise CommandError("prompts came both as words and by --file; give one of the two")
    if options.dataset and (options.prompts or options.file):
        raise CommandError("prompts came by --dataset and otherwise; give one of the two")
    named = [name for name in OPTIONS if getattr(options, name) is not None]
    if named and not options.dataset:
        option = named[0].replace("_", "-")
        raise CommandError(f"--{option}: it is about a dataset; name one by --dataset")


def _prompts(options: argparse.Namespace) -> list[str]:
    from pqpp_cli.errors import CommandError

    for prompt in options.prompts:
        if not prompt.isprintable() and any("\ud800" <= c <= "\udfff" for c in prompt):
            raise CommandError(f"{prompt!r}: not UTF-8; write it in a UTF-8 terminal or a --file")
        if prompt.endswith(_TABLES) and Path(prompt).is_file():
            raise CommandError(f"{prompt!r} is a file, not a prompt; did you mean --file {prompt}?")
    if options.prompts:
        return options.prompts
    if sys.stdin is None or sys.stdin.isatty():
        raise CommandError(
            'no prompt came; write pqpp predict "a prompt", name a --file, or pipe prompts in'
        )
    from pqpp_cli.texts import standard_input

    return standard_input()


def _predictor(options: argparse.Namespace, rows=None):
    """Load the predictor and check that it can do with what is there."""
    from pqpp_cli.errors import CommandError
    from pqpp_cli.options import names_of
    from pqpp_models import DEFAULT_PREDICTOR, Predictor

    names = names_of(options.predictors) or [DEFAULT_PREDICTOR]
    if len(names) != 1:
        raise CommandError(f"{len(names)} predictors came, one is used; compare by pqpp bench")
    predictor = Predictor.from_pretrained(names[0], revision=options.revision)
    if predictor.inputs != "text" and rows is None:
        raise CommandError(
            f"{names[0]} needs {predictor.inputs}, these are texts; name a --dataset that has "
            "them, or call its predict in Python"
        )
    if rows is not None:
        predictor.require_columns(rows.column_names, options.dataset)
    return predictor


def format_answers(style: str, columns: dict) -> str | bytes:
    r"""Return what `predicted_columns` returned in one of `FORMATS`; Parquet is bytes.

    Example:
        >>> format_answers("jsonl", {"prompt": ["a cat"], "mean_rr": [0.5]})
        '{"prompt": "a cat", "mean_rr": 0.5}\n'
    """
    import json

    if style == "parquet":
        return _parquet(columns)
    rows = list(zip(*columns.values(), strict=True))
    if style == "csv":
        return _csv(columns, rows)
    if style in ("json", "jsonl"):
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        if style == "json":
            return json.dumps(records, ensure_ascii=False, indent=1)
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    return _table("github" if style == "markdown" else "simple", columns)


def _table(style: str, columns: dict) -> str:
    """Return what a person reads: deviations beside their values, and which prompts are far."""
    from tabulate import tabulate

    ending, beside = "_deviation", ("prompt", "distance", "far")
    targets = [name for name in columns if name not in beside and not name.endswith(ending)]
    deviations = [columns.get(target + ending) for target in targets]
    header = [
        "prompt",
        *(
            target if one is None else f"{target} ± sd"
            for target, one in zip(targets, deviations, strict=True)
        ),
    ]
    table = [list(map(_shortened, columns["prompt"]))]
    for target, spread in zip(targets, deviations, strict=True):
        spread = spread or [None] * len(columns[target])
        table.append([_cell(*pair) for pair in zip(columns[target], spread, strict=True)])
    far = columns.get("far", [])
    if any(far):
        header.append("")
        table.append(["far" if one else "" for one in far])
    sides = ["left"] + ["right"] * len(targets) + ["left"] * (len(table) - 1 - len(targets))
    rows = list(zip(*table, strict=True))
    text = tabulate(rows, header, style, colalign=sides if rows else None, disable_numparse=True)
    return f"{text}\n\n{FAR_NOTE}" if any(far) else text


def _cell(value: float | None, deviation: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if deviation is None else f"{value:.3f} ± {deviation:.3f}"


def _parquet(columns: dict) -> bytes:
    import io

    import pyarrow as pa
    import pyarrow.parquet

    buffer = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def _csv(header, rows) -> str:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_csv_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def _csv_cell(cell):
    """Return a list or an object as JSON, anything else as it is."""
    if isinstance(cell, list | dict):
        import json

        return json.dumps(cell, ensure_ascii=False)
    return cell


def _shortened(prompt: str, width: int = 48) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= width else line[: width - 1] + "…"
