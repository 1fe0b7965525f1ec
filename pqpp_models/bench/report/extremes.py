"""The prompts that a predictor takes for the easiest and the hardest."""

from collections.abc import Mapping, Sequence

import numpy as np

from pqpp_files.visible import visible
from pqpp_models.bench.protocol import Predictions
from pqpp_models.explain.page import coloured_words, scale_of
from pqpp_models.predictor import Predictor

_DIRECTIONS = {
    "easier": "",
    "harder": "a higher value means a harder prompt",
    "unknown": "highest and lowest values: which of them is harder is not known",
}


def extreme_prompts(
    predictions: Predictions,
    references: Mapping[str, Sequence[float | None]],
    prompts: Sequence[str],
    titles: Mapping[str, str],
    predictor: Predictor | None = None,
    count: int = 5,
) -> dict:
    """Return the prompts that a predictor takes for the easiest and the hardest.

    Where a higher value means a harder prompt the lowest are the easiest; where it is not known
    what a value means, the highest come first and the titles say so.

    Args:
        predictions: The predictions of one predictor; its first target that has references is used.
        references: Target to one true value a prompt, None where there is none.
        prompts: The prompts.
        titles: Column to what it is called.
        predictor: The predictor itself; if it is one of texts, the prompts come as HTML with
            coloured words.
        count: How many of each.

    Returns:
        `predictor`, `title`, `note`, and `easiest` and `hardest`: lists of (prompt, predicted,
        true).
    """
    target = next(name for name in predictions.targets if name in references)
    values, true = predictions.values[:, predictions.targets.index(target)], references[target]
    sign = -1 if predictions.higher == "harder" else 1
    order = [i for i in np.argsort(-sign * values, kind="stable") if true[i] is not None]
    order = [i for i in order if not np.isnan(values[i])]
    shown = {
        i: visible(" ".join(prompts[i].split())) for i in (*order[:count], *order[::-1][:count])
    }
    if predictor is not None and predictor.inputs == "text":
        asked = predictions.stand_ins.get(target, target)
        explanations = predictor.explain([prompts[i] for i in shown], asked)
        scale = scale_of(explanations)
        shown = {i: coloured_words(it, scale) for i, it in zip(shown, explanations, strict=True)}
    rows = [(shown[i], f"{values[i]:.3f}", f"{true[i]:.3f}") for i in order if i in shown]
    return {
        "predictor": visible(predictions.predictor),
        "title": titles.get(target, target),
        "note": _DIRECTIONS[predictions.higher],
        "easiest": rows[:count],
        "hardest": rows[::-1][:count],
    }
