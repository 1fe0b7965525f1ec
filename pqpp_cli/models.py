"""`pqpp models`: the predictors, shipped, saved and on the Hub."""

from __future__ import annotations

import argparse
import contextlib
import logging
import warnings
from collections.abc import Iterator
from functools import partial

from pqpp_cli.output import OutputFolder
from pqpp_cli.push import add_push, push_with

_EPILOG = """examples:
  pqpp models list
  pqpp models show static
  pqpp models export outputs/bert --onnx --output bert_onnx
  pqpp models push outputs/bert OWNER/REPOSITORY --dry-run
  pqpp models push outputs/bert OWNER/REPOSITORY --private --revision v2
  pqpp models push runs/rahf/model OWNER/REPOSITORY
  pqpp models push --space OWNER/NAME --dry-run
  pqpp models push outputs/bert OWNER/REPOSITORY --space OWNER/NAME
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command and its actions to the parser."""
    parser = subparsers.add_parser(
        "models",
        help="list, explain, convert and publish predictors",
        description="The predictors: shipped with the package, saved in folders, on the Hub.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="name every predictor and what it needs")
    listing.set_defaults(run=_list)
    show = actions.add_parser("show", help="print what a predictor needs and gives, and its card")
    show.add_argument("name", metavar="NAME_OR_PATH", help="a name, a folder or a Hub repository")
    show.set_defaults(run=_show)
    _add_export(actions)
    push = add_push(actions, "a predictor or a RAHF model", "a model", _EPILOG, _push)
    push.add_argument(
        "name",
        metavar="NAME_OR_PATH",
        nargs="?",
        help="a folder, or a shipped name (with --space also a Hub repository; default: static)",
    )
    push.add_argument("repository", metavar="OWNER/REPOSITORY", nargs="?")
    push.add_argument(
        "--space",
        metavar="OWNER/NAME",
        help="publish the page of `pqpp demo --serve` too: alone for a predictor that the Hub or "
        "the package has, else beside OWNER/REPOSITORY, from where it loads the predictor",
    )


def _add_export(actions) -> None:
    export = actions.add_parser(
        "export",
        help="convert a text predictor for serving on CPUs",
        description="Convert a fine-tuned text encoder for onnxruntime, which is faster on CPUs "
        "and needs no torch to predict. Needs the extras models and onnx.",
        epilog="examples:\n  pqpp models export outputs/bert --onnx --output bert_onnx\n"
        '  pqpp predict "a red cat" --predictor ./bert_onnx\n',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    export.add_argument("name", metavar="NAME_OR_PATH", help="a folder or a Hub repository")
    export.add_argument(
        "--onnx", action="store_true", required=True, help="the format: ONNX, the only one"
    )
    export.add_argument(
        "--float32",
        action="store_true",
        help="keep weights of 32 bits: exact, slower (default: 8 bits, about a third of "
        "torch's CPU seconds)",
    )
    export.add_argument(
        "--output", type=OutputFolder, metavar="DIR", required=True, help="where to save it"
    )
    export.set_defaults(run=_export)


def _list(options: argparse.Namespace) -> None:
    from tabulate import tabulate

    from pqpp_models.registry import (
        DEFAULT_PREDICTOR,
        NOTES,
        PREDICTORS,
        UNSHIPPED,
        list_predictors,
    )

    head = ("predictor", "what it is", "needs beside a prompt", "size")
    rows = [(name, *NOTES[name], _size_of(name)) for name in list_predictors()]
    widths = [None, 46, 46, None]
    print(f"By name alone; {DEFAULT_PREDICTOR} is the default.\n")
    print(tabulate(rows, head, tablefmt="simple", maxcolwidths=widths))
    print("\nFrom a folder or a repository on the Hub.\n")
    made = [(name, *NOTES[name]) for name in PREDICTORS if name in UNSHIPPED]
    print(tabulate(made, head[:3], tablefmt="simple", maxcolwidths=widths[:3]))


def _size_of(name: str) -> str:
    """Return how large the files are that come with a predictor."""
    from importlib.resources import files

    folder = files("pqpp_models") / "weights" / name
    if not folder.is_dir():
        return "-"
    return f"{sum(len(one.read_bytes()) for one in folder.iterdir()) / 1e6:.1f} MB"


def _show(options: argparse.Namespace) -> None:
    from pqpp_models import Predictor

    predictor = Predictor.from_pretrained(options.name)
    print(f"name: {predictor.called}")
    print(f"targets: {', '.join(predictor.targets)}")
    print(f"inputs: {predictor.inputs}")
    print(f"supervised: {'yes' if predictor.supervised else 'no'}\n")
    print(predictor.card().strip())


@contextlib.contextmanager
def _without_advice() -> Iterator[None]:
    """Keep what the exporters tell their own developers off the screen."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def _export(options: argparse.Namespace) -> None:
    from pqpp_cli.errors import CommandError
    from pqpp_models import Predictor
    from pqpp_models.bert.onnx_predictor import OnnxBertPredictor
    from pqpp_models.bert.predictor import BertPredictor
    from pqpp_models.checkpoint import check_place

    check_place(options.output, OnnxBertPredictor.name)
    predictor = Predictor.from_pretrained(options.name)
    if predictor.name != "bert":
        raise CommandError(
            f"{options.name} is a {predictor.name}; only a fine-tuned text encoder "
            "(training/train_bert.py) can be converted"
        )
    with _without_advice():
        assert isinstance(predictor, BertPredictor)
        made = OnnxBertPredictor.from_torch(predictor, int8=not options.float32)
    folder = made.save_pretrained(options.output)
    print(f"{len(made.graph) / 1e6:.1f} MB, saved in {folder}")


def _push(options: argparse.Namespace) -> None:
    from pqpp_cli.errors import CommandError
    from pqpp_models import DEFAULT_PREDICTOR
    from pqpp_models.demo.space import push_space, shown_predictor
    from pqpp_models.hub import push_to_hub

    name, repository, space = options.name, options.repository, options.space
    if repository is None:
        if space is None:
            raise CommandError("say what and where: pqpp models push NAME_OR_PATH OWNER/REPOSITORY")
        push_with(push_space, name or DEFAULT_PREDICTOR, space, options)
        return
    if space is not None:
        shown_predictor(name)  # refused before anything is pushed
    push_with(push_to_hub, name, repository, options)
    if space is not None:
        push_with(partial(push_space, folder=name), repository, space, options)
