"""`pqpp models`: the predictors, shipped, saved and on the Hub."""

import argparse

from pqpp_cli.push import add_push, push_with

_EPILOG = """examples:
  pqpp models list
  pqpp models show lexical
  pqpp models push outputs/bert OWNER/REPOSITORY --dry-run
  pqpp models push outputs/bert OWNER/REPOSITORY --private --revision v2
  pqpp models push runs/rahf/model OWNER/REPOSITORY
"""


def add_parser(subparsers) -> None:
    """Add the command and its actions to the parser."""
    parser = subparsers.add_parser(
        "models",
        help="list, explain and publish predictors",
        description="The predictors: shipped with the package, saved in folders, on the Hub.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="name every predictor that needs no path")
    listing.set_defaults(run=_list)
    show = actions.add_parser("show", help="print what a predictor needs and gives, and its card")
    show.add_argument("name", metavar="NAME_OR_PATH", help="a name, a folder or a Hub repository")
    show.set_defaults(run=_show)
    push = add_push(actions, "a predictor or a RAHF model", "a model", _EPILOG, _push)
    push.add_argument("name", metavar="NAME_OR_PATH", help="a folder, or a shipped name")
    push.add_argument("repository", metavar="OWNER/REPOSITORY")


def _list(options: argparse.Namespace) -> None:
    from tabulate import tabulate

    from pqpp_models import DEFAULT_PREDICTOR, list_predictors

    rows = [
        (name, "the default" if name == DEFAULT_PREDICTOR else "") for name in list_predictors()
    ]
    print(tabulate(rows, ("predictor", ""), tablefmt="simple"))


def _show(options: argparse.Namespace) -> None:
    from pqpp_models import Predictor

    predictor = Predictor.from_pretrained(options.name)
    print(f"name: {predictor.name}")
    print(f"targets: {', '.join(predictor.targets)}")
    print(f"inputs: {predictor.inputs}")
    print(f"supervised: {'yes' if predictor.supervised else 'no'}\n")
    print(predictor.card().strip())


def _push(options: argparse.Namespace) -> None:
    from pqpp_models.hub import push_to_hub

    push_with(push_to_hub, options.name, options.repository, options)
