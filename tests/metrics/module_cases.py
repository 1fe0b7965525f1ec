"""One example of inputs for every metric, with an oracle: what the result must be.

An oracle is a function that takes the inputs and returns the main value, or a dict of values of
the result, by an outside library, by the slow computations of `oracles`, or by hand in its
comment. It never calls the metric: this file does not import the package.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.stats
from metrics import oracles


@dataclass
class Case:
    """Inputs of a metric by name, its oracle, and options.

    Metrics of one kind take the same inputs and can be combined.
    """

    kind: str
    inputs: dict
    oracle: Callable | None = None
    options: dict = field(default_factory=dict)


rng = np.random.default_rng(2024)


def normals(*shape):
    return rng.standard_normal(shape).round(1).tolist()


def integers(low, high, *shape):
    return rng.integers(low, high, shape).tolist()


PAIRS = {"predictions": normals(31), "references": normals(31)}
RANKINGS = {"predictions": normals(13, 12), "references": integers(0, 3, 13, 12)}
MAPS = {
    "predictions": rng.random((6, 8, 9)).round(3).tolist(),
    "references": (10 * rng.random((6, 8, 9)) * (rng.random((6, 1, 1)) < 0.7)).round().tolist(),
}
VOTES = {
    "labels": rng.choice([2.0, 1.0, 0.0, -1.0], (24, 3)).tolist(),
    "prompt_ids": [f"prompt-{i % 7}" for i in range(24)],
}
TWO = {"predictions": normals(25), "other_predictions": normals(25), "references": normals(25)}
TWO = {name: 2 * column for name, column in TWO.items()}  # a bootstrap needs so many
SEEDS = {"predictions": normals(20, 3), "other_predictions": normals(20, 2)}
SEEDS |= {"references": normals(20)}
PREFERENCES = {"predictions": integers(0, 4, 20, 2), "references": integers(-1, 2, 20)}
VECTORS = {"predictions": normals(7, 3), "references": normals(7, 3)}
GROUPS = {"x": [normals(5), normals(8)], "y": [normals(6), normals(4)]}
SUB_SCORES = {"scores": rng.random((5, 6)).round(2).tolist()}
FEEDBACK = {
    "scores": [[[4.0, 2.0], [5.0, 3.0], [3.0, 2.5]], [[1.0, 1.0], [2.0, 1.5]]],
    "keyword_labels": [[[0, 1, 1], [0, 1, 0], [1, 1, 0]], [[1, 1], [0, 1]]],
    "points": [[[[3.0, 4.0]], [], [[10.0, 10.0], [3.0, 5.0]]], [[], [[0.0, 0.0]]]],
}
QUESTIONNAIRES = {
    "positive": [[[1, 1, 0], [1, 1, 1]], [[0, 1, 0], [1, 1, 1], [1, 0, 1]]],
    "negative": [[[0, 0, 0], [0, 0, 1]], [[0, 0, 0], [1, 1, 0], [0, 0, 0]]],
    "levels": [[1, 3], [1, 2, 2]],
    "question_weights": [[1.0, 1.0], [1.0, 0.25, 0.75]],
    "level_weights": [[0.4, 0.0, 0.6, 0.0], [0.5, 0.5, 0.0, 0.0]],
}
OVERLAPS = {
    "overlap_depths": [[[1.0, 1.5], [2.0, 2.25]], [[0.5, 0.1]]],
    "outside_depths": [[[1.0, 2.0], [1.0, 3.0]], [[0.5, 0.2]]],
    "confidences": [[[1.0, 0.5], [0.9, 0.9]], [[0.8, 0.7]]],
}
P_VALUES = (np.random.default_rng(0).random(40) ** 4).tolist()
RATINGS = {"ratings": [["a", "a", "b"], ["b", "b", "b"], ["c", "a", "c"]]}
NUMERIC_RATINGS = {"ratings": [[1, 1, 2], [2, 2, None], [3, 2, 3], [None, 1, 1]]}
NAMES = {"ratings": [["a", "a", "b"], ["b", "b", None], ["c", "b", "c"], [None, "a", "a"]]}
KEYWORDS = {
    "predictions": ["a red_0 cat", "two_0 dogs_0"],
    "references": ["a red_0 cat_0", "two dogs_0"],
}


def scipy_oracle(function, key):
    """A correlation and its p-value by scipy."""

    def oracle(predictions, references):
        result = function(predictions, references)
        return {key: result.statistic, "p_value": result.pvalue}

    return oracle


def difference(function):
    """The difference of two predictors in a measure of pairs."""

    def oracle(predictions, other_predictions, references):
        return function(predictions, references) - function(other_predictions, references)

    return oracle


def seed_difference(function):
    """The difference of two predictors in the mean over seeds of a measure of pairs."""

    def oracle(predictions, other_predictions, references):
        sides = (zip(*rows, strict=True) for rows in (predictions, other_predictions))
        means = [np.mean([function(seed, references) for seed in side]) for side in sides]
        return means[0] - means[1]

    return oracle


def query_mean(measure, ties="expected"):
    """The mean over queries of a measure of the ranked relevance, over all orders of ties."""

    def oracle(predictions, references):
        return oracles.over_orders(measure, predictions, references, ties).mean()

    return oracle


def map_mean(measure):
    """The mean over maps of a measure of a predicted and a true map, NaN left out."""

    def oracle(predictions, references):
        pairs = zip(map(np.array, predictions), map(np.array, references), strict=True)
        return np.nanmean([measure(*pair) for pair in pairs])

    return oracle


def kendall(predictions, references):
    return scipy.stats.kendalltau(predictions, references).statistic


def rmse(predictions, references):
    from sklearn.metrics import mean_squared_error

    return math.sqrt(mean_squared_error(references, predictions))


def cohen(predictions, references):
    from sklearn.metrics import cohen_kappa_score

    return cohen_kappa_score(predictions, references)


def fleiss(ratings):
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    return fleiss_kappa(aggregate_raters(np.array(ratings))[0])


def krippendorff_ordinal(ratings):
    import krippendorff

    table = np.array(ratings, dtype=float).T
    return krippendorff.alpha(reliability_data=table, level_of_measurement="ordinal")


def holm(p_values):
    from statsmodels.stats.multitest import multipletests

    rejected, adjusted, _, _ = multipletests(p_values, alpha=0.1, method="holm")
    return {"holm": adjusted.min(), "adjusted": adjusted.tolist(), "rejected": rejected.tolist()}


def ndcg(predictions, references):
    from sklearn.metrics import ndcg_score  # averages over ties

    return ndcg_score(2.0 ** np.array(references) - 1, predictions)


def wilson(matches, groups):
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(sum(matches), len(matches), method="wilson")
    rows = {}
    for match, (task, model) in zip(matches, groups, strict=True):
        rows.setdefault((task, model), []).append(match)
    table = []
    for (task, model), part in rows.items():
        row = {"task": task, "model": model, "match_rate": np.mean(part), "n": len(part)}
        ends = proportion_confint(sum(part), len(part), method="wilson")
        table.append(row | dict(zip(("ci_low", "ci_high"), ends, strict=True)))
    return {"match_rate": np.mean(matches), "ci_low": low, "ci_high": high, "groups": table}


def keywords(predictions, references):
    from sklearn.metrics import precision_recall_fscore_support

    # Over the tokens a red cat | two dogs, 1 where `_0` marks them: 0 1 0 | 1 1 and 0 1 1 | 0 1.
    precision, recall, f1, _ = precision_recall_fscore_support(
        [0, 1, 1, 0, 1], [0, 1, 0, 1, 1], average="binary"
    )
    return {"keyword_f1": f1, "precision": precision, "recall": recall}


def mann_whitney(x, y):
    groups = list(zip(x, y, strict=True))
    pairs = [[(a > b) + (a == b) / 2 for a in first for b in second] for first, second in groups]
    tests = [scipy.stats.mannwhitneyu(*group, alternative="less") for group in groups]
    return {"mann_whitney": np.mean(list(map(sum, pairs))), "p_value": [t.pvalue for t in tests]}


def prompt_performance(labels, prompt_ids):
    by_prompt = {}
    for votes, prompt in zip(labels, prompt_ids, strict=True):
        by_prompt.setdefault(prompt, []).append(oracles.image_relevance(votes, "mean"))
    return np.mean([np.mean(images) for images in by_prompt.values()])


def light_direction(predictions, references):
    from scipy.spatial.distance import cosine

    pairs = zip(predictions, references, strict=True)
    degrees = [math.degrees(math.acos(1 - cosine(*pair))) for pair in pairs]
    return np.mean([max(0.0, 1 - angle / 90) for angle in degrees])


def pairwise_accuracy(predictions, references):
    successes = [
        (first > second) - (first < second) == preference or (first == second) / 2
        for (first, second), preference in zip(predictions, references, strict=True)
        if preference
    ]
    return np.mean(successes)


def by_hand(value):
    """An oracle that returns a value, or values, which a comment derives from the inputs."""
    return lambda **inputs: value


CASES = {
    "auc_judd": Case("maps", MAPS, map_mean(oracles.auc_judd)),
    "average_precision": Case(
        "rankings", RANKINGS, query_mean(lambda r: oracles.average_precision(r, 7)), {"k": 7}
    ),
    "cc": Case(
        "maps",
        MAPS,
        map_mean(
            lambda p, q: scipy.stats.pearsonr(p.ravel(), q.ravel())[0] if q.any() else math.nan
        ),
    ),
    "cohen_kappa": Case(
        "categories", {"predictions": list("abcabcab"), "references": list("abcbbcaa")}, cohen
    ),
    # At least three workers say relevant: yes, yes (whatever the fourth says), no.
    "conqa_relevance": Case(
        "votes",
        {"votes": [[3, 0, 0], [3, 1, 0], [1, 0, 2]]},
        by_hand({"conqa_relevance": 2 / 3, "scores": [1, 1, 0]}),
        {"rule": "three_votes"},
    ),
    "fleiss_kappa": Case("ratings", RATINGS, fleiss),
    "geometric_minimum": Case(
        "sub-scores", SUB_SCORES, lambda scores: sum(min(row) for row in scores) / len(scores)
    ),
    "hbpp": Case("votes by prompt", VOTES, prompt_performance),
    "gwet_ac1": Case("names", NAMES, by_hand(0.515151515152)),  # by irrCAC 0.4.4
    "heatmap_mse": Case("maps", MAPS, map_mean(lambda p, q: ((p - q) ** 2).mean())),
    "hit_rate_at_k": Case("rankings", RANKINGS, query_mean(lambda r: oracles.hit(r, 2)), {"k": 2}),
    "holm": Case("p values", {"p_values": P_VALUES}, holm, {"alpha": 0.1}),
    # Image 1: both facts have a yes by majority and a no: .4 + .6. Image 2: the first fact has no
    # yes, the second no clear no, the third counts: .5 * 0 + .5 * .75.
    "hwpq": Case("questionnaires", QUESTIONNAIRES, by_hand((1 + 0.375) / 2)),
    "icc": Case(  # by pingouin 0.6.1
        "all ratings",
        {"ratings": [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8]]},
        by_hand(0.34328358208955223),
    ),
    "kendall_qpp": Case("pairs", PAIRS, scipy_oracle(scipy.stats.kendalltau, "kendall_qpp")),
    "keyword_f1": Case("keywords", KEYWORDS, keywords),
    "kld": Case("maps", MAPS, map_mean(oracles.richhf_kld), {"convention": "richhf"}),
    "krippendorff_alpha": Case(
        "numeric ratings", NUMERIC_RATINGS, krippendorff_ordinal, {"level": "ordinal"}
    ),
    "light_direction": Case("vectors", VECTORS, light_direction),
    "mann_whitney": Case("two groups", GROUPS, mann_whitney),
    "match_rate": Case(
        "matches",
        {"matches": [1, 0, 1, 1], "groups": [["a", "x"], ["a", "y"], ["b", "x"], ["b", "x"]]},
        wilson,
        {"group_names": ["task", "model"]},
    ),
    "ndcg": Case("rankings", RANKINGS, ndcg, {"gains": "exponential"}),
    "nss": Case(
        "maps",
        MAPS,
        map_mean(
            lambda p, q: (
                np.average(scipy.stats.zscore(p, axis=None), weights=q) if q.any() else math.nan
            )
        ),
    ),
    "paired_permutation": Case(
        "two predictors",
        TWO,
        difference(oracles.smare),
        {"permutations": 200, "statistic": "smare"},
    ),
    "paired_seeds": Case("seeds", SEEDS, seed_difference(kendall)),
    "pairwise_accuracy": Case(
        "preferences", PREFERENCES, pairwise_accuracy, {"score_ties": "half"}
    ),
    "pearson_qpp": Case("pairs", PAIRS, scipy_oracle(scipy.stats.pearsonr, "pearson_qpp")),
    # Image 1: C is .5 / (1 + e) and .25 / (2 + e), e = 1e-6, confidences 1 * .5 and .9 * .9: the
    # lower is .2025 / (2 + e). Image 2: C is .4 / (.3 + e), confidences .8 * .7.
    "penetration": Case(
        "overlaps", OVERLAPS, by_hand((0.2025 / 2.000001 + 0.4 * 0.56 / 0.300001) / 2)
    ),
    "precision_at_k": Case(
        "rankings", RANKINGS, query_mean(lambda r: oracles.precision(r, 3)), {"k": 3}
    ),
    "qpp_report": Case("pairs", PAIRS, kendall),
    "r_precision": Case("rankings", RANKINGS, query_mean(oracles.r_precision)),
    "recall_at_k": Case(
        "rankings",
        RANKINGS,
        query_mean(lambda r: oracles.recall(r, 5), "pessimistic"),
        {"k": 5, "ties": "pessimistic"},
    ),
    "reciprocal_rank": Case(
        "rankings",
        RANKINGS,
        query_mean(lambda r: oracles.reciprocal_rank(r, 4), "optimistic"),
        {"k": 4, "ties": "optimistic"},
    ),
    # Means of the columns: 12 / 3 and 7.5 / 3, 3 / 2 and 2.5 / 2. Labels: two of three say 0, 1,
    # 0; then 1 : 1, which is aligned, and 1.
    "richhf_consolidation": Case(
        "feedback",
        FEEDBACK,
        by_hand(
            {
                "richhf_consolidation": (4 + 2.5 + 1.5 + 1.25) / 4,
                "scores": [[4, 2.5], [1.5, 1.25]],
                "keyword_labels": [[0, 1, 0], [1, 1]],
            }
        ),
        {"height": 40, "width": 30},
    ),
    "richhf_heatmap": Case("maps", MAPS, map_mean(lambda p, q: ((p - q) ** 2).mean())),
    "rmse_qpp": Case("pairs", PAIRS, rmse),
    # A negative consistency counts as 0.
    "scene_composition": Case(
        "scenes",
        {"coverage": [0.2, 0.4, 0.3], "consistency": [0.9, 0.5, -0.1]},
        by_hand((math.sqrt(0.18) + math.sqrt(0.2) + 0) / 3),
    ),
    "sim": Case(
        "maps",
        MAPS,
        map_mean(lambda p, q: np.minimum(p / p.sum(), q / q.sum()).sum() if q.any() else math.nan),
    ),
    "smare": Case("pairs", PAIRS, oracles.smare),
    "spearman_qpp": Case("pairs", PAIRS, scipy_oracle(scipy.stats.spearmanr, "spearman_qpp")),
    # The first text is right. The second has 1 of 8 letters replaced, and of the tokens sall, now
    # and sale one is shared by both: (7/8 + 1/3) / 2.
    "text_rendering": Case(
        "texts",
        {"predictions": ["OPEN", "sall now"], "references": ["OPEN", "sale now"]},
        by_hand({"text_rendering": (1 + (7 / 8 + 1 / 3) / 2) / 2, "characters": [1, 7 / 8]}),
    ),
}
