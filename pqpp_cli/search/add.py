"""`pqpp search add`: add to an index."""

from __future__ import annotations

from pathlib import Path

from pqpp_cli.command import Command
from pqpp_cli.search.groups import Indexed, SourceOptions, print_index
from pqpp_files.options.option import option


class SearchAdd(Indexed, SourceOptions, Command):
    """Add images or embeddings to an index."""

    model: str | None = option(
        None, "where its model lies, if not on the Hub", metavar="FOLDER", path="name"
    )
    output: str | None = option(
        None, "the folder to write (default: in its place)", metavar="DIR", path="output"
    )

    def run(self) -> None:
        """Embed what came, and write the larger index."""
        from pqpp_engines.index import ImageTextEncoder, Index
        from pqpp_engines.index.source import embed_folder, load_embeddings

        index = Index(self.index)
        if Path(self.source).is_dir():
            encoder = ImageTextEncoder.of(index, self.model)
            embedded = embed_folder(self.source, encoder, self.batch_size)
        else:
            embedded = load_embeddings(self.source, self.ids)
        print_index(index.add(*embedded, self.output))
