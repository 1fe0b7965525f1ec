"""`pqpp datasets select`: choose distinct prompts from a collection of captions."""

from __future__ import annotations

import json
import sys

from pqpp_cli.command import Command
from pqpp_cli.groups import ColumnOptions, Dataset
from pqpp_files.options.option import NEEDED, option


class DatasetsSelect(Dataset, ColumnOptions, Command):
    """Cluster the captions' embeddings by k-means with k-means++ initialisation and keep the
    caption nearest to each centre, as the PQPP paper did.
    """

    EPILOG = """examples:
  pqpp datasets select captions.txt --count 10000 --encoder sentence-transformers/all-MiniLM-L6-v2
  pqpp datasets select --dataset OWNER/NAME --split train --column caption --count 500 \\
      --encoder NAME
  pqpp datasets select captions.txt --count 10000 --embeddings captions.npy --output prompts.txt

Captions come from a text file, one caption on each line, or from a CSV, TSV, JSON, JSONL or Parquet
file with a column `prompt`, or from a dataset.
"""
    file: str | None = option(None, "the captions", metavar="FILE", path="file", word="too")
    column: str = option("prompt", "the file's or dataset's column of captions")
    count: int = option(NEEDED, "how many to choose", metavar="N")
    embeddings: str | None = option(
        None, "a .npy file with one row per caption", metavar="FILE", path="file"
    )
    encoder: str | None = option(None, "embed with this model", metavar="NAME_OR_PATH", path="name")
    seed: int = option(0, "seed of the start", metavar="N")
    format: str = option("text", "how to print the result", ("text", "json"))
    output: str | None = option(
        None, "write to a file instead of printing", metavar="FILE", path="output file"
    )

    def __post_init__(self) -> None:
        """Check that captions and embeddings come from one place each."""
        super().__post_init__()
        self.require_one_of("embeddings", "encoder")
        self.require_one_of("file", "dataset")
        self.refuse_parts()

    def run(self) -> None:
        """Embed, select and print."""
        from pqpp_cli.output import emit
        from pqpp_datasets.select import (
            embed_captions,
            read_embeddings,
            require_faiss,
            require_selectable,
            select_captions,
        )

        require_faiss()  # before minutes of embedding
        captions = self._captions()
        written = [row for row, text in enumerate(captions) if text.strip()]
        if blank := len(captions) - len(written):
            print(f"pqpp: note: {blank} blank captions left out", file=sys.stderr)
        require_selectable(len(written), self.count, self.seed)
        if self.embeddings:
            embeddings = read_embeddings(self.embeddings, len(captions))[written]
        else:
            texts = [captions[row] for row in written]
            embeddings = embed_captions(texts, self.encoder or "", progress=sys.stderr.isatty())
        rows = select_captions(embeddings, self.count, self.seed)
        chosen = [(written[row], captions[written[row]]) for row in rows]
        if self.format == "json":
            lines = [
                json.dumps({"row": row, "prompt": text}, ensure_ascii=False) for row, text in chosen
            ]
        else:
            # A caption may hold line breaks; here a line is a caption.
            lines = [" ".join(text.split()) for _, text in chosen]
        emit("\n".join(lines), self.output)

    def _captions(self) -> list[str]:
        from pqpp_models.prompt_file import read_texts
        from pqpp_models.prompt_rows import dataset_rows

        if self.file:
            return read_texts(self.file, self.column)
        place = (self.dataset or "", self.subset, self.split, self.data_dir)
        return list(dataset_rows(*place, column=self.column)[0]["prompt"])
