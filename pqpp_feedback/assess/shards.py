"""Images assessed from shard to shard: the images of some prompts, whatever else a folder holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_feedback.assess.assessor import Assessor
from pqpp_feedback.assess.pictures import Picture, pictures_of
from pqpp_feedback.assess.run import assessed_rows
from pqpp_feedback.assess.verdicts import verdict_table
from pqpp_files.shards import ERROR, all_utf_8, ids_of, texts_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class AssessShard:
    """A job of `pqpp_files.shards`: from the rows of prompts to the verdicts on their images.

    Args:
        open_assessors: Loads the assessors, when the first shard comes.
        image_dir: Where the images lie as `{prompt_id}/{model}_{i}.png`.
        column: The column of prompts; those of ids are `prompt_id`.
        batch_size: How many images are handed to an assessor at once.

    Returns:
        The columns of a table of verdicts and `error`: why an image has no evidence. A prompt that
        has no image, no text or an id that names no folder is a row without an image.

    Example:
        >>> import pyarrow as pa, tempfile
        >>> from pqpp_feedback.gimbrr.assessor import GimbrrAssessor
        >>> from pqpp_feedback.gimbrr.routines.published import Published
        >>> job = AssessShard(lambda: [GimbrrAssessor(Published())], tempfile.mkdtemp())
        >>> job(pa.table({"prompt_id": [7], "prompt": ["a cat"]}))["error"].to_pylist()
        ['the image is not there: the prompt has none']
    """

    open_assessors: Callable[[], list[Assessor]]
    image_dir: str
    column: str = "prompt"
    batch_size: int = 16

    @cached_property
    def assessors(self) -> list[Assessor]:
        """Who assesses."""
        return self.open_assessors()

    @property
    def settings(self) -> dict[str, Any]:
        """What the rows depend on besides prompts and images."""
        told = [
            {
                "name": one.name,
                "routine": one.routine,
                "models": {role: [it.name, it.revision] for role, it in one.models.items()},
                "settings": one.settings,
            }
            for one in self.assessors
        ]
        return {"job": "assess", "column": self.column, "assessors": told}

    def __getstate__(self) -> dict[str, Any]:
        """Leave the models behind: each process loads its own."""
        return {name: value for name, value in vars(self).items() if name != "assessors"}

    def __call__(self, table: pa.Table) -> pa.Table:
        """Return the verdicts."""
        import pyarrow as pa

        texts, faults = texts_of(table, self.column, "prompt", "name the column of prompts")
        ids, wrong = ids_of(table, "prompt_id")
        faults = [one or other for one, other in zip(wrong, faults, strict=True)]
        about = all_utf_8(table).to_pylist()
        asked = [
            {**row, "prompt_id": one, "prompt": text}
            for row, one, text in zip(about, ids, texts, strict=True)
        ]
        pictures = list(self._pictures(asked, faults))
        rows = list(assessed_rows(pictures, self.assessors, self.batch_size))
        errors = [None if row["evidence"] is not None else row["reason"] for row in rows]
        return verdict_table(rows).append_column(ERROR, pa.array(errors, pa.string()))

    def _pictures(self, asked: list[dict[str, Any]], faults: list[str | None]) -> Iterator[Picture]:
        for row, fault in zip(asked, faults, strict=True):
            found = [] if fault else pictures_of(self.image_dir, row)
            problem = (
                f"is not looked for: {fault}" if fault else "is not there: the prompt has none"
            )
            # A row without an image says so.
            yield from found or [
                Picture(Path(), row["prompt"], "", row["prompt_id"], "", {}, problem)
            ]
