"""`pqpp datasets`: list, explain, export and publish the benchmarks."""

from __future__ import annotations

import argparse
from typing import Any

from pqpp_cli.errors import CommandError
from pqpp_cli.options import add_retired, given_once, names_of
from pqpp_cli.output import OutputFolder
from pqpp_cli.push import add_push, push_with
from pqpp_files.visible import visible

_CELL = 32
_PLAIN: dict[str, Any] = {"tablefmt": "simple", "disable_numparse": True}
_EPILOG = """examples:
  pqpp datasets list
  pqpp datasets show conqa
  pqpp datasets show my-benchmark
  pqpp datasets export conqa conqa-candidates --output conqa-parquet
  pqpp datasets export pqpp-v1.0 --data-dir ../PQPP --output pqpp-parquet
  pqpp datasets push conqa-parquet OWNER/conqa --dry-run

An exported folder loads by load_dataset("conqa-parquet"), with or without this package.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command and its actions to the parser."""
    parser = subparsers.add_parser(
        "datasets",
        help="list, explain, export and publish benchmarks",
        description="The benchmarks as Hugging Face datasets.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="name every configuration")
    listing.set_defaults(run=_list)
    show = actions.add_parser(
        "show",
        help="print rows, sizes, licence, columns and first rows of one",
        description="Print what a benchmark holds: rows, sizes, licence, columns, three rows, and "
        "where its images are. Nothing large is downloaded.",
    )
    _add_configuration(show)
    show.add_argument("--data-dir", metavar="DIR", help="show rows of the published files here")
    show.set_defaults(run=_show)
    _add_export(actions)
    push = add_push(actions, "an exported folder", "a dataset", _EPILOG, _push)
    push.add_argument("folder", metavar="DIR", help="as written by export or `pqpp build`")
    push.add_argument("repository", metavar="OWNER/REPOSITORY")


def _add_configuration(parser: argparse.ArgumentParser, several: bool = False) -> None:
    what = "configurations" if several else "configuration"
    words: Any = parser.add_argument(
        "configuration",
        metavar="CONFIGURATION",
        nargs="*" if several else "?",
        help=f"the {what}" + ("" if several else ", or a folder that export or build wrote"),
    )
    option: Any = parser.add_argument(
        "--subset",
        metavar="NAME[,NAME...]" if several else "NAME",
        help=f"another way to name the {what}",
    )
    words.completer = option.completer = _configurations


def _configurations(prefix: str, **_) -> list[str]:
    from pqpp_datasets.benchmarks import BENCHMARKS

    return list(BENCHMARKS)


def _add_export(actions) -> None:
    parser = actions.add_parser(
        "export",
        help="write Parquet files with a card",
        description="Write configurations of one benchmark as a folder of Parquet files with a "
        "card and Croissant metadata. The first one named becomes the default.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_configuration(parser, several=True)
    parser.add_argument(
        "--output", type=OutputFolder, metavar="DIR", required=True, help="the folder to write"
    )
    add_retired(parser, "--out", "--output")
    parser.add_argument(
        "--data-dir", metavar="DIR", help="read the published files here instead of downloading"
    )
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an option of the load, such as relevance_rule=majority or pickapic_dir=DIR",
    )
    parser.set_defaults(run=_export)


def _list(options: argparse.Namespace) -> None:
    from tabulate import tabulate

    from pqpp_datasets.benchmarks import BENCHMARKS, DEFAULT
    from pqpp_datasets.export.describe import size_of

    rows = [
        (
            b.name + (" (default)" if b.name == DEFAULT else ""),
            ", ".join(f"{split} {b.rows[split]:,}" if b.rows else split for split in b.splits),
            f"{size:,}" if (size := size_of(b)) is not None else "not known",
            b.licence,
        )
        for b in BENCHMARKS.values()
    ]
    header = ("configuration", "splits and rows", "bytes", "licence")
    print(tabulate(rows, header, tablefmt="simple", disable_numparse=True))


def _show(options: argparse.Namespace) -> None:
    from pathlib import Path

    from tabulate import tabulate

    from pqpp_datasets.benchmarks import BENCHMARKS, benchmark_of
    from pqpp_datasets.export.describe import describe_benchmark, describe_folder

    name = options.configuration
    if name is not None and name not in BENCHMARKS and Path(name).is_dir():
        found = describe_folder(name, options.subset)
    else:
        benchmark = benchmark_of(given_once(name, "--subset", options.subset))
        found = describe_benchmark(benchmark, options.data_dir)
    print(visible(found.title) + "\n")
    for fact, said in found.facts.items():
        print(f"{fact}: {said}" if fact == "files" else visible(f"{fact}: {said}"))
    rows = [(c, s, "not known" if n is None else f"{n:,}") for c, s, n in found.splits]
    print("\n" + tabulate(rows, ("configuration", "split", "rows"), **_PLAIN))
    columns = [
        (visible(column), visible(_kind(feature)), *(_cell(row.get(column)) for row in found.rows))
        for column, feature in found.features.items()
    ]
    header = ("column", "type", *(f"row {n}" for n in range(1, len(found.rows) + 1)))
    print("\n" + tabulate(columns, header, **_PLAIN))
    if found.no_rows:
        print("\n" + visible(f"no row to show: {found.no_rows}"))


def _cell(value: object) -> str:
    """Show a value in a few characters; an image by its size, a long list by its length."""
    if isinstance(value, dict) and isinstance(value.get("bytes"), bytes):
        return f"image, {len(value['bytes']):,} bytes"
    text = "" if value is None else visible(" ".join(str(value).split()))
    return text if len(text) <= _CELL else text[: _CELL - 3] + "..."


def _kind(feature) -> str:
    """Say what a column holds, in a word or two."""
    if isinstance(feature, dict):
        return "{" + ", ".join(feature) + "}"
    inner = getattr(feature, "feature", None)
    if inner is not None:
        return f"list of {_kind(inner)}"
    return getattr(feature, "dtype", None) or type(feature).__name__.lower()


def _export(options: argparse.Namespace) -> None:
    from pqpp_datasets.export.export import export
    from pqpp_files.write_beside import tidied_when_terminated

    words = ",".join(options.configuration) or None
    configurations = names_of(given_once(words, "--subset", options.subset))
    extra = dict(part.partition("=")[::2] for part in options.option)
    if not all(extra.values()):
        raise CommandError("--option: write NAME=VALUE, such as relevance_rule=majority")
    with tidied_when_terminated():
        rows = export(configurations or [], options.output, options.data_dir, extra)
    for (config, split), count in rows.items():
        print(f"{config} {split}: {count} rows")
    print(f"written: {visible(str(options.output))}")


def _push(options: argparse.Namespace) -> None:
    from pqpp_datasets.export.hub import push_folder

    push_with(push_folder, options.folder, options.repository, options)
