"""`pqpp route`: which model should this prompt go to?"""

from __future__ import annotations

import argparse
import sys

from pqpp_cli.errors import CommandError
from pqpp_cli.options import add_output, names_of
from pqpp_cli.output import OutputFolder

FORMATS = ("table", "csv", "json", "jsonl", "parquet")

_EPILOG = """examples:
  pqpp route fit --targets glide_hbpp,sdxl_hbpp --cost 1,4 --share 0.3 --calibration mine.txt \\
      --output my_router
  pqpp route predict my_router "two robots play chess"
  pqpp route predict my_router --file prompts.csv --output routed.csv
"""
_FIT = """examples:
  pqpp route fit --targets glide_hbpp,sdxl_hbpp --cost 1,4 --budget 2 --calibration mine.txt \\
      --output my_router
  pqpp route fit --targets clip_p10,sdxl_hbpp --names search,generate --cost 0.01,1 \\
      --utility 3,1 --floor 1.2 --calibration mine.csv --output my_router

Routes are named after their targets' models unless --names says otherwise. The calibration prompts
are your own, without answers: they tell at which price the budget or share is kept. To choose
between generating (HBPP, -1 to 2) and retrieving (P@10, 0 to 1), say by --utility what a unit of
each is worth to you. A prompt that the predictor cannot read goes to the dearest route.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "route",
        help="send each prompt to the model that is worth its cost",
        description="Make a router from predictions and costs, and ask it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _add_fit(actions)
    _add_predict(actions)


def _add_fit(actions) -> None:
    parser = actions.add_parser(
        "fit",
        help="make a router for your prompts",
        description="Find the price of cost at which your prompts keep to a budget or a share.",
        epilog=_FIT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--targets",
        "--target",
        metavar="NAME,NAME[,...]",
        required=True,
        help="what predicts the quality of each route",
    )
    parser.add_argument(
        "--cost", metavar="C,C[,...]", required=True, help="of an answer of each route"
    )
    parser.add_argument("--names", metavar="NAME,...", help="of the routes")
    parser.add_argument(
        "--utility", metavar="U,...", help="what a unit of each target is worth (default: 1 each)"
    )
    rule = parser.add_mutually_exclusive_group(required=True)
    rule.add_argument(
        "--budget", type=float, metavar="C", help="most that an answer may cost in the mean"
    )
    rule.add_argument(
        "--share", type=float, metavar="P", help="of two routes, the share of the dearer one"
    )
    rule.add_argument("--floor", type=float, metavar="Q", help="least quality, by the lower bound")
    parser.add_argument(
        "--confidence",
        type=float,
        metavar="P",
        help="of the lower bounds, one-sided (default: 0.9 with --floor, else 0.5, the prediction)",
    )
    parser.add_argument(
        "--calibration", metavar="FILE", required=True, help="your prompts, 30 or more"
    )
    parser.add_argument(
        "--column", default="prompt", help="its column of prompts (default: %(default)s)"
    )
    parser.add_argument("--predictor", metavar="NAME_OR_PATH", help="(default: static)")
    parser.add_argument("--revision", help="branch, tag or commit of a predictor on the Hub")
    parser.add_argument(
        "--output", type=OutputFolder, metavar="DIR", required=True, help="where to save the router"
    )
    parser.set_defaults(run=run_fit)


def _add_predict(actions) -> None:
    parser = actions.add_parser(
        "predict",
        help="say where prompts go",
        description="Choose a route for each prompt.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("router", metavar="ROUTER", help="folder or OWNER/REPOSITORY of a router")
    parser.add_argument("prompts", nargs="*", metavar="PROMPT", help="a prompt, in quotes")
    parser.add_argument("--file", metavar="FILE", help="prompts from a table or a text file")
    parser.add_argument(
        "--column", default="prompt", help="the file's column of prompts (default: %(default)s)"
    )
    parser.add_argument("--revision", help="branch, tag or commit of a router on the Hub")
    add_output(parser, FORMATS, by_name=True)
    parser.set_defaults(run=run_predict)


def run_fit(options: argparse.Namespace) -> None:
    """Make a router, save it, and print who gets what."""
    from tabulate import tabulate

    from pqpp_engines.route import Route, Router, Rule
    from pqpp_models import DEFAULT_PREDICTOR

    targets = names_of(options.targets) or []
    names = names_of(options.names) or [target.rsplit("_", 1)[0] for target in targets]
    costs = _numbers("--cost", options.cost)
    utilities = _numbers("--utility", options.utility or ",".join("1" for _ in targets))
    for option, values in (("--names", names), ("--cost", costs), ("--utility", utilities)):
        if len(values) != len(targets):
            raise CommandError(f"{option}: {len(values)} came for {len(targets)} targets")
    routes = [Route(*one) for one in zip(names, targets, costs, utilities, strict=True)]
    rule = Rule(options.budget, options.share, options.floor, options.confidence)
    prompts = _read(options.calibration, options.column)
    router = Router.fit(
        routes, rule, prompts, options.predictor or DEFAULT_PREDICTOR, options.revision
    )
    folder = router.save_pretrained(options.output)
    rows = [(one.name, one.target, one.cost, f"{router.shares[one.name]:.1%}") for one in routes]
    print(tabulate(rows, ("route", "target", "cost", "share of your prompts")))
    print(f'saved in {folder}; use it by pqpp route predict {folder} "a prompt"')


def run_predict(options: argparse.Namespace) -> None:
    """Say where prompts go."""
    import warnings

    from pqpp_cli.output import emit, emit_columns, format_of
    from pqpp_engines.route import Router

    style = format_of(options, FORMATS)
    if style == "parquet" and options.output is None:
        raise CommandError("--format parquet: a terminal can't show it; name a file by --output")
    if bool(options.prompts) == bool(options.file):
        raise CommandError("give prompts either as words or by --file")
    prompts = options.prompts or _read(options.file, options.column)
    router = Router.from_pretrained(options.router, options.revision)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        decisions = router.decide(prompts)
    for line in dict.fromkeys(str(one.message) for one in said):
        print(f"pqpp: note: {line}", file=sys.stderr)
    columns = {
        "prompt": list(prompts),
        "route": [one.route for one in decisions],
        "cost": [one.cost for one in decisions],
        "far": [one.far for one in decisions],
        "reason": [one.reason for one in decisions],
    }
    columns |= {
        f"worth_{route.name}": [one.worth[route.name] for one in decisions]
        for route in router.routes
    }
    if style == "table":
        return emit(_table(columns), options.output)
    return emit_columns(columns, style, options.output)


def _table(columns: dict) -> str:
    from tabulate import tabulate

    from pqpp_files.visible import visible

    shown = {name: columns[name] for name in ("route", "reason", "prompt")}
    rows = [
        [visible(" ".join(cell.split()))[:60] for cell in row]
        for row in zip(*shown.values(), strict=True)
    ]
    return tabulate(rows, list(shown), disable_numparse=True)


def _read(path: str, column: str) -> list[str]:
    from pqpp_files.read_table import read_table

    return read_table(path, plain=column, remedy="name it with --column").texts(column)


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(one) for one in text.split(",")]
    except ValueError:
        raise CommandError(f"{option} {text}: give numbers with commas, like 1,4") from None
