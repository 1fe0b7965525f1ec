"""One model of several studies, each with people, generators, a question and a scale of its own.

What people say of a prompt is a study's level, what all studies have in common, and what is the
study's own; ridge regression shrinks the last two (partial pooling), so that a large study does not
drown the small ones. Facts that go with length in one study are no reason to call long prompts
hard: that part is taken out of them, and length has an effect of its own, the mean of the studies'.
How strongly is shrunk is not chosen: scores are means over weak to strong.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from pqpp_models.text.arrays import Floats

_STRENGTHS = tuple(product((10.0, 30.0, 100.0), (3.0, 10.0, 30.0)))  # shared slopes', own ones'
_LEVEL, _LENGTH, _ALMOST_NONE = 100.0, 20.0, 1e-3
_MOST_A_STUDY = 400  # prompts that a study counts as
_MOST_EXTREME = 4.0
_USUAL = np.log(11.0)


@dataclass(frozen=True, eq=False)
class Judged:
    """The prompts of a study as numbers, one row each.

    Attributes:
        blocks: what is known of them; each block weighs the same.
        log_words: the logs of their numbers of words plus one.
        goals: what people said of them, as normal scores.
    """

    blocks: list[Floats]
    log_words: Floats
    goals: Floats

    def take(self, rows: list[int]) -> "Judged":
        """Return some rows."""
        return Judged([b[rows] for b in self.blocks], self.log_words[rows], self.goals[rows])


class Pool:
    """Some studies on one scale.

    >>> random = np.random.default_rng(0)
    >>> rows = {name: random.normal(size=(90, 3)) for name in "abc"}
    >>> words = np.log(1 + np.arange(90) % 9 + 3.0)
    >>> pool = Pool({name: Judged([x], words, x[:, 0]) for name, x in rows.items()})
    >>> bool(np.corrcoef(pool.leave_each_out()["a"], rows["a"][:, 0])[0, 1] > 0.98)
    True
    """

    def __init__(self, studies: Mapping[str, Judged]) -> None:
        self._studies = studies
        self._weights = {k: min(1, _MOST_A_STUDY / len(s.goals)) for k, s in studies.items()}
        facts = {name: np.concatenate(study.blocks, axis=1) for name, study in studies.items()}
        every = np.concatenate([*facts.values()])
        weights = np.repeat([*self._weights.values()], [*map(len, facts.values())])
        self._mean = np.average(every, axis=0, weights=weights)
        self._deviation = np.average((every - self._mean) ** 2, axis=0, weights=weights) ** 0.5
        self._deviation += 1e-6
        away = {name: self._lengths(study) for name, study in studies.items()}
        away = {name: lengths - lengths.mean(axis=0) for name, lengths in away.items()}
        self._away = {name: lengths[:, 0] for name, lengths in away.items()}
        rows = {name: self._scaled(study) for name, study in studies.items()}
        squares = sum(away[name].T @ away[name] / len(rows[name]) for name in rows)
        products = sum(away[name].T @ rows[name] / len(rows[name]) for name in rows)
        self._with_length = np.linalg.solve(squares + 1e-9 * np.eye(2), products)
        self._rows = {name: self._alike_in_length(study) for name, study in studies.items()}
        self._equations = lru_cache(self._without_own)

    def predict(self, study: Judged, without: str | None = None) -> Floats:
        """Return scores of the prompts of any study by those of the pool, or of all but one."""
        names = [name for name in self._studies if name != without] or [*self._studies]
        rows, scores = self._alike_in_length(study), []
        for shared, own in _STRENGTHS:
            total = np.sum([self._equations(name, own) for name in names], axis=0)
            ridge = np.diag(np.r_[np.full(len(total) - 1, shared), _ALMOST_NONE])
            slopes = np.linalg.solve(total[:, :-1] + ridge, total[:, -1])
            effects = []
            for name in names:
                left = self._studies[name].goals - self._rows[name] @ slopes
                length = self._away[name]
                effects.append(length @ left / (length @ length + _LENGTH))
            scores.append(rows @ slopes + np.mean(effects) * study.log_words)
        mean: Floats = np.mean(scores, axis=0)
        return mean

    def leave_each_out(self) -> dict[str, Floats]:
        """Predict each study's prompts by the others."""
        return {name: self.predict(study, name) for name, study in self._studies.items()}

    def _without_own(self, name: str, own: float) -> Floats:
        """Return a study's normal equations when its own slopes and its level are solved."""
        rows = self._rows[name]
        equations = rows.T @ np.c_[rows, self._studies[name].goals] * self._weights[name]
        square, penalty = equations[:, :-1], np.r_[np.full(rows.shape[1] - 1, own), _LEVEL]
        solved: Floats = equations - square @ np.linalg.solve(square + np.diag(penalty), equations)
        return solved

    def _scaled(self, study: Judged) -> Floats:
        rows = (np.concatenate(study.blocks, axis=1) - self._mean) / self._deviation
        sizes = [block.shape[1] for block in study.blocks]
        return np.clip(rows, -_MOST_EXTREME, _MOST_EXTREME) / np.repeat(sizes, sizes) ** 0.5

    def _lengths(self, study: Judged) -> Floats:
        return np.vander(study.log_words - _USUAL, 3)[:, [1, 0]]

    def _alike_in_length(self, study: Judged) -> Floats:
        rows = self._scaled(study) - self._lengths(study) @ self._with_length
        return np.c_[rows, np.ones(len(rows))]
