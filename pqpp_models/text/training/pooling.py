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

from pqpp_models.text.alignment import CLIP_DEVIATIONS, AlignmentModel
from pqpp_models.text.arrays import Floats

_SHARED_PENALTIES, _STUDY_PENALTIES = (10.0, 30.0, 100.0), (3.0, 10.0, 30.0)  # penalties of slopes
_LEVEL_PENALTY, _LENGTH_PENALTY, _CONSTANT_PENALTY = 100.0, 20.0, 1e-3
_MAX_WEIGHT = 400  # of a study, in prompts


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
    weights = {name: min(1, _MAX_WEIGHT / len(study.goals)) for name, study in studies.items()}
    features = np.concatenate([study.features for study in studies.values()])
    row_weights = np.repeat([*weights.values()], [len(study.goals) for study in studies.values()])
    mean = np.average(features, axis=0, weights=row_weights)
    deviation = np.average((features - mean) ** 2, axis=0, weights=row_weights) ** 0.5 + 1e-6
    sizes = [block.shape[1] for block in next(iter(studies.values())).blocks]
    scale = np.repeat(sizes, sizes) ** 0.5
    curves, centred, rows = {}, {}, {}
    for name, study in studies.items():
        curves[name] = np.c_[study.lengths, study.lengths**2]
        centred[name] = curves[name] - curves[name].mean(axis=0)
        rows[name] = (study.features - mean) / deviation
        rows[name] = np.clip(rows[name], -CLIP_DEVIATIONS, CLIP_DEVIATIONS) / scale
    squares = sum(centred[name].T @ centred[name] / len(rows[name]) for name in rows)
    products = sum(centred[name].T @ rows[name] / len(rows[name]) for name in rows)
    length_slopes = np.linalg.solve(squares + 1e-9 * np.eye(2), products)
    for name in rows:
        rows[name] = np.c_[rows[name] - curves[name] @ length_slopes, np.ones(len(rows[name]))]
    solutions, effects = [], []
    for study_penalty in _STUDY_PENALTIES:
        total = np.zeros((len(mean) + 1, len(mean) + 2))
        for name, study in studies.items():
            # The study's normal equations, after elimination of its own slopes and its level.
            equations = rows[name].T @ np.c_[rows[name], study.goals] * weights[name]
            gram, penalties = equations[:, :-1], [study_penalty] * len(mean) + [_LEVEL_PENALTY]
            total += equations - gram @ np.linalg.solve(gram + np.diag(penalties), equations)
        for shared_penalty in _SHARED_PENALTIES:
            ridge = np.diag([shared_penalty] * len(mean) + [_CONSTANT_PENALTY])
            solutions.append(np.linalg.solve(total[:, :-1] + ridge, total[:, -1]))
            for name, study in studies.items():
                length, residual = centred[name][:, 0], study.goals - rows[name] @ solutions[-1]
                effects.append(length @ residual / (length @ length + _LENGTH_PENALTY))
    slopes = np.mean(solutions, axis=0)
    linear, quadratic = -length_slopes @ slopes[:-1]
    curve = np.array([quadratic, linear + np.mean(effects), slopes[-1]])
    return AlignmentModel(mean, deviation, slopes[:-1] / scale, curve)
