"""Do explanations name the words that matter? Drop the worst words, and ask another predictor.

    python benchmarks/faithfulness.py --judge FOLDER --data-dir DATA [--output faithfulness.md]

For prompts of PQPP v1.0's validation split, and of the studies that `alignment` is learned from,
the words that take most from the prediction (`worst`) are dropped, or as many at random (`random`,
the mean of five draws), or those that add most (`best`). What the prompt without them gets is told
by the judge, a predictor that was trained separately: one that shares weights with the explained
one would agree with it for free. An explanation that names words which matter raises the judge's
prediction by dropping the worst more than by dropping random ones. Intervals are the middle 95 % of
2,000 bootstrap means over the prompts. Nothing here says what images would look like.

DATA is a root that holds `pqpp/v1.0`, `pqpp/v1.1`, `agiqa`, `tia2`, `gimbrr`, `genai` and `t2v`;
without it what is not here is downloaded. Beside FILE.md a picture FILE.png is written.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.encoder.normaliser import normalise
from pqpp_cli.output import emit
from pqpp_datasets.load import load_benchmark
from pqpp_files.write_beside import write_whole
from pqpp_models import Predictor
from pqpp_models.explain.explanation import NOTE, Explanation
from pqpp_models.explain.words import without_others
from pqpp_models.text.training.studies import read_sources

DROPPED = (1, 2, 3)
DRAWS, RESAMPLES, SEED = 5, 2000, 0
FEWEST, MOST = 5, 20
"""Prompts of so many words are taken, so that at least two remain."""

KINDS = ("worst", "random", "best")
COLOURS = {"worst": "#e66101", "random": "#7f7f7f", "best": "#2c7fb8"}


class Changes(NamedTuple):
    """What dropping words changed.

    Attributes:
        source: Where the prompts are from.
        judge: By kind, the change of the judge's prediction, shape ``(prompts, len(DROPPED))``.
        own: The same of the explained predictor.
    """

    source: str
    judge: dict[str, NDArray[np.float64]]
    own: dict[str, NDArray[np.float64]]


def main() -> None:
    """Print the table, and write it with its picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judge", required=True, help="a predictor that was trained separately")
    parser.add_argument("--predictor", default="static", help="the explained one (default: static)")
    parser.add_argument("--target", default="mean_hbpp", help="default: %(default)s")
    parser.add_argument("--judge-target", help="the judge's target (default: the same)")
    parser.add_argument("--data-dir", help="root of the data")
    parser.add_argument("--prompts", type=int, default=100, help="a source (default: %(default)s)")
    parser.add_argument("--output", help="write the table to this .md, and a picture beside it")
    options = parser.parse_args()
    started = time.process_time()
    predictor = Predictor.from_pretrained(options.predictor)
    judge = Predictor.from_pretrained(options.judge)
    asked = (options.target, options.judge_target or options.target)
    found = [
        changes(source, some, predictor, judge, *asked)
        for source, some in chosen_prompts(options.data_dir, options.prompts).items()
    ]
    text = table(found, predictor, judge, *asked)
    emit(text, options.output)
    if options.output:
        write_whole(Path(options.output).with_suffix(".png"), picture(found, asked[1]))
    print(f"{time.process_time() - started:.0f} CPU-seconds, python {platform.python_version()}")


def chosen_prompts(data_dir: str | None, count: int) -> dict[str, list[str]]:
    """Return some prompts of each source, drawn without replacement, none twice."""
    rows = load_benchmark("pqpp-v1.0", data_dir=data_dir, split="validation")
    sources = {"pqpp validation": rows["prompt"][:]}
    sources |= {name: list(one.prompts) for name, one in read_sources(data_dir).items()}
    chosen: dict[str, list[str]] = {}
    for source, prompts in sources.items():
        unique = list({normalise(one): " ".join(one.split()) for one in prompts}.values())
        fit = [one for one in unique if FEWEST <= len(one.split()) <= MOST]
        order = np.random.default_rng(SEED).permutation(len(fit))[:count]
        chosen[source] = [fit[at] for at in order]
    return chosen


