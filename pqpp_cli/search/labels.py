"""`pqpp search labels`: list images of a captioned collection for people to judge."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import ClassVar

from pqpp_cli.command import Command
from pqpp_cli.groups import ColumnOptions, ResultOptions
from pqpp_files.options.option import NEEDED, option


class SearchLabels(ColumnOptions, ResultOptions, Command):
    """List the images whose captions are like a prompt, as PQPP chose what people judged: over a
    threshold of cosine, or with enough of the prompt's words. pqpp annotate init takes the table;
    --set task.grades=binary asks as PQPP did.
    """

    RETIRED: ClassVar = {"threshold": "least_likeness"}
    captions: str = option(
        NEEDED, "a table of image and caption", metavar="CAPTIONS", path="file", word=True
    )
    file: str = option(NEEDED, "prompts: a table or a text", metavar="FILE", path="file")
    column: str = option("prompt", "its column of prompts")
    image_column: str = option("image", "of images", metavar="COLUMN")
    caption_column: str = option("caption", "of captions", metavar="COLUMN")
    encoder: str | None = option(
        None, "a sentence encoder, like MiniLM", metavar="NAME_OR_PATH", path="name"
    )
    words: bool = option(False, "count shared words, without a model")
    least_likeness: float | None = option(
        None, "cosine, or share of a prompt's words, to reach (default: .7, .5)", metavar="X"
    )
    most: int = option(2000, "images of a prompt", metavar="N")
    refined_from: int = option(
        1000, "rank behind which captions must hold all words of the prompt", metavar="N"
    )
    format: str | None = option(None, choices=("csv", "json", "jsonl", "parquet"))
    output: str = option(NEEDED, "the table to write")

    def __post_init__(self) -> None:
        """Check that there is one way to compare."""
        super().__post_init__()
        self.require_one_of("encoder", "words")

    def run(self) -> None:
        """Compare prompts with captions, and write what people shall judge."""
        from pqpp_cli.output import emit_columns
        from pqpp_engines.index import preliminary_relevance
        from pqpp_files.read_table import read_table

        style = self.style
        columns = [self.image_column, self.caption_column]
        remedy = "name it with `image_column` or so"
        captions = read_table(self.captions, columns, remedy=remedy)
        prompts = read_table(self.file, plain=self.column, remedy="name it with `column`")
        texts = prompts.texts(self.column)
        relevance = preliminary_relevance(
            texts,
            captions.texts(self.image_column),
            captions.texts(self.caption_column),
            _sentences(self.encoder) if self.encoder else None,
            self.least_likeness,
            self.most,
            self.refined_from,
        )
        query = relevance.query.tolist()
        rows = {"prompt": [texts[place] for place in query], "image": relevance.image}
        if "prompt_id" in prompts:
            rows = {"prompt_id": [prompts["prompt_id"][place] for place in query], **rows}
        rows["score"] = [round(float(score), 6) for score in relevance.score]
        emit_columns(rows, style, self.output)
        empty = len(texts) - len(set(query))
        text = f"{len(query)} images to judge, {empty} of {len(texts)} prompts without one"
        print(f"pqpp: {text}", file=sys.stderr)


def _sentences(encoder: str) -> Callable:
    """Return what embeds texts by an encoder of sentences."""
    from pqpp_datasets.select import embed_captions

    return lambda texts: embed_captions(texts, encoder, progress=sys.stderr.isatty())
