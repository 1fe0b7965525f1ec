"""One example of inputs for every evaluate module, and the value that the functions give for it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pqpp_metrics import functional as F


@dataclass
class Case:
    """Inputs of a module by name, options, and a function that computes its main value.

    Modules of one kind take the same inputs and can be combined.
    """

    kind: str
    inputs: dict
    value: Callable[[], float]
    options: dict = field(default_factory=dict)


rng = np.random.default_rng(2024)


def numbers(*shape):
    return rng.standard_normal(shape).round(1).tolist()


def whole(low, high, *shape):
    return rng.integers(low, high, shape).tolist()


PAIRS = {"predictions": numbers(31), "references": numbers(31)}
RANKINGS = {"predictions": numbers(13, 12), "references": whole(0, 3, 13, 12)}
MAPS = {
    "predictions": rng.random((6, 8, 9)).round(3).tolist(),
    "references": (rng.random((6, 8, 9)) * (rng.random((6, 1, 1)) < 0.7)).round(1).tolist(),
}
VOTES = {
    "labels": rng.choice([2.0, 1.0, 0.0, -1.0], (24, 3)).tolist(),
    "prompt_ids": [f"prompt-{i % 7}" for i in range(24)],
}
TWO = {"predictions": numbers(25), "other_predictions": numbers(25), "references": numbers(25)}
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


def of_pairs(function):
    return Case("pairs", PAIRS, lambda: function(*PAIRS.values())[function.__name__])


def of_rankings(function, **options):
    def value():
        return float(np.mean(function(*RANKINGS.values(), **options)))

    return Case("rankings", RANKINGS, value, options)


def of_maps(function, **options):
    def value():
        return float(np.nanmean(function(*MAPS.values(), **options)))

    return Case("maps", MAPS, value, options)


def of_two(function, **options):
    def value():
        return function(*TWO.values(), **options)[function.__name__]

    return Case("two predictors", TWO, value, options)


def mean_of(kind, function, inputs, key=None, **options):
    """A module whose main value is the mean of a function's values."""

    def value():
        result = function(**inputs, **options)
        return float(np.mean(result[key] if key else result))

    return Case(kind, inputs, value, options)


def dict_of(kind, function, inputs, **options):
    """A module that returns what its function returns."""
    return Case(
        kind, inputs, lambda: float(function(**inputs, **options)[function.__name__]), options
    )


def mean_of_rows(kind, function, inputs, **options):
    """A module that calls its function for every row."""

    def value():
        rows = [dict(zip(inputs, row, strict=True)) for row in zip(*inputs.values(), strict=True)]
        return float(np.mean([function(**row, **options)[function.__name__] for row in rows]))

    return Case(kind, inputs, value, options)


def consolidated():
    rows = zip(*FEEDBACK.values(), strict=True)
    rows = [F.richhf_consolidation(*row, height=40, width=30)["scores"] for row in rows]
    return float(np.mean(np.concatenate(rows)))


