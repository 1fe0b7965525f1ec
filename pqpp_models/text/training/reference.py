"""What a verdict ranks prompts among, written into a saved predictor.

`python -m pqpp_models.text.training.reference FOLDER DATA_DIR` does it from train rows alone: the
captions of PQPP's train split, and the studies of `alignment` whose prompts people wrote freely;
those of the other studies were put together by rules.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_datasets.load import load_benchmark
from pqpp_models.predict import main_targets
from pqpp_models.predictor import REFERENCE, Predictor
from pqpp_models.text.training.studies import SOURCES, read_sources

FREELY_WRITTEN = ("agiqa", "genai", "t2v", "drawbench")
"""The studies whose prompts people wrote."""
_DIGITS = 4


def reference_of(
    predictor: Any, captions: Sequence[str], people: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return the reference of a predictor, as its configuration holds it.

    Args:
        predictor: Of texts.
        captions: Real ones.
        people: By study, prompts that people wrote.
    """
    target = main_targets(predictor)[0]
    studies = [predictor.predict(list(prompts), target)[:, 0] for prompts in people.values()]
    weights = [np.full(len(values), 1 / len(values)) for values in studies]
    return {
        "target": target,
        "captions": _quantiles(predictor.predict(list(captions), target)[:, 0]),
        "people": _quantiles(np.concatenate(studies), np.concatenate(weights)),
        "sources": {"captions": len(captions)} | {name: len(some) for name, some in people.items()},
    }


def _quantiles(
    values: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> list[float]:
    """Return 101 quantiles of weighted values, linearly between the middles of their weights."""
    order = np.argsort(values, kind="stable")
    weights = np.ones(len(values)) if weights is None else weights
    middles = np.cumsum(weights[order]) - weights[order] / 2
    shares = (middles - middles[0]) / (middles[-1] - middles[0]) * 100
    return np.interp(np.arange(101), shares, values[order]).round(_DIGITS).tolist()


def write_reference(folder: str, data_dir: str) -> None:
    """Write its reference into a saved predictor; all else of it stays, but for the card.

    Args:
        folder: Of the predictor.
        data_dir: As for `read_sources`; PQPP's captions lie there in `pqpp/v1.0`.
    """
    predictor = Predictor.from_pretrained(Path(folder))
    place = str(Path(data_dir) / "pqpp/v1.0")
    captions = load_benchmark("pqpp-v1.0", split="train", data_dir=place)["prompt"][:]
    studies = read_sources(data_dir, set(SOURCES) - set(FREELY_WRITTEN))
    people = {name: study.prompts for name, study in studies.items()}
    record = reference_of(predictor, captions, people)
    predictor.details = {**predictor.details, REFERENCE: record}
    predictor.save_pretrained(folder)


if __name__ == "__main__":
    write_reference(*sys.argv[1:])
