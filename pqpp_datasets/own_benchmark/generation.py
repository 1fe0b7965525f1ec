"""Votes on generated images to the performance of each prompt with each generator."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pqpp_datasets.own_benchmark.admission import (
    Annotator,
    judge_annotators,
    trusted_votes,
    vote_matrix,
)
from pqpp_datasets.own_benchmark.judgment_files import Columns
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.prompts import Prompts
from pqpp_datasets.own_benchmark.trust.annotators import Agreements
from pqpp_datasets.own_benchmark.trust.trust import Trust, agreements_of, trust_in
from pqpp_datasets.own_benchmark.votes.aggregate import (
    MEASURES,
    image_scores,
    prompt_means,
    require_aggregate,
    z_scores,
)
from pqpp_datasets.own_benchmark.votes.read import votes_of
from pqpp_datasets.own_benchmark.votes.votes import Votes


@dataclass(frozen=True)
class Generation:
    """The result of votes on generated images.

    Attributes:
        measure: What the scores are: `hbpp`, `rating`, `score` or `rate`.
        aggregate: The rule that made them, of `AGGREGATES`.
        limits: The lowest and the highest rating; None where the measure says or nothing does.
        scores: Model to its score, float64 (prompts,), NaN where no vote counts.
        annotators: Everyone outside the control group.
        control_group: The names of the control group.
        labels: Value to how many votes that count have it.
        votes: How many votes there are.
        votes_used: How many count.
        agreements: Of each annotator with the others; None where nothing says who voted.
        trust: How far the votes that count agree.
        table: All votes.
        counted: int64, the numbers of the votes that count, image by image.
        image_scores: float64, the score of each of `table.first`'s images, NaN where none counts.
        notes: What is to be said about the votes, a line each.
    """

    measure: str
    aggregate: str
    limits: tuple[float, float] | None
    scores: dict[str, np.ndarray]
    annotators: list[Annotator]
    control_group: list[str]
    labels: dict[float, int]
    votes: int
    votes_used: int
    agreements: Agreements | None
    trust: Trust
    table: Votes
    counted: np.ndarray
    image_scores: np.ndarray
    notes: tuple[str, ...]


def score_votes(columns: Columns, prompts: Prompts, options: BuildOptions) -> Generation:
    """Choose the votes that count, and compute the score of each prompt with each model.

    Args:
        columns: As `read_votes` gives them.
        prompts: The prompts so far; those of the file are taken in.
        options: How.
    """
    votes, notes = votes_of(columns, prompts, options)
    aggregate = options.aggregate or ("mean" if votes.is_ready else votes.scale.aggregate)
    require_aggregate(aggregate, votes, options.repeats)
    agreements = agreements_of(votes)
    annotators = annotators_of(votes, agreements, options)
    counted = trusted_votes(votes, annotators, options.best)
    matrix = vote_matrix(votes, counted, votes.value[counted])
    used = matrix
    if aggregate == "mos":
        standard = z_scores(votes.value[counted], votes.annotator[counted])
        used = vote_matrix(votes, counted, standard)
        if left := int(np.isnan(standard).sum()):
            notes.append(f"{left} votes of annotators who always voted alike left out of the mos")
    of_images = image_scores(aggregate, used, votes.scale, options.vote_ties)
    scores = _scores(aggregate, used, of_images, votes, options)
    measure = MEASURES[votes.scale.aggregate if votes.is_ready else aggregate]
    judged = np.unique(votes.prompt[~votes.reference])
    if lost := len(judged) - len(np.unique(votes.prompt[counted])):
        notes.append(f"{lost} of {len(judged)} prompts have no vote that counts, and no score")
    values, counts = np.unique(votes.value[counted], return_counts=True)
    return Generation(
        measure=measure,
        aggregate=aggregate,
        limits=(votes.scale.low, votes.scale.high) if measure == "rating" else None,
        scores=scores,
        annotators=annotators,
        control_group=_control_group(votes),
        labels=_none_of_each(votes)
        | {float(v): int(n) for v, n in zip(values, counts, strict=True)},
        votes=len(votes),
        votes_used=len(counted),
        agreements=agreements,
        trust=trust_in(votes, counted, options.seed),
        table=votes,
        counted=counted,
        image_scores=of_images,
        notes=tuple(notes),
    )


def annotators_of(
    votes: Votes,
    agreements: Agreements | None,
    options: BuildOptions,
    called: Sequence[str] | None = None,
) -> list[Annotator]:
    """Say of each annotator outside the control group what is known, by `judge_annotators`.

    Args:
        votes: All votes.
        agreements: Of the annotators.
        options: How.
        called: What they are called in the result; their names if left out.
    """
    flags = agreements.reasons if agreements else ()
    return judge_annotators(
        votes, options.min_kappa, options.min_reference_share, flags, options.exclude, called
    )


def _control_group(votes: Votes) -> list[str]:
    if not votes.has_annotators:
        return []
    return [votes.annotator_names[n] for n in np.unique(votes.annotator[votes.control])]


def _none_of_each(votes: Votes) -> dict[float, int]:
    """Return 0 for each value of the scale, the highest first, where it lists them."""
    return dict.fromkeys(sorted(set(map(float, votes.scale.words.values())), reverse=True), 0)


def _scores(
    aggregate: str, matrix: np.ndarray, of_images: np.ndarray, votes: Votes, options: BuildOptions
) -> dict[str, np.ndarray]:
    from pqpp_metrics.functional import hbpp

    prompt, models = votes.prompt[votes.first], votes.model[votes.first]
    size = len(votes.prompts.keys)
    found = {}
    for number, model in enumerate(votes.model_names):
        rows = np.flatnonzero(models == number)
        if model == options.reference_model or not len(rows):
            continue
        if aggregate == "majority":
            numbers, scores = hbpp(matrix[rows], prompt[rows], ties=options.vote_ties)
            found[model] = np.full(size, np.nan)
            found[model][numbers] = scores
        else:
            found[model] = prompt_means(of_images[rows], prompt[rows], size)
    return found
