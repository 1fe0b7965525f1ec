"""What a collection answers to queries, as a run: of all queries, or from shard to shard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pqpp_engines.errors import IndexingError
from pqpp_engines.index.encoders import ImageTextEncoder
from pqpp_engines.index.index import Index
from pqpp_engines.index.rerank import CANDIDATES, rerank
from pqpp_files.shards import ERROR, texts_of

if TYPE_CHECKING:
    import pyarrow as pa

EMBEDDING = "embedding"
"""The column of a shard that holds queries' embeddings, where they are not to be made."""
QUERY_IDS = ("query_id", "prompt_id")
"""Columns that may name queries."""
RUN = ("query_id", "prompt", "image", "rank", "score", "model")
"""The columns of a run, as `pqpp build --runs` reads them."""


@dataclass
class Retriever:
    """Searches an index for each query, and ranks what is found anew where the model can.

    Args:
        index: A folder that `build_index` has written.
        model: Where its model lies, if not on the Hub.
        k: Results of each query.
        rerank: Candidates that the model's matching head ranks anew, 0 for none; 128, or k if more,
            where the model has such a head, if left out.
        image_dir: The folder of the images, which the matching head looks at.
        exact: Whether all vectors are compared, without the index.
        name: Of the run; the model's if left out.
        column: In a shard, the column of queries.

    Raises:
        IndexingError: Folder, model and options do not go together.

    Example:
        >>> import tempfile
        >>> from pqpp_engines.index import build_index
        >>> folder = tempfile.mkdtemp() + "/index"
        >>> _ = build_index(np.eye(4, dtype=np.float32), ["a", "b", "c", "d"], folder)
        >>> run = Retriever(folder, k=1).run(["q"], ["two"], np.eye(4)[1:2])
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
    def opened(self) -> Index:
        """The index."""
        return Index(self.index)

    @cached_property
    def encoder(self) -> ImageTextEncoder:
        """The model of the index."""
        return ImageTextEncoder.of(self.opened, self.model)

    @property
    def settings(self) -> dict[str, Any]:
        """What a run depends on besides the queries, but for where folders lie."""
        told = asdict(self) | {"index": self.opened.config}
        return {"job": "retrieve"} | {
            name: value for name, value in told.items() if name not in ("model", "image_dir")
        }

    def __getstate__(self) -> dict[str, Any]:
        """Leave index and model behind: each process opens its own."""
        return {key: one for key, one in vars(self).items() if key not in ("opened", "encoder")}

    def candidates(self, has_vectors: bool = False) -> int:
        """Return how many candidates are ranked anew, 0 for none.

        Args:
            has_vectors: Whether the queries come as embeddings; then none are unless asked for.
        """
        wanted = self.rerank
        if wanted is None:
            is_usual = not has_vectors and self.encoder.can_match
            wanted = max(CANDIDATES, self.k) if is_usual else 0
        if wanted == 0:
            return 0
        if wanted < self.k:
            raise IndexingError(
                f"--rerank {wanted}: --k {self.k} results need as many candidates; give more"
            )
        if not self.encoder.can_match:
            raise IndexingError(
                f"--rerank: {self.encoder.model} has no matching head, as BLIP-2 has one; leave it "
                "out"
            )
        if self.image_dir is None:
            raise IndexingError(
                f"--image-dir: {self.encoder.model} looks at the images again to rank them; name "
                "their folder, or write --rerank 0"
            )
        return wanted

    def run(
        self,
        ids: Sequence[str],
        texts: Sequence[str],
        vectors: Any = None,
        shown: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    ) -> dict[str, list[Any]]:
        """Return the columns of a run, query by query, best first.

        Args:
            ids: Of the queries.
            texts: The queries.
            vectors: Their embeddings, shape (queries, size); made by the model if left out.
            shown: What the images pass through that are looked at again, as a bar of progress.
        """
        wanted = self.candidates(vectors is not None)
        vectors = self.encoder.texts(texts) if vectors is None else vectors
        places, scores = self.opened.search(vectors, wanted or self.k, self.exact)
        if wanted:
            root = Path(self.image_dir or "").expanduser()

            def image_at(place: int) -> Path:
                return root / self.opened.ids[place]

            found = rerank(self.encoder, texts, places, image_at, shown=shown)
            places, scores = (one[:, : self.k] for one in found)
        each = range(places.shape[1])
        name = self.name or (self.opened.config["model"] or "index").rsplit("/", 1)[-1]
        return {
            "query_id": [one for one in ids for _ in each],
            "prompt": [one for one in texts for _ in each],
            "image": [self.opened.ids[one] for one in places.ravel()],
            "rank": [rank + 1 for _ in ids for rank in each],
            "score": [float(one) for one in scores.ravel()],
            "model": [name] * places.size,
        }

    def __call__(self, table: pa.Table) -> pa.Table:
        """Return the run of a shard: a job of `pqpp_files.shards`.

        Args:
            table: Queries in the column of queries, ids in `query_id` or `prompt_id`, and perhaps
                their embeddings in `embedding`.

        Returns:
            The columns of a run and `error`: a query that is no text, or whose embedding is none,
            has one row without an image that says so.
        """
        import pyarrow as pa

        texts, faults = texts_of(table, self.column, "query", "name the column of queries")
        named = next((one for one in QUERY_IDS if one in table.column_names), QUERY_IDS[0])
        ids = [str(one) for one in table[named].to_pylist()]
        vectors = None
        if EMBEDDING in table.column_names:
            vectors, wrong = self._vectors(table[EMBEDDING].to_pylist())
            faults = [one or other for one, other in zip(faults, wrong, strict=True)]
        good = [row for row, fault in enumerate(faults) if fault is None]
        found: list[dict[str, Any]] = []
        if good:
            columns = self.run(
                [ids[row] for row in good],
                [texts[row] for row in good],
                None if vectors is None else vectors[good],
            )
            found = pa.table(columns).to_pylist()
        size = len(found) // len(good) if good else 0
        rows, at = [], iter(range(0, len(found), size or 1))
        for one, text, fault in zip(ids, texts, faults, strict=True):
            if fault is None:
                start = next(at)
                rows += found[start : start + size]
            else:
                rows.append({"query_id": one, "prompt": text, ERROR: fault})
        kinds = {"rank": pa.int64(), "score": pa.float64()}
        schema = pa.schema([(one, kinds.get(one, pa.string())) for one in (*RUN, ERROR)])
        return pa.Table.from_pylist(rows, schema)

    def _vectors(self, cells: list[Any]) -> tuple[Any, list[str | None]]:
        """Return embeddings as an array, and what is wrong with each."""
        size = int(self.opened.config["size"])
        vectors = np.zeros((len(cells), size), dtype=np.float32)
        faults: list[str | None] = [None] * len(cells)
        for row, cell in enumerate(cells):
            try:
                vectors[row] = np.asarray(cell, dtype=np.float32).reshape(size)
            except (TypeError, ValueError):
                faults[row] = f"the embedding is not {size} numbers, as the index has them"
                continue
            if not np.isfinite(vectors[row]).all() or not vectors[row].any():
                faults[row] = "the embedding is zero or not finite"
        return vectors, faults
