"""Predictions as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pqpp_datasets.target_columns import ALIGNMENT, get_measure, is_mean
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import COLUMN, to_prompt_list
from pqpp_models.registry import DEFAULT_PREDICTOR

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from pqpp_backbones.prompt.prompt import Prompt

_MAX_WORDS, _MAX_UNKNOWN, _MIN_UNKNOWN_LENGTH = 30, 1, 4


def predict(
    prompts: Any,
    targets: str | Iterable[str] | None = None,
    predictor: str | Predictor = DEFAULT_PREDICTOR,
    uncertainty: bool = False,
    progress: bool = False,
    unread: str = "empty",
) -> pd.DataFrame:
    """Predict how well prompts will do in image generation and retrieval.

    Args:
        prompts: One prompt, a list of them, or a table with a column `prompt`, and with lists of
            images in `images` or `<model>_images` if the predictor needs them.
        targets: Names, or one string with commas; default: all targets of the predictor.
        predictor: A predictor, or its name or path for `Predictor.from_pretrained`.
        uncertainty: Add TARGET_deviation, the standard deviation of each prediction.
        progress: Show a progress bar.
        unread: The prediction of a prompt that is `out_of_domain`: NaN (`empty`), or the average
            of all prompts (`average`), lower if the words are garbled.

    Returns:
        One row per prompt, with the index of a pandas Series or DataFrame. The columns are
        `prompt`, the targets and, if the predictor knows them, `distance` (from its training data),
        `out_of_domain` (the prompt is not plain English, so it has no prediction) and `ignored`
        (weights, flags, tails like "4k"). `alignment`, P@10 and RR are 0 to 1, HBPP is -1 to 2;
        higher is better. An untrained predictor returns one column `score` without a unit; its
        `higher_is` gives the direction. A blank prompt has NaN.

    Raises:
        PredictorError: The prompts cannot be read, or the predictor has no such target.

    Example:
        >>> predict(["a cat", "ein Hund"], "mean_rr")["mean_rr"].isna().tolist()
        [False, True]
        >>> table = predict("A man riding a wave on a surfboard.", "mean_hbpp,mean_p10")
        >>> table.columns.tolist()
        ['prompt', 'mean_hbpp', 'mean_p10', 'distance', 'out_of_domain', 'ignored']
    """
    import pandas as pd

    if isinstance(predictor, str):
        predictor = Predictor.from_pretrained(predictor)
    rows = predictor.read_rows(to_prompt_list(prompts))
    columns = predict_columns(predictor, rows, targets, uncertainty, progress, unread)
    index = prompts.index if hasattr(prompts, "iloc") else None
    try:
        return pd.DataFrame(columns, index)
    except UnicodeEncodeError:  # Arrow has no strings with half a surrogate pair
        texts = pd.Series(columns["prompt"], index, dtype=object)
        return pd.DataFrame(columns | {"prompt": texts}, index)


def predict_columns(
    predictor: Predictor,
    rows: Sequence[Any],
    targets: str | Iterable[str] | None = None,
    uncertainty: bool = False,
    progress: bool = False,
    unread: str = "empty",
) -> dict[str, Sequence[Any]]:
    """Return the columns of `predict` by name, with None for unknown values.

    The rows are the output of `Predictor.read_rows`.

    Example:
        >>> static = Predictor.from_pretrained("static")
        >>> rows = static.read_rows(["A cat."])
        >>> list(predict_columns(static, rows, "mean_rr", uncertainty=True))
        ['prompt', 'mean_rr', 'mean_rr_deviation', 'distance', 'out_of_domain', 'ignored']
    """
    chosen = predictor.list_columns(targets)
    if predictor.is_scalar:
        chosen = predictor.list_columns(None)
    if uncertainty:
        predictor.require_uncertainty()
    estimates = predictor.estimate(rows, chosen, progress)
    if unread == "empty":
        estimates.values[estimates.out_of_domain] = math.nan
        estimates.deviations[estimates.out_of_domain] = math.nan
    texts = [str(row[COLUMN] if isinstance(row, Mapping) else row) for row in rows]
    columns: dict[str, Sequence[Any]] = {"prompt": texts, **_to_columns(chosen, estimates.values)}
    if uncertainty:
        columns |= _to_columns([f"{target}_deviation" for target in chosen], estimates.deviations)
    if predictor.has_uncertainty:
        columns |= _to_columns(["distance"], estimates.distance[:, None])
        columns["out_of_domain"] = estimates.out_of_domain.tolist()
        columns["ignored"] = estimates.ignored
    return columns


def explain_unreliable(predictor: Predictor, prompt: Prompt) -> str:
    """Explain why the `alignment` of a prompt is not reliable; empty if it is.

    `benchmarks/verdicts.md` has the measurements.
    """
    unknown = find_unknown_words(predictor, prompt)
    if prompt.is_tag_list:
        kind = "tag lists"
    elif len(prompt.content.split()) > _MAX_WORDS:
        kind = f"prompts of more than {_MAX_WORDS} words"
    elif len(unknown) > _MAX_UNKNOWN:
        kind = f"prompts with several unknown words ({', '.join(unknown[:3])})"
    else:
        return ""
    return f"predictions for {kind} are not reliable"


def find_unknown_words(predictor: Predictor, prompt: Prompt) -> list[str]:
    """Return the longer words of a prompt that are in no word list, such as misspelled ones."""
    known: Any = getattr(predictor, "known_words", None)
    words = known.read(prompt.normalised).unknown if hasattr(known, "read") else []
    return [word for word in words if len(word) >= _MIN_UNKNOWN_LENGTH]


def order_targets(predictor: Predictor, targets: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the names of the requested targets; default: all, with `alignment` first.

    Example:
        >>> static = Predictor.from_pretrained("static")
        >>> order_targets(static, "mean_rr"), order_targets(static, None)[:2]
        (('mean_rr',), ('alignment', 'glide_hbpp'))
    """
    chosen = predictor.list_columns(targets)
    return chosen if targets else tuple(sorted(chosen, key=lambda name: name != ALIGNMENT))


def choose_main_targets(predictor: Predictor) -> tuple[str, ...]:
    """Return the targets to show first: of each measure, the mean or else all targets.

    Example:
        >>> choose_main_targets(Predictor.from_pretrained("static"))
        ('alignment', 'mean_hbpp', 'mean_p10', 'mean_rr')
    """
    names = order_targets(predictor, None)
    averaged = {get_measure(name) for name in names if is_mean(name)}
    return tuple(name for name in names if is_mean(name) or get_measure(name) not in averaged)


def _to_columns(names: Sequence[str], values: NDArray[np.float64]) -> dict[str, list[float | None]]:
    columns = values.T.tolist()
    known = ([None if math.isnan(value) else value for value in column] for column in columns)
    return dict(zip(names, known, strict=True))
