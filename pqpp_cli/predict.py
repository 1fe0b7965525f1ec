"""`pqpp predict`: how well will these prompts do?"""

import argparse
import sys

from pqpp_cli.options import add_output, add_predictors, add_targets

FORMATS = ("table", "markdown", "csv", "json", "jsonl")

_EPILOG = """examples:
  pqpp predict "a man riding a wave on a surfboard" --target mean_hbpp,mean_p10
  pqpp predict --file prompts.csv --column caption --format csv --output predicted.csv
  cat prompts.txt | pqpp predict --format json
  pqpp predict "a red cat" --predictor n_words

A supervised predictor answers in the targets' own units: HBPP -1 to 2, P@10 and RR 0 to 1, higher
is better. An unsupervised one gives its own value for each target: only the order means something.
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
        "input, a prompt a line)",
    )
    parser.add_argument(
        "--column", default="prompt", help="the file's column of prompts (default: %(default)s)"
    )
    add_targets(parser, "all that the predictor has")
    add_predictors(parser, "the one that the package ships")
    parser.add_argument("--revision", help="branch, tag or commit of a predictor on the Hub")
    add_output(parser, FORMATS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Predict and print."""
    from pqpp_cli.output import emit

    prompts = _prompts(options)
    predictor = _predictor(options)
    long_work = len(prompts) > 20_000 and sys.stderr.isatty()
    values = predictor.predict(prompts, options.targets, progress=long_work)
    from pqpp_models.targets import resolve_targets

    targets = resolve_targets(options.targets, predictor.targets)
    emit(_formatted(options.format, prompts, targets, values.tolist()), options.output)


def _prompts(options: argparse.Namespace) -> list[str]:
    from pqpp_cli.errors import CommandError
    from pqpp_cli.prompt_files import read_prompts

    if options.prompts and options.file:
        raise CommandError("prompts came both as words and by --file; give one of the two")
    for prompt in options.prompts:
        if not prompt.isprintable() and any("\ud800" <= c <= "\udfff" for c in prompt):
            raise CommandError(f"{prompt!r}: not UTF-8; write it in a UTF-8 terminal or a --file")
    if options.prompts:
        return options.prompts
    if options.file:
        return read_prompts(options.file, options.column)
    if sys.stdin is None or sys.stdin.isatty():
        raise CommandError(
            'no prompt came; write pqpp predict "a prompt", name a --file, or pipe prompts in'
        )
    return read_prompts("-")


def _predictor(options: argparse.Namespace):
    from pqpp_cli.errors import CommandError
    from pqpp_cli.options import names_of
    from pqpp_models import DEFAULT_PREDICTOR, Predictor

    names = names_of(options.predictors) or [DEFAULT_PREDICTOR]
    if len(names) != 1:
        raise CommandError(f"{len(names)} predictors came, one is used; compare by pqpp bench")
    predictor = Predictor.from_pretrained(names[0], revision=options.revision)
    if predictor.inputs != "text":
        raise CommandError(
            f"{names[0]} needs {predictor.inputs}, pqpp predict gives texts; call its predict "
            "in Python"
        )
    return predictor


def _formatted(style: str, prompts, targets, values) -> str:
    import json

    records = [
        {"prompt": prompt, **dict(zip(targets, row, strict=True))}
        for prompt, row in zip(prompts, values, strict=True)
    ]
    if style == "json":
        return json.dumps(records, ensure_ascii=False, indent=1)
    if style == "jsonl":
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    if style == "csv":
        return _csv(("prompt", *targets), [record.values() for record in records])
    from tabulate import tabulate

    rows = [(_shortened(prompt), *row) for prompt, row in zip(prompts, values, strict=True)]
    style = "github" if style == "markdown" else "simple"
    return tabulate(rows, ("prompt", *targets), tablefmt=style, floatfmt=".3f")


def _csv(header, rows) -> str:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def _shortened(prompt: str, width: int = 48) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= width else line[: width - 1] + "…"
