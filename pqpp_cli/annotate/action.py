"""What the actions of `pqpp annotate` share."""

import argparse


def add_action(
    actions, name: str, what: str, run, epilog: str | None = None
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


def opened(study: str):
    """Open the database of a study file."""
    with needing_annotate():
        from pqpp_annotation.store.database import open_store
        from pqpp_annotation.study import read_study

    return open_store(read_study(study))


def needing_annotate():
    """Say what to install where the extra is missing."""
    from pqpp_files import extras

    return extras.needing("pqpp annotate", "annotate")
