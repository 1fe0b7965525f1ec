"""The display of `bench` in notebooks: its figures, and bars on one scale."""

import re
from html import unescape

import pandas as pd

import pqpp


def test_notebook_shows_bars_and_derived_tables_are_plain(cache):
    sample = pqpp.load_benchmark("sample", split="test")
    table = pqpp.bench({"<b>": lambda prompts: [len(text) for text in prompts]}, "mean_rr", sample)
    from_pandas = pqpp.bench(
        sample.to_pandas(), {"mine": lambda prompts: list(map(len, prompts))}, "mean_rr"
    )
    assert from_pandas["pearson"].tolist() == table["pearson"].tolist()
    page = table._repr_html_()
    assert "<b>" not in page and "&lt;b&gt;" in page and "sample, test" in page
    row = table.iloc[0]
    texts = [unescape(text) for text in re.findall(r"</span></span>([^<]*)</td>", page)]
    assert texts == [
        f"{row[name]:.3f} [{row[f'{name}_ci_low']:.2f}, {row[f'{name}_ci_high']:.2f}]"
        for name in ("pearson", "kendall")
    ]
    # The scale covers all intervals and 0; a bar reaches from 0 to the coefficient.
    low, high = row.filter(like="_ci_").min(), max(0.0, row.filter(like="_ci_").max())
    left, right = map(float, re.search(r"left:([\d.]+)%;right:([\d.]+)%", page).groups())
    ends = sorted(100 * (end - low) / (high - low) for end in (row["pearson"], 0.0))
    assert abs(left - ends[0]) < 0.01 and abs(100 - right - ends[1]) < 0.01
    assert type(table[["n"]]) is pd.DataFrame and type(table.round(2)) is pd.DataFrame
