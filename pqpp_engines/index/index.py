"""Build, search and extend a faiss index over a collection, in a folder.

The folder contains a faiss index, the ids (one per line), a description (`index.json`) and a card.
Vectors have length 1 and are stored in 16 bits; with a factory other than `Flat`, its results are
reranked by these vectors. An item has one vector or several (an image has 32 with BLIP-2); its
score is that of its best vector.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.foreign import check_foreign_folder, read_foreign_json
from pqpp_engines.errors import EngineError
from pqpp_files.atomic_write import atomic_folder
from pqpp_files.errors import reraise
from pqpp_files.extras import require_extra
from pqpp_files.foreign.arrays import check_faiss_types, load_faiss
from pqpp_files.hashes import hash_file
from pqpp_files.paths import check_output_folder, expand
from pqpp_hub.card import render_card

Floats = NDArray[np.float32]
FILES = ("index.json", "index.faiss", "ids.txt", "README.md")
CONFIG, INDEX, IDS, CARD = FILES
_FP16 = "SQfp16"  # faiss's factory string for vectors in 16 bits
_CHUNK_SIZE = 2_048  # vectors that are converted to float32 at once
_MAX_TRAINING_VECTORS = 262_144  # from which an approximate index learns its cells
_K_FACTOR = 8  # candidates per result that are reranked by their exact vectors
_RECALL, _SAMPLE = 0.99, 200


class Index:
    """A searchable collection; above 64 MiB, its vectors are memory-mapped.

    Attributes:
        folder: The folder of the index.
        ids: Ids of the items, in order.
        config: The content of `index.json`, such as model, revision, size, factory and recall.

    Raises:
        EngineError: The folder has no complete index.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = expand(folder)
        if not (self.folder / CONFIG).is_file():
            raise EngineError(f"{folder} has no {CONFIG}; build it with pqpp search build")
        with require_extra("pqpp search", "engines"):
            import faiss  # noqa: F401
        with reraise(f"the index {folder} is damaged", "build the index again", EngineError):
            check_foreign_folder(self.folder)
            self.config = read_foreign_json(self.folder / CONFIG)
            texts = self.config["model"], self.config["factory"], self.config["revision"] or ""
            if not all(isinstance(text, str) for text in texts):
                raise ValueError(f"model, factory and revision in {CONFIG} must be text")
            # faiss may read beyond the end of a truncated or changed file, and crash the process.
            for name in (INDEX, IDS):
                if hash_file(self.folder / name) != self.config["sha256"][name]:
                    raise ValueError(f"{name} has changed since it was written")
            self.ids = (self.folder / IDS).read_bytes().decode().split("\n")
            self._faiss = load_faiss(self.folder / INDEX)
            self._exact_index = getattr(self._faiss, "refine_index", self._faiss)
            vectors = len(self.ids) * self.config["vectors_per_id"]
            if (self._faiss.d, self._faiss.ntotal) != (self.config["size"], vectors):
                raise ValueError(f"{INDEX} and {IDS} do not match {CONFIG}")

    def __len__(self) -> int:
        return len(self.ids)

    def search(self, queries: Any, k: int = 10, exact: bool = False) -> tuple[NDArray, Floats]:
        """Return the best matches in the collection for each query.

        Args:
            queries: Embeddings from the same model, shape (queries, size); they are normalised.
            k: Number of results per query; fewer if the collection is smaller.
            exact: Whether to compare queries with all vectors, whatever the factory.

        Returns:
            Indices into `ids`, int64 (queries, k), and cosines, float32 (queries, k), best first;
            ties in the order of the collection, though any of the items that tie for the last place
            may fill it. The cosine of an item with several vectors is that of its best vector.

        Raises:
            EngineError: The queries have another size.
        """
        vectors, per = _to_unit(queries, "queries"), self.config["vectors_per_id"]
        if vectors.ndim != 2 or vectors.shape[1] != self.config["size"]:
            remedy = f"embed the queries with {self.config['model'] or 'the model of the index'}"
            size = self.config["size"]
            raise EngineError(f"queries must have shape (n, {size}); got {vectors.shape}; {remedy}")
        if k < 1:
            raise EngineError(f"`k` must be at least 1; got {k}")
        k = min(k, len(self))
        with reraise(f"{self.folder}: a damaged index", "build it again", EngineError):
            scores, matches = (self._exact_index if exact else self._faiss).search(vectors, k * per)
            short = (matches < 0).any(axis=1)  # the visited cells contain too few vectors
            if short.any():
                scores[short], matches[short] = self._exact_index.search(vectors[short], k * per)
            if not ((matches >= 0) & (matches < len(self) * per)).all():
                raise ValueError("a vector has no id")
            indices = np.empty((len(vectors), k), dtype=np.int64)
            cosines = np.empty((len(vectors), k), dtype=np.float32)
            for row, items in enumerate(matches // per):
                items, first = np.unique(items, return_index=True)  # the best vector of each
                best = np.argsort(-scores[row, first], kind="stable")[:k]
                indices[row], cosines[row] = items[best], scores[row, first[best]].clip(-1, 1)
        return indices, cosines

    def extend(
        self, embeddings: Any, ids: Sequence[str], output: str | os.PathLike[str] | None = None
    ) -> Self:
        """Write an index with additional items, by default in place of this index.

        The factory's cells are not retrained; rebuild the index if the collection has become many
        times larger or its content has changed.

        Raises:
            EngineError: The vectors have another shape, or an id exists already.
            FileError: The output is a folder with other files.
        """
        per, size = self.config["vectors_per_id"], self.config["size"]
        shape, expected = np.shape(embeddings)[1:], (size,) if per == 1 else (per, size)
        if shape != expected:
            raise EngineError(f"each item must have embeddings of shape {expected}; got {shape}")
        index = load_faiss(self.folder / INDEX, in_memory=True)
        config = {**self.config, "added": len(ids)}
        with reraise(f"{self.folder} cannot be extended", "build another index", EngineError):
            render_card("engines/index", **config)  # its description may be of other types
            for chunk in _iterate_units(embeddings):
                index.add(chunk)
        if index.ntotal != (len(self.ids) + len(ids)) * per:  # also if it was extended meanwhile
            raise EngineError("each item must have one id; load the index again, or add ids")
        path, all_ids = output or self.folder, [*self.ids, *ids]
        return type(self)(_write_index(path, index, all_ids, config, self.check_target))

    def check_target(self, folder: Path) -> None:
        """Refuse to replace another folder, or this index if it was changed since it was read."""
        if not (folder.exists() and folder.samefile(self.folder)):
            check_output_folder(folder, ())
        elif read_foreign_json(folder / CONFIG) != self.config:
            raise EngineError(f"another process changed {folder}; load the index again")


def build_index(
    embeddings: Any,
    ids: Sequence[str],
    output: str | os.PathLike[str],
    factory: str | None = None,
    model: str = "",
    revision: str | None = None,
) -> Index:
    """Build an index over embeddings and write it atomically as a folder.

    For a factory with cells or a graph, the number of cells or nodes that a search visits is the
    smallest power of two with a recall@10 of .99 on a sample.

    Args:
        embeddings: Shape (items, size), or (items, vectors, size) for BLIP-2; memory-mapped arrays
            are read in chunks. They are normalised, so that inner products are cosines, and stored
            in 16 bits.
        ids: Distinct ids of the items, without line breaks.
        factory: A string for `faiss.index_factory`, such as `IVF1024,SQ8`; default: `Flat`, which
            compares queries with all vectors.
        model: Name of the model that computed the embeddings.

    Raises:
        EngineError: The embeddings have another shape, there is not one distinct id per item, a
            vector is zero or not finite, or faiss refuses the factory.
        OSError: The disk is full.

    Example:
        >>> import tempfile
        >>> vectors = np.eye(4, 8)
        >>> index = build_index(vectors, list("abcd"), tempfile.mkdtemp())
        >>> places, cosines = index.search(vectors[2:3], k=1)
        >>> index.ids[places[0, 0]], float(cosines[0, 0])
        ('c', 1.0)
    """
    shape, factory = np.shape(embeddings), factory or "Flat"
    if len(shape) not in (2, 3) or 0 in shape:
        shapes = "(items, size) or (items, vectors, size), with no dimension of 0"
        raise EngineError(f"embeddings must have shape {shapes}; got {shape}")
    if len(ids) != len(embeddings):
        raise EngineError(f"expected one id per item ({len(embeddings)}); got {len(ids)}")
    index, recall, probes = _fill_index(embeddings, factory), 1.0, 0
    if factory != "Flat":
        recall, probes = _tune_search(index, _sample_units(embeddings, _SAMPLE))
    config = {
        "model": model,
        "revision": revision,
        "size": shape[-1],
        "vectors_per_id": shape[1] if len(shape) == 3 else 1,
        "factory": factory,
        "probes": probes,
        "recall_at_10": round(recall, 4),
        "added": 0,
    }
    return Index(_write_index(output, index, ids, config))


def _fill_index(embeddings: Any, factory: str) -> Any:
    """Return a trained faiss index with the unit vectors of all embeddings."""
    with require_extra("pqpp search", "engines"):
        import faiss

    shape = np.shape(embeddings)
    with reraise(f"faiss cannot build {factory!r}", "choose another `factory`", EngineError):
        if re.search(r"(?<!\d)0+(?!\d)", factory):  # faiss would crash the process
            raise RuntimeError("a size must not be 0")
        full_factory = _FP16 if factory == "Flat" else f"{factory},Refine({_FP16})"
        index: Any = faiss.index_factory(shape[-1], full_factory, faiss.METRIC_INNER_PRODUCT)
        check_faiss_types(index)
        if not index.is_trained:
            index.train(_sample_units(embeddings, _MAX_TRAINING_VECTORS))
        if factory == "Flat":  # reserve memory: growing takes half of the build time
            index.codes.resize(int(np.prod(shape[:-1])) * index.code_size)
            index.codes.resize(0)
        for chunk in _iterate_units(embeddings):
            index.add(chunk)
    return index


def _to_unit(values: Any, name: str, rows: Any = None) -> Floats:
    """Return vectors as float32 of length 1; errors name a vector by its entry in `rows`."""
    with np.errstate(over="ignore"):  # too large values become infinite, and are refused below
        vectors = np.asarray(values, dtype=np.float32)
        lengths = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]
    if len(invalid := np.argwhere(~(np.isfinite(lengths) & (lengths > 0)))):
        row = invalid[0][0] if rows is None else rows[invalid[0][0]]
        raise EngineError(f"row {row + 1} of {name} is zero or not finite; remove the row")
    return np.divide(vectors, lengths, order="C")


