"""The studies for `alignment`: prompts, and people's ratings of their images.

PQPP's HBPP also penalises unrealistic images; these studies asked only whether an image shows what
the prompt says. Each study has its own generators, question and scale, so that only the order of
the prompts within a study is learned. The mean prediction is set by GenAI-Bench (see
`read_match_shares`).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pqpp_datasets.benchmarks import BENCHMARKS
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.load import load_benchmark
from pqpp_datasets.prompt_text import normalise
from pqpp_files.errors import FileError
from pqpp_files.paths import expand
from pqpp_files.read_table import read_table
from pqpp_metrics.functional import spearman_qpp
from pqpp_models.errors import PredictorError
from pqpp_models.text.arrays import Floats

ANCHOR = "genai"
"""The study that sets the level of `alignment`."""

Scores = Iterable[tuple]
"""A prompt, its score and, if prompts have groups, its group."""

NEWEST_GENERATORS = ("dalle_3", "midjourney_6")
"""GenAI-Bench's current generators, whose level `alignment` has."""

_MATCH_FROM = 4
_WEAK_GENERATOR = "AttnGAN"
# Ids of prompts that are also in studies on which predictors are evaluated.
_SHARED_T2V_PROMPTS = ("47", "195", "197", "225")


@dataclass(frozen=True)
class Study:
    """A study: prompts with people's scores.

    Attributes:
        scores: One score per prompt; higher is better, on any scale.
        groups: The group of each prompt, or None.
    """

    prompts: Sequence[str]
    scores: Sequence[float]
    groups: Sequence[str] | None = None


def compute_match_rates(annotations: Mapping[str, Sequence[Mapping]]) -> Scores:
    """Return the share of models whose image matches each prompt of GIMBRR.

    Tasks named `Controlled ...` are excluded, as in the paper's overall rates.

    Args:
        annotations: The rows of `load_dataset("pqpp", "gimbrr-annotations")`; of duplicates, the
            first counts.

    Returns:
        The prompts, rates and tasks, in order of first appearance.
    """
    frames = [pd.DataFrame(list(rows)).assign(model=model) for model, rows in annotations.items()]
    votes = pd.concat(frames)
    votes = votes[~votes["task"].str.startswith("Controlled")]
    by_prompt = votes.drop_duplicates(["model", "prompt_id"]).groupby("prompt_id", sort=False)
    summary = by_prompt.agg({"prompt": "last", "task": "last", "matched": "mean"})
    return zip(*(summary[name].tolist() for name in ("prompt", "matched", "task")), strict=True)


def read_match_shares(data_dir: str | None, prompts: Sequence[str]) -> Floats:
    """Return each prompt's share of ratings that say that a new generator's image matches it.

    These are the ratings of 4 or 5 for images of the `NEWEST_GENERATORS` in GenAI-Bench.

    Args:
        data_dir: as for `read_studies`.
        prompts: prompts in the train split of GenAI-Bench.
    """
    folder = None if data_dir is None else str(expand(data_dir) / ANCHOR)
    ratings: dict[str, list[int]] = {}
    for row in load_benchmark("genai", data_dir=folder, split="train"):
        newest = (rating for name in NEWEST_GENERATORS for rating in row["ratings"][name])
        known = [rating for rating in newest if 1 <= rating <= 5]
        ratings.setdefault(normalise(row["prompt"]), []).extend(known)
    return np.array([np.mean(np.array(ratings[normalise(p)]) >= _MATCH_FROM) for p in prompts])


def correlate_in_groups(
    predicted: NDArray[np.float64], scores: NDArray[np.float64], groups: NDArray[np.str_]
) -> list[float]:
    """Return Spearman's coefficients in the groups of at least three prompts.

    >>> rho = correlate_in_groups(np.arange(4.0), np.array([1.0, 2, 3, 9]), np.array(list("aaab")))
    >>> [round(one, 6) for one in rho]
    [1.0]
    """
    coefficients = []
    for label in dict.fromkeys(groups.tolist()):
        members = groups == label
        if members.sum() < 3 or np.ptp(scores[members]) == 0:
            continue  # a group with equal rates has no order
        rho = spearman_qpp(predicted[members], scores[members])["spearman_qpp"]
        coefficients.append(0.0 if math.isnan(rho) else rho)  # a constant prediction has no order
    return coefficients


def standardise_scores(generators: Sequence[str], scores: Sequence[float]) -> list[float]:
    """Return the scores standardised within each generator; NaN for a missing score.

    >>> standardise_scores(["x", "x", "y"], [1.0, 2.0, 5.0])
    [-1.0, 1.0, 0.0]
    >>> standardise_scores(["x", "x", "x"], [1.0, float("nan"), 3.0])
    [-1.0, nan, 1.0]
    """
    names, values = np.asarray(generators), np.array(scores, np.float64)
    for name in dict.fromkeys(generators):
        peers = values[names == name]
        values[names == name] = (peers - np.nanmean(peers)) / (np.nanstd(peers) or 1.0)
    return values.tolist()


