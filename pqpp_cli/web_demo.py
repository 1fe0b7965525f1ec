"""`pqpp demo --serve`: the page on which a predictor is asked about prompts."""

import argparse

_ONLY_SERVED = {"host": "127.0.0.1", "port": 7860, "predictors": None, "data_dir": None}


def add_serve(parser: argparse.ArgumentParser) -> None:
    """Add `--serve` and what goes with it."""
    from pqpp_cli.options import add_predictors

    served = parser.add_argument_group("a web page to ask about prompts, with --serve")
    served.add_argument(
        "--serve",
        action="store_true",
        help="serve the page until it is stopped, in place of the demo (needs the extra `demo`)",
    )
    served.add_argument(
        "--host",
        default=_ONLY_SERVED["host"],
        help="address to listen at (default: this machine only)",
    )
    served.add_argument(
        "--port",
        type=int,
        metavar="N",
        default=_ONLY_SERVED["port"],
        help="port to listen at, 0 for any that is free (default: %(default)s)",
    )
    add_predictors(served, "static")
    served.add_argument(
        "--data-dir",
        metavar="DIR",
        help="where judged prompts lie, of which the nearest are shown (default: PQPP_DATA_DIR, "
        "then earlier downloads)",
    )


def wants_page(options: argparse.Namespace) -> bool:
    """Tell whether the page was asked for.

    Raises:
        CommandError: Options came that do not go together.
    """
    from pqpp_cli.errors import CommandError

    if options.serve and options.output is not None:
        raise CommandError("--output: a page writes nothing; leave it or --serve out")
    for name, default in _ONLY_SERVED.items():
        if not options.serve and getattr(options, name) != default:
            option = name.replace("_", "-")
            raise CommandError(f"--{option}: it is about the page; add --serve")
    return options.serve


def serve_from(options: argparse.Namespace) -> None:
    """Serve the page."""
    from pqpp_cli.errors import CommandError
    from pqpp_cli.options import names_of
    from pqpp_models import DEFAULT_PREDICTOR
    from pqpp_models.demo import serve_demo

    names = names_of(options.predictors) or [DEFAULT_PREDICTOR]
    if len(names) != 1:
        raise CommandError(f"{len(names)} predictors came, a page is of one")
    serve_demo(names[0], options.host, options.port, options.data_dir)
