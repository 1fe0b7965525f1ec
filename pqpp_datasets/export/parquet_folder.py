"""A folder of Parquet files laid out so that plain `load_dataset` takes it, here and on the Hub.

Its metadata are Croissant 1.0, docs.mlcommons.org/croissant/docs/croissant-spec.html: what files
there are and what their columns hold.
"""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from pqpp_datasets.errors import DataFileError, OptionError
from pqpp_datasets.target_columns import distinct_targets, targets_of
from pqpp_files.errors import FileError
from pqpp_files.foreign.json_values import parse_json, read_json, text_of
from pqpp_files.foreign.yaml_values import parse_yaml
from pqpp_files.hashes import sha256_of
from pqpp_files.paths import check_output_folder
from pqpp_files.write_beside import whole_folder
from pqpp_hub.eval_results import BENCHMARK, BenchmarkTask, benchmark_text

# Its presence tells a folder that was written by us, which may be replaced, from any other. It
# lists the files that were written, a path a line; what else lies there is somebody's own.
MARK = ".pqpp-export"
# What an export holds; the only files of ours in a folder whose mark is from before the list.
PATTERNS = ("data/*.parquet", "data/*/*.parquet", "croissant.json", "report.html", BENCHMARK)
CARD = "README.md"
_HEAD = re.compile(r"\s*---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)", re.DOTALL)
_SHARD_BYTES = 300_000_000
# As small as zstd here, and its checksum lets every reader notice a page that arrived damaged; with
# snappy or zstd a third of all flipped bits come out as other values.
_COMPRESSION = "gzip"
_LEVEL = 3  # a tenth of the time of the usual 6, and files a thirtieth larger


@contextlib.contextmanager
def export_folder(folder: Path, inputs: Iterable[Path] = ()) -> Iterator[Path]:
    """Give a new folder that takes the place of `folder` when all went well, with the mark in it.

    Args:
        folder: The folder to write. One that was written so before, and holds nothing else, is
            replaced as a whole.
        inputs: Files that are read for it, which must not lie in it.

    Raises:
        OptionError: It is there, not empty, and was not written so, or holds other files too.
    """
    try:
        check_output_folder(folder, inputs=inputs)
    except FileError as error:
        raise OptionError(str(error)) from None
    with whole_folder(folder, check=_refuse_files_of_others) as new:
        yield new
        (new / MARK).write_text("".join(f"{name}\n" for name in sorted(_files_in(new))), "utf-8")


def _refuse_files_of_others(folder: Path) -> None:
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    others = _files_in(folder)
    if (folder / MARK).exists():
        others = sorted(set(others) - set(files_listed(folder)))
    elif not others:
        others = [path.name for path in folder.iterdir()]
    if others:
        raise OptionError(
            f"{folder}: holds other files, such as {others[0]!r:.60}; name a new or an empty folder"
        )


def _files_in(folder: Path) -> list[str]:
    """Return the paths of all files but the mark; a link is a file, wherever it leads."""
    paths = (p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir())
    return sorted(n for n in (p.relative_to(folder).as_posix() for p in paths) if n != MARK)


def files_of_ours(folder: Path) -> list[str]:
    """Return the paths of the files that are named as an export names them."""
    paths = (path for pattern in (*PATTERNS, CARD) for path in folder.glob(pattern))
    return sorted(path.relative_to(folder).as_posix() for path in paths)


def files_listed(folder: Path) -> list[str]:
    """Return the paths that a folder's mark lists: what was written there.

    Args:
        folder: A folder with a mark; an empty one, from before the list, stands for the files that
            are named as an export names them.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "README.md").write_text(""), (folder / MARK).write_text("")
        >>> files_listed(folder)
        ['README.md']
    """
    listed = (folder / MARK).read_text("utf-8", "replace").splitlines()
    return listed or files_of_ours(folder)