CASES = {
    "auc_judd": of_maps(F.auc_judd),
    "average_precision": of_rankings(F.average_precision, k=7),
    "cc": of_maps(F.cc),
    "cohen_kappa": Case(
        "categories",
        {"predictions": list("abcabcab"), "references": list("abcbbcaa")},
        lambda: F.cohen_kappa(list("abcabcab"), list("abcbbcaa")),
    ),
    "conqa_relevance": mean_of(
        "votes", F.conqa_relevance, {"votes": [[3, 0, 0], [3, 1, 0], [1, 0, 2]]}, rule="three_votes"
    ),
    "dependent_correlations": of_two(F.dependent_correlations, test="steiger"),
    "fleiss_kappa": Case(
        "ratings",
        {"ratings": [["a", "a", "b"], ["b", "b", "b"], ["c", "a", "c"]]},
        lambda: F.fleiss_kappa([["a", "a", "b"], ["b", "b", "b"], ["c", "a", "c"]]),
    ),
    "geometric_minimum": mean_of(
        "cues", F.geometric_minimum, {"scores": rng.random((5, 6)).round(2).tolist()}
    ),
    "hbpp": Case("votes by prompt", VOTES, lambda: float(np.nanmean(F.hbpp(**VOTES)[1]))),
    "heatmap_mse": of_maps(F.heatmap_mse),
    "hit_rate_at_k": of_rankings(F.hit_rate_at_k, k=2),
    "holm": dict_of("p values", F.holm, {"p_values": [0.01, 0.04, 0.03, 0.5]}, alpha=0.1),
    "hwpq": mean_of_rows("questionnaires", F.hwpq, QUESTIONNAIRES),
    "kendall_qpp": of_pairs(F.kendall_qpp),
    "keyword_f1": dict_of(
        "keywords",
        F.keyword_f1,
        {
            "predictions": ["a red_0 cat", "two_0 dogs_0"],
            "references": ["a red_0 cat_0", "two dogs_0"],
        },
    ),
    "kld": of_maps(F.kld, convention="richhf"),
    "krippendorff_alpha": Case(
        "numeric ratings",
        {"ratings": [[1, 1, 2], [2, 2, None], [3, 2, 3], [None, 1, 1]]},
        lambda: F.krippendorff_alpha(
            [[1, 1, 2], [2, 2, np.nan], [3, 2, 3], [np.nan, 1, 1]], level="ordinal"
        ),
        {"level": "ordinal"},
    ),
    "light_direction": mean_of(
        "vectors", F.light_direction, {"predictions": numbers(7, 3), "references": numbers(7, 3)}
    ),
    "mann_whitney": mean_of_rows(
        "two groups", F.mann_whitney, {"x": [numbers(5), numbers(8)], "y": [numbers(6), numbers(4)]}
    ),
    "match_rate": dict_of(
        "matches",
        F.match_rate,
        {"matches": [1, 0, 1, 1], "groups": [["a", "x"], ["a", "y"], ["b", "x"], ["b", "x"]]},
        group_names=["task", "model"],
    ),
    "ndcg": of_rankings(F.ndcg, gains="exponential"),
    "nss": of_maps(F.nss),
    "paired_bootstrap": of_two(F.paired_bootstrap, resamples=200),
    "paired_permutation": of_two(F.paired_permutation, permutations=200, statistic="smare"),
    "pairwise_accuracy": dict_of(
        "preferences",
        F.pairwise_accuracy,
        {"predictions": whole(0, 4, 20, 2), "references": whole(-1, 2, 20)},
        score_ties="half",
    ),
    "pearson_qpp": of_pairs(F.pearson_qpp),
    "penetration": mean_of_rows("overlaps", F.penetration, OVERLAPS),
    "precision_at_k": of_rankings(F.precision_at_k, k=3),
    "qpp_report": Case("pairs", PAIRS, lambda: F.kendall_qpp(*PAIRS.values())["kendall_qpp"]),
    "r_precision": of_rankings(F.r_precision),
    "recall_at_k": of_rankings(F.recall_at_k, k=5, ties="pessimistic"),
    "reciprocal_rank": of_rankings(F.reciprocal_rank, k=4, ties="optimistic"),
    "richhf_consolidation": Case("feedback", FEEDBACK, consolidated, {"height": 40, "width": 30}),
    "richhf_heatmap": Case(
        "maps", MAPS, lambda: F.richhf_heatmap(*MAPS.values())["richhf_heatmap"]
    ),
    "rmse_qpp": of_pairs(F.rmse_qpp),
    "scene_composition": mean_of(
        "scenes",
        F.scene_composition,
        {"coverage": [0.2, 0.4, 0.3], "consistency": [0.9, 0.5, -0.1]},
    ),
    "sim": of_maps(F.sim),
    "smare": of_pairs(F.smare),
    "spearman_qpp": of_pairs(F.spearman_qpp),
    "text_rendering": mean_of(
        "texts",
        F.text_rendering,
        {"predictions": ["OPEN", "sall now"], "references": ["OPEN", "sale now"]},
        key="text_rendering",
    ),
}
