"""Columns of a user's table, brought into the order of a benchmark's rows."""

import math
from collections.abc import Mapping, Sequence

from pqpp_models.errors import PredictorError

KEYS = ("prompt_id", "prompt")


def values_by_prompt(
    table: Mapping[str, Sequence],
    rows: Mapping[str, Sequence],
    columns: Sequence[str],
    called: str = "the file of metrics",
) -> dict[str, list[float | None]]:
    """Bring metrics into the order of a benchmark's rows; several rows a prompt are averaged.

    Args:
        table: The user's columns, `prompt_id` or `prompt` among them.
        rows: The benchmark's columns.
        columns: The metrics, or predictions.
        called: What messages call the table.

    Returns:
        Metric to one value a row of the benchmark, None where the table has none.

    Raises:
        PredictorError: The table has neither key, or none of the benchmark's prompts.

    Example:
        >>> table = {"prompt": ["a cat", "a cat"], "glide_hpsv2": [0.2, 0.4]}
        >>> found = values_by_prompt(table, {"prompt": ["a dog", "a cat"]}, ["glide_hpsv2"])
        >>> found["glide_hpsv2"][0], round(found["glide_hpsv2"][1], 9)
        (None, 0.3)
    """
    key = next((name for name in KEYS if name in table and name in rows), None)
    if key is None:
        raise PredictorError(
            f"{called} needs a column {' or '.join(KEYS)}; it has {', '.join(table)}"
        )
    wanted = list(rows[key])
    means = {column: _means(table[key], table[column]) for column in columns}
    if not any(known.keys() & set(wanted) for known in means.values()):
        raise PredictorError(
            f"no {key} of {called} is one of this split's {len(wanted)}; name the split "
            "that it was computed on"
        )
    return {column: [known.get(prompt) for prompt in wanted] for column, known in means.items()}


def _means(keys: Sequence, values: Sequence) -> dict:
    collected: dict = {}
    for key, value in zip(keys, values, strict=True):
        try:
            number = math.nan if value is None else float(value)
        except OverflowError:
            raise PredictorError(
                f"the file of metrics holds an integer at {key!r} that no float can hold; give "
                "values below 1e308"
            ) from None
        if not math.isnan(number):
            collected.setdefault(key, []).append(number)
    return {key: math.fsum(some) / len(some) for key, some in collected.items()}