def _read_votes(rows: Any) -> Scores:
    return ((row["prompt"], vote) for row in rows for vote in row["labels"] if vote != -1)


def _read_ratings(rows: Any) -> Scores:
    return ((row["prompt"], row["mean_rating"]) for row in rows)


def _read_agiqa(rows: Any) -> Scores:
    return ((r["prompt"], r["mos_align"]) for r in rows if r["model"] != _WEAK_GENERATOR)


def _read_t2v(rows: Any) -> Scores:
    return _read_ratings(row for row in rows if row["prompt_id"] not in _SHARED_T2V_PROMPTS)


def _read_drawbench(rows: Any) -> Scores:
    return ((r["prompt"], r["mean_hbpp"]) for r in rows if r["source"] == "drawbench")


# A configuration, its split, and the function that reads scores from its rows.
_STUDIES: dict[str, tuple[str, str | None, Callable[[Any], Scores]]] = {
    "agiqa": ("agiqa", "train", _read_agiqa),
    "tia2_composition": ("tia2", "composition", _read_votes),
    "tia2_counting": ("tia2", "counting", _read_votes),
    "gimbrr": ("gimbrr-annotations", None, compute_match_rates),
    "genai": ("genai", "train", _read_ratings),
    "t2v": ("t2v", "train", _read_t2v),
    "drawbench": ("pqpp", "train+validation", _read_drawbench),  # the test split is held out
}

# Files of `ratings`, and the column of their scores. AIGIQA-20K's opinions mix quality with
# alignment.
_FILES = {
    "aigiqa": ("aigiqa20k_half.csv", "mos"),
    "imagenhub": ("imagenhub.csv", "semantic_consistency"),
}

SOURCES = (*_STUDIES, *_FILES)
"""The names of the studies."""


def read_studies(data_dir: str | None, without: Iterable[str] = ()) -> dict[str, Study]:
    """Read the studies for `alignment`.

    Args:
        data_dir: a folder with one folder per benchmark (``agiqa``, ``tia2``, ``gimbrr``,
            ``genai``, ``t2v``, ``pqpp/v1.1``) and the files ``ratings/aigiqa20k_half.csv`` and
            ``ratings/imagenhub.csv``. With None, each benchmark is found or downloaded, and the two
            files are left out.
        without: names of `SOURCES` to leave out; their prompts are also removed from other studies.

    Returns:
        The studies by name, in the order of `SOURCES`, with distinct normalised prompts and mean
        scores. The prompts of GIMBRR are grouped by task.

    Raises:
        PredictorError: no study is left, or a study in ``data_dir`` cannot be read.
        BenchmarkError: a benchmark cannot be found or downloaded.
    """
    excluded = list(dict.fromkeys(without))
    if len(excluded) == len(SOURCES):
        raise PredictorError("`without` leaves no study of `alignment`; keep at least one study")
    root = None if data_dir is None else expand(data_dir)
    studies = {}
    try:
        for name, (benchmark, split, read_scores) in _STUDIES.items():
            folder = None if root is None else str(root / BENCHMARKS[benchmark].folders[0])
            rows = load_benchmark(benchmark, None, split, data_dir=folder)
            studies[name] = _average_duplicates(read_scores(rows))
        for name, (file, score) in (_FILES if root is not None else {}).items():
            table = read_table(f"{root}/ratings/{file}", ["prompt", "model", score])
            scores = standardise_scores(table.texts("model"), table.numbers(score))
            studies[name] = _average_duplicates(zip(table.texts("prompt"), scores, strict=True))
    except (BenchmarkError, FileError) as error:
        if root is None:
            raise
        raise PredictorError(f"the study {name} of `alignment`: {error}") from error
    return drop_studies(studies, excluded)


def drop_studies(studies: Mapping[str, Study], excluded: Iterable[str]) -> dict[str, Study]:
    """Return the studies that are not left out, without the prompts of the left-out studies."""
    dropped = [name for name in excluded if name in studies]
    held_out = {normalise(prompt) for name in dropped for prompt in studies[name].prompts}
    others = {name: study for name, study in studies.items() if name not in dropped}
    for name, study in others.items():
        mask = [normalise(prompt) not in held_out for prompt in study.prompts]
        columns: Any = (study.prompts, study.scores, study.groups)
        others[name] = Study(*(column and [*compress(column, mask)] for column in columns))
    return others


def _average_duplicates(rows: Scores) -> Study:
    table = pd.DataFrame(rows).dropna(subset=[1])
    groups = table.groupby(table[0].map(normalise), sort=False)
    means = [float(np.mean(scores.to_numpy(float))) for _, scores in groups[1]]
    return Study(list(groups[0].first()), means, list(groups[2].last()) if 2 in table else None)
