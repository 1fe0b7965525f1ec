"""`pqpp datasets`: list, explain, export and publish benchmarks."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from tabulate import tabulate

from pqpp_cli.command import Command, Group
from pqpp_cli.groups import CONFIGURATIONS, Dataset, PushOptions
from pqpp_cli.output import emit, emit_columns, print_notes
from pqpp_files.escape import escape_controls
from pqpp_files.names import pluralize
from pqpp_files.options.option import NEEDED, option


class Datasets(Group):
    """List, describe, export and publish benchmarks.

    They are Hugging Face datasets. `select` chooses prompts for your own benchmark.

    examples:
      pqpp datasets list
      pqpp datasets show conqa
      pqpp datasets export conqa conqa-candidates --output conqa-parquet
      pqpp datasets export pqpp-v1.0 --data-dir ../PQPP --output pqpp-parquet
      pqpp datasets push conqa-parquet OWNER/conqa --dry-run
      pqpp datasets select captions.txt --count 10000 --encoder MiniLM
    """


class DatasetsExport(Command):
    """Export configurations of a benchmark as Parquet files with a card.

    The first configuration is the default. load_dataset("FOLDER") loads the folder without pqpp.

    Attributes:
        subset: Configurations, as in `pqpp datasets list`.
        data_dir: Folder of the published files (default: download them).
        load_option: Option for load_dataset, such as relevance_rule=majority; repeatable.
    """

    subset: tuple[str, ...] = option(
        NEEDED, metavar="NAME[,NAME...]", word="too", commas=True, known=CONFIGURATIONS
    )
    output: str = option(NEEDED, "folder to write", path="output")
    data_dir: str | None = option(None, path="folder")
    load_option: dict[str, str] | None = option(None, library="option")
    overwrite: bool = option(False, "overwrite an earlier export")

    def run(self) -> None:
        """Write the files, and print the number of rows of each split."""
        from pqpp_backbones.training.publish import check_no_result
        from pqpp_datasets.export.export import export

        check_no_result(Path(self.output), self)
        rows = export(self.subset, self.output, self.data_dir, self.load_option, self.overwrite)
        for (config, split), count in rows.items():
            print(f"{config} {split}: {count} rows")
        print(f"written: {escape_controls(self.output)}")


class DatasetsList(Command):
    """List all configurations with splits, size and licence."""

    def run(self) -> None:
        """Print the datasets as a table."""
        from pqpp_datasets.benchmarks import BENCHMARKS, DEFAULT
        from pqpp_datasets.export.describe import get_download_size

        rows = [
            (
                b.name + (" (default)" if b.name == DEFAULT else ""),
                ", ".join(f"{split} {b.rows[split]:,}" if b.rows else split for split in b.splits),
                f"{size:,}" if (size := get_download_size(b)) is not None else "not known",
                b.licence,
            )
            for b in BENCHMARKS.values()
        ]
        header = ("configuration", "splits and rows", "bytes", "licence")
        print(tabulate(rows, header, tablefmt="simple", disable_numparse=True))


class DatasetsPush(PushOptions, Command):
    """Publish a benchmark on the Hub, in one commit.

    The folder is one that `pqpp datasets export` or `pqpp build` wrote. The token is that of `hf
    auth login` or HF_TOKEN.
    """

    folder: str = option(NEEDED, "folder to publish", path="folder", word=True)
    repository: str = option(NEEDED, "where to publish", metavar="OWNER/REPOSITORY", word=True)

    def run(self) -> None:
        """Push, and print what was done."""
        from pqpp_datasets.export.parquet_folder import push_folder

        self.push(push_folder, self.folder, self.repository)


class DatasetsSelect(Dataset, Command):
    r"""Choose diverse prompts from a collection of captions.

    As in the PQPP paper, the captions' embeddings are clustered by k-means with k-means++
    initialisation, and the caption nearest to each centre is kept.

    examples:
      pqpp datasets select captions.txt --count 10000 \
        --encoder sentence-transformers/all-MiniLM-L6-v2
      pqpp datasets select --dataset OWNER/NAME --split train --column caption --count 500 \
          --encoder NAME
      pqpp datasets select captions.txt --count 10000 --embeddings captions.npy --output prompts.txt

    Captions come from a text file, one caption on each line, or from a CSV, TSV, JSON, JSONL or
    Parquet file with a column `prompt`, or from a dataset.
    """

    file: str | None = option(None, "file with the captions", path="file", word="too")
    column: str = option("prompt", "column with the captions")
    count: int = option(NEEDED, "number of prompts to choose")
    embeddings: str | None = option(None, "a .npy file with one row per caption", path="file")
    encoder: str | None = option(None, "sentence encoder to embed captions with", path="name")
    seed: int = option(0, "seed of the initialisation")
    format: str = option("text", "output format", ("text", "json"))
    output: str | None = option(None, "write to a file instead of printing", path="output file")

    def __post_init__(self) -> None:
        """Require exactly one source of captions, and one of embeddings."""
        super().__post_init__()
        self.require_one_of("embeddings", "encoder")
        self.require_one_of("file", "dataset")

    def run(self) -> None:
        """Choose the captions and print them, or write them to a file."""
        from pqpp_datasets import select
        from pqpp_models.prompt_file import read_texts
        from pqpp_models.text.saved_encoder import SentenceEncoder

        select.require_faiss()  # before minutes of embedding
        texts: Any = read_texts(self.file, self.column) if self.file else self.load_rows()["prompt"]
        captions = list(texts)
        filled = [row for row, text in enumerate(captions) if text.strip()]
        if n_blank := len(captions) - len(filled):
            print_notes(f"skipped {pluralize(n_blank, 'blank caption')}")
        select.check_selection(len(filled), self.count, self.seed)
        if self.embeddings:
            embeddings = select.read_embeddings(self.embeddings, len(captions))[filled]
        else:
            encoder = SentenceEncoder.load(self.encoder or "")
            embeddings = encoder.embed([captions[row] for row in filled], sys.stderr.isatty())
        rows = select.select_captions(embeddings, self.count, self.seed)
        chosen = [captions[filled[row]] for row in rows]
        if self.format == "json":
            columns = {"row": [filled[row] for row in rows], "prompt": chosen}
            return emit_columns(columns, self.format, self.output)
        # Captions may contain line breaks; the output has one per line.
        emit("\n".join(" ".join(text.split()) for text in chosen), self.output, self.format)


_TABLE_OPTIONS: dict[str, Any] = {"tablefmt": "simple", "disable_numparse": True}


class DatasetsShow(Command):
    """Print the options, licence, sizes, splits, columns and image source of a configuration.

    For a folder from `pqpp build`, print its card.

    Attributes:
        dataset: Configuration, as in `pqpp datasets list`, or a folder.
    """

    dataset: str = option(
        NEEDED, metavar="CONFIGURATION", path="name", word="too", known=CONFIGURATIONS
    )

    def run(self) -> None:
        """Print the facts about a configuration, or the card of a folder."""
        from pqpp_datasets.benchmarks import BENCHMARKS, get_benchmark
        from pqpp_datasets.export.describe import describe_benchmark
        from pqpp_files.paths import join_inside

        card = join_inside(self.dataset, "README.md")
        if self.dataset not in BENCHMARKS and card.is_file():
            return print(re.sub(r"(?s)\A---\n.*?\n---\n", "", card.read_text("utf-8", "replace")))
        benchmark = get_benchmark(self.dataset)
        print(f"{benchmark.name} {benchmark.version}: {benchmark.description}\n")
        for name, fact in describe_benchmark(benchmark).items():
            print(f"{name}: {fact}")
        rows = [
            (split, f"{benchmark.rows[split]:,}" if split in benchmark.rows else "not known")
            for split in benchmark.splits
        ]
        print("\n" + tabulate(rows, ("split", "rows"), **_TABLE_OPTIONS))
        columns = [(name, _describe_type(type_)) for name, type_ in benchmark.features({}).items()]
        print("\n" + tabulate(columns, ("column", "type"), **_TABLE_OPTIONS))


def _describe_type(feature: Any) -> str:
    if isinstance(feature, dict):
        return "{" + ", ".join(feature) + "}"
    if (inner := getattr(feature, "feature", None)) is not None:
        return f"list of {_describe_type(inner)}"
    return getattr(feature, "dtype", None) or type(feature).__name__.lower()
