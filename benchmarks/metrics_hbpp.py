"""HBPP over 250,000 judgments: this project beside pandas and polars."""

from collections import defaultdict
from itertools import count

import numpy as np
from metrics_timing import Row, add_version, best_time, read_time

from pqpp_metrics.functional import hbpp

IMAGES, ANNOTATORS, IMAGES_PER_PROMPT = 83_334, 3, 4


def make_rows():
    """Compare on adjacent and shuffled rows, with string ids in lists and other containers."""
    rng = np.random.default_rng(0)
    labels = rng.choice([2.0, 1.0, 0.0, -1.0], (IMAGES, ANNOTATORS))
    numbers = np.arange(IMAGES) // IMAGES_PER_PROMPT
    orders = {"adjacent": np.arange(IMAGES), "shuffled": rng.permutation(IMAGES)}
    for name, order in orders.items():
        yield from _time_strings(name, labels, numbers[order], aim=5 if name == "adjacent" else 2)
    yield from _time_containers(labels, [f"mscoco-{number}" for number in numbers])


def _time_containers(labels, ids):
    """Compare what users hold ids in with the better of two ways of pandas, and with encoding."""
    try:
        import pandas as pd
        import pyarrow
    except ImportError:
        return
    series, arrow = pd.Series(ids, dtype="str"), pyarrow.array(ids)
    array, category = np.array(ids, dtype=object), pd.Series(ids, dtype="str").astype("category")
    held = {
        "a list": (ids, series, lambda: pd.factorize(array)),
        "a str Series": (series, series, lambda: pd.factorize(series)),
        "an object Series": (series.astype(object), None, lambda: pd.factorize(array)),
        "Arrow": (arrow, series, arrow.dictionary_encode),
        "a category": (category, category, lambda: pd.factorize(category)),
    }
    long = best_time(_make_pandas(labels, ids), repeats=7)
    for name, (column, known, encode) in held.items():
        ours = best_time(lambda column=column: hbpp(labels, column), repeats=15)
        wide = best_time(_make_wide(labels, column if known is None else known), repeats=7)
        way = "wide" if wide < long else "long"
        task, floor = f"HBPP, {labels.size:,} judgments, adjacent, ids as {name}", read_time(labels)
        yield Row(
            task, f"{add_version('pandas')}, {way}, frame built", min(wide, long), ours, 5, floor
        )
        yield Row(task, "encoding the ids alone", best_time(encode, repeats=9), ours, 0.67, floor)


def _make_wide(labels, ids):
    """Pandas over one row an image, with numpy for what is within a row."""
    import pandas as pd

    frame = pd.DataFrame(labels, columns=["a", "b", "c"]).assign(prompt=ids)

    def compute():
        votes = frame[["a", "b", "c"]].to_numpy()
        positive = votes >= 1
        number, kept, total = positive.sum(1), (votes * positive).sum(1), votes.sum(1)
        with np.errstate(invalid="ignore", divide="ignore"):
            others = (total - kept) / (votes.shape[1] - number)
            relevance = np.where(2 * number > votes.shape[1], kept / number, others)
        prompts = pd.Series(relevance).groupby(frame["prompt"], sort=False, observed=True)
        return prompts.mean()

    return compute


def _time_strings(name, labels, numbers, aim):
    ids = [f"mscoco-{number}" for number in numbers]
    ours = best_time(lambda: hbpp(labels, ids), repeats=15)
    expected = dict(zip(*(part.tolist() for part in hbpp(labels, ids)), strict=True))
    task = f"HBPP, {labels.size:,} judgments, {name} string ids"
    peers = {"pandas": _make_pandas(labels, ids), "polars": _make_polars(labels, ids)}
    for peer, compute in peers.items():
        found = dict(compute() if peer == "pandas" else compute().iter_rows())
        assert all(abs(found[key] - expected[key]) < 1e-9 for key in expected)
        yield Row(task, add_version(peer), best_time(compute, repeats=7), ours, aim)


def _make_long(labels, ids):
    """One row a judgment; images are numbered within their prompt, as PQPP publishes them."""
    seen = defaultdict(count)
    images = [next(seen[prompt]) for prompt in ids]
    repeat = labels.shape[1]
    return {
        "prompt": np.repeat(ids, repeat).tolist(),
        "image": np.repeat(images, repeat),
        "label": labels.ravel(),
    }


def _make_pandas(labels, ids):
    """Vectorised pandas over long rows: no Python function is called for a group."""
    import pandas as pd

    frame = pd.DataFrame(_make_long(labels, ids))

    def compute():
        positive = frame["label"] >= 1
        columns = frame.assign(positive=positive, kept=frame["label"].where(positive, 0.0))
        images = columns.groupby(["prompt", "image"], sort=False)
        sums, votes = images[["label", "positive", "kept"]].sum(), images.size()
        relevant = sums["positive"] * 2 > votes
        others = (sums["label"] - sums["kept"]) / (votes - sums["positive"])
        relevance = (sums["kept"] / sums["positive"]).where(relevant, others)
        return relevance.groupby(level="prompt", sort=False).mean()

    return compute


def _make_polars(labels, ids):
    import polars as pl

    frame = pl.DataFrame(_make_long(labels, ids))
    positive = pl.col("label") >= 1
    relevance = (
        pl.when(pl.col("positive") * 2 > pl.col("votes"))
        .then(pl.col("kept") / pl.col("positive"))
        .otherwise((pl.col("total") - pl.col("kept")) / (pl.col("votes") - pl.col("positive")))
    )

    def compute():
        images = frame.group_by("prompt", "image").agg(
            pl.len().alias("votes"),
            pl.col("label").sum().alias("total"),
            positive.sum().alias("positive"),
            pl.col("label").filter(positive).sum().alias("kept"),
        )
        return images.group_by("prompt").agg(relevance.mean().alias("score"))

    return compute
