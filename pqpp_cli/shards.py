"""Options of commands that work from shard to shard, and what they print at the end."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pqpp_cli.errors import CommandError

OPTIONS = ("shard_size", "shard", "workers")


def add_shards(parser: argparse.ArgumentParser, size: int = 100_000) -> None:
    """Add `--shard-size`, `--shard` and `--workers`; each makes `--output` a folder of shards.

    Args:
        parser: Of the command.
        size: Rows of a shard where none is asked for.
    """
    group = parser.add_argument_group("shard by shard: a job that can be killed and goes on")
    group.add_argument(
        "--shard-size", type=int, metavar="N", help=f"rows of a shard (default: {size})"
    )
    group.add_argument(
        "--shard",
        metavar="I/N",
        help="do only this share of the shards, I from 0 to N - 1: one of N machines or tasks",
    )
    group.add_argument("--workers", type=int, metavar="W", help="processes at a time (default: 1)")
    parser.set_defaults(folder_with=OPTIONS, usual_shard_size=size)


def wants_shards(options: argparse.Namespace) -> bool:
    """Tell whether one of the options was given."""
    return any(getattr(options, one) is not None for one in OPTIONS)


def refuse_with_shards(options: argparse.Namespace, *names: str) -> None:
    """Refuse options that have no meaning from shard to shard."""
    for name in names:
        if getattr(options, name):
            option = f"--{name.replace('_', '-')}" if name != "prompts" else name
            raise CommandError(f"{option}: shards come by --file, Parquet or CSV; leave it out")


def work_on_shards(
    options: argparse.Namespace,
    begin: Callable[[], tuple[Callable, Mapping[str, Any], str | Path]],
    numbered: Sequence[str] = (),
) -> None:
    """Do a job on the input that `--file` names, into the folder `--output`.

    Args:
        options: Those of `add_shards`, `file` and `output`.
        begin: Returns the job, see `pqpp_files.shards.run_shards`, what the outputs depend on
            besides the rows, and their folder; called once the input has been looked at.
        numbered: See `pqpp_files.shards.find_shards`.

    Raises:
        CommandError: No file or no folder is named, or the one lies in the other.
    """
    from pqpp_files.shards import find_shards, launched_share, parts_of_share, run_shards

    if options.file in (None, "-"):
        raise CommandError("shards are cut from files; name Parquet files or a pattern by --file")
    if options.output is None:
        raise CommandError("shards are written into a folder; name it by --output")
    source, target = (Path(one).expanduser().resolve() for one in (options.file, options.output))
    if source.is_dir() and source in target.parents:
        raise CommandError(
            f"--output {options.output} lies in the input {options.file}, and would be read as "
            "a part of it; name another folder"
        )
    share = options.shard or launched_share(os.environ)
    parts_of_share(share)  # refuses what is none before anything is read
    size = options.usual_shard_size if options.shard_size is None else options.shard_size
    shards = find_shards(options.file, size, numbered)
    job, settings, place = begin()
    summary = run_shards(
        job,
        shards,
        place,
        settings,
        share,
        1 if options.workers is None else options.workers,
        progress=sys.stderr.isatty(),
    )
    said = f"{summary.shards} of {len(shards)} shards written to {options.output}"
    said += f" from {summary.rows} rows"
    said += f", {summary.skipped} were there" if summary.skipped else ""
    said += f"; {summary.errors} rows have an error (column error)" if summary.errors else ""
    print(f"pqpp: {said}", file=sys.stderr)
