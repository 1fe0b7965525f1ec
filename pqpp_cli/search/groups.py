"""Options that the commands of `pqpp search` share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pqpp_cli.command import Group
from pqpp_files.options.option import NEEDED, option


def _models() -> Sequence[str]:
    from pqpp_engines.index.encoders import MODELS

    return list(MODELS)


class EncoderOptions(Group):
    """What embeds images and texts."""

    model: str | None = option(
        None, "BLIP-2, CLIP, SigLIP or a folder", metavar="NAME_OR_PATH", path="name", known=_models
    )
    revision: str | None = option(None, "branch, tag or commit of the model")


class Indexed(Group):
    """An index."""

    index: str = option(
        NEEDED, "a folder that pqpp search has built", metavar="INDEX", path="folder", word=True
    )


class SourceOptions(Group):
    """Images, or embeddings of them."""

    source: str = option(
        NEEDED, "images, or embeddings", metavar="IMAGES_OR_NPY", path="name", word=True
    )
    ids: str | None = option(
        None, "of embeddings: an id a line (default: their numbers)", metavar="FILE", path="file"
    )
    batch_size: int = option(64, "images at once, on a GPU", metavar="N")


def print_index(index: Any) -> None:
    """Print what an index holds."""
    from tabulate import tabulate

    config = {name: value for name, value in index.config.items() if name != "sha256"}
    rows = [(name, "" if value is None else value) for name, value in config.items()]
    print(tabulate(rows, tablefmt="plain"))
