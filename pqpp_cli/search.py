"""`pqpp search`: index a collection of images, and search it by text."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_cli.command import LIBRARY, Command, Group
from pqpp_cli.groups import ColumnOptions, ResultOptions, ShardOptions
from pqpp_cli.output import TABLE_ENDINGS, TABLE_STYLES, emit, emit_columns, print_notes
from pqpp_files.errors import PqppError
from pqpp_files.open_input import is_sharded
from pqpp_files.options.option import NEEDED, check_path, option
from pqpp_files.paths import expand

if TYPE_CHECKING:
    from pqpp_engines.index.embed import EmbeddingJob

_RUNS = (".trec", ".run", ".txt")


class Search(Group):
    r"""Index a collection of images and search it by text.

    Embed images with CLIP, BLIP-2 or a similar model, build a faiss index, and search it.

    examples:
      pqpp search build images --model CLIP --output my_index
      pqpp search embed --model CLIP --file "list/*.parquet" --column image --image-dir images \
          --output embedded --workers 4
      pqpp search build embedded --output my_index
      pqpp search build embeddings.npy --ids ids.txt --model OWNER/NAME --output my_index
      pqpp search add my_index more_images
      pqpp search show my_index
      pqpp search candidates captions.csv --file prompts.csv --encoder NAME --output candidates.csv
      pqpp search retrieve my_index --file queries.txt --output run.trec
    """


class EncoderOptions(Group):
    """The option for the model that embeds images and texts.

    Attributes:
        model: BLIP-2, CLIP, SigLIP, OWNER/REPOSITORY or a folder.
    """

    model: str | None = option(None, path="name", known="pqpp_engines.index.encoders:MODELS")
    revision: str | None = option(None, "branch, tag or commit of the model")


class IndexOptions(Group):
    """The argument that names an index."""

    index: str = option(NEEDED, "folder written by `pqpp search build`", path="folder", word=True)


class SourceOptions(Group):
    """Options for the images to add, or their embeddings.

    Attributes:
        source: Folder of images, .npy file of embeddings, or folder from `pqpp search embed`.
    """

    source: str = option(NEEDED, metavar="IMAGES_OR_NPY", path="name", word=True)
    ids: str | None = option(None, "ids, one per line (default: row numbers)", path="file")
    batch_size: int = option(64, "images at once, on a GPU")


def print_index(index: Any) -> None:
    """Print the configuration of an index as a table."""
    from tabulate import tabulate

    rows = [(name, value) for name, value in index.config.items() if name != "sha256"]
    print(tabulate(rows, tablefmt="plain"))


class SearchAdd(IndexOptions, SourceOptions, Command):
    """Add images or embeddings to an index."""

    model: str | None = option(None, "the model's folder, if not on the Hub", path="name")
    output: str | None = option(None, "folder to write (default: INDEX)", path="output")

    def run(self) -> None:
        """Embed the input, and write the extended index."""
        from pqpp_engines.index import ImageTextEncoder, Index
        from pqpp_engines.index.embed import embed_folder, load_embeddings

        index = Index(self.index)
        index.check_target(expand(self.output or self.index))
        if Path(self.source).is_dir():
            self.refuse("a folder of images", "ids")
            encoder = ImageTextEncoder.from_index(index, self.model)
            embedded = embed_folder(self.source, encoder, self.batch_size)
        else:
            self.refuse("a file of embeddings", "model")
            embedded = load_embeddings(self.source, self.ids)
        print_index(index.extend(*embedded, self.output))


class SearchBuild(SourceOptions, EncoderOptions, Command):
    """Build a faiss index of images or embeddings.

    A search compares all vectors, in 16 bits, unless --factory names an approximate index.
    """

    factory: str | None = option(None, "faiss index, such as IVF1024,SQ8 (default: Flat)")
    output: str = option(NEEDED, "folder to write", path="output")
    overwrite: bool = option(False, "overwrite an earlier index")

    def run(self) -> None:
        """Build the index from images, embeddings, or the output of `search embed`."""
        from pqpp_backbones.training.publish import check_no_result
        from pqpp_engines.index import ImageTextEncoder, build_index, embed

        check_no_result(Path(self.output), self)
        if is_sharded(expand(self.source)):  # from `search embed`
            self.refuse("output of `pqpp search embed`", "model", "revision", "ids")
            vectors, ids, model, revision, n_missing = embed.read_embedding_shards(self.source)
            if n_missing:
                print(f"pqpp: {n_missing} rows have no embedding", file=sys.stderr)
        elif Path(self.source).is_dir():
            self.refuse("a folder of images", "ids")
            if not self.model:
                raise PqppError("`model` is missing; set it to a model such as CLIP")
            encoder = ImageTextEncoder(self.model, self.revision)
            vectors, ids = embed.embed_folder(self.source, encoder, self.batch_size)
            model, revision = encoder.model, encoder.revision
        else:
            vectors, ids = embed.load_embeddings(self.source, self.ids)
            model, revision = self.model or "", self.revision
        print_index(build_index(vectors, ids, self.output, self.factory, model, revision))


class SearchEmbed(EncoderOptions, ColumnOptions, ShardOptions, Command):
    """Embed texts or images in shards.

    The input is a column of texts or image files in Parquet or CSV. The output is a folder for
    `pqpp search build` or, for texts, `pqpp search retrieve`.

    Attributes:
        image_dir: Folder of the images; without it, the column contains texts.
    """

    SHARD_SIZE = 10_000
    model: str = option(NEEDED, "BLIP-2, CLIP, SigLIP, OWNER/REPOSITORY, a folder or an index")
    file: str = option(NEEDED, "table of texts or image paths", path="file")
    column: str = option("prompt", "column with the texts or paths")
    image_dir: str | None = option(None, path="images")
    batch_size: int = option(64, "texts at once, on a GPU")
    output: str = option(NEEDED, "folder to write", path="output")
    shard_size: int | None = option(None, "rows per shard (default: 10000)")

    def run(self) -> None:
        """Embed the rows in shards, and print a summary."""
        if self.image_dir:
            check_path("image_dir", "images", self.image_dir)
        self.run_in_shards(self.file, self.output, self._make_job)

    def _make_job(self) -> tuple[EmbeddingJob, dict, str]:
        from pqpp_engines.index.embed import EmbeddingJob

        job = EmbeddingJob(self.model, self.column, self.image_dir, self.revision, self.batch_size)
        return job, job.settings, self.output


class SearchCandidates(
    ColumnOptions, ResultOptions, Command, takes=("pqpp_engines.index:find_candidates",)
):
    """Choose images of a captioned collection for people to rate.

    As in PQPP, these are images with captions similar to a prompt, by the cosine similarity of
    their embeddings or by shared words. Pass the table to `pqpp annotate init`; `--set
    task.grades=binary` sets PQPP's question.
    """

    captions: str = option(NEEDED, "table of image and caption", path="file", word=True)
    file: str = option(NEEDED, "prompts: a table, or a text file with one per line", path="file")
    image_column: str = option("image", "column with the images", metavar="COLUMN")
    caption_column: str = option("caption", "column with the captions", metavar="COLUMN")
    encoder: str | None = option(None, "sentence encoder, such as MiniLM", path="name")
    words: bool = option(False, "compare by shared words, without a model")
    threshold: float | None = option(LIBRARY, ge=-1, lt=1.000001)
    limit: int = option(LIBRARY, ge=1)
    refined_from: int = option(LIBRARY, ge=0)
    format: str | None = option(None, choices=TABLE_STYLES)
    output: str = option(NEEDED, "file to write")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_one_of("encoder", "words")

    def run(self) -> None:
        """Compare prompts with captions, and write the images to rate."""
        from pqpp_engines.index import find_candidates
        from pqpp_files.read_table import read_table
        from pqpp_models.text.saved_encoder import SentenceEncoder

        style = self.style
        columns = [self.image_column, self.caption_column]
        captions = read_table(self.captions, columns, remedy="set `image_column`, `caption_column`")
        prompts = read_table(self.file, plain=self.column, remedy="set `column`")
        texts = prompts.texts(self.column)
        encoder = SentenceEncoder.load(self.encoder) if self.encoder else None
        relevance = find_candidates(
            texts,
            captions.texts(self.image_column),
            captions.texts(self.caption_column),
            partial(encoder.embed, progress=sys.stderr.isatty()) if encoder else None,
            self.threshold,
            self.limit,
            self.refined_from,
        )
        query = relevance.query.tolist()
        rows = {"prompt": [texts[index] for index in query], "image": relevance.image}
        if "prompt_id" in prompts:
            rows = {"prompt_id": [prompts["prompt_id"][index] for index in query], **rows}
        rows["score"] = [round(float(score), 6) for score in relevance.score]
        emit_columns(rows, style, self.output)
        print_notes(f"{len(query)} images to rate, for {len(set(query))} of {len(texts)} prompts")


class SearchRetrieve(
    IndexOptions,
    ColumnOptions,
    ShardOptions,
    Command,
    takes=("pqpp_engines.index.retrieve:Retriever",),
):
    """Search a collection by text, and write a run.

    examples:
      pqpp search retrieve my_index --file queries.csv --k 100 --output run.trec
      pqpp search retrieve my_index --file queries.csv --queries queries.npy --output run.parquet
      pqpp search retrieve blip2_index --file queries.csv --image-dir images --output run.trec
      pqpp metrics compute p@10,rr --run run.trec --qrels qrels.txt

    The model of the index embeds the queries, unless --queries contains their embeddings, one per
    row. Scores are cosine similarities; BLIP-2 reranks the first candidates by the log-odds that
    image and query match. Query ids are the column query_id or prompt_id, or row numbers. Files
    named .trec are in TREC format; .csv, .jsonl, .parquet and folders of shards have the columns
    query_id, prompt, image, rank, score and model, for `metrics compute` and `pqpp build --runs`.

    Attributes:
        output: File to write.
    """

    SHARD_SIZE = 1000
    file: str = option(NEEDED, "queries: a table, or a text file with one per line", path="file")
    column: str = option("prompt", "column with the queries")
    model: str | None = option(LIBRARY, path="name")
    queries: str | None = option(None, "file of query embeddings", metavar="FILE.npy", path="file")
    k: int = option(LIBRARY, ge=1)
    rerank: int | None
    image_dir: str | None = option(LIBRARY, path="images")
    exact: bool
    name: str | None
    output: str = option(NEEDED, path="output file", endings=(*_RUNS, *TABLE_ENDINGS))
    shard_size: int | None = option(None, "rows per shard (default: 1000)")

    def run(self) -> None:
        """Search for each query, and write the run."""
        from tqdm import tqdm

        from pqpp_engines.index import retrieve
        from pqpp_engines.index.embed import load_query_embeddings
        from pqpp_models.prompt_file import read_prompts_and_ids

        retriever = retrieve.Retriever(**self.get_arguments(retrieve.Retriever))
        if self.in_shards:
            self.refuse("shards", "queries")
            job = (retriever, retriever.settings, self.output)
            return self.run_in_shards(self.file, self.output, lambda: job, retrieve.QUERY_IDS)
        _ = retriever.loaded_index  # refused before the queries are read
        texts, ids = read_prompts_and_ids(self.file, self.column, retrieve.QUERY_IDS)
        retrieve.check_run_names(self.output, retriever.loaded_index.ids, ids, retriever.run_name)
        vectors = load_query_embeddings(self.queries, len(texts)) if self.queries else None
        progress = partial(tqdm, unit="image", disable=not sys.stderr.isatty())
        results = retriever.retrieve(ids, texts, vectors, progress)
        ending = Path(self.output).suffix.lower()
        if ending in retrieve.TREC_ENDINGS:
            emit(retrieve.format_trec(results), self.output, "text")
        else:
            emit_columns(results, ending[1:], self.output)


class SearchShow(IndexOptions, Command):
    """Describe an index."""

    def run(self) -> None:
        """Print its configuration."""
        from pqpp_engines.index import Index

        print_index(Index(self.index))
