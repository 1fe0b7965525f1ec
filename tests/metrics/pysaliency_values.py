"""Values of pysaliency for seeded maps; the tests compare with the table, without pysaliency.

pysaliency 0.2.22 needs setuptools < 80, numpy < 2.4 and torch, and is built from source, so it is
no part of the test environment. Where it is installed, `python tests/metrics/pysaliency_values.py`
writes the table anew.
"""

import json
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_suffix(".json")
_SIZES = ((12, 16), (9, 20), (15, 11))


def make_maps():
    """Return by kind of prediction: predictions, true maps and fixated points of three images.

    The points are (row, column), some of them repeated.
    """
    rng = np.random.default_rng(12)
    kinds = {
        "random": lambda size: rng.random(size),
        "with zeros": lambda size: rng.random(size) * (rng.random(size) < 0.5),
        "ties": lambda size: rng.integers(0, 4, size).astype(float),
        "8-bit with zeros": lambda size: (
            rng.integers(0, 256, size) * (rng.random(size) < 0.6)
        ).astype(np.uint8),
        "log density": lambda size: np.log(rng.random(size) + 1e-6),
        "constant": lambda size: np.full(size, 0.25),
        "nothing": lambda size: np.zeros(size),
    }
    truths = [rng.integers(0, 200, size) * (rng.random(size) < 0.7) / 100 for size in _SIZES]
    points = [
        np.concatenate([drawn, drawn[:7], drawn[:3]])
        for drawn in (rng.integers(0, size, (25, 2)) for size in _SIZES)
    ]
    return {kind: ([make(size) for size in _SIZES], truths, points) for kind, make in kinds.items()}


def _compute_by_pysaliency(predictions, truths, points):
    """Return the values of each metric, one an image, by pysaliency's name of the metric."""
    import pysaliency

    class FixedMaps(pysaliency.SaliencyMapModel):
        """A model with given maps; the first pixel of a stimulus is the image's number."""

        def __init__(self, maps):
            super().__init__(caching=False)
            self.maps = maps

        def _saliency_map(self, stimulus):
            return self.maps[int(stimulus[0, 0, 0])].copy()

    stimuli = pysaliency.Stimuli(
        [np.full((*image.shape, 3), number, np.uint8) for number, image in enumerate(predictions)]
    )
    rows, columns = np.concatenate(points).T
    numbers = np.repeat(np.arange(len(points)), [len(row) for row in points])
    fixations = pysaliency.Fixations.create_without_history(columns, rows, numbers)
    model, truth = FixedMaps(predictions), FixedMaps(truths)
    images = range(len(predictions))
    return {
        "NSS": [model.NSS(stimuli, fixations[numbers == n], average="image") for n in images],
        "CC": model.CCs(stimuli, truth),
        "SIM": model.SIMs(stimuli, truth),
        "KLDiv": model.KLDivs(stimuli, truth),
        "MIT_KLDiv": [
            pysaliency.metrics.MIT_KLDiv(np.asarray(p, float), q)
            for p, q in zip(predictions, truths, strict=True)
        ],
        "AUC_Judd": [
            model.AUC_Judd(stimuli, fixations[numbers == n], jitter=False) for n in images
        ],
    }


def _write():
    """Compute the table and write it."""
    values = {
        kind: {name: list(map(float, row)) for name, row in _compute_by_pysaliency(*maps).items()}
        for kind, maps in make_maps().items()
    }
    text = json.dumps({"pysaliency": "0.2.22", "values": values}, indent=1)
    TABLE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    _write()
