"""Retrieval runs and relevance votes to the performance of each query with each retriever.

Source: PQPP paper, section 3.2: an image is relevant when at least one annotator says so; the
performance is the precision at 10 and the reciprocal rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_datasets.errors import DataFileError, OptionError
from pqpp_datasets.own_benchmark.judgment_files import (
    Coded,
    Columns,
    Places,
    is_tabular,
    numbers_of,
    read_columns,
    refuse_repeats,
    values_of,
)
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.prompts import COLUMNS, Prompts
from pqpp_datasets.own_benchmark.votes.joined import concatenated, join_known, read_prompt_texts

RELEVANCE = {"true": 1, "1": 1, "yes": 1, "relevant": 1}
RELEVANCE |= {"false": 0, "0": 0, "no": 0, "irrelevant": 0}


@dataclass(frozen=True)
class Retrieval:
    """The result of runs and relevance votes.

    Attributes:
        precision: Model to P@k, float64 (prompts,), NaN where the query has no judgment or no run.
        reciprocal_rank: Model to RR, likewise.
        relevant: How many images are relevant to each query that was judged.
        results: How many results came.
        votes: How many relevance votes came.
    """

    precision: dict[str, np.ndarray]
    reciprocal_rank: dict[str, np.ndarray]
    relevant: np.ndarray
    results: int
    votes: int


def read_runs(files: Sequence[tuple[str | None, Path]], options: BuildOptions) -> Columns:
    """Read files of retrieval runs: tables, or runs of TREC.

    A table has the columns `prompt` (or `prompt_id`, with a file of prompts), `model`, `image`,
    `score` (higher is better) and, if wanted, `source`, `prompt_id`, `category`. A run of TREC, any
    other kind of file, has ids of prompts, whose texts stand in the file of prompts; its model is
    the one that it is given for, else the name of the file.

    Args:
        files: Each with its model, or None.
        options: What columns are called, and the file of prompts.
    """
    return _read(files, ("model", "image", "score"), (), options)


def read_relevance(files: Sequence[tuple[str | None, Path]], options: BuildOptions) -> Columns:
    """Read files of relevance votes, tables or qrels of TREC; images without a vote are irrelevant.

    A table has the columns `prompt` (or `prompt_id`, with a file of prompts), `image`, `label`
    (relevant or not) and, if wanted, `annotator`, `source`, `prompt_id`, `category`. In qrels, any
    other kind of file, an image is relevant that has a grade above 0.

    Args:
        files: Each with None.
        options: What columns are called, and the file of prompts.
    """
    return _read(files, ("image", "label"), ("annotator",), options)


def _read(
    files: Sequence[tuple[str | None, Path]],
    needed: Sequence[str],
    optional: Sequence[str],
    options: BuildOptions,
) -> Columns:
    text = "prompt_id" if options.prompts else "prompt"
    others = [role for role in ("prompt", *optional, *COLUMNS) if role != text]
    parts = []
    for model, path in files:
        if is_tabular(path):
            own = [role for role in needed if role != "model" or model is None]
            kind = "runs" if "score" in needed else "relevance"
            columns = read_columns(path, (text, *own), others, **options.reading(kind))
        else:
            columns = _read_trec(path, "score" in needed, options)
        if "model" in needed and (model is not None or "model" not in columns):
            name = model if model is not None else path.name.removesuffix(".gz").rsplit(".", 1)[0]
            columns["model"] = Coded(np.zeros(columns.rows, np.int32), [name])
        parts.append(columns)
    columns = concatenated(parts)
    if "prompt_id" in columns:
        join_known(columns, read_prompt_texts(options), "prompt_id")
    return columns


def _read_trec(path: Path, is_run: bool, options: BuildOptions) -> Columns:
    from pqpp_metrics.errors import MetricInputError
    from pqpp_metrics.trec import read_qrels, read_run

    if options.prompts is None:
        raise OptionError(
            f"{path}: runs and qrels of TREC have ids alone; give the texts by --prompts FILE, a "
            "table of prompt_id and prompt"
        )
    try:
        judged = (read_run if is_run else read_qrels)(path)
    except MetricInputError as error:
        raise DataFileError(str(error)) from None
    documents = [one.decode("utf-8", "replace") for one in judged.document_ids.to_pylist()]
    found = Columns(
        prompt_id=Coded(judged.queries, judged.query_ids), image=Coded(judged.documents, documents)
    )
    values, codes = np.unique(judged.values, return_inverse=True)
    if is_run:
        found["score"] = Coded(codes, [repr(float(value)) for value in values])
    else:
        found["label"] = Coded(codes, [str(int(value > 0)) for value in values])
    lines = judged.lines
    found.places = Places([(path, found.rows if lines is None else np.array(lines) - 1)])
    return found


def score_runs(
    run: Columns,
    vote: Columns,
    prompts: Prompts,
    options: BuildOptions,
) -> Retrieval:
    """Compute P@k and RR for each model.

    Args:
        run: As `read_runs` gives them.
        vote: As `read_relevance` gives them.
        prompts: The prompts so far; those of the files are taken in.
        options: `BuildOptions`.
    """
    run_prompt, vote_prompt = prompts.number(run), prompts.number(vote)
    names = [text for _, text in prompts.keys]
    refuse_repeats(run.places, "this result", Coded(run_prompt, names), run["model"], run["image"])
    voters = [vote["annotator"]] if "annotator" in vote else []
    refuse_repeats(vote.places, "this vote", Coded(vote_prompt, names), vote["image"], *voters)
    relevant_keys = _relevant(vote_prompt, vote, options.min_relevant_votes)
    images = {name: number for number, name in enumerate(vote["image"].names)}
    own = np.array([images.get(name, -1) for name in run["image"].names])[run["image"].codes]
    keys = run_prompt * len(images) + own
    is_relevant = (own >= 0) & np.isin(keys, relevant_keys)
    judged = np.zeros(len(names), bool)
    judged[vote_prompt] = True
    scores = numbers_of(run, "score")
    precision: dict[str, Any] = {}
    ranks: dict[str, Any] = {}
    for number, model in enumerate(run["model"].names):
        rows = np.flatnonzero((run["model"].codes == number) & judged[run_prompt])
        found = _performance(run_prompt[rows], scores[rows], is_relevant[rows], options)
        queries = np.unique(run_prompt[rows])
        for target, values in zip((precision, ranks), found, strict=True):
            target[model] = np.full(len(names), np.nan)
            target[model][queries] = values
    counts = np.bincount(relevant_keys // len(images), minlength=len(names))[judged]
    return Retrieval(precision, ranks, counts, len(keys), len(vote_prompt))


def _relevant(prompt: np.ndarray, vote: Columns, least: int) -> np.ndarray:
    label = values_of(vote, "label", RELEVANCE) == 1
    keys = prompt * len(vote["image"].names) + vote["image"].codes
    found, counts = np.unique(keys[label], return_counts=True)
    return found[counts >= least]


def _performance(queries, scores, relevant, options) -> Sequence[np.ndarray]:
    """P@k and RR of each query that is there, in the order of their numbers."""
    from pqpp_metrics.functional import precision_at_k, reciprocal_rank

    if not len(queries):
        return np.empty(0), np.empty(0)
    order = np.argsort(queries, kind="stable")
    _, row, counts = np.unique(queries[order], return_inverse=True, return_counts=True)
    column = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = (len(counts), int(counts.max()))
    # A place that no result fills ranks behind all results and is not relevant.
    score_table = np.full(shape, scores.min() - 1)
    relevance_table = np.zeros(shape, np.int8)
    score_table[row, column] = scores[order]
    relevance_table[row, column] = relevant[order]
    ties = options.rank_ties
    return (
        precision_at_k(score_table, relevance_table, k=options.k, ties=ties),
        reciprocal_rank(score_table, relevance_table, ties=ties),
    )
