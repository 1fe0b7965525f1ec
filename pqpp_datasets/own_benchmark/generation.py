"""Votes on generated images to the performance of each prompt with each generator.

What an image's votes become, by the name of the rule:

========== ======= ===================================================================
rule       measure what
========== ======= ===================================================================
majority   hbpp    PQPP's two levels, section 3.1: the side, somewhat relevant (2, 1) or
                   not acceptable (0, -1), that has more votes wins, and its votes are
                   averaged; as `pqpp_metrics.functional.hbpp`
mean       rating  the mean of the votes
median     rating  the median of the votes; of an even number the mean of the middle two
mos        score   the mean opinion score after z-scores for each annotator, see
                   `to_z_scores`; 0 is the mean of the annotators' votes
positive   rate    the share of votes that the scale calls positive
========== ======= ===================================================================

The value of a prompt with a model is the mean over its images that have votes.

Source: PQPP paper, section 3.2: an image is relevant if at least one annotator says so; the
performance is the precision at 10 and the reciprocal rank.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.admission import (
    Annotator,
    count_depths,
    filter_annotators,
    select_trusted_votes,
)
from pqpp_datasets.own_benchmark.formats import WORDS
from pqpp_datasets.own_benchmark.forms import make_parser
from pqpp_datasets.own_benchmark.long_table import NUMBER, LongTable
from pqpp_datasets.own_benchmark.options import AGGREGATES, BuildOptions
from pqpp_datasets.own_benchmark.trust.annotators import Agreements, get_agreements
from pqpp_datasets.own_benchmark.trust.reliability import Trust, measure_trust
from pqpp_datasets.own_benchmark.votes.scales import Scale
from pqpp_datasets.own_benchmark.votes.votes import Votes, refuse_repeats

_DIGITS = 12  # so that equal scores are equal, whatever the order of the sums
RELEVANCE: dict[str, int] = WORDS["relevance"]


@dataclass(frozen=True)
class Generation:
    """The result of votes on generated images.

    Attributes:
        measure: The measure of the scores: `hbpp`, `rating`, `score` or `rate`.
        aggregate: The aggregation rule, one of `AGGREGATES`.
        limits: The lowest and the highest rating; None if unknown or defined by the measure.
        scores: Model to its score, float64 (prompts,), NaN if no vote counts.
        annotators: Everyone outside the control group.
        labels: Value to the number of counted votes with it.
        agreements: Each annotator's agreement with others; None without annotators.
        trust: The agreement of the counted votes.
        table: All votes.
        counted: Indices of the counted votes, int64, image by image.
        image_scores: Score of each of `table.first`'s images, float64, NaN without counted votes.
        notes: Notes about the votes, one per line.
    """

    measure: str
    aggregate: str
    limits: tuple[float, float] | None
    scores: dict[str, np.ndarray]
    annotators: list[Annotator]
    labels: dict[float, int]
    agreements: Agreements | None
    trust: Trust
    table: Votes
    counted: np.ndarray
    image_scores: np.ndarray
    notes: tuple[str, ...]


def score_votes(votes: Votes, prompts: int, options: BuildOptions) -> Generation:
    """Compute the score of each prompt with each model.

    Args:
        votes: All votes.
        prompts: Number of prompts.
        options: Options for which votes count, and how.
    """
    from pqpp_metrics.functional import hbpp

    agreements = get_agreements(votes)
    annotators = filter_annotators(votes, agreements, options)
    counted = select_trusted_votes(votes, annotators, options.best)
    rule, scale, values = choose_aggregate(votes, options), votes.scale, votes.value[counted]
    scored = to_z_scores(values, votes.annotator[counted]) if rule == "mos" else values
    depth = count_depths(votes.item[counted])
    matrix = np.full((len(votes.first), int(depth.max(initial=0)) + 1), np.nan)
    matrix[votes.item[counted], depth] = scored
    measure = AGGREGATES[scale.aggregate if votes.is_ready else rule]
    of_images, notes = score_images(rule, matrix, scale), []
    if left := int(np.isnan(scored).sum()):
        notes.append(f"the MOS omits {left} votes of annotators who always gave the same vote")
    judged = np.unique(votes.prompt[~votes.reference])
    if lost := len(judged) - len(np.unique(votes.prompt[counted])):
        notes.append(f"{lost} of {len(judged)} prompts have no valid vote and no score")
    prompt, models = votes.prompt[votes.first], votes.model[votes.first]
    scores = {}
    for number, model in enumerate(votes.model_names):
        items = np.flatnonzero(models == number)
        if model == options.reference_model or not len(items):
            continue
        if rule == "majority":
            judged, means = hbpp(matrix[items], prompt[items])
            scores[model] = np.full(prompts, np.nan)
            scores[model][judged] = means
        else:
            of_prompts = pd.Series(of_images[items]).groupby(prompt[items]).mean().round(_DIGITS)
            scores[model] = of_prompts.reindex(range(prompts)).to_numpy()
    listed = sorted(set(map(float, scale.words.values())), reverse=True)
    labels, counts = np.unique(values, return_counts=True)
    return Generation(
        measure=measure,
        aggregate=rule,
        limits=(scale.low, scale.high) if measure == "rating" else None,
        scores=scores,
        annotators=annotators,
        labels=dict.fromkeys(listed, 0) | dict(zip(labels.tolist(), counts.tolist(), strict=True)),
        agreements=agreements,
        trust=measure_trust(votes, counted),
        table=votes,
        counted=counted,
        image_scores=of_images,
        notes=(*votes.notes, *notes),
    )


def choose_aggregate(votes: Votes, options: BuildOptions) -> str:
    """Choose the aggregation rule: the option's, or else the scale's.

    Raises:
        BenchmarkError: A majority is requested for another scale than PQPP's or for means of votes,
            or z-scores without annotators, or anything but the mean of ready scores.
    """
    scale = votes.scale
    rule = options.aggregate or ("mean" if votes.is_ready else scale.aggregate)
    if votes.is_ready and rule != "mean":
        raise BenchmarkError(f"`aggregate` {rule}: these are scores, not votes; remove it")
    if rule == "majority" and not np.isin(votes.value, (-1, 0, 1, 2)).all():
        averaged = options.repeats == "mean"
        why = "means of repeated votes" if averaged else f"on the scale {scale.name}"
        remedy = "choose another" + (", or `repeats` first or last" if averaged else "")
        came = f"these are {why}, not the labels 2, 1, 0 and -1"
        raise BenchmarkError(f"`aggregate` majority: {came}; {remedy}")
    if rule == "mos" and not votes.has_annotators:
        remedy = "give `columns` annotator=COLUMN, or choose mean or median"
        raise BenchmarkError(f"`aggregate` mos: there are no annotators; {remedy}")
    return rule


def to_z_scores(value: np.ndarray, annotator: np.ndarray) -> np.ndarray:
    """Convert votes to z-scores per annotator, NaN for annotators without variation.

    An annotator's mean is subtracted from each vote, and the difference divided by the standard
    deviation (n - 1), as in studies that cite ITU-R BT.500, so that strictness and range of
    annotators do not matter. The recommendation's screening of observers is not done. Annotators
    with a single vote, or with equal votes, have no deviation and are left out.

    Args:
        value: float64 (votes,).
        annotator: Integers (votes,).

    Example:
        >>> to_z_scores(np.array([1.0, 3.0, 5.0, 5.0]), np.array([0, 0, 1, 1])).round(4).tolist()
        [-0.7071, 0.7071, nan, nan]
    """
    count = np.bincount(annotator)
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = value - (np.bincount(annotator, value) / count)[annotator]
        deviation = np.sqrt(np.bincount(annotator, rest * rest) / (count - 1))
        # Equal votes leave a rest of rounding; nothing that varies is so small.
        deviation[~(deviation > 1e-9)] = np.nan
        return rest / deviation[annotator]


def score_images(rule: str, matrix: np.ndarray, scale: Scale) -> np.ndarray:
    """Return the score of each image by a rule.

    Args:
        rule: The rule's name; for `mos`, the matrix has z-scores.
        matrix: float64 (images, votes), NaN if missing.
        scale: The votes' scale.

    Returns:
        float64 (images,), NaN without votes.
    """
    from pqpp_metrics.functional import image_relevance

    if rule == "majority":
        return image_relevance(matrix)
    if rule == "positive":
        matrix = np.where(np.isnan(matrix), np.nan, scale.is_positive(matrix))
    some = ~np.isnan(matrix).all(axis=1)
    scores = np.full(len(matrix), np.nan)
    scores[some] = (np.nanmedian if rule == "median" else np.nanmean)(matrix[some], axis=1)
    return scores


@dataclass(frozen=True)
class Retrieval:
    """The result of runs and relevance votes.

    Attributes:
        precision: Model to P@k, float64 (prompts,), NaN if the query has no judgment or no run.
        reciprocal_rank: Model to RR of each prompt.
        relevant: Number of relevant images of each rated query.
        results: The number of results.
        votes: The number of relevance votes.
        notes: Notes about how they were read, one per line.
    """

    precision: dict[str, np.ndarray]
    reciprocal_rank: dict[str, np.ndarray]
    relevant: np.ndarray
    results: int
    votes: int
    notes: tuple[str, ...]


def score_runs(run: LongTable, vote: LongTable, prompts: int, options: BuildOptions) -> Retrieval:
    """Compute P@k and RR for each model; images without a vote are irrelevant.

    Args:
        run: The results, with numbered prompts.
        vote: The relevance votes, with numbered prompts.
        prompts: Number of prompts.
        options: Options with `k` and `min_relevant_votes`.
    """
    from pqpp_metrics.functional import precision_at_k, reciprocal_rank

    refuse_repeats(run, run.rows[[NUMBER, "model", "image"]], "this result")
    voters = ["annotator"] if "annotator" in vote.rows else []
    refuse_repeats(vote, vote.rows[[NUMBER, "image", *voters]], "this vote")
    positive = vote.parse_values("label", *make_parser(RELEVANCE)) == 1
    run.faults += vote.faults
    run.raise_faults()
    images = pd.api.types.union_categoricals([run.rows["image"], vote.rows["image"]])
    size, codes = len(images.categories), images.codes.astype(np.int64)
    run_query, vote_query = run.rows[NUMBER].to_numpy(), vote.rows[NUMBER].to_numpy()
    run_key = run_query * size + codes[: len(run_query)]
    vote_key = vote_query * size + codes[len(run_query) :]
    pairs, counts = np.unique(vote_key[positive], return_counts=True)
    pairs = pairs[counts >= options.min_relevant_votes]
    is_relevant, is_judged = np.isin(run_key, pairs), np.isin(run_query, vote_query)
    models = run.rows["model"].cat
    precision, ranks = (
        {model: np.full(prompts, np.nan) for model in models.categories} for _ in range(2)
    )
    results = pd.DataFrame({"query": run_query, "score": run.rows["score"]})
    results["relevant"] = is_relevant
    for number, model in enumerate(models.categories):
        rows = results[(models.codes == number).to_numpy() & is_judged]
        if len(rows):
            rank = rows.groupby("query").cumcount()
            table = rows.assign(place=rank).pivot(index="query", columns="place")
            # A place that no result fills ranks behind all results and is not relevant.
            ranked = table["score"].fillna(rows["score"].min() - 1).to_numpy()
            relevance = (table["relevant"] == 1).to_numpy(np.int8)
            precision[model][table.index] = precision_at_k(
                scores=ranked, relevance=relevance, k=options.k
            )
            ranks[model][table.index] = reciprocal_rank(scores=ranked, relevance=relevance)
    relevant = np.bincount(pairs // size, minlength=prompts)[np.unique(vote_query)]
    notes = tuple(dict.fromkeys((*run.notes, *vote.notes)))
    return Retrieval(precision, ranks, relevant, len(run_query), len(vote_query), notes)