def _iterate_units(embeddings: Any) -> Iterator[Floats]:
    """Yield the unit vectors of embeddings in chunks, so that memory-mapped ones stay on disk."""
    size = np.shape(embeddings)[-1]
    step = max(1, _CHUNK_SIZE * size // np.prod(np.shape(embeddings)[1:]))
    for n in range(0, len(embeddings), step):
        yield _to_unit(embeddings[n : n + step], "embeddings", range(n, n + step)).reshape(-1, size)


def _sample_units(embeddings: Any, limit: int) -> Floats:
    values = np.asarray(embeddings)
    items = max(1, min(len(values), limit * values.shape[-1] * len(values) // values.size))
    rows = np.sort(np.random.default_rng(0).choice(len(values), items, replace=False))
    return _to_unit(values[rows], "embeddings", rows).reshape(-1, values.shape[-1])


def _tune_search(index: Any, sample: Floats) -> tuple[float, int]:
    """Set how many cells or nodes a search visits; return the recall@10 and this number."""
    # Noise is added to the sample until its cosines are like those of a caption and its image in
    # CLIP (about .3); otherwise too few cells would be visited.
    import faiss

    space = faiss.ParameterSpace()
    index.k_factor = _K_FACTOR
    noise = np.random.default_rng(0).normal(0, 3 / np.sqrt(index.d), sample.shape)
    queries, k = _to_unit(sample + noise, "queries"), min(10, index.ntotal)
    _, true = index.refine_index.search(queries, k)
    space.initialize(index)
    ranges = [space.parameter_ranges.at(n) for n in range(space.parameter_ranges.size())]
    tunable = [r for r in ranges if r.name in ("nprobe", "efSearch")]
    depths = [(r.name, value) for r in tunable for value in faiss.vector_to_array(r.values)]
    depths += [(name, 2 * value) for name, value in depths[-1:]]
    for name, value in depths or [("", 0)]:
        if name:
            space.set_index_parameter(index, name, value)
        _, found = index.search(queries, k)
        recall = np.mean([np.isin(t, f).mean() for t, f in zip(true, found, strict=True)])
        if recall >= _RECALL:
            break
    return float(recall), int(value)


def _write_index(
    output: str | os.PathLike[str],
    index: Any,
    ids: Sequence[str],
    config: dict[str, Any],
    check: Callable[[Path], None] = lambda _: None,
) -> Path:
    import faiss

    names = [str(item_id) for item_id in ids]
    for name in names:
        if not name or "\n" in name or "\r" in name:
            raise EngineError(f"the id {name!r:.80} is empty or has a line break; change the id")
    if len(set(names)) < len(names):
        duplicate = Counter(names).most_common(1)[0][0]
        raise EngineError(f"duplicate id {duplicate!r:.80}; use each id once")
    path = expand(output)
    with atomic_folder(path, FILES, check) as folder:
        with (folder / INDEX).open("wb") as file:  # faiss itself may not notice a full disk
            faiss.write_index(index, faiss.PyCallbackIOWriter(file.write))  # type: ignore[attr-defined]
        (folder / IDS).write_bytes("\n".join(names).encode())
        hashes = {name: hash_file(folder / name) for name in (INDEX, IDS)}
        config = {**config, "vectors": index.ntotal, "sha256": hashes}
        (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", "utf-8")
        (folder / CARD).write_text(render_card("engines/index", **config), "utf-8")
    return path