def changes(
    source: str,
    prompts: Sequence[str],
    predictor: Predictor,
    judge: Predictor,
    target: str,
    judged: str,
) -> Changes:
    """Explain some prompts, drop their words and ask both predictors."""
    found = [one for one in predictor.explain(prompts, target) if len(one.words) >= FEWEST]
    rng = np.random.default_rng(SEED)
    texts = [left_of(one, rng) for one in found]
    flat = [text for row in texts for text in row]
    told = {}
    for name, one, asked in (("judge", judge, judged), ("own", predictor, target)):
        unique = {text: at for at, text in enumerate(dict.fromkeys(flat))}
        values = one.predict(list(unique), asked)[:, 0]
        values = values[[unique[text] for text in flat]].reshape(len(found), -1)
        told[name] = by_kind(values[:, 1:] - values[:, :1])
    return Changes(source, **told)


def left_of(one: Explanation, rng: np.random.Generator) -> list[str]:
    """Return the prompt, then what is left of it: by kind, number dropped, and draw."""
    n = len(one.words)
    worst = np.argsort(one.values, kind="stable")
    orders = [worst, *(rng.permutation(n) for _ in range(DRAWS)), worst[::-1]]
    kept = np.ones((1 + len(orders) * len(DROPPED), n), bool)
    rows = ((order, count) for order in orders for count in DROPPED)
    for row, (order, count) in enumerate(rows, start=1):
        kept[row, order[:count]] = False
    return list(without_others(one.prompt, one.spans, kept))


def by_kind(moved: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Part the columns that `left_of` made: the draws' mean stands for random words."""
    parts = moved.reshape(len(moved), 2 + DRAWS, len(DROPPED))
    return dict(zip(KINDS, (parts[:, 0], parts[:, 1:-1].mean(axis=1), parts[:, -1]), strict=True))


def interval(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return a mean and the ends of its 95 % bootstrap interval."""
    rng = np.random.default_rng(SEED)
    means = values[rng.integers(len(values), size=(RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(values.mean()), float(low), float(high)


def pooled(found: Sequence[Changes]) -> Changes:
    """Return all sources as one."""
    together = (
        {kind: np.concatenate([getattr(one, side)[kind] for one in found]) for kind in KINDS}
        for side in ("judge", "own")
    )
    return Changes("all", *together)


def table(
    found: Sequence[Changes], predictor: Predictor, judge: Predictor, target: str, judged: str
) -> str:
    """Return the figures in Markdown."""
    lines = [
        f"Words dropped by {predictor.name}'s explanations of `{target}`, judged by "
        f"{judge.name}'s `{judged}`, which was trained separately. Mean change of the judge's "
        f"prediction; the last columns are worst minus random, with 95 % intervals. Seed {SEED}; "
        f"{NOTE}.",
        "",
        "| prompts | n | dropped | worst | random | best | worst - random | better than random |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in (*found, pooled(found)):
        for column, count in enumerate(DROPPED):
            if one.source != "all" and count != 2:
                continue
            worst, random, best = (one.judge[kind][:, column] for kind in KINDS)
            mean, low, high = interval(worst - random)
            means = " | ".join(f"{values.mean():+.3f}" for values in (worst, random, best))
            share = (worst > random).mean()
            lines.append(
                f"| {one.source} | {len(worst)} | {count} | {means} | "
                f"{mean:+.3f} ({low:+.3f} .. {high:+.3f}) | {share:.0%} |"
            )
    own = pooled(found).own
    gain = ", ".join(
        f"{(own['worst'] - own['random'])[:, column].mean():+.3f}" for column in range(len(DROPPED))
    )
    lines += ["", f"Worst minus random by {predictor.name} itself, 1 to 3 words: {gain}."]
    return "\n".join(lines)


def picture(found: Sequence[Changes], judged: str) -> bytes:
    """Return the curves of all sources together as PNG."""
    import io

    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, 3.4), layout="constrained", dpi=110)
    panel = figure.subplots()
    together = pooled(found).judge
    steps = (0, *DROPPED)
    for kind in KINDS:
        points = [(0.0, 0.0, 0.0), *(interval(column) for column in together[kind].T)]
        mean, low, high = zip(*points, strict=True)
        panel.plot(steps, mean, color=COLOURS[kind], marker="o", label=f"{kind} words")
        panel.fill_between(steps, low, high, color=COLOURS[kind], alpha=0.2, linewidth=0)
    panel.axhline(0, color="#1d2a35", linewidth=0.8)
    panel.set_xticks(steps)
    panel.set_xlabel("words dropped")
    panel.set_ylabel(f"mean change of the judge's {judged}")
    panel.legend(frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


if __name__ == "__main__":
    main()
