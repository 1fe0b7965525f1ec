"""The studies that `alignment` is learned from: prompts, and what people said of their images.

PQPP's HBPP also punishes images that look unreal; these studies asked whether an image shows what
the prompt says. Each has its own generators, question and scale, so that only the order of the
prompts within one study is learned. The level comes from GenAI-Bench (see `shares`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.load import load_benchmark
from pqpp_files.names import did_you_mean
from pqpp_models.bench.scored_prompts import ScoredPrompts, gimbrr_match_rates, pqpp_sets
from pqpp_models.encoder.normaliser import normalise
from pqpp_models.errors import PredictorError

NEWEST = ("dalle_3", "midjourney_6")
"""The newest generators of GenAI-Bench: what `alignment` calls a current generator."""

ANCHOR = "genai"
"""The source that tells the level of `alignment`."""

_MATCHES = 4
_TOO_WEAK = "AttnGAN"
_ELSEWHERE = ("47", "195", "197", "225")


def _agiqa(folder: str | None) -> ScoredPrompts:
    rows = load_benchmark("agiqa", data_dir=folder, split="train")
    pairs = [(r["prompt"], r["mos_align"]) for r in rows if r["model"] != _TOO_WEAK]
    return _means("agiqa", pairs, "agiqa, mean opinion of alignment, without AttnGAN")


def _tia2(folder: str | None, split: str) -> ScoredPrompts:
    rows = load_benchmark("tia2", data_dir=folder, split=split)
    pairs = [(r["prompt"], float(one)) for r in rows for one in r["labels"] if one != -1]
    return _means(f"tia2_{split}", pairs, f"tia2, split {split}, share of votes")


def _gimbrr(folder: str | None) -> ScoredPrompts:
    found = gimbrr_match_rates(load_benchmark("gimbrr-annotations", data_dir=folder))
    tasks = dict(zip(map(normalise, found.prompts), found.groups or (), strict=True))
    return _means("gimbrr", zip(found.prompts, found.scores, strict=True), found.data, tasks)


def _genai(folder: str | None) -> ScoredPrompts:
    rows = load_benchmark("genai", data_dir=folder, split="train")
    return _means("genai", ((r["prompt"], r["mean_rating"]) for r in rows), "genai, mean rating")


def _t2v(folder: str | None) -> ScoredPrompts:
    rows = load_benchmark("t2v", data_dir=folder, split="train")
    # Four prompts also stand in studies that predictors are measured on.
    rows = [row for row in rows if row["prompt_id"] not in _ELSEWHERE]
    return _means("t2v", ((r["prompt"], r["mean_rating"]) for r in rows), "t2v, mean rating")


def _drawbench(folder: str | None) -> ScoredPrompts:
    found = load_benchmark("pqpp", data_dir=folder)
    splits = {name: found[name] for name in ("train", "validation")}  # test is held out
    *_, one = pqpp_sets(splits, "validation", "mean_hbpp")
    return _means("drawbench", zip(one.prompts, one.scores, strict=True), one.data)


_READERS: Mapping[str, tuple[str, Callable[[str | None], ScoredPrompts]]] = {
    "agiqa": ("agiqa", _agiqa),
    "tia2_composition": ("tia2", lambda folder: _tia2(folder, "composition")),
    "tia2_counting": ("tia2", lambda folder: _tia2(folder, "counting")),
    "gimbrr": ("gimbrr", _gimbrr),
    "genai": ("genai", _genai),
    "t2v": ("t2v", _t2v),
    "drawbench": ("pqpp/v1.1", _drawbench),
}

SOURCES = tuple(_READERS)
"""The names of the sources."""


def read_sources(data_dir: str | None, without: Iterable[str] = ()) -> dict[str, ScoredPrompts]:
    """Read the sources that predictors of `alignment` may learn from.

    Args:
        data_dir: a folder with one folder a benchmark (``agiqa``, ``tia2``, ``gimbrr``, ``genai``,
            ``t2v``, ``pqpp/v1.1``); None lets each benchmark find or download its own.
        without: names of `SOURCES` that are left out. Prompts of theirs that also stand in another
            source are left out there, too.

    Returns:
        By name, in the order of `SOURCES`: distinct prompts (as normalised) and the mean of their
        scores, each source on its own scale; GIMBRR's are grouped by task.

    Raises:
        PredictorError: a name is not known, nothing is left, or a source of ``data_dir`` cannot be
            read.
        BenchmarkError: one cannot be found or downloaded.
    """
    left_out = list(dict.fromkeys(without))
    for name in left_out:
        if name not in _READERS:
            raise PredictorError(f"no source is called {name!r:.60}; {did_you_mean(name, SOURCES)}")
    if len(left_out) == len(SOURCES):
        raise PredictorError("all sources of `alignment` are left out; keep at least one")
    found = {name: _read(name, data_dir) for name in SOURCES}
    held = {normalise(one) for name in left_out for one in found[name].prompts}
    return {n: _apart_from(one, held) for n, one in found.items() if n not in left_out}


def _read(name: str, data_dir: str | None) -> ScoredPrompts:
    below, reader = _READERS[name]
    if data_dir is None:
        return reader(None)
    folder = Path(data_dir).expanduser() / below
    if not folder.is_dir():
        raise PredictorError(
            f"{folder} is no folder, so the source {name} of `alignment` cannot be read; give the "
            f"folder that holds {below} (also of a source that is left out)"
        )
    try:
        return reader(str(folder))
    except BenchmarkError as error:
        raise PredictorError(f"the source {name} of `alignment`: {error}") from error


def _means(
    name: str, pairs: Iterable[tuple[str, Any]], data: str, tasks: Mapping[str, str] | None = None
) -> ScoredPrompts:
    """Return the distinct prompts of some scored ones with the means of their scores."""
    scores: dict[str, list[float]] = {}
    first: dict[str, str] = {}
    for prompt, score in pairs:
        if score is not None:
            scores.setdefault(key := normalise(prompt), []).append(float(score))
            first.setdefault(key, prompt)
    groups = None if tasks is None else [tasks[key] for key in scores]
    means = [float(np.mean(some)) for some in scores.values()]
    return ScoredPrompts(name, list(first.values()), means, groups, data)


def _apart_from(one: ScoredPrompts, held: set[str]) -> ScoredPrompts:
    kept = [at for at, prompt in enumerate(one.prompts) if normalise(prompt) not in held]
    groups = None if one.groups is None else [one.groups[at] for at in kept]
    prompts, scores = [one.prompts[at] for at in kept], [one.scores[at] for at in kept]
    return ScoredPrompts(one.name, prompts, scores, groups, one.data)


def shares(data_dir: str | None, prompts: Sequence[str]) -> NDArray[np.float64]:
    """Return the share of people who said that an image of a current generator matches.

    The ratings of 4 and 5 among those that GenAI-Bench has of the `NEWEST` generators, for prompts
    of it; ratings that its scale does not have do not count.

    Args:
        data_dir: as in `read_sources`.
        prompts: prompts of the source ``genai``.

    Returns:
        Shape ``(prompts,)``, 0 to 1.
    """
    folder = None if data_dir is None else str(Path(data_dir).expanduser() / ANCHOR)
    found: dict[str, list[int]] = {}
    for row in load_benchmark("genai", data_dir=folder, split="train"):
        known = [one for name in NEWEST for one in row["ratings"][name] if 1 <= one <= 5]
        found.setdefault(normalise(row["prompt"]), []).extend(known)
    return np.array([np.mean(np.array(found[normalise(one)]) >= _MATCHES) for one in prompts])
