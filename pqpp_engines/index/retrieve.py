"""Search a collection and return a retrieval run, for all queries at once or by shards."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pqpp_engines.errors import EngineError
from pqpp_engines.index.encoders import ImageTextEncoder
from pqpp_engines.index.index import Index
from pqpp_files.paths import join_inside
from pqpp_files.shards import ERROR, get_texts

#: How many candidates of each query are reranked, as in ConQA's paper.
CANDIDATES = 128
#: The column of a shard with queries' embeddings, which are then not computed.
EMBEDDING = "embedding"
#: Columns that may name queries.
QUERY_IDS = ("query_id", "prompt_id")
#: The columns of a run, as `pqpp build --runs` reads them.
RUN = ("query_id", "prompt", "image", "rank", "score", "model")

#: Endings of files in TREC's format.
TREC_ENDINGS = (".trec", ".run", ".txt")


@dataclass
class Retriever:
    """A search of an index; the results are reranked if the model supports it.

    Args:
        index: A folder that `build_index` has written.
        model: Folder of the index's model, if it is not on the Hub.
        k: Number of results per query.
        rerank: Number of candidates that BLIP-2 reranks with its matching head, 0 for none
            (default: 128, or k if higher; 0 with --queries).
        image_dir: Folder of the images, for the matching head.
        exact: Compare the query with every vector, without the index.
        name: Name of the run (default: the model's).
        column: The query column of a shard.

    Raises:
        EngineError: Folder, model and options do not match.

    Example:
        >>> import tempfile
        >>> from pqpp_engines.index import build_index
        >>> folder = tempfile.mkdtemp() + "/index"
        >>> _ = build_index(np.eye(4, dtype=np.float32), ["a", "b", "c", "d"], folder)
        >>> run = Retriever(folder, k=1).retrieve(["q"], ["two"], np.eye(4)[1:2])
        >>> run["image"], run["rank"]
        (['b'], [1])
    """

    index: str
    model: str | None = None
    k: int = 100
    rerank: int | None = None
    image_dir: str | None = None
    exact: bool = False
    name: str | None = None
    column: str = "prompt"

    @cached_property
    def loaded_index(self) -> Index:
        """The index."""
        return Index(self.index)

    @cached_property
    def encoder(self) -> ImageTextEncoder:
        """The model of the index."""
        return ImageTextEncoder.from_index(self.loaded_index, self.model)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a run besides the queries, without folder paths."""
        settings = {"job": "retrieve", **asdict(self), "index": self.loaded_index.config}
        del settings["model"], settings["image_dir"]
        return settings

    def count_candidates(self, has_vectors: bool = False) -> int:
        """Return the number of candidates to rerank, 0 for none.

        Args:
            has_vectors: Whether the queries are embeddings; if so, the default is no reranking.
        """
        count = self.rerank
        if count is None and not has_vectors and self.encoder.can_match:
            count = max(CANDIDATES, self.k)
        if not count:
            return 0
        if count < self.k:
            raise EngineError(f"`rerank` must be 0 or at least `k` ({self.k}); got {count}")
        if not self.encoder.can_match:
            raise EngineError(f"{self.encoder.model} has no matching head; set `rerank` to 0")
        if self.image_dir is None:
            raise EngineError("`rerank` needs the images; set `image_dir`, or set `rerank` to 0")
        return count

    @property
    def run_name(self) -> str:
        """The name of the run, by default the name of the model."""
        return self.name or (self.loaded_index.config["model"] or "index").rsplit("/", 1)[-1]

    def retrieve(
        self,
        ids: Sequence[str],
        texts: Sequence[str],
        vectors: Any = None,
        shown: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    ) -> dict[str, list[Any]]:
        """Return the columns of a run, query by query, best first.

        Args:
            ids: Ids of the queries.
            texts: The queries.
            vectors: Embeddings of the queries, shape (queries, size); default: the model computes
                them.
            shown: A function that wraps the images to rerank, for example in a progress bar.
        """
        candidates = self.count_candidates(vectors is not None)
        vectors = self.encoder.embed_texts(texts) if vectors is None else vectors
        indices, scores = self.loaded_index.search(vectors, candidates or self.k, self.exact)
        if candidates:  # read each distinct image once, and score it with all of its queries
            flat = indices.ravel()
            order = np.argsort(flat, kind="stable")
            distinct, starts = np.unique(flat[order], return_index=True)
            odds = np.empty(len(flat), dtype=np.float32)
            groups = zip(distinct.tolist(), np.split(order, starts[1:]), strict=True)
            for index, cells in shown(list(groups)):
                queries = [texts[cell // indices.shape[1]] for cell in cells.tolist()]
                image = join_inside(self.image_dir or "", self.loaded_index.ids[index])
                odds[cells] = self.encoder.score_match(image, queries)
            scores = odds.reshape(indices.shape)
            best = np.argsort(-scores, axis=1, kind="stable")[:, : self.k]
            indices, scores = (np.take_along_axis(a, best, axis=1) for a in (indices, scores))
        ranks = range(indices.shape[1])
        return {
            "query_id": [id_ for id_ in ids for _ in ranks],
            "prompt": [text for text in texts for _ in ranks],
            "image": [self.loaded_index.ids[index] for index in indices.ravel()],
            "rank": [rank + 1 for _ in ids for rank in ranks],
            "score": [float(score) for score in scores.ravel()],
            "model": [self.run_name] * indices.size,
        }

    def __call__(self, table: pa.Table) -> pa.Table:
        """Return the run of a shard, as a job of `pqpp_files.shards`.

        Args:
            table: The queries in `column`, their ids in `query_id` or `prompt_id`, and optionally
                their embeddings in `embedding`.

        Returns:
            The columns of a run, and `error`. A query that is not text, or has an invalid
            embedding, gets one row without an image, in which `error` is the reason.
        """
        texts, faults = get_texts(table, self.column, "query", "set `column` to the query column")
        id_column = next((name for name in QUERY_IDS if name in table.column_names), QUERY_IDS[0])
        ids = [str(query_id) for query_id in table[id_column].to_pylist()]
        vectors = None
        if EMBEDDING in table.column_names:
            vectors, vector_faults = self._parse_vectors(table[EMBEDDING].to_pylist())
            faults = [fault or other for fault, other in zip(faults, vector_faults, strict=True)]
        types = {"rank": pa.int64(), "score": pa.float64()}
        schema = pa.schema([(name, types.get(name, pa.string())) for name in (*RUN, ERROR)])
        valid = [row for row, fault in enumerate(faults) if fault is None]
        run = schema.empty_table()
        if valid:
            valid_ids, valid_texts = ([column[row] for row in valid] for column in (ids, texts))
            valid_vectors = None if vectors is None else vectors[valid]
            columns = self.retrieve(valid_ids, valid_texts, valid_vectors)
            columns[ERROR] = [None] * len(columns["rank"])
            run = pa.table(columns, schema)
        size = len(run) // max(1, len(valid))
        parts = {row: run.slice(n * size, size) for n, row in enumerate(valid)}
        for row, fault in enumerate(faults):
            failure = {"query_id": ids[row], "prompt": texts[row], ERROR: fault}
            parts.setdefault(row, pa.Table.from_pylist([failure], schema))
        return pa.concat_tables([schema.empty_table(), *(parts[row] for row in sorted(parts))])

    def _parse_vectors(self, cells: list[Any]) -> tuple[Any, list[str | None]]:
        """Return embeddings as an array, and for each cell its problem or None."""
        size = self.loaded_index.config["size"]
        vectors = np.zeros((len(cells), size), dtype=np.float32)
        faults: list[str | None] = [None] * len(cells)
        for row, cell in enumerate(cells):
            if len(cell or ()) != size:
                faults[row] = f"the embedding must have {size} numbers, like the index"
                continue
            vectors[row] = cell
            if not np.isfinite(vectors[row]).all() or not vectors[row].any():
                faults[row] = "the embedding is zero or not finite"
        return vectors, faults


def check_run_names(path: str, ids: Sequence[str], query_ids: Sequence[str], name: str) -> None:
    """Raise an error, before the search, if a name cannot be written in the run's format.

    Raises:
        EngineError: The format is TREC's, and a name of an image, query or run is empty or has
            whitespace.
    """
    if Path(path).suffix.lower() not in TREC_ENDINGS:
        return
    for column, values in (("image", ids), ("query_id", query_ids), ("model", [name])):
        for value in values:
            if len(value.split()) != 1:
                fault = f"the {column} {value!r:.60} has whitespace or is empty, which TREC forbids"
                raise EngineError(f"{fault}; choose an `output` that ends in .parquet")


def format_trec(run: Mapping[str, Sequence]) -> str:
    """Return a run in TREC's format."""
    names = ("query_id", "image", "rank", "score", "model")
    rows = zip(*(run[name] for name in names), strict=True)
    return "".join(f"{q} Q0 {image} {rank} {score!r} {m}\n" for q, image, rank, score, m in rows)
