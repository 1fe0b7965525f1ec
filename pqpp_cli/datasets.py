"""`pqpp datasets`: list, explain, export and publish the benchmarks."""

import argparse

from pqpp_cli.errors import CommandError
from pqpp_cli.options import add_retired, given_once, names_of
from pqpp_cli.output import OutputFolder
from pqpp_cli.push import add_push, push_with
from pqpp_files.visible import visible

_EPILOG = """examples:
  pqpp datasets list
  pqpp datasets show conqa
  pqpp datasets export conqa conqa-candidates --output conqa-parquet
  pqpp datasets export pqpp-v1.0 --data-dir ../PQPP --output pqpp-parquet
  pqpp datasets push conqa-parquet OWNER/conqa --dry-run

An exported folder loads by load_dataset("conqa-parquet"), with or without this package.
"""


def add_parser(subparsers) -> None:
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
    show = actions.add_parser("show", help="print the splits, columns and sources of one")
    _add_configuration(show)
    show.set_defaults(run=_show)
    _add_export(actions)
    push = add_push(actions, "an exported folder", "a dataset", _EPILOG, _push)
    push.add_argument("folder", metavar="DIR", help="as written by export or `pqpp build`")
    push.add_argument("repository", metavar="OWNER/REPOSITORY")


def _add_configuration(parser: argparse.ArgumentParser, several: bool = False) -> None:
    what = "configurations" if several else "configuration"
    words = parser.add_argument(
        "configuration", metavar="CONFIGURATION", nargs="*" if several else "?", help=f"the {what}"
    )
    option = parser.add_argument(
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

    rows = [
        (b.name + (" (default)" if b.name == DEFAULT else ""), " ".join(b.splits), b.licence)
        for b in BENCHMARKS.values()
    ]
    print(tabulate(rows, ("configuration", "splits", "licence"), tablefmt="simple"))


def _show(options: argparse.Namespace) -> None:
    from tabulate import tabulate

    from pqpp_datasets.benchmarks import benchmark_of
    from pqpp_datasets.sources import release

    benchmark = benchmark_of(given_once(options.configuration, "--subset", options.subset))
    print(f"{benchmark.name} {benchmark.version}: {benchmark.description}\n")
    print(f"splits: {', '.join(benchmark.splits)}")
    print(
        f"options: {', '.join(['data_dir', *benchmark.options]) if benchmark.folders else 'none'}"
    )
    print(f"licence: {benchmark.licence}")
    print(f"home: {benchmark.homepage or 'this package'}\n")
    columns = [(name, _kind(feature)) for name, feature in benchmark.features({}).items()]
    print(tabulate(columns, ("column", "type"), tablefmt="simple"))
    if benchmark.folders:
        wanted = {path for split in benchmark.splits for path in benchmark.files(None, split)}
        files = [s for s in release(benchmark.folders[0]).files if s.path in wanted]
        print("\nfiles:" if files else "\nno file is published; give a folder as data_dir=")
        for source in files:
            print(f"  {source.url}" + (f" ({source.bytes:,} bytes)" if source.bytes else ""))


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
        rows = export(configurations, options.output, options.data_dir, extra)
    for (config, split), count in rows.items():
        print(f"{config} {split}: {count} rows")
    print(f"written: {visible(str(options.output))}")


def _push(options: argparse.Namespace) -> None:
    from pqpp_datasets.export.hub import push_folder

    push_with(push_folder, options.folder, options.repository, options)
