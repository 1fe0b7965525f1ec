"""`pqpp bench --table routing`: what predictors are worth to a router."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from pqpp_cli.errors import CommandError
from pqpp_cli.output import OutputPicture

if TYPE_CHECKING:
    from pqpp_models.bench.split import Split
    from pqpp_models.predictor import Predictor


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what this table alone has."""
    parser.add_argument(
        "--plot",
        type=OutputPicture,
        metavar="FILE",
        help="with --table routing: also draw the curves, as PNG, PDF or SVG",
    )


def run(options: argparse.Namespace, predictors: dict[str, Predictor], split: Split) -> None:
    """Print the table and draw the curves."""
    from pqpp_cli.output import emit
    from pqpp_files.visible import visible
    from pqpp_files.write_beside import write_beside
    from pqpp_models.bench.routing import format_routing, plot_routing, run_routing

    for name in ("report", "baseline"):
        if getattr(options, name):
            raise CommandError(f"--{name}: --table routing has none; leave it out")
    targets = split.targets(options.targets, [t for p in predictors.values() for t in p.targets])
    table = run_routing(split, predictors, targets, sys.stderr.isatty())
    emit(format_routing(options.format, table), options.output)
    if options.plot:
        with write_beside(options.plot) as beside:
            plot_routing(table, beside)
        print(f"written: {visible(options.plot)}", file=sys.stderr)
