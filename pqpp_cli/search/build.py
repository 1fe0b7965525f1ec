"""`pqpp search build`: build an index."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pqpp_cli.command import Command
from pqpp_cli.errors import CommandError
from pqpp_cli.search.groups import EncoderOptions, SourceOptions, print_index
from pqpp_files.options.option import NEEDED, option


class SearchBuild(SourceOptions, EncoderOptions, Command):
    """Embed, say what index of faiss will be built and what it needs, and build it.

    Search results are ranked anew by the embeddings, which are kept in 16 bits beside it.
    """

    factory: str | None = option(None, "index of faiss, like IVF1024,SQ8 (default: by the size)")
    output: str = option(NEEDED, "the folder to write", metavar="DIR", path="output")

    def run(self) -> None:
        """Build the index of images, of embeddings, or of what `search embed` wrote."""
        from pqpp_engines.index import ImageTextEncoder
        from pqpp_engines.index.embed import has_embeddings, read_embedded
        from pqpp_engines.index.source import embed_folder, load_embeddings

        if has_embeddings(self.source):
            if self.model or self.revision or self.ids:
                raise CommandError(
                    f"{self.source} tells its model and ids; leave `model`, `revision` and `ids` "
                    "out"
                )
            with read_embedded(self.source) as embedded:
                if embedded.left_out:
                    print(f"pqpp: {embedded.left_out} rows have no embedding", file=sys.stderr)
                self._build(embedded.vectors, embedded.ids, embedded.model, embedded.revision)
        elif Path(self.source).is_dir():
            if not self.model:
                raise CommandError("`model`: name what embeds the images, like CLIP")
            encoder = ImageTextEncoder(self.model, self.revision)
            vectors, ids = embed_folder(self.source, encoder, self.batch_size)
            self._build(vectors, ids, encoder.model, encoder.revision)
        else:
            vectors, ids = load_embeddings(self.source, self.ids)
            self._build(vectors, ids, self.model or "", self.revision)

    def _build(self, vectors: Any, ids: Sequence[str], model: str, revision: str | None) -> None:
        from pqpp_engines.index import build_index, plan_for
        from pqpp_engines.index.ids import ItemIds

        ids = ItemIds.of(ids, len(vectors))  # refused before the estimate is printed
        plan = plan_for(math.prod(vectors.shape[:-1]), vectors.shape[-1], self.factory)
        print(f"pqpp: {plan.told()}", file=sys.stderr)
        print_index(build_index(vectors, ids, self.output, self.factory, model, revision))
