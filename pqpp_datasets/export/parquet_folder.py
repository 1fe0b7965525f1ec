"""Write a folder of Parquet files that plain `load_dataset` reads, locally and on the Hub."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.target_columns import drop_single_means
from pqpp_files.atomic_write import atomic_folder
from pqpp_files.foreign.json_values import decode_utf8
from pqpp_files.foreign.yaml_values import parse_yaml
from pqpp_files.paths import check_output_folder, join_inside, walk_files
from pqpp_hub import PushReport, push_files
from pqpp_hub.eval_results import BENCHMARK, BenchmarkTask, render_benchmark

# A file that marks folders written by pqpp, which can be replaced; it lists their files.
MARK = ".pqpp-export"
# The files of an export.
PATTERNS = ("data/*.parquet", "data/*/*.parquet", "report.html", BENCHMARK)
CARD = "README.md"
_YAML_BLOCK = re.compile(r"\s*---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)", re.DOTALL)
_SHARD_BYTES = 300_000_000
# Files are as small as with zstd, and all readers verify gzip's checksum. With snappy or zstd, a
# third of all flipped bits change values without an error.
_COMPRESSION, _LEVEL = "gzip", 3  # ten times faster than level 6; files are 3% larger


@contextlib.contextmanager
def replace_folder(folder: Path, inputs: Iterable[Path], overwrite: bool) -> Iterator[Path]:
    """Yield a temporary folder that replaces `folder` if the block succeeds.

    Args:
        folder: The output folder; it must be missing, empty, or written by this function without
            other files in it.
        inputs: Input files, which must not be in the folder.
        overwrite: Whether the folder may be one that this function wrote.

    Raises:
        BenchmarkError: The folder contains other files.
        FileError: The folder contains an input or cannot be written to, or is not to be replaced.
    """

    def refuse_foreign_files(older: Path) -> None:
        other_files = set(_list_files(older))
        if (older / MARK).is_file():
            other_files -= set(read_file_list(older))
        elif older.is_dir() and not other_files:
            other_files = {path.name for path in older.iterdir()}
        if other_files:
            problem = f"contains other files, such as {min(other_files)!r:.60}"
            raise BenchmarkError(f"{older} {problem}; choose another folder")

    check_output_folder(folder, inputs=inputs)
    with atomic_folder(folder, None if overwrite else (), refuse_foreign_files) as new:
        yield new
        (new / MARK).write_text("".join(f"{name}\n" for name in sorted(_list_files(new))), "utf-8")


def _list_files(folder: Path) -> list[str]:
    """Return the relative paths of all files and links in a folder, except the list of files."""
    names = (path.relative_to(folder).as_posix() for path in walk_files(folder))
    return sorted(name for name in names if name != MARK)


def read_file_list(folder: Path) -> list[str]:
    """Return the relative paths of the files that pqpp wrote to a folder, as listed there."""
    return (folder / MARK).read_text("utf-8", "replace").splitlines()


def write_split(folder: Path, split: str, tables: Iterable[pa.Table]) -> list[Path]:
    """Write a split as Parquet shards named as the Hub's viewer expects.

    Args:
        folder: The folder of the shards.
        split: Name of the split; dots become hyphens in file names.
        tables: The rows; the schema's metadata is preserved.

    Returns:
        The paths of the shards, in order.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    writer, size = None, 0
    with contextlib.ExitStack() as stack:
        for table in tables:
            if writer is None or size >= _SHARD_BYTES:
                stack.close()
                paths.append(folder / f"shard-{len(paths)}")
                options = {"compression": _COMPRESSION, "compression_level": _LEVEL}
                new_writer = pa.parquet.ParquetWriter(paths[-1], table.schema, **options)
                writer, size = stack.enter_context(new_writer), 0
            is_wide = table.nbytes > max(10**7, 1000 * table.num_rows)
            # Small row groups keep streaming and the viewer quick.
            writer.write_table(table, row_group_size=1000 if is_wide else 10_000)
            size += table.nbytes
    name = split.replace(".", "-")
    return [
        path.rename(folder / f"{name}-{number:05d}-of-{len(paths):05d}.parquet")
        for number, path in enumerate(paths)
    ]


def write_eval_yaml(
    folder: Path, targets: Mapping[tuple[str, str], Iterable[str]], name: str, description: str
) -> None:
    """Write the Hub's `eval.yaml` if there are targets.

    It has a task for each target and split; `train` is left out if there are other splits.

    Args:
        targets: Names of the targets, by (configuration, split).
    """
    tasks = []
    for (config, split), names in targets.items():
        others = {other for subset, other in targets if subset == config} - {"train"}
        if split != "train" or not others:
            tasks += [BenchmarkTask(config, split, target) for target in drop_single_means(names)]
    if tasks:
        (folder / BENCHMARK).write_text(render_benchmark(name, description, tasks), "utf-8")


def read_card(folder: Path) -> dict[str, Any]:
    r"""Return the YAML values of a folder's card; {} without a card.

    Raises:
        BenchmarkError: The card cannot be read.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / CARD).write_text("---\nlicense: mit\n---\n# Mine\n")
        >>> read_card(folder)
        {'license': 'mit'}
    """
    path = folder / CARD
    if not path.is_file():
        return {}
    match = _YAML_BLOCK.match(decode_utf8(path.read_bytes(), str(path)))
    metadata = parse_yaml(match[1], f"the head of {path}", BenchmarkError) if match else None
    return metadata if isinstance(metadata, dict) else {}


def push_folder(folder: str | Path, repo_id: str, **options: Any) -> PushReport:
    """Push a folder of `export` or `write_benchmark` to the Hub as a dataset.

    Files of an older push are removed from the repository; other files stay.

    Args:
        repo_id: `OWNER/REPOSITORY`.
        options: `private`, `revision`, `dry_run` and `token` of `pqpp_hub.push_files`.

    Raises:
        BenchmarkError: The folder was not written by pqpp, its files have changed, or its card has
            no licence.
        HubError: The Hub cannot be reached, or refuses the push.
    """
    folder = Path(folder)
    if not (folder / MARK).is_file():
        raise BenchmarkError(f"{folder} has no {MARK}; choose a folder that pqpp wrote")
    paths = (path for pattern in (*PATTERNS, CARD) for path in folder.glob(pattern))
    names = sorted(path.relative_to(folder).as_posix() for path in paths)
    for name in names:  # a link would publish another file
        join_inside(folder, name)
    expected = set(read_file_list(folder))
    changes = [f"{name} is missing" for name in sorted(expected - set(names))]
    changes += [f"{name} was added" for name in sorted(set(names) - expected)]
    if changes:
        raise BenchmarkError(f"{folder} has changed: {changes[0]}; write the folder again")
    if not read_card(folder).get("license"):
        remedy = "build it again with `pqpp build --license KEY`, such as cc-by-4.0"
        raise BenchmarkError(f"{folder}: the card has no licence; {remedy}")

    # Other files can have the names of exported files, so each push stores the list of its files in
    # the repository, under the name of the mark; the next push removes only listed files. A card is
    # replaced, never removed.
    def is_exported(name: str) -> bool:
        patterns = [p for p in PATTERNS if p.count("/") == name.count("/")]
        return any(map(PurePosixPath(name).match, patterns))

    files = {name: folder / name for name in names}
    message = "Upload a benchmark with pqpp"
    return push_files(files, repo_id, "dataset", message, is_exported, list_name=MARK, **options)
