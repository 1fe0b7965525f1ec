"""The judged prompts nearest to some others, in the space that a predictor learned."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pqpp_datasets.target_columns import ALIGNMENT
from pqpp_models.errors import PredictorError
from pqpp_models.explain.explanation import Explanation, Neighbour
from pqpp_models.scored_prompts import ScoredPrompts, alignment_shares

_ROWS = 1024


def judged_here(predictor: Any, target: str, data_dir: str | None = None) -> ScoredPrompts:
    """Return the prompts that a predictor was trained on with their true values, from local files.

    Nothing is downloaded: they are read from `data_dir`, `PQPP_DATA_DIR` or an earlier download.
    Those of `alignment` are GenAI-Bench's, with the share of ratings that are 4 or 5.

    Args:
        predictor: One that tells that it was `trained_on` PQPP.
        target: A column of it.
        data_dir: As for `load_benchmark`.

    Raises:
        PredictorError: It was not trained on PQPP, or the prompts are not here, or PQPP has no such
            target.
        BenchmarkError: The files are damaged, or `data_dir` is no folder.
    """
    from pqpp_datasets.benchmarks import benchmark_of
    from pqpp_datasets.load import load_benchmark
    from pqpp_datasets.location import local_copy

    config = "genai" if target == ALIGNMENT else predictor.trained_on
    if config is None:
        raise PredictorError(f"{predictor.name} does not tell which prompts it was trained on")
    folder = local_copy(benchmark_of(config), "train", data_dir)
    if folder is None:
        raise PredictorError(
            f"the train split of {config} is not here; name its folder by `data_dir` or "
            "PQPP_DATA_DIR, or load it once"
        )
    rows = load_benchmark(config, data_dir=str(folder), split="train")
    if target == ALIGNMENT:
        prompts = list(dict.fromkeys(rows["prompt"][:]))
        shares = alignment_shares(rows, prompts).tolist()
        return ScoredPrompts("genai, share of ratings of 4 and 5", prompts, shares)
    if target not in rows.column_names:
        raise PredictorError(f"{config} has no judgments of {target}")
    known = [at for at, value in enumerate(rows[target]) if value is not None]
    prompts, values = rows["prompt"][:], rows[target][:]
    source = f"{config}, train split"
    return ScoredPrompts(source, [prompts[at] for at in known], [values[at] for at in known])


def with_neighbours(
    predictor: Any, explanations: Sequence[Explanation], judged: ScoredPrompts, count: int = 3
) -> list[Explanation]:
    """Add the nearest judged prompts to explanations, the nearest first.

    Of equally near ones the first of `judged` comes first; a prompt may be its own neighbour. A
    blank prompt has none, and none has any where the predictor's points are not finite.

    Args:
        predictor: One whose `has_space` is true.
        explanations: Of any prompts.
        judged: Blank prompts among them are left out.
        count: How many each gets; all if there are fewer.

    Raises:
        PredictorError: The predictor puts prompts into no space.
    """
    kept = [at for at, prompt in enumerate(judged.prompts) if prompt.strip()]
    asked = [at for at, explanation in enumerate(explanations) if explanation.words]
    results = list(explanations)
    if not kept or not asked or count < 1:
        return results
    points = _unit(predictor.embed([judged.prompts[at] for at in kept]))
    for start in range(0, len(asked), _ROWS):
        some = asked[start : start + _ROWS]
        cosines = _unit(predictor.embed([explanations[at].prompt for at in some])) @ points.T
        for at, row in zip(some, cosines, strict=True):
            nearest = np.argsort(-row, kind="stable")[:count]
            neighbours = tuple(
                Neighbour(judged.prompts[kept[n]], float(judged.scores[kept[n]]), float(row[n]))
                for n in nearest.tolist()
                if np.isfinite(row[n])
            )
            results[at] = replace(results[at], neighbours=neighbours)
    return results


def _unit(points: Any) -> Any:
    points = np.asarray(points, np.float64)
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(lengths > 0, lengths, 1.0)
