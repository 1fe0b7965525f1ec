"""The table that `bench` returns, as a notebook shows it: figures with bars and their intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from pqpp_files.render_page import BarCell, bar_table
from pqpp_files.visible import visible
from pqpp_models.bench.protocol import Result
from pqpp_models.bench.rows import COEFFICIENTS


class BenchTable(pd.DataFrame):
    """Results as a table; whatever is made of it is a plain one.

    Example:
        >>> BenchTable({"predictor": ["static"], "n": [80]})["n"].tolist()
        [80]
    """

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame

    def _repr_html_(self) -> str:
        if self.empty:
            return self.to_html()
        ends = self[[f"{name}_ci_{end}" for name in COEFFICIENTS for end in ("low", "high")]]
        low, high = min(0.0, ends.min().min()), max(0.0, ends.max().max())
        limits = (low, high) if high > low else None
        rows = [
            (
                visible(row["predictor"]),
                visible(row["label"]),
                f"{row['n']:,}",
                *(_cell(row, name, limits) for name in COEFFICIENTS),
            )
            for row in self.to_dict("records")
        ]
        headings = ("predictor", "target", "prompts", "Pearson [95 %]", "Kendall [95 %]")
        data = "; ".join(sorted(set(self["config"] + ", " + self["split"])))
        return str(bar_table(headings, rows, visible(data)))


def bench_table(results: Sequence[Result]) -> pd.DataFrame:
    """Return results as a table, one row each."""
    return BenchTable([vars(result) for result in results])


def _cell(row: Mapping[Any, Any], name: str, limits: tuple[float, float] | None) -> BarCell:
    interval = " [{:.2f}, {:.2f}]".format(*(row[f"{name}_ci_{end}"] for end in ("low", "high")))
    return BarCell.of(row[name], limits, "{:.3f}" + interval)