def write_split(
    folder: Path, split: str, tables: Iterable[pa.Table], shard_bytes: int = _SHARD_BYTES
) -> list[Path]:
    """Write a split as Parquet shards named as the Hub's viewer expects.

    Args:
        folder: Where the shards go.
        split: Its name; a dot in it becomes a hyphen in the files' names, where no dot may stand.
        tables: The rows, a table at a time; the schema's metadata are kept.
        shard_bytes: A new shard begins when the one at hand holds so many bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    writer, size = None, 0
    with contextlib.ExitStack() as stack:
        for table in tables:
            if writer is None or size >= shard_bytes:
                stack.close()
                written.append(folder / f"shard-{len(written)}")
                writer = stack.enter_context(
                    pa.parquet.ParquetWriter(
                        written[-1],
                        table.schema,
                        compression=_COMPRESSION,
                        compression_level=_LEVEL,
                    )
                )
                size = 0
            is_wide = table.nbytes > max(10**7, 1000 * table.num_rows)
            # Small row groups keep streaming and the viewer quick.
            writer.write_table(table, row_group_size=1000 if is_wide else 10_000)
            size += table.nbytes
    name = split.replace(".", "-")
    return [
        path.rename(folder / f"{name}-{number:05d}-of-{len(written):05d}.parquet")
        for number, path in enumerate(written)
    ]


def write_metadata(
    folder: Path, files: Mapping[tuple[str, str], list[Path]], about: Mapping[str, str]
) -> None:
    """Write what says what the Parquet files of a folder hold.

    That is `croissant.json`, and the Hub's `eval.yaml` where there is a target to predict: a task
    for each one of each split, but for those of `train` where there is another split.

    Args:
        folder: The folder; files are named relative to it.
        files: (Configuration, split) to its files.
        about: `name`, `description`, `license` (an address), `url`, `citeAs`, `version` and
            `datePublished`.
    """
    metadata = json.dumps(_croissant_of(folder, files, about), indent=1)
    (folder / "croissant.json").write_text(metadata + "\n", "utf-8")
    if tasks := list(_tasks_of(files)):
        text = benchmark_text(about["name"], about["description"], tasks)
        (folder / BENCHMARK).write_text(text, "utf-8")


def _tasks_of(files: Mapping[tuple[str, str], list[Path]]) -> Iterator[BenchmarkTask]:
    # What `datasets` writes beside the columns is read as it stands: its import takes longer than
    # all else of a small folder. A table without it has no column that is told to be a target.
    for (config, split), paths in files.items():
        others = {name for subset, name in files if subset == config} - {"train"}
        metadata = pyarrow.parquet.read_schema(paths[0]).metadata or {}
        declared = (
            parse_json(metadata.get(b"huggingface", b"{}")).get("info", {}).get("features", {})
        )
        features = {
            name: SimpleNamespace(**feature)
            for name, feature in declared.items()
            if isinstance(feature, dict)
        }
        if "prompt" in features and (split != "train" or not others):
            for target in distinct_targets(targets_of(features)):
                yield BenchmarkTask(config, split, target)


def _croissant_of(
    folder: Path, files: Mapping[tuple[str, str], list[Path]], about: Mapping[str, str]
) -> dict:
    context = Path(__file__).with_name("croissant_context.json")
    distribution, record_sets = [], []
    for (config, split), paths in files.items():
        objects = [_file_object(folder, path) for path in paths]
        distribution += objects
        for number, (path, entry) in enumerate(zip(paths, objects, strict=True)):
            schema = pa.parquet.read_schema(path)
            name = f"{config}/{split}" + (f"/{number}" if len(paths) > 1 else "")
            fields = [_field(name, column, entry["@id"]) for column in schema]
            record_sets.append(
                {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}
            )
    return {
        "@context": read_json(context),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        **about,
        "distribution": distribution,
        "recordSet": record_sets,
    }


def _file_object(folder: Path, path: Path) -> dict:
    name = path.relative_to(folder).as_posix()
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": sha256_of(path),
    }


def _field(record_set: str, column: pa.Field, file: str) -> dict:
    """Describe a column; an image is its struct of bytes and path."""
    source = {"fileObject": {"@id": file}, "extract": {"column": column.name}}
    return _node(f"{record_set}/{column.name}", column.type, source, [])


def _node(name: str, kind: pa.DataType, source: dict, path: list[str]) -> dict:
    node: dict[str, Any] = {"@type": "cr:Field", "@id": name, "name": name}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        node["repeated"] = True
        kind = kind.value_type
    if pa.types.is_struct(kind) and not _is_image(kind):
        parts = [_node(f"{name}/{f.name}", f.type, source, [*path, f.name]) for f in kind]
        return node | {"subField": parts}
    # Of an image the bytes are what holds it.
    path = [*path, "bytes"] if _is_image(kind) else path
    if path:
        source = source | {"transform": {"jsonPath": ".".join(path)}}
    return node | {"dataType": _data_type(kind), "source": source}


def _is_image(kind: pa.DataType) -> bool:
    return pa.types.is_struct(kind) and {kind.field(n).name for n in range(kind.num_fields)} == {
        "bytes",
        "path",
    }


def _data_type(kind: pa.DataType) -> str:
    if _is_image(kind):
        return "sc:ImageObject"
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) else "sc:Text"


def card_data(folder: Path) -> dict[str, Any]:
    r"""Return what the YAML at the head of a folder's card says; nothing where there is none.

    Raises:
        DataFileError: It cannot be read.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / CARD).write_text("---\nlicense: mit\n---\n# Mine\n")
        >>> card_data(folder)
        {'license': 'mit'}
    """
    path = folder / CARD
    if not path.is_file():
        return {}
    head = _HEAD.match(text_of(path.read_bytes(), str(path)))
    about = parse_yaml(head[1], f"the head of {path}", DataFileError) if head else None
    return about if isinstance(about, dict) else {}
