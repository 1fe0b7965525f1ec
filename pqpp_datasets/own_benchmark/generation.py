"""The performance of each prompt with each model, from votes on images and from retrieval runs.

Rules that aggregate the votes on an image:

========== ======= ===================================================================
rule       measure what
========== ======= ===================================================================
majority   hbpp    PQPP, section 3.1: the mean of the votes on the side, relevant (2, 1)
                   or not acceptable (0, -1), that has more votes; as in
                   `pqpp_metrics.functional.hbpp`
mean       rating  the mean of the votes
median     rating  the median of the votes
mos        score   the mean opinion score: the mean of z-scores per annotator, see
                   `to_z_scores`
positive   rate    the share of positive votes on the scale
========== ======= ===================================================================

The score of a prompt with a model is the mean over its images with votes.

Source for retrieval: PQPP paper, section 3.2: an image is relevant if at least one annotator rated
it relevant; performance is measured by precision at 10 and reciprocal rank.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.admission import Annotator, filter_annotators, select_counted_votes
from pqpp_datasets.own_benchmark.formats import WORDS
from pqpp_datasets.own_benchmark.forms import make_parser
from pqpp_datasets.own_benchmark.long_table import PROMPT, LongTable
from pqpp_datasets.own_benchmark.options import AGGREGATES, BuildOptions
from pqpp_datasets.own_benchmark.trust.annotators import Agreements, compute_agreements
from pqpp_datasets.own_benchmark.trust.reliability import VoteReliability, measure_reliability
from pqpp_datasets.own_benchmark.votes.scales import Scale
from pqpp_datasets.own_benchmark.votes.votes import Votes, report_repeats
from pqpp_metrics.functional import image_relevance, precision_at_k, reciprocal_rank

_DECIMALS = 12  # rounding makes scores independent of the order of summation
RELEVANCE: dict[str, int] = WORDS["relevance"]


@dataclass(frozen=True)
class Generation:
    """The result of votes on generated images.

    Attributes:
        measure: Measure of the scores: `hbpp`, `rating`, `score` or `rate`.
        aggregate: Aggregation rule, one of `AGGREGATES`.
        limits: Lowest and highest rating; None if unknown or defined by the measure.
        scores: Scores of each model, float64, shape (prompts,); NaN without counted votes.
        annotators: Annotators outside the control group.
        labels: Number of counted votes by value.
        agreements: Each annotator's agreement with others; None without annotators.
        trust: The agreement and reliability of the counted votes.
        table: All votes.
        counted: Indices of the counted votes, int64, ordered by image.
        image_scores: Score of each item of `table`, float64; NaN without counted votes.
        notes: Notes on the votes, one per line.
    """

    measure: str
    aggregate: str
    limits: tuple[float, float] | None
    scores: dict[str, np.ndarray]
    annotators: list[Annotator]
    labels: dict[float, int]
    agreements: Agreements | None
    trust: VoteReliability
    table: Votes
    counted: np.ndarray
    image_scores: np.ndarray
    notes: tuple[str, ...]


def score_votes(votes: Votes, prompts: int, options: BuildOptions) -> Generation:
    """Compute the score of each prompt with each model."""
    agreements = compute_agreements(votes)
    annotators = filter_annotators(votes, agreements, options)
    counted = select_counted_votes(votes, annotators, options.best)
    rule, scale, values = choose_aggregation(votes, options), votes.scale, votes.value[counted]
    scored = to_z_scores(values, votes.annotator[counted]) if rule == "mos" else values
    depth = pd.Series(counted).groupby(votes.item[counted]).cumcount().to_numpy()
    shape = len(votes.first), int(depth.max(initial=0)) + 1
    if shape[0] * shape[1] > 5 * 10**8:  # 4 GB
        problem = f"a table of {shape[0]:,} images with up to {shape[1]:,} votes is too large"
        raise BenchmarkError(f"{problem}; leave out the images with the most votes")
    matrix = np.full(shape, np.nan)
    matrix[votes.item[counted], depth] = scored
    measure = AGGREGATES[scale.aggregate if votes.has_scores else rule]
    image_scores, notes = score_images(rule, matrix, scale), []
    if omitted := int(np.isnan(scored).sum()):
        notes.append(f"the MOS omits {omitted} votes of annotators who always gave the same vote")
    judged_prompts = np.unique(votes.prompt[~votes.reference])
    if unscored := len(judged_prompts) - len(np.unique(votes.prompt[counted])):
        notes.append(f"{unscored} of {len(judged_prompts)} prompts have no valid vote and no score")
    prompt, models = votes.prompt[votes.first], votes.model[votes.first]
    scores = {}
    for number, model in enumerate(votes.model_names):
        items = np.flatnonzero(models == number)
        if model == options.reference_model or not len(items):
            continue
        series = pd.Series(image_scores[items]).groupby(prompt[items]).mean()
        scores[model] = series.round(_DECIMALS).reindex(range(prompts)).to_numpy()
    label_counts = dict.fromkeys(sorted(set(map(float, scale.words.values())), reverse=True), 0)
    labels, counts = np.unique(values, return_counts=True)
    return Generation(
        measure=measure,
        aggregate=rule,
        limits=(scale.low, scale.high) if measure == "rating" else None,
        scores=scores,
        annotators=annotators,
        labels=label_counts | dict(zip(labels.tolist(), counts.tolist(), strict=True)),
        agreements=agreements,
        trust=measure_reliability(votes, counted, agreements.reasons if agreements else ()),
        table=votes,
        counted=counted,
        image_scores=image_scores,
        notes=(*votes.notes, *notes),
    )


def choose_aggregation(votes: Votes, options: BuildOptions) -> str:
    """Return the aggregation rule: `options.aggregate`, or else the scale's default.

    Raises:
        BenchmarkError: The rule is `majority` although votes are averaged or not on PQPP's scale,
            it is `mos` although annotators are unknown, or it is not `mean` although the file has
            scores.
    """
    scale = votes.scale
    rule = options.aggregate or ("mean" if votes.has_scores else scale.aggregate)
    if votes.has_scores and rule != "mean":
        raise BenchmarkError(f"`aggregate` {rule} needs votes, not scores; set `aggregate` to mean")
    if rule == "majority" and not np.isin(votes.value, (-1, 0, 1, 2)).all():
        averaged = options.repeats == "mean" and scale.high <= 2
        got = "means of repeated votes" if averaged else f"labels of the scale {scale.name}"
        remedy = "choose another rule" + (", or set `repeats` to first or last" if averaged else "")
        problem = f"expected labels 2, 1, 0 and -1, got {got}"
        raise BenchmarkError(f"`aggregate` majority: {problem}; {remedy}")
    if rule == "mos" and not votes.has_annotators:
        remedy = "set `columns` annotator=COLUMN, or `aggregate` to mean or median"
        raise BenchmarkError(f"`aggregate` mos needs annotators; {remedy}")
    return rule


def to_z_scores(value: np.ndarray, annotator: np.ndarray) -> np.ndarray:
    """Convert votes to z-scores per annotator; NaN for annotators with one vote or equal votes.

    The z-score is the vote minus the annotator's mean, divided by the annotator's standard
    deviation (n - 1), as in studies that cite ITU-R BT.500. It removes differences of strictness
    and range between annotators. Unlike in the recommendation, annotators are not screened.

    Args:
        value: Value of each vote, float64.
        annotator: Annotator of each vote, integers from 0.

    Example:
        >>> to_z_scores(np.array([1.0, 3.0, 5.0, 5.0]), np.array([0, 0, 1, 1])).round(4).tolist()
        [-0.7071, 0.7071, nan, nan]
    """
    votes = pd.Series(value).groupby(annotator)
    deviation = votes.transform("std")
    # Constant votes can have a tiny deviation from rounding.
    deviation = deviation.where(deviation > 1e-9)
    return ((value - votes.transform("mean")) / deviation).to_numpy()


def score_images(rule: str, matrix: np.ndarray, scale: Scale) -> np.ndarray:
    """Aggregate the votes on each image by a rule.

    Args:
        rule: The rule, one of `AGGREGATES`.
        matrix: Votes (z-scores for `mos`), float64, shape (images, votes); NaN if missing.
        scale: The scale of the votes.

    Returns:
        Score of each image, float64; NaN for an image without votes.
    """
    if rule == "majority":
        return image_relevance(matrix)
    if rule == "positive":
        matrix = np.where(np.isnan(matrix), np.nan, scale.is_positive(matrix))
    is_rated = ~np.isnan(matrix).all(axis=1)
    scores = np.full(len(matrix), np.nan)
    scores[is_rated] = (np.nanmedian if rule == "median" else np.nanmean)(matrix[is_rated], axis=1)
    return scores


@dataclass(frozen=True)
class Retrieval:
    """The result of runs and relevance votes.

    Attributes:
        precision: P@k of each prompt by model, float64; NaN without relevance votes or results.
        reciprocal_rank: RR of each prompt by model, float64, with NaN as in `precision`.
        relevant: Number of relevant images of each prompt with relevance votes.
        results: Number of results in all runs.
        votes: Number of relevance votes.
        notes: Notes on how the files were read, one per line.
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
        options: Only `k` and `min_relevant_votes` are used.

    Raises:
        BenchmarkError: A result or vote is duplicated, or a vote is invalid.
    """
    report_repeats(run, run.rows[[PROMPT, "model", "image"]], "this result")
    annotators = ["annotator"] if "annotator" in vote.rows else []
    report_repeats(vote, vote.rows[[PROMPT, "image", *annotators]], "this vote")
    positive = vote.parse_values("label", *make_parser(RELEVANCE)) == 1
    run.faults += vote.faults
    run.raise_faults()
    images = pd.api.types.union_categoricals([run.rows["image"], vote.rows["image"]])
    size, codes = len(images.categories), images.codes.astype(np.int64)
    run_query, vote_query = run.rows[PROMPT].to_numpy(), vote.rows[PROMPT].to_numpy()
    run_key = run_query * size + codes[: len(run_query)]
    vote_key = vote_query * size + codes[len(run_query) :]
    pairs, counts = np.unique(vote_key[positive], return_counts=True)
    pairs = pairs[counts >= options.min_relevant_votes]
    is_judged = np.isin(run_query, vote_query)
    models = run.rows["model"].cat
    precision = {model: np.full(prompts, np.nan) for model in models.categories}
    ranks = {model: np.full(prompts, np.nan) for model in models.categories}
    columns = {"query": run_query, "score": run.rows["score"], "relevant": np.isin(run_key, pairs)}
    results = pd.DataFrame(columns)
    for number, model in enumerate(models.categories):
        rows = results[(models.codes == number).to_numpy() & is_judged]
        if len(rows):
            rank = rows.groupby("query").cumcount()
            table = rows.assign(position=rank).pivot(index="query", columns="position")
            # Missing results rank last and are irrelevant; a large score minus 1 may be the same.
            ranked = table["score"].fillna(np.nextafter(rows["score"].min(), -np.inf)).to_numpy()
            relevance = (table["relevant"] == 1).to_numpy(np.int8)
            values = precision_at_k(scores=ranked, relevance=relevance, k=options.k)
            precision[model][table.index] = values
            ranks[model][table.index] = reciprocal_rank(scores=ranked, relevance=relevance)
    judged = np.unique(vote_query)
    relevant = np.bincount(pairs // size, minlength=prompts)[judged]
    notes = dict.fromkeys((*run.notes, *vote.notes))
    for model, values in precision.items():
        if lacking := int(np.isnan(values[judged]).sum()):
            notes[f"{model}: no score for {lacking} of {len(judged)} queries (no results)"] = None
    return Retrieval(precision, ranks, relevant, len(run_query), len(vote_query), tuple(notes))
