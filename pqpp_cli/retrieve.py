"""`pqpp retrieve`: what a collection answers to queries, as a run."""

from __future__ import annotations

import argparse
import sys

from pqpp_cli.errors import CommandError
from pqpp_cli.output import OutputFile

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
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Search and write."""
    from pqpp_engines.index import ImageTextEncoder, Index
    from pqpp_files.read_table import read_table

    index = Index(options.index)
    table = read_table(options.file, plain=options.column, remedy="name it with --column")
    texts = table.texts(options.column)
    named = next((n for n in ("query_id", "prompt_id") if n in table), None)
    ids = [str(one) for one in (table[named] if named else range(len(texts)))]
    encoder = None
    if not options.queries or options.rerank:
        encoder = ImageTextEncoder.of(index, options.model)
    wanted = _candidates(options, encoder)
    vectors = _embeddings(options, len(texts)) if options.queries else encoder.texts(texts)
    places, scores = index.search(vectors, wanted or options.k, options.exact)
    if wanted:
        places, scores = _reranked(options, encoder, index, texts, places)
    _write_run(options, index, ids, texts, places, scores)


def _candidates(options: argparse.Namespace, encoder) -> int:
    """Return how many candidates are ranked anew, 0 for none."""
    from pqpp_engines.index.rerank import CANDIDATES

    wanted = options.rerank
    if wanted is None:
        is_usual = encoder is not None and encoder.can_match
        wanted = max(CANDIDATES, options.k) if is_usual else 0
    if wanted == 0:
        return 0
    if wanted < options.k:
        raise CommandError(f"--rerank {wanted}: --k {options.k} results need as many candidates")
    if not encoder.can_match:
        raise CommandError(f"--rerank: {encoder.model} has no matching head, as BLIP-2 has one")
    if options.image_dir is None:
        raise CommandError(
            f"--image-dir: {encoder.model} looks at the images again to rank them; name their "
            "folder, or write --rerank 0"
        )
    return wanted


def _reranked(options: argparse.Namespace, encoder, index, texts: list[str], places):
    """Rank anew, and keep the best."""
    from pathlib import Path

    from tqdm import tqdm

    from pqpp_engines.index.rerank import rerank

    def shown(images):
        return tqdm(images, unit="image", disable=not sys.stderr.isatty())

    root = Path(options.image_dir).expanduser()
    found = rerank(encoder, texts, places, lambda one: root / index.ids[one], shown=shown)
    return tuple(one[:, : options.k] for one in found)


def _write_run(options: argparse.Namespace, index, ids: list, texts: list, places, scores) -> None:
    """Write the run."""
    name = options.name or (index.config["model"] or "index").rsplit("/", 1)[-1]
    columns = {
        "query_id": [one for one in ids for _ in range(places.shape[1])],
        "prompt": [one for one in texts for _ in range(places.shape[1])],
        "image": [index.ids[one] for one in places.ravel()],
        "rank": [rank + 1 for _ in ids for rank in range(places.shape[1])],
        "score": [float(one) for one in scores.ravel()],
        "model": [name] * places.size,
    }
    _write(options.output, columns)
    print(f"written: {options.output}: {places.size} results", file=sys.stderr)


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
