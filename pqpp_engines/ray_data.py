"""Predictions on Ray Data, for those whose data are there already; Ray is imported when asked for.

Tasks, not actors: an actor keeps its processor for as long as it lives, so that a job with as many
actors as processors leaves none to read with, and waits for ever. A task gives it back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pqpp_files.extras import needing
from pqpp_models import DEFAULT_PREDICTOR
from pqpp_models.predict import PredictShard

if TYPE_CHECKING:
    import pyarrow as pa
    import ray.data


def ray_predict(
    ds: ray.data.Dataset,
    targets: str | Iterable[str] | None = None,
    predictor: str = DEFAULT_PREDICTOR,
    uncertainty: bool = False,
    column: str = "prompt",
    revision: str | None = None,
    batch_size: int = 4096,
    **resources: Any,
) -> ray.data.Dataset:
    """Predict how well prompts will do, for each row of a dataset of Ray Data.

    Args:
        ds: The rows; nothing is read before the result is.
        targets: Names, or one string with commas; all of the predictor's if left out.
        predictor: What `Predictor.from_pretrained` takes, and every machine can load.
        uncertainty: Also give TARGET_deviation, the standard deviation of each prediction.
        column: The column of prompts.
        revision: Branch, tag or commit of a predictor on the Hub.
        batch_size: Rows at a time.
        **resources: For `Dataset.map_batches`, as `num_cpus` (1 if left out), `num_gpus` or
            `memory` of a task.

    Returns:
        The rows as `pqpp predict` writes them from shard to shard: all columns that came, the
        predictions, `distance`, `far` and `ignored` where the predictor knows them, and `error`:
        why there is none for a row whose prompt is no text or is blank. Such a row ends no batch.

    Raises:
        PredictorError: The predictor is unknown, needs more than texts, or lacks a target.
        MissingExtraError: Ray is not installed.

    Example:
        >>> import ray  # doctest: +SKIP
        >>> rows = ray.data.read_parquet("prompts/")  # doctest: +SKIP
        >>> ray_predict(rows, "mean_hbpp").write_parquet("predicted/")  # doctest: +SKIP
    """
    with needing("ray_predict", "ray"):
        import ray.data  # noqa: F401
    job = PredictShard(predictor, None, uncertainty, column, revision)
    job.targets = job.loaded.columns_for(targets)  # refuses here what would fail on the machines
    block: Any = _predict_block  # a table of Arrow, which is more than a batch may be to Ray
    return ds.map_batches(
        block,
        fn_args=(batch_size, astuple(job)),
        batch_format="pyarrow",
        batch_size=None,  # a block as it is: joined ones must be of one type, and a bad row's isn't
        **resources,
    )


def _predict_block(table: pa.Table, size: int, settings: tuple[Any, ...]) -> pa.Table:
    import pyarrow as pa

    job = _job(*settings)
    starts = range(0, max(len(table), 1), size)
    return pa.concat_tables([job(table.slice(start, size)) for start in starts])


@lru_cache(maxsize=1)
def _job(*settings: Any) -> PredictShard:
    """Return the job, once a process: tasks come and go, the predictor stays loaded."""
    return PredictShard(*settings)
