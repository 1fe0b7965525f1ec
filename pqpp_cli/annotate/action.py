"""What the actions of `pqpp annotate` share."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store


def add_action(
    actions: argparse._SubParsersAction,
    name: str,
    what: str,
    run: Callable[[argparse.Namespace], None],
    epilog: str | None = None,
) -> argparse.ArgumentParser:
    """Add an action, whose first word is the study file."""
    action = actions.add_parser(
        name,
        help=what,
        description=what[0].upper() + what[1:] + ".",
        epilog=epilog or f"examples:\n  pqpp annotate {name} study.yaml",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    action.add_argument("study", metavar="STUDY", help="the study file, like study.yaml")
    action.set_defaults(run=run)
    return action


def opened(study: str, output: str | None = None) -> Store:
    """Open the database of a study file; refuse an output that is one of the study's files."""
    with needing_annotate():
        from pqpp_annotation.store.database import open_store
        from pqpp_annotation.study import read_study
    from pqpp_files.check_output import check_output

    store = open_store(read_study(study))
    try:
        if output is not None:
            found = store.study
            files = [found.root / found.prompts, found.root / f".{found.name}.secret"]
            check_output(output, [*files, store.name] if store.is_sqlite else files)
    except BaseException:
        store.close()
        raise
    return store


def needing_annotate() -> contextlib.AbstractContextManager[None]:
    """Say what to install where the extra is missing."""
    from pqpp_files import extras

    return extras.needing("pqpp annotate", "annotate")
