"""The folder of an index: what stands in it, checked when it is read, whole when it is written."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pqpp_backbones.foreign import read_foreign_json
from pqpp_engines.errors import IndexingError
from pqpp_engines.index.ids import ItemIds
from pqpp_files.errors import in_a_line
from pqpp_files.extras import needing
from pqpp_files.foreign.arrays import load_array, load_faiss
from pqpp_files.hashes import sha256_of
from pqpp_hub.card import render_card

FILES = ("index.json", "index.faiss", "ids.arrow", "embeddings.npy", "README.md")
CONFIG, INDEX, IDS, EMBEDDINGS, CARD = FILES
_NUMBERS: Mapping[str, tuple[type, float, float]] = {
    "size": (int, 1, 1_000_000),
    "vectors": (int, 1, 10**12),
    "vectors_per_id": (int, 1, 10_000),
    "probes": (int, 1, 2**31 - 1),
    "added": (int, 0, 10**12),
    "index_bytes": (int, 1, 10**15),
    "recall_at_10": (float, 0, 1),
    "bytes_a_vector": (float, 0, 1e9),
}
_CANDIDATES = 256  # that a graph keeps in mind
# What `open_parts` may meet in a folder that others made or that is damaged.
_DAMAGE = (OSError, ValueError, TypeError, RuntimeError, EOFError, OverflowError, MemoryError)


def open_parts(folder: Path) -> tuple[dict[str, Any], ItemIds, Any, Any]:
    """Return configuration, ids, embeddings and index of a folder, all memory-mapped.

    Raises:
        IndexingError: Something is not there, damaged, or does not belong together; one line.
    """
    if not (folder / CONFIG).is_file():
        raise IndexingError(f"{folder}: no {CONFIG}; name a folder that pqpp search has built")
    if (folder / "ids.txt").is_file() and not (folder / IDS).exists():
        raise IndexingError(
            f"{folder} was built by an older release; build it again from its {EMBEDDINGS} with "
            "ids.txt as `ids`"
        )
    with needing("pqpp search", "engines"):
        pass
    try:
        config = checked_config(read_foreign_json(folder / CONFIG))
        embeddings = load_array(folder / EMBEDDINGS)
        # Of a file that was cut faiss may read what is not there, and end the process.
        if (length := (folder / INDEX).stat().st_size) != config["index_bytes"]:
            raise ValueError(f"{INDEX} has {length:,} bytes, not {config['index_bytes']:,}")
        for name, digest in config.get("sha256", {}).items():  # older ones have none
            if sha256_of(folder / name) != digest:
                raise ValueError(f"{name} is not what was written")
        ids = ItemIds.read(folder / IDS)
        index = load_faiss(folder / INDEX)
        set_probes(index, config["probes"])
        if embeddings.dtype.kind != "f":
            raise ValueError(f"{EMBEDDINGS} holds no floats")
    except _DAMAGE as error:
        reason = in_a_line(error, named=False)[:200]
        raise IndexingError(f"{folder}: a damaged index ({reason}); build it again") from None
    per, size = config["vectors_per_id"], config["size"]
    shape = (len(ids), size) if per == 1 else (len(ids), per, size)
    vectors = (config["vectors"], index.ntotal)
    if shape != embeddings.shape or vectors != (len(ids) * per,) * 2 or index.d != size:
        raise IndexingError(
            f"{folder}: {len(ids)} ids, embeddings of shape {embeddings.shape} and {index.ntotal} "
            f"vectors of {index.d} numbers do not belong together; build it again"
        )
    return config, ids, embeddings, index


def checked_config(config: Any) -> dict[str, Any]:
    """Return what index.json says, if it is what an index may have.

    Raises:
        ValueError: Something is missing, of another kind or out of range.

    Example:
        >>> checked_config({"size": float("nan")})
        Traceback (most recent call last):
        ...
        ValueError: index.json: size is nan; it must be a whole number from 1 to 1000000
    """
    if not isinstance(config, dict):
        raise ValueError(f"{CONFIG} is not an object")
    for name, (kind, least, most) in _NUMBERS.items():
        value = config.get(name)
        if type(value) not in (int, kind) or not least <= value <= most:
            what = "a whole number" if kind is int else "a number"
            raise ValueError(
                f"{CONFIG}: {name} is {value!r:.40}; it must be {what} from {least} to {most}"
            )
    digests = config.get("sha256", {})
    if digests and (not isinstance(digests, dict) or set(digests) != {INDEX, IDS, EMBEDDINGS}):
        raise ValueError(f"{CONFIG}: sha256 does not have a digest of each file")
    if config.get("normalised") is not True:
        raise ValueError(f"{CONFIG}: normalised is not true")
    for name, kinds in (("factory", str), ("model", str | None), ("revision", str | None)):
        if name not in config or not isinstance(config[name], kinds):
            raise ValueError(f"{CONFIG}: {name} is {config.get(name)!r:.40}, no text")
    return config


def write_rest(folder: Path, index: Any, ids: ItemIds, config: Mapping[str, Any]) -> None:
    """Write all but the embeddings of an index to a folder."""
    import faiss

    with (folder / INDEX).open("wb") as file:  # by faiss itself, a full disk may pass unnoticed
        faiss.write_index(index, faiss.PyCallbackIOWriter(file.write))
    ids.write(folder / IDS)
    digests = {name: sha256_of(folder / name) for name in (INDEX, IDS, EMBEDDINGS)}
    config = {**config, "index_bytes": (folder / INDEX).stat().st_size, "sha256": digests}
    (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", "utf-8")
    (folder / CARD).write_text(render_card("engines/index", **config), "utf-8")


def set_probes(index: Any, probes: int) -> int:
    """Set how many cells are looked at, and return how many there are, 1 where there are none."""
    import faiss

    index = faiss.downcast_index(index)
    if hasattr(index, "hnsw"):
        index.hnsw.efSearch = _CANDIDATES
    try:
        inverted = faiss.extract_index_ivf(index)
    except RuntimeError:
        return 1
    inverted.nprobe = probes
    return int(inverted.nlist)
