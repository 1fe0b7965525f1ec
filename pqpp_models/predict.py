"""Asking a predictor about prompts, with a table as the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor, Uncertain
from pqpp_models.prompts import read_prompts
from pqpp_models.registry import DEFAULT_PREDICTOR
from pqpp_models.targets import resolve_targets

if TYPE_CHECKING:
    import pandas as pd


def predict(
    prompts: Any,
    targets: str | Iterable[str] | None = None,
    predictor: str | Predictor = DEFAULT_PREDICTOR,
    uncertainty: bool = False,
    progress: bool = False,
) -> pd.DataFrame:
    """Predict how well prompts will do, before anything is generated or retrieved.

    Args:
        prompts: One prompt, a list of them, or a table with a column `prompt`.
        targets: Names, or one string with commas; all of the predictor's if left out.
        predictor: A predictor, or what `Predictor.from_pretrained` takes.
        uncertainty: Also give TARGET_deviation, the standard deviation of each prediction.

    Returns:
        One row a prompt: `prompt`, the targets, and for a predictor that knows them `distance` to
        what it was trained on and `far`, whether that is too far to rely on the prediction. Values
        are in the targets' units: HBPP -1 to 2, P@10 and RR 0 to 1, higher is better.

    Raises:
        PredictorError: The prompts are not readable, or a target is not predicted.

    Example:
        >>> table = predict("A man riding a wave on a surfboard.", "mean_hbpp,mean_p10")
        >>> table.columns.tolist()
        ['prompt', 'mean_hbpp', 'mean_p10', 'distance', 'far']
    """
    import pandas as pd

    if isinstance(predictor, str):
        predictor = Predictor.from_pretrained(predictor)
    rows = [prompts] if isinstance(prompts, str) else prompts
    return pd.DataFrame(predicted_columns(predictor, rows, targets, uncertainty, progress))


def predicted_columns(
    predictor: Predictor,
    rows: Any,
    targets: str | Iterable[str] | None = None,
    uncertainty: bool = False,
    progress: bool = False,
) -> dict[str, Sequence[Any]]:
    """Return what `predict` puts into a table, as a mapping of columns.

    Example:
        >>> static = Predictor.from_pretrained("static")
        >>> list(predicted_columns(static, ["A cat."], "mean_rr", uncertainty=True))
        ['prompt', 'mean_rr', 'mean_rr_deviation', 'distance', 'far']
    """
    chosen = resolve_targets(targets, predictor.targets)
    columns: dict[str, Sequence[Any]] = {"prompt": read_prompts(rows)}
    if not predictor.knows_uncertainty:
        if uncertainty:
            raise PredictorError(
                f"{predictor.name} does not know how sure it is; leave the uncertainty out, or use "
                "a predictor that does, like static"
            )
        values = predictor.predict(rows, chosen, progress=progress)
        return columns | dict(zip(chosen, values.T.tolist(), strict=True))
    found = _measured(predictor, columns["prompt"], chosen, progress)
    columns |= dict(zip(chosen, found.values.T.tolist(), strict=True))
    if uncertainty:
        names = [f"{target}_deviation" for target in chosen]
        columns |= dict(zip(names, found.deviations.T.tolist(), strict=True))
    far = predictor.is_far(found.distance).tolist()
    return {**columns, "distance": found.distance.tolist(), "far": far}


def _measured(
    predictor: Predictor, prompts: Sequence[str], targets: tuple[str, ...], progress: bool
) -> Uncertain:
    """Ask for predictions with their uncertainty, a part of the prompts at a time."""
    size = predictor.chunk_size
    starts: Iterable[int] = range(0, max(len(prompts), 1), size)
    if progress:
        from tqdm.auto import tqdm

        starts = tqdm(starts, desc=predictor.name, unit=f" x {size} rows")
    parts = [
        predictor.predict_with_uncertainty(prompts[start : start + size], targets)
        for start in starts
    ]
    return Uncertain(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
