"""The judged prompts of any target that are on this machine, those of `alignment` too."""

from __future__ import annotations

from typing import Any

from pqpp_datasets.benchmarks import benchmark_of
from pqpp_datasets.load import load_benchmark
from pqpp_datasets.location import local_copy
from pqpp_datasets.target_columns import ALIGNMENT
from pqpp_models.errors import PredictorError
from pqpp_models.explain.neighbours import JudgedPrompts, judged_here


def judged_prompts(predictor: Any, target: str, data_dir: str | None = None) -> JudgedPrompts:
    """Return judged prompts of a target from local files, as `judged_here` does.

    Those of `alignment` are GenAI-Bench's, with the share of ratings that are 4 or 5.

    Args:
        predictor: As for `judged_here`.
        target: A column of it.
        data_dir: As for `load_benchmark`.

    Raises:
        PredictorError: They are not here, or there are none of such a target.
        BenchmarkError: The files are damaged, or `data_dir` is no folder.

    Example:
        >>> from pqpp_models import Predictor
        >>> judged_prompts(Predictor.from_pretrained("static"), "alignment")  # doctest: +SKIP
        JudgedPrompts(source='genai, share of ratings of 4 and 5', ...)
    """
    if target != ALIGNMENT:
        return judged_here(predictor, target, data_dir)
    folder = local_copy(benchmark_of("genai"), "train", data_dir)
    if folder is None:
        raise PredictorError(
            "GenAI-Bench's ratings are not here; name a root that holds genai by --data-dir or "
            "PQPP_DATA_DIR, or load genai once"
        )
    from pqpp_models.alignment.sources import shares

    rows = load_benchmark("genai", data_dir=str(folder), split="train")
    prompts = list(dict.fromkeys(rows["prompt"][:]))
    root = str(folder.parent) if folder.name == "genai" else None
    return JudgedPrompts(
        "genai, share of ratings of 4 and 5", prompts, shares(root, prompts).tolist()
    )
