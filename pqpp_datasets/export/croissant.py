"""Croissant metadata of an exported folder: what files there are and what their columns hold.

Format: Croissant 1.0, docs.mlcommons.org/croissant/docs/croissant-spec.html.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from pqpp_files.hashes import sha256_of


def croissant_of(
    folder: Path, files: Mapping[tuple[str, str], list[Path]], about: Mapping[str, str]
) -> dict:
    """Describe the Parquet files of an exported folder, for a file `croissant.json` in it.

    Args:
        folder: The folder; files are named relative to it.
        files: (Configuration, split) to its files.
        about: `name`, `description`, `license` (an address), `url`, `citeAs`, `version` and
            `datePublished`.
    """
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
        "@context": json.loads(context.read_text("utf-8")),
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
    if _is_list(kind):
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


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind)


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
