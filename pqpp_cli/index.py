"""`pqpp index`: a collection of images that can be searched by text."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from pqpp_cli.errors import CommandError
from pqpp_cli.output import OutputFile, OutputFolder
from pqpp_cli.shards import add_shards, work_on_shards

_EPILOG = """examples:
  pqpp index build images --model CLIP --output my_index
  pqpp index embed --model CLIP --file "list/*.parquet" --column image --image-dir images \
      --output embedded --workers 4
  pqpp index build embedded --output my_index
  pqpp index build embeddings.npy --ids ids.txt --model OWNER/NAME --output my_index
  pqpp index add my_index more_images
  pqpp index merge my_index other_index --output both
  pqpp index show my_index
  pqpp index labels captions.csv --file prompts.csv --encoder NAME --output candidates.csv
  pqpp retrieve my_index --file queries.txt --output run.trec

What index of faiss is taken, and what it needs, is printed before it is built. Search results are
ranked anew by the embeddings, which are kept in 16 bits beside it.
"""
_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "index",
        help="index a collection of images or embeddings",
        description="Embed images by CLIP, BLIP-2 or the like, and build an index of faiss.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    build = actions.add_parser("build", help="build an index")
    _add_source(build)
    model = build.add_argument(
        "--model", metavar="NAME_OR_PATH", help="BLIP-2, CLIP, SigLIP, OWNER/NAME or a folder"
    )
    model.completer = _models
    build.add_argument("--revision", help="branch, tag or commit of the model")
    build.add_argument("--factory", help="of faiss, like IVF1024,SQ8 (default: by the size)")
    build.add_argument(
        "--output", type=OutputFolder, metavar="DIR", required=True, help="the folder to write"
    )
    build.set_defaults(run=run_index_build)
    _add_embed(actions)
    add = actions.add_parser("add", help="add to an index")
    add.add_argument("index", metavar="INDEX", help="a folder that pqpp index has built")
    _add_source(add)
    add.add_argument("--model", metavar="FOLDER", help="where its model lies, if not on the Hub")
    add.add_argument(
        "--output",
        type=OutputFolder,
        metavar="DIR",
        help="the folder to write (default: in its place)",
    )
    add.set_defaults(run=run_add)
    merge = actions.add_parser("merge", help="make one of two indices of the same model")
    merge.add_argument("index", metavar="INDEX")
    merge.add_argument("other", metavar="OTHER")
    merge.add_argument(
        "--output", type=OutputFolder, metavar="DIR", required=True, help="the folder to write"
    )
    merge.set_defaults(run=run_merge)
    show = actions.add_parser("show", help="say what an index holds")
    show.add_argument("index", metavar="INDEX")
    show.set_defaults(run=run_show)
    _add_labels(actions)


def _add_embed(actions) -> None:
    embed = actions.add_parser(
        "embed",
        help="embed texts or images from shard to shard",
        description="Embed a column of texts, or the images that a column names, from Parquet or "
        "CSV into a folder of shards, which pqpp index build takes, and for texts pqpp retrieve.",
    )
    model = embed.add_argument(
        "--model", metavar="NAME_OR_PATH", required=True, help="as of pqpp index build"
    )
    model.completer = _models
    embed.add_argument("--revision", help="branch, tag or commit of the model")
    embed.add_argument("--file", metavar="FILE", required=True, help="texts or images' paths")
    embed.add_argument(
        "--column", default="prompt", help="its column of them (default: %(default)s)"
    )
    embed.add_argument(
        "--image-dir", metavar="DIR", help="the folder of the images; texts are embedded without"
    )
    embed.add_argument(
        "--batch-size", type=int, default=64, metavar="N", help="texts at once, on a GPU"
    )
    embed.add_argument(
        "--output", type=OutputFolder, metavar="DIR", required=True, help="the folder to write"
    )
    add_shards(embed, 10_000)
    embed.set_defaults(run=run_embed)


def _add_labels(actions) -> None:
    labels = actions.add_parser(
        "labels",
        help="list images of a captioned collection that people shall judge for each prompt",
        description="List the images whose captions are like a prompt, as PQPP chose what people "
        "judged: over a threshold of cosine, or with enough of the prompt's words. pqpp annotate "
        "init takes the table; --kind ranking asks as PQPP did.",
    )
    labels.add_argument(
        "captions", metavar="CAPTIONS", help="a table of image and caption; several an image may be"
    )
    labels.add_argument("--file", metavar="FILE", required=True, help="prompts: a table or a text")
    labels.add_argument(
        "--column", default="prompt", help="its column of prompts (default: %(default)s)"
    )
    labels.add_argument(
        "--image-column", metavar="COLUMN", default="image", help="of images (default: image)"
    )
    labels.add_argument(
        "--caption-column", metavar="COLUMN", default="caption", help="(default: caption)"
    )
    way = labels.add_mutually_exclusive_group(required=True)
    way.add_argument("--encoder", metavar="NAME_OR_PATH", help="of sentences, like MiniLM")
    way.add_argument("--words", action="store_true", help="count shared words, without a model")
    labels.add_argument(
        "--threshold",
        type=float,
        metavar="X",
        help="cosine to be over, or share of a prompt's words to reach (default: .7, .5)",
    )
    labels.add_argument(
        "--most", type=int, metavar="N", default=2000, help="images of a prompt (default: 2000)"
    )
    labels.add_argument(
        "--refined-from",
        type=int,
        metavar="N",
        default=1000,
        help="rank behind which captions must hold all words of the prompt (default: 1000)",
    )
    labels.add_argument(
        "--output", type=OutputFile, metavar="FILE", required=True, help="the table to write"
    )
    labels.set_defaults(run=run_labels)


def _models(prefix: str, **_) -> list[str]:
    from pqpp_engines.index.encoders import MODELS

    return list(MODELS)


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="IMAGES_OR_NPY", help="images, or embeddings")
    parser.add_argument(
        "--ids", metavar="FILE", help="of embeddings: an id a line (default: their numbers)"
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        default=64,
        metavar="N",
        help="images at once, on a GPU (default: 64)",
    )


def run_embed(options: argparse.Namespace) -> None:
    """Embed from shard to shard."""
    from pqpp_engines.index.embed import EmbedShard

    if options.image_dir and not Path(options.image_dir).is_dir():
        raise CommandError(f"--image-dir {options.image_dir}: there is no such folder")

    def begin() -> tuple[EmbedShard, dict, str]:
        job = EmbedShard(
            options.model, options.column, options.image_dir, options.revision, options.batch_size
        )
        settings = job.settings
        if (options.workers or 1) > 1:
            del job.encoder  # each worker has its own
        return job, settings, options.output

    work_on_shards(options, begin)


def run_index_build(options: argparse.Namespace) -> None:
    """Embed, say what will be built, and build it."""
    from pqpp_engines.index import ImageTextEncoder
    from pqpp_engines.index.embed import has_embeddings, read_embedded

    revision = options.revision
    if has_embeddings(options.source):
        if options.model or options.revision or options.ids:
            raise CommandError(
                f"{options.source} tells its model and ids; leave --model, --revision and --ids out"
            )
        with read_embedded(options.source) as found:
            if found.left_out:
                print(f"pqpp: {found.left_out} rows have no embedding", file=sys.stderr)
            options.model = found.model
            _build(options, found.vectors, found.ids, found.revision)
        return
    if Path(options.source).is_dir():
        if not options.model:
            raise CommandError("--model: name what embeds the images, like CLIP")
        encoder = ImageTextEncoder(options.model, options.revision)
        options.model, revision = encoder.model, encoder.revision
        embeddings, ids = _embedded(options, encoder)
    else:
        embeddings, ids = _loaded(options)
    _build(options, embeddings, ids, revision)


def _build(options: argparse.Namespace, embeddings, ids: list[str], revision: str | None) -> None:
    from pqpp_engines.index import build_index, plan_for

    plan = plan_for(math.prod(embeddings.shape[:-1]), embeddings.shape[-1], options.factory)
    print(f"pqpp: {plan.told()}", file=sys.stderr)
    index = build_index(
        embeddings, ids, options.output, options.factory, options.model or "", revision
    )
    _tell(index)


def run_add(options: argparse.Namespace) -> None:
    """Add images or embeddings to an index."""
    from pqpp_engines.index import ImageTextEncoder, Index

    index = Index(options.index)
    if Path(options.source).is_dir():
        embeddings, ids = _embedded(options, ImageTextEncoder.of(index, options.model))
    else:
        embeddings, ids = _loaded(options)
    _tell(index.add(embeddings, ids, options.output))


def run_merge(options: argparse.Namespace) -> None:
    """Make one index of two."""
    from pqpp_engines.index import Index

    _tell(Index(options.index).merge(Index(options.other), options.output))


def run_show(options: argparse.Namespace) -> None:
    """Print what an index holds."""
    from pqpp_engines.index import Index

    _tell(Index(options.index))


def run_labels(options: argparse.Namespace) -> None:
    """Compare prompts with captions, and write what people shall judge."""
    from pqpp_cli.output import emit_columns, format_of
    from pqpp_engines.index import preliminary_relevance
    from pqpp_files.read_table import read_table

    options.format = None
    style = format_of(options, ("csv", "json", "jsonl", "parquet"))
    columns = [options.image_column, options.caption_column]
    captions = read_table(options.captions, columns, remedy="name it with --image-column or so")
    prompts = read_table(options.file, plain=options.column, remedy="name it with --column")
    texts = prompts.texts(options.column)
    found = preliminary_relevance(
        texts,
        captions.texts(options.image_column),
        captions.texts(options.caption_column),
        None if options.words else _sentences(options.encoder),
        options.threshold,
        options.most,
        options.refined_from,
    )
    query = found.query.tolist()
    rows = {"prompt": [texts[one] for one in query], "image": found.image}
    if "prompt_id" in prompts:
        rows = {"prompt_id": [prompts["prompt_id"][one] for one in query], **rows}
    emit_columns(
        {**rows, "score": [round(float(one), 6) for one in found.score]}, style, options.output
    )
    empty = len(texts) - len(set(query))
    print(
        f"pqpp: {len(query)} images to judge, {empty} of {len(texts)} prompts without one",
        file=sys.stderr,
    )


def _sentences(encoder: str):
    """Return what embeds texts by an encoder of sentences."""
    from pqpp_datasets.select import embed_captions

    return lambda texts: embed_captions(texts, encoder, progress=sys.stderr.isatty())


def _tell(index) -> None:
    from tabulate import tabulate

    rows = [(name, "" if value is None else value) for name, value in index.config.items()]
    print(tabulate(rows, tablefmt="plain"))


def _embedded(options: argparse.Namespace, encoder):
    """Return the embeddings of a folder's images, and their paths in it as ids."""
    from tqdm import tqdm

    root = Path(options.source)
    paths = sorted(p for p in root.rglob("*") if p.suffix.lower() in _ENDINGS)
    if not paths:
        raise CommandError(f"{root} holds no image ({', '.join(_ENDINGS)})")
    shown = tqdm(paths, unit="image", disable=not sys.stderr.isatty())
    ids = [path.relative_to(root).as_posix() for path in paths]
    return encoder.images(shown, options.batch_size), ids


def _loaded(options: argparse.Namespace):
    """Return embeddings from a file of numpy, memory-mapped, and their ids."""
    import numpy as np

    try:
        embeddings = np.load(options.source, mmap_mode="r", allow_pickle=False)
        if not isinstance(embeddings, np.ndarray):
            raise ValueError("an archive of several arrays")
    except (OSError, ValueError, EOFError) as error:
        raise CommandError(
            f"{options.source}: neither a folder of images nor embeddings in .npy ({error})"
        ) from None
    if embeddings.ndim not in (2, 3) or embeddings.dtype.kind != "f":
        raise CommandError(
            f"{options.source}: give floats of shape (items, size), or (items, vectors of each, "
            "size)"
        )
    if options.ids is None:
        return embeddings, [str(number) for number in range(len(embeddings))]
    from pqpp_files.read_table import read_table

    return embeddings, read_table(options.ids, plain="id").texts("id")
