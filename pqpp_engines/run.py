"""Prompts, images, verdicts and predictions in one job: a table with a row for each image."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from pqpp_engines.generate.shards import image_columns
from pqpp_files.errors import PqppError
from pqpp_files.shards import ERROR, ShardStore

if TYPE_CHECKING:
    import pyarrow as pa

    from pqpp_engines.generate.shards import GenerateShard
    from pqpp_feedback.assess.run import AssessShard
    from pqpp_models.predict import PredictShard


@dataclass
class RunShard:
    """A job of `pqpp_files.shards`: from the rows of prompts to a row for each of their images.

    What fails in a stage is told in the rows that it was to fill, and ends no other stage: a model
    that cannot be had is a row for each prompt.

    Args:
        generate: One job a model, all into one folder.
        assess: Each of an assessor's name and its job on that folder.
        predict: The predictions of the prompts; None for none.

    Attributes:
        seconds: Stage to how long it took in this process.
        images: Stage to the images that it gave or saw.

    Returns:
        What is told of an image, the columns of predictions, `ASSESSOR_verdict`, `_score` and
        `_reason` of each assessor, and `error`: the stage, and why it failed.
    """

    generate: Sequence[GenerateShard]
    assess: Mapping[str, AssessShard] = field(default_factory=dict)
    predict: PredictShard | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    images: Counter[str] = field(default_factory=Counter)

    def __call__(self, table: pa.Table) -> pa.Table:
        """Go through the stages."""
        import pyarrow as pa

        rows: list[dict[str, Any]] = []
        failed: dict[str, str] = {}
        images: dict[str, dict[str, bytes]] = {}  # a prompt's, by their names
        for job in self.generate:
            making = partial(self._made, job, images)
            rows += self._stage(f"generate {job.generator.name}", making, table, failed)
        schema = [(name, of) for name, of in image_columns().items() if name != ERROR]
        for row in rows:
            if row[ERROR] is not None:
                row[ERROR] = f"generate {row['model']}: {row[ERROR]}"
        for name, assessing in self.assess.items():
            looking = partial(assessing, images=images)
            output = self._stage(f"assess {name}", looking, table, failed)
            schema += _add_verdicts(rows, output, failed.get(f"assess {name}"))
        if self.predict is not None:
            output = self._stage("predict", self.predict, table, failed)
            schema += self._add_predictions(rows, output, failed.get("predict"))
        return pa.Table.from_pylist(rows, pa.schema([*schema, (ERROR, pa.string())]))

    def lines(self) -> list[str]:
        """Return how fast each stage was, a line each."""
        return [
            f"{stage}: {self.images[stage]} rows in {spent:.1f} s, "
            f"{self.images[stage] / max(spent, 1e-9):.2f} a second"
            for stage, spent in self.seconds.items()
        ]

    def _made(
        self, job: GenerateShard, images: dict[str, dict[str, bytes]], table: pa.Table
    ) -> pa.Table:
        """Make images, and keep them for those who assess them: of those made none is read."""
        import pyarrow as pa

        made = job.with_images(table)
        store = ShardStore(job.output)
        for row, content in made if self.assess else ():
            if name := row["file_name"]:
                of_prompt = images.setdefault(row["prompt_id"], {})
                of_prompt[name] = content or store.read(f"images/{name}")
        return pa.Table.from_pylist([row for row, _ in made])

    def _stage(
        self, stage: str, job: Callable, table: pa.Table, failed: dict[str, str]
    ) -> list[dict[str, Any]]:
        """Return the rows of a stage; those of one that failed say so for each prompt."""
        begin = time.perf_counter()
        try:
            rows: list[dict[str, Any]] = job(table).to_pylist()
        except PqppError as error:
            failed[stage] = str(error)
            model = stage.removeprefix("generate ")
            blank = dict.fromkeys(image_columns())
            rows = [
                {**blank, "prompt_id": str(row.get("prompt_id")), "prompt": row.get("prompt")}
                | {"model": model, ERROR: str(error)}
                for row in table.to_pylist()
            ]
        spent = time.perf_counter() - begin
        self.seconds[stage] = self.seconds.get(stage, 0.0) + spent
        self.images[stage] += len(rows)
        return rows

    def _add_predictions(
        self, rows: list[dict[str, Any]], predictions: list[dict[str, Any]], reason: str | None
    ) -> list[tuple[str, Any]]:
        """Put the predictions of prompts beside their images."""
        import pyarrow as pa

        assert self.predict is not None
        names = list(self.predict.targets or ())
        of_prompt = {str(row["prompt_id"]): row for row in predictions}
        for row in rows:
            prediction = of_prompt.get(row["prompt_id"], {})
            row |= {name: prediction.get(name) for name in names}
            if reason:
                _tell(row, f"predict: {reason}")
        return [(name, pa.float64()) for name in names]


def _add_verdicts(
    rows: list[dict[str, Any]], verdicts: list[dict[str, Any]], reason: str | None
) -> list[tuple[str, Any]]:
    """Put the verdicts on images beside them; return the columns."""
    import pyarrow as pa

    if reason:
        for row in rows:
            _tell(row, f"assess: {reason}")
        return []
    parts = {"verdict": pa.bool_(), "score": pa.float64(), "reason": pa.string()}
    assessors = dict.fromkeys(row["assessor"] for row in verdicts)
    of_image = {(row["assessor"], row["image"]): row for row in verdicts}
    for row in rows:
        for assessor in assessors:
            verdict = of_image.get((assessor, row["file_name"]), {})
            row |= {f"{assessor}_{part}": verdict.get(part) for part in parts}
            if verdict.get(ERROR):
                _tell(row, f"assess {assessor}: {verdict[ERROR]}")
    return [(f"{name}_{part}", kind) for name in assessors for part, kind in parts.items()]


def _tell(row: dict[str, Any], reason: str) -> None:
    row[ERROR] = "; ".join(filter(None, (row[ERROR], reason)))
