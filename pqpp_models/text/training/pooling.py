"""A model fitted to several studies with different raters, generators, questions and scales.

People's score of a prompt is modelled by an intercept of the study, slopes that all studies share,
and slopes of the study; ridge regression shrinks both sets of slopes (partial pooling), so that a
large study does not outweigh the small ones. Features that correlate with length in one study must
not make all long prompts hard, so this correlation is removed, and the effect of length is fitted
separately, as the mean of the studies' effects. No penalty is selected: slopes are averaged over
weak to strong penalties.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pqpp_models.text.alignment import MOST_EXTREME, AlignmentModel
from pqpp_models.text.arrays import Floats

_SHARED, _OWN = (10.0, 30.0, 100.0), (3.0, 10.0, 30.0)  # penalties of slopes
_LEVEL, _LENGTH, _ALMOST_NONE = 100.0, 20.0, 1e-3
_MOST_A_STUDY = 400  # maximum weight of a study, in prompts


@dataclass(frozen=True, eq=False)
class StudyFeatures:
    """The features and scores of the prompts in a study.

    Attributes:
        blocks: blocks of features, each with the same weight.
        lengths: the output of `compute_lengths`.
        goals: people's scores, converted to normal scores.
    """

    blocks: list[Floats]
    lengths: Floats
    goals: Floats

    @property
    def features(self) -> Floats:
        """The blocks, joined into one array."""
        return np.concatenate(self.blocks, axis=1)

    def select_rows(self, rows: list[int]) -> "StudyFeatures":
        """Return the features and scores of some rows."""
        return StudyFeatures([b[rows] for b in self.blocks], self.lengths[rows], self.goals[rows])


def pool_studies(studies: Mapping[str, StudyFeatures]) -> AlignmentModel:
    """Fit one model to several studies with different scales.

    >>> random = np.random.default_rng(0)
    >>> rows = {name: random.normal(size=(90, 3)) for name in "abc"}
    >>> lengths = np.arange(90) % 9 / 4
    >>> model = pool_studies({k: StudyFeatures([x], lengths, x[:, 0]) for k, x in rows.items()})
    >>> bool(np.corrcoef(model(rows["a"], np.zeros(90)), rows["a"][:, 0])[0, 1] > 0.98)
    True
    """
    weights = {name: min(1, _MOST_A_STUDY / len(one.goals)) for name, one in studies.items()}
    every = np.concatenate([study.features for study in studies.values()])
    of_rows = np.repeat([*weights.values()], [len(study.goals) for study in studies.values()])
    mean = np.average(every, axis=0, weights=of_rows)
    deviation = np.average((every - mean) ** 2, axis=0, weights=of_rows) ** 0.5 + 1e-6
    sizes = [block.shape[1] for block in next(iter(studies.values())).blocks]
    scale = np.repeat(sizes, sizes) ** 0.5
    curves, away, rows = {}, {}, {}
    for name, study in studies.items():
        curves[name] = np.c_[study.lengths, study.lengths**2]
        away[name] = curves[name] - curves[name].mean(axis=0)
        rows[name] = (study.features - mean) / deviation
        rows[name] = np.clip(rows[name], -MOST_EXTREME, MOST_EXTREME) / scale
    squares = sum(away[name].T @ away[name] / len(rows[name]) for name in rows)
    products = sum(away[name].T @ rows[name] / len(rows[name]) for name in rows)
    with_length = np.linalg.solve(squares + 1e-9 * np.eye(2), products)
    for name in rows:
        rows[name] = np.c_[rows[name] - curves[name] @ with_length, np.ones(len(rows[name]))]
    found, effects = [], []
    for own in _OWN:
        total = np.zeros((len(mean) + 1, len(mean) + 2))
        for name, study in studies.items():
            # A study's normal equations when its own slopes and its level are solved.
            equations = rows[name].T @ np.c_[rows[name], study.goals] * weights[name]
            square, penalty = equations[:, :-1], np.diag([own] * len(mean) + [_LEVEL])
            total += equations - square @ np.linalg.solve(square + penalty, equations)
        for shared in _SHARED:
            ridge = np.diag([shared] * len(mean) + [_ALMOST_NONE])
            found.append(np.linalg.solve(total[:, :-1] + ridge, total[:, -1]))
            for name, study in studies.items():
                length, left = away[name][:, 0], study.goals - rows[name] @ found[-1]
                effects.append(length @ left / (length @ length + _LENGTH))
    slopes = np.mean(found, axis=0)
    itself, square = -with_length @ slopes[:-1]
    curve = np.array([square, itself + np.mean(effects), slopes[-1]])
    return AlignmentModel(mean, deviation, slopes[:-1] / scale, curve)
