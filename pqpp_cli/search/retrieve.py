"""`pqpp search retrieve`: search a collection by text, and write a run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pqpp_cli.command import Command
from pqpp_cli.groups import ColumnOptions, Shards
from pqpp_cli.search.groups import Indexed
from pqpp_files.options.option import NEEDED, option


class SearchRetrieve(Indexed, ColumnOptions, Shards, Command):
    """Search an index for each query, rank what is found anew, and write a run."""

    EPILOG = """examples:
  pqpp search retrieve my_index --file queries.csv --k 100 --output run.trec
  pqpp search retrieve my_index --file queries.csv --queries queries.npy --output run.parquet
  pqpp search retrieve blip2_index --file queries.csv --image-dir images --output run.trec
  pqpp metrics compute precision_at_k --run run.trec --qrels qrels.txt

The queries are embedded by the model of the index, or come as embeddings by --queries, one a row of
the file. BLIP-2 ranks its first candidates anew by looking at query and image together; the score
is then the log-odds of a match, else the cosine. A column query_id or prompt_id names the queries;
their rows' numbers do if there is none. A name in .trec writes the format of TREC; .csv, .jsonl and
.parquet have the columns query_id, prompt, image, rank, score and model, as pqpp build --runs reads
them.
"""
    SHARD_SIZE = 1000
    file: str = option(NEEDED, "queries: a table or a text", metavar="FILE", path="file")
    column: str = option("prompt", "its column of queries")
    model: str | None = option(
        None, "where its model lies, if not on the Hub", metavar="FOLDER", path="name"
    )
    queries: str | None = option(None, "embeddings of the queries", metavar="FILE.npy", path="file")
    k: int = option(100, "results of each query", metavar="K")
    rerank: int | None = option(
        None,
        "candidates that BLIP-2 ranks anew by its matching head, 0 for none (default: 128, or K if "
        "more; with --queries 0)",
        metavar="N",
    )
    image_dir: str | None = option(
        None, "the folder of the images, which --rerank looks at", metavar="DIR", path="images"
    )
    exact: bool = option(False, "compare all vectors, without index")
    name: str | None = option(None, "the run's name (default: the model's)")
    output: str = option(
        NEEDED,
        "the run to write",
        metavar="FILE",
        path="output file",
        holds=("text", "Parquet", "gzip"),
        endings=(".trec", ".run", ".txt", ".csv", ".jsonl", ".json", ".parquet"),
    )
    shard_size: int | None = option(None, "rows of a shard (default: 1000)")

    def run(self) -> None:
        """Search and write."""
        from pqpp_cli.output import emit_columns
        from pqpp_engines.index.retrieve import (
            QUERY_IDS,
            TREC_ENDINGS,
            Retriever,
            check_run,
            trec_text,
        )
        from pqpp_engines.index.source import load_queries
        from pqpp_files.write_beside import write_whole
        from pqpp_models.prompt_file import read_prompts_and_ids

        retriever = Retriever(
            self.index,
            self.model,
            self.k,
            self.rerank,
            self.image_dir,
            self.exact,
            self.name,
            self.column,
        )
        if self.in_shards:
            self.refuse_with_shards("queries")
            job = (retriever, retriever.settings, self.output)
            return self.work_on_shards(self.file, self.output, lambda: job, QUERY_IDS)
        _ = retriever.opened  # refused before the queries are read
        texts, ids = read_prompts_and_ids(self.file, self.column, QUERY_IDS)
        check_run(self.output, retriever.opened.ids, ids, retriever.run_name)
        vectors = load_queries(self.queries, len(texts)) if self.queries else None
        results = retriever.run(ids, texts, vectors, _shown)
        ending = Path(self.output).suffix.lower()
        if ending in TREC_ENDINGS:
            write_whole(self.output, trec_text(results))
            print(f"written: {self.output}: {len(results['image'])} results", file=sys.stderr)
        else:
            emit_columns(results, ending[1:], self.output)


def _shown(images: Iterable[Any]) -> Iterable[Any]:
    from tqdm import tqdm

    return tqdm(images, unit="image", disable=not sys.stderr.isatty())
