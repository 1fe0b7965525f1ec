"""`pqpp retrieve`: what a collection answers to queries, as a run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pqpp_cli.errors import CommandError
from pqpp_cli.output import OutputFile
from pqpp_cli.shards import add_shards, refuse_with_shards, wants_shards, work_on_shards

if TYPE_CHECKING:
    from pqpp_engines.index.retrieve import Retriever

_EPILOG = """examples:
  pqpp retrieve my_index --file queries.csv --k 100 --output run.trec
  pqpp retrieve my_index --file queries.csv --queries queries.npy --output run.parquet
  pqpp retrieve blip2_index --file queries.csv --image-dir images --output run.trec
  pqpp metrics compute precision_at_k --run run.trec --qrels qrels.txt

The queries are embedded by the model of the index, or come as embeddings by --queries, one a row of
the file. BLIP-2 ranks its first candidates anew by looking at query and image together; the score
is then the log-odds of a match, else the cosine. A column query_id or prompt_id names the queries;
their rows' numbers do if there is none. A name in .trec writes the format of TREC; .csv, .jsonl and
.parquet have the columns query_id, prompt, image, rank, score and model, as pqpp build --runs reads
them.
"""
_TABLES = {".csv": "csv", ".jsonl": "jsonl", ".json": "json", ".parquet": "parquet"}


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "retrieve",
        help="search a collection by text, and write a run",
        description="Search an index for each query, rank what is found anew, and write a run.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("index", metavar="INDEX", help="a folder that pqpp index has built")
    parser.add_argument("--file", metavar="FILE", required=True, help="queries: a table or a text")
    parser.add_argument(
        "--column", default="prompt", help="its column of queries (default: %(default)s)"
    )
    parser.add_argument("--model", metavar="FOLDER", help="where its model lies, if not on the Hub")
    parser.add_argument("--queries", metavar="FILE.npy", help="embeddings of the queries")
    parser.add_argument(
        "--k", type=int, default=100, metavar="K", help="results of each query (default: 100)"
    )
    parser.add_argument(
        "--rerank",
        type=int,
        metavar="N",
        help="candidates that BLIP-2 ranks anew by its matching head, 0 for none (default: 128, or "
        "K if more; with --queries 0)",
    )
    parser.add_argument(
        "--image-dir", metavar="DIR", help="the folder of the images, which --rerank looks at"
    )
    parser.add_argument("--exact", action="store_true", help="compare all vectors, without index")
    parser.add_argument("--name", help="of the run (default: the model's)")
    parser.add_argument(
        "--output", type=OutputFile, metavar="FILE", required=True, help="the run to write"
    )
    add_shards(parser, 1000)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Search and write."""
    from pqpp_engines.index.retrieve import QUERY_IDS, Retriever
    from pqpp_files.read_table import read_table

    retriever = Retriever(
        options.index,
        options.model,
        options.k,
        options.rerank,
        options.image_dir,
        options.exact,
        options.name,
        options.column,
    )
    if wants_shards(options):
        _retrieve_shards(options, retriever)
        return
    _ = retriever.opened  # refused before the queries are read
    table = read_table(options.file, plain=options.column, remedy="name it with --column")
    texts = table.texts(options.column)
    named = next((n for n in QUERY_IDS if n in table), None)
    ids = [str(one) for one in (table[named] if named else range(len(texts)))]
    vectors = _embeddings(options, len(texts)) if options.queries else None
    columns = retriever.run(ids, texts, vectors, _shown)
    _write(options.output, columns)
    print(f"written: {options.output}: {len(columns['image'])} results", file=sys.stderr)


def _retrieve_shards(options: argparse.Namespace, retriever: Retriever) -> None:
    """Search from shard to shard."""
    from pqpp_engines.index.retrieve import QUERY_IDS

    refuse_with_shards(options, "queries")

    def begin() -> tuple[Retriever, dict, str]:
        return retriever, retriever.settings, options.output

    work_on_shards(options, begin, QUERY_IDS)


def _shown(images: Iterable[Any]) -> Iterable[Any]:
    from tqdm import tqdm

    return tqdm(images, unit="image", disable=not sys.stderr.isatty())


def _embeddings(options: argparse.Namespace, queries: int):
    import numpy as np

    try:
        vectors = np.load(options.queries, mmap_mode="r", allow_pickle=False)
        if not (isinstance(vectors, np.ndarray) and vectors.ndim == 2):
            raise ValueError("no array of shape (queries, size)")
    except (OSError, ValueError, EOFError) as error:
        raise CommandError(
            f"--queries {options.queries}: no .npy of embeddings ({error})"
        ) from None
    if len(vectors) != queries:
        raise CommandError(f"--queries: {len(vectors)} embeddings for {queries} queries")
    return vectors


def _write(output: str, columns: dict) -> None:
    from pathlib import Path

    from pqpp_files.write_beside import write_beside, write_whole
    from pqpp_files.write_table import table_text, write_parquet

    suffix = Path(output).suffix.lower()
    if suffix in (".trec", ".run", ".txt"):
        for name in ("query_id", "image", "model"):
            wrong = next((v for v in columns[name] if len(str(v).split()) != 1), None)
            if wrong is not None:
                raise CommandError(
                    f"--output {output}: TREC's format has no blanks, {name} {wrong!r:.60} has; "
                    "name a file in .parquet"
                )
        names = ("query_id", "image", "rank", "score", "model")
        rows = zip(*(columns[name] for name in names), strict=True)
        lines = (f"{q} Q0 {image} {rank} {score!r} {m}\n" for q, image, rank, score, m in rows)
        write_whole(output, "".join(lines))
    elif suffix == ".parquet":
        with write_beside(output) as beside:
            write_parquet(beside, [columns], [columns])
    elif suffix in _TABLES:
        write_whole(output, "".join(table_text(_TABLES[suffix], [columns])))
    else:
        raise CommandError(f"--output {output}: name a file in .trec, {', '.join(_TABLES)}")
