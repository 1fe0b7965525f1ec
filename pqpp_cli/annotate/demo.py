"""`pqpp annotate demo`: a complete small study on drawn pictures, in the browser."""

from __future__ import annotations

import argparse

from pqpp_cli.annotate.action import needing_annotate

_EPILOG = """examples:
  pqpp annotate demo
  pqpp annotate demo --output /tmp/demo --port 8080 --no-browser

Two people made up are the control group, three have done a part of the work: two as well as they
can, one at random. The owner's page opens; the other link that is printed is yours to judge by. The
study stays in its folder, and is opened again by the same command.
"""


def add_demo(actions: argparse._SubParsersAction) -> None:
    """Add the action."""
    demo = actions.add_parser(
        "demo",
        help="open a complete small study on drawn pictures",
        description="Draw pictures, let people made up judge a part of them, and serve the study.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    demo.add_argument(
        "--output",
        metavar="DIR",
        default="pqpp-annotation-demo",
        help="the folder of the study (default: %(default)s)",
    )
    demo.add_argument("--port", type=int, metavar="N", default=8000, help="(default: 8000)")
    demo.add_argument("--no-browser", action="store_true", help="print the links only")
    demo.set_defaults(run=run_demo)


def run_demo(options: argparse.Namespace) -> None:
    """Make the demo's study, or take the one that is there, and serve it."""
    with needing_annotate():
        from pqpp_annotation.demo import demo

    demo(options.output, options.port, opens=not options.no_browser)
