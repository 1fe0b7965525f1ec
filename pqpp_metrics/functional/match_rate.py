"""The share of images that match their prompts, overall and by task, model or other groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pqpp_metrics.functional import _categories, _inputs
from pqpp_metrics.functional._containers import Integers, Values
from pqpp_metrics.functional._result import Result
from pqpp_metrics.functional._studentised import make_rate_result

_RESULT_KEYS = ("match_rate", "ci_low", "ci_high", "n")


def match_rate(
    matches: Values,
    groups: Values | None = None,
    group_names: Sequence[str] | None = None,
    confidence: float = 0.95,
) -> Result:
    """Return the match rate: the share of images that match their prompt, according to people.

    GIMBRR (Achterberg et al., 2023), "Assessment results": overall, and by task and model. The
    paper's overall rates leave out the tasks whose name begins with "Controlled".

    Args:
        matches: Whether each image matches, bool or 0 and 1, shape (images,). Of several votes on
            an image, give the majority: intervals assume one vote per image.
        groups: Labels to group by: shape (images, columns), one column for each grouping (task,
            model, ...), or shape (images,) for a single one; None (default): only the overall rate.
        group_names: Names of the columns in the result; None: "group_0", "group_1", ...
        confidence: Level of Wilson's interval, between 0 and 1.

    Returns:
        `Result` with "match_rate" in [0, 1], "ci_low", "ci_high" (Wilson, Journal of the American
        Statistical Association 22, 1927), "n"; and "groups", a list with one dict for each
        combination of labels, in order of first appearance, with the label in each column and the
        same four keys.

    Example:
        >>> result = match_rate([1, 0, 1], ["counting", "counting", "negation"], ["task"])
        >>> [(row["task"], row["match_rate"]) for row in result["groups"]]
        [('counting', 0.5), ('negation', 1.0)]
    """
    hits = _inputs.to_numpy(_inputs.as_numbers("matches", matches, ndim=1))
    _inputs.require_values("matches", hits, (0, 1), "must be true (1) or false (0)")
    hits = hits.astype(np.float64)
    rows: list[dict[str, Any]] = []
    result = make_rate_result("match_rate", hits.sum(), len(hits), confidence, {"groups": rows})
    if groups is None:
        return result
    table = _categories.to_label_array("groups", groups)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or table.size == 0 or len(table) != len(hits):
        raise _inputs.shape_error("groups", table, f"must have one row per image ({len(hits)})")
    columns = [_categories.as_labels("groups", column, ndim=1) for column in table.T]
    n, names = len(columns), [f"group_{column}" for column in range(len(columns))]
    if group_names is not None:
        names = _inputs.as_list("group_names", group_names)
    if len(names) != n or len({*names, *_RESULT_KEYS}) != n + len(_RESULT_KEYS):
        rule = f"must be {n} different names, other than {', '.join(_RESULT_KEYS)}"
        raise _inputs.not_allowed_error("group_names", names, rule)
    codes: Integers = np.zeros(len(hits), dtype=np.intp)
    for column in columns:
        (column_codes,), distinct = _categories.encode_categories(column)
        _, codes = _categories.encode_integers(codes * len(distinct) + column_codes)
    totals, numbers = np.bincount(codes, hits), np.bincount(codes)
    first = np.unique(codes, return_index=True)[1]
    combinations = zip(*(column[first].tolist() for column in columns), strict=True)
    for code, row in enumerate(combinations):
        labels = dict(zip(names, row, strict=True))
        group_result = make_rate_result("match_rate", totals[code], int(numbers[code]), confidence)
        rows.append(labels | dict(group_result))
    return result
