"""`pqpp select`: distinct prompts out of a large collection of captions."""

from __future__ import annotations

import argparse
import sys

from pqpp_cli.errors import CommandError
from pqpp_cli.options import given_once
from pqpp_cli.output import OutputFile
from pqpp_cli.prompt_datasets import add_dataset

_EPILOG = """examples:
  pqpp select captions.txt --count 10000 --encoder sentence-transformers/all-MiniLM-L6-v2
  pqpp select --dataset OWNER/NAME --split train --column caption --count 500 --encoder NAME
  pqpp select captions.txt --count 10000 --embeddings captions.npy --output prompts.txt

Captions come from a text file, one caption on each line, or from a CSV, TSV, JSON, JSONL or Parquet
file with a column `prompt`, or from a dataset.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "select",
        help="choose distinct prompts from a collection of captions",
        description="Cluster the captions' embeddings by k-means with k-means++ initialisation and "
        "keep the caption nearest to each centre, as the PQPP paper did.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("captions", metavar="FILE", nargs="?", help="the captions")
    parser.add_argument("--file", metavar="FILE", help="another way to name the captions")
    add_dataset(parser, images=False)
    parser.add_argument(
        "--column",
        default="prompt",
        help="the file's or dataset's column of captions (default: %(default)s)",
    )
    parser.add_argument("--count", type=int, required=True, metavar="N", help="how many to choose")
    parser.add_argument("--embeddings", metavar="FILE", help="a .npy file with one row per caption")
    parser.add_argument("--encoder", metavar="NAME_OR_PATH", help="embed with this model")
    parser.add_argument(
        "--seed", metavar="N", type=int, default=0, help="of the start (default: %(default)s)"
    )
    parser.add_argument(
        "--iterations", type=int, default=10, metavar="N", help="of k-means (default: %(default)s)"
    )
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="how to print the result (default: %(default)s)",
    )
    parser.add_argument(
        "--output",
        type=OutputFile,
        metavar="FILE",
        help="write the result to a file instead of printing it",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Embed, select and print."""
    import json

    from pqpp_cli.output import emit
    from pqpp_datasets.select import (
        embed_captions,
        read_embeddings,
        require_faiss,
        require_selectable,
        select_captions,
    )

    if (options.embeddings is None) == (options.encoder is None):
        raise CommandError("give either --embeddings, a .npy file, or --encoder, a model")
    require_faiss()  # both before minutes of embedding
    captions = _captions(options)
    written = [row for row, text in enumerate(captions) if text.strip()]
    if blank := len(captions) - len(written):
        print(f"pqpp: note: {blank} blank captions left out", file=sys.stderr)
    require_selectable(len(written), options.count, options.seed, options.iterations)
    if options.embeddings:
        embeddings = read_embeddings(options.embeddings, len(captions))[written]
    else:
        texts = [captions[row] for row in written]
        embeddings = embed_captions(texts, options.encoder, progress=sys.stderr.isatty())
    rows = select_captions(embeddings, options.count, options.seed, options.iterations)
    chosen = [(written[row], captions[written[row]]) for row in rows]
    if options.format == "json":
        lines = [
            json.dumps({"row": row, "prompt": text}, ensure_ascii=False) for row, text in chosen
        ]
    else:
        # A caption may hold line breaks; here a line is a caption.
        lines = [" ".join(text.split()) for _, text in chosen]
    emit("\n".join(lines), options.output)


def _captions(options: argparse.Namespace) -> list[str]:
    from pqpp_cli.prompt_datasets import dataset_rows, refuse_parts
    from pqpp_cli.texts import read_texts

    if options.dataset is None:
        refuse_parts(options)
        given = given_once(options.captions, "--file", options.file)
        return read_texts(given, options.column)
    if options.captions or options.file:
        raise CommandError("captions came by --dataset and in another way too; give one of the two")
    return list(dataset_rows(options)["prompt"])
