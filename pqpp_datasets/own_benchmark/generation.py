"""Judgments of generated images to the performance of each prompt with each generator."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pqpp_datasets.errors import DataFileError
from pqpp_datasets.own_benchmark.admission import (
    Annotator,
    Judgments,
    judge_annotators,
    trusted_votes,
)
from pqpp_datasets.own_benchmark.judgment_files import (
    Coded,
    pairs_of,
    read_columns,
    refuse_repeats,
    values_of,
)
from pqpp_datasets.own_benchmark.prompts import COLUMNS, Prompts

LABELS = {
    "2": 2,
    "1": 1,
    "0": 0,
    "-1": -1,
    "high relevance": 2,
    "low relevance": 1,
    "no relevance": 0,
    "unrealistic": -1,
}
FLAGS = {"true": 1, "1": 1, "yes": 1, "false": 0, "0": 0, "no": 0, "": 0}


@dataclass(frozen=True)
class Generation:
    """The result of a file of judgments.

    Attributes:
        scores: Model to HBPP, float64 (prompts,), NaN where no vote counts.
        annotators: Everyone outside the control group.
        control_group: The names of the control group.
        labels: Label to how many votes that count have it.
        votes: How many judgments came.
        votes_used: How many count.
        fleiss_kappa: Of the votes that count, over the images with the full number of votes; NaN
            without any.
    """

    scores: dict[str, np.ndarray]
    annotators: list[Annotator]
    control_group: list[str]
    labels: dict[int, int]
    votes: int
    votes_used: int
    fleiss_kappa: float


def read_judgments(path: Path) -> dict[str, Coded]:
    """Read a file of judgments.

    Its columns are `prompt`, `image`, `model`, `annotator`, `label` (2, 1, 0, -1 or their names)
    and, if wanted, `control` (true where a member of the control group judged), `source`,
    `prompt_id`, `category`.
    """
    needed = ("prompt", "image", "model", "annotator", "label")
    return read_columns(path, needed, ("control", *COLUMNS))


def score_judgments(path: Path, columns: dict[str, Coded], prompts: Prompts, options) -> Generation:
    """Choose the votes that count, and compute HBPP for each model.

    Args:
        path: Of the file, for errors.
        columns: As `read_judgments` gives them.
        prompts: The prompts so far; those of the file are taken in.
        options: `BuildOptions`.
    """
    numbers = prompts.number(path, columns)
    model, annotator = columns["model"], columns["annotator"]
    texts = Coded(numbers, [text for _, text in prompts.keys])
    items, first = pairs_of(texts, model, columns["image"])
    votes = Judgments(
        item=items,
        prompt=numbers,
        annotator=annotator.codes,
        label=values_of(path, columns["label"], "label", LABELS),
        control=_control(path, columns),
        reference=np.array([name == options.reference_model for name in model.names])[model.codes],
        names=annotator.names,
    )
    refuse_repeats(path, "this judgment", texts, model, columns["image"], annotator)
    _refuse_two_roles(path, votes)
    annotators = judge_annotators(votes, options.min_kappa, options.min_reference_share)
    matrix = trusted_votes(votes, annotators, options.best)
    scores = _scores(matrix, numbers[first], model.codes[first], model.names, prompts, options)
    values, counts = np.unique(matrix[~np.isnan(matrix)], return_counts=True)
    return Generation(
        scores=scores,
        annotators=annotators,
        control_group=[votes.names[n] for n in np.unique(votes.annotator[votes.control])],
        labels=dict.fromkeys((2, 1, 0, -1), 0)
        | {int(v): int(n) for v, n in zip(values, counts, strict=True)},
        votes=len(items),
        votes_used=int(counts.sum()),
        fleiss_kappa=_fleiss_kappa(matrix),
    )


def _control(path: Path, columns) -> np.ndarray:
    if "control" not in columns:
        return np.zeros(len(columns["prompt"].codes), bool)
    return values_of(path, columns["control"], "control", FLAGS) == 1


def _refuse_two_roles(path: Path, votes: Judgments) -> None:
    both = np.intersect1d(votes.annotator[votes.control], votes.annotator[~votes.control])
    if len(both):
        row = int(np.argmax((votes.annotator == both[0]) & ~votes.control)) + 1
        raise DataFileError(
            f"{path}, row {row}: {votes.names[both[0]]!r:.60} is in the control group in other "
            "rows and not here; set control in all rows of a member"
        )


def _scores(matrix, prompt_of, model_of, models, prompts, options) -> dict[str, np.ndarray]:
    from pqpp_metrics.functional import hbpp

    found = {}
    for number, model in enumerate(models):
        rows = np.flatnonzero(model_of == number)
        if model == options.reference_model or not len(rows):
            continue
        numbers, scores = hbpp(matrix[rows], prompt_of[rows], ties=options.vote_ties)
        found[model] = np.full(len(prompts.keys), np.nan)
        found[model][numbers] = scores
    return found


def _fleiss_kappa(matrix: np.ndarray) -> float:
    from pqpp_metrics.functional.agreement import fleiss_kappa

    full = matrix[~np.isnan(matrix).any(axis=1)]
    return float(fleiss_kappa(full)) if full.size and full.shape[1] > 1 else float("nan")
