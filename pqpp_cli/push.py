"""What `pqpp datasets push`, `pqpp metrics push` and `pqpp models push` have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def add_push(
    actions: argparse._SubParsersAction,
    what: str,
    kind: str,
    epilog: str,
    run: Callable[[argparse.Namespace], None],
) -> argparse.ArgumentParser:
    """Add the action to a command; what is pushed and where to are the caller's arguments to add.

    Args:
        actions: The command's subparsers.
        what: What is pushed, as "an exported folder".
        kind: What it is on the Hub, as "a dataset".
        epilog: Examples.
        run: What the action does.

    Returns:
        The parser.
    """
    parser = actions.add_parser(
        "push",
        help=f"publish {what} on the Hub",
        description=f"Publish {what} as {kind} on the Hub, in one commit: whole or not at all. "
        "The token is the one of `hf auth login` or HF_TOKEN.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--private", action="store_true", help="make a new repository private")
    parser.add_argument("--revision", help="the branch to push to (default: main)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would change")
    parser.set_defaults(run=run)
    return parser


def push_with(push: Callable, what: str, repository: str, options: argparse.Namespace) -> None:
    """Push as the options say, and print what was done.

    Args:
        push: A function `(what, repository, private=, revision=, dry_run=) -> PushReport`.
        what: What is pushed.
        repository: Where to.
        options: Those of `add_push`.
    """
    report = push(
        what,
        repository,
        private=options.private,
        revision=options.revision,
        dry_run=options.dry_run,
    )
    print("\n".join(report.lines()), flush=True)
