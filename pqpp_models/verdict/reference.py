"""Which prompts a verdict ranks a prompt among: quantiles of what is predicted for them.

A predictor's configuration holds a `reference`: the name of the target, and 101 quantiles (the 0th
to the 100th percentile) of its predictions for real captions and for prompts that people wrote. No
text is kept. `python -m pqpp_models.verdict.reference FOLDER DATA_DIR` writes it into a saved
predictor from train rows alone: the captions of PQPP's train split, and the studies of `alignment`
whose prompts people wrote freely; those of the other studies were put together by rules.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_models.errors import PredictorError
from pqpp_models.predict import main_targets
from pqpp_models.predictor import Predictor

KEY = "reference"
"""What the configuration calls it."""
FREELY_WRITTEN = ("agiqa", "genai", "t2v", "drawbench")
"""The studies whose prompts people wrote."""
_SHARES = np.linspace(0, 100, 101)
_DIGITS = 4


@dataclass(frozen=True)
class VerdictReference:
    """Quantiles of a predictor's own predictions.

    Attributes:
        target: Of which.
        captions: The 0th to the 100th percentile for real captions.
        people: The same for prompts that people wrote.
    """

    target: str
    captions: NDArray[np.float64]
    people: NDArray[np.float64]

    def ranks(self, values: ArrayLike, among: str = "people") -> NDArray[np.float64]:
        """Return than how many of 100 prompts some predictions are higher; equal ones count half.

        Args:
            values: Predictions, NaN for none.
            among: `people` or `captions`.

        >>> steps = np.linspace(0.0, 1.0, 101)
        >>> VerdictReference("alignment", steps, steps).ranks([0.25, -1.0, 2.0]).tolist()
        [25.0, 0.0, 100.0]
        """
        quantiles = getattr(self, among)
        array = np.asarray(values, dtype=np.float64)
        below = np.interp(array, *_steps(quantiles, last=False))
        return np.where(
            np.isnan(array), np.nan, (below + np.interp(array, *_steps(quantiles, last=True))) / 2
        )


def _steps(
    quantiles: NDArray[np.float64], last: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return distinct quantiles and their percentiles, of equal ones the first or the last."""
    values, first, counts = np.unique(quantiles, return_index=True, return_counts=True)
    return values, _SHARES[first + (counts - 1 if last else 0)]


def read_reference(predictor: Any) -> VerdictReference:
    """Return the reference of a predictor.

    Raises:
        PredictorError: It has none, or one that is not usable.

    >>> read_reference(Predictor.from_pretrained("static")).target
    'alignment'
    """
    record = predictor.details.get(KEY)
    if record is None:
        raise PredictorError(
            f"{predictor.called} knows no other prompts to rank one among, so it gives no verdict; "
            "use static"
        )
    try:
        shares = np.array([record["captions"], record["people"]], dtype=np.float64)
        is_rising = np.isfinite(shares).all() and (np.diff(shares) >= 0).all()
        if (
            is_rising
            and shares.shape == (2, len(_SHARES))
            and record["target"] in predictor.targets
        ):
            return VerdictReference(record["target"], *shares)
    except (TypeError, ValueError, LookupError):
        pass
    raise PredictorError(
        f"the reference of {predictor.called} is not 101 rising quantiles of two kinds of prompts; "
        "save or download the predictor again"
    )


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
    return np.interp(_SHARES, shares, values[order]).round(_DIGITS).tolist()


def write_reference(folder: str, data_dir: str) -> None:
    """Write its reference into a saved predictor; all else of it stays, but for the card.

    Args:
        folder: Of the predictor.
        data_dir: As for `read_sources`; PQPP's captions lie there in `pqpp/v1.0`.
    """
    from pqpp_datasets.load import load_benchmark
    from pqpp_models.text.training.studies import SOURCES, read_sources

    predictor = Predictor.from_pretrained(Path(folder))
    place = str(Path(data_dir) / "pqpp/v1.0")
    captions = load_benchmark("pqpp-v1.0", split="train", data_dir=place)["prompt"][:]
    studies = read_sources(data_dir, set(SOURCES) - set(FREELY_WRITTEN))
    people = {name: study.prompts for name, study in studies.items()}
    record = reference_of(predictor, captions, people)
    predictor.details = {**predictor.details, KEY: record}
    predictor.save_pretrained(folder)


if __name__ == "__main__":
    write_reference(*sys.argv[1:])
