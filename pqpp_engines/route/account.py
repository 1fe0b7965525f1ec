"""What routed prompts have cost so far, and choices that keep the sum to the rule."""

import threading
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pqpp_engines.route.routes import Floats, Rule, choose, price_for

_NEAR = 0.005
"""How far a share may be off before it is put right, of all prompts; at least one prompt."""


@dataclass
class Account:
    """What was asked and spent under a rule.

    With an account the rule is kept by what really comes, and not by the calibration prompts alone:
    the sum of costs never exceeds the budget times the prompts, and a share is off by half a
    percentage point or one prompt at the most. A prompt of which nothing is known goes to the
    dearest route only while that fits.

    Attributes:
        asked: How many prompts.
        spent: The sum of the costs of their routes.
    """

    asked: int = 0
    spent: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def choose(
        self, worth: Floats, costs: Floats, far: NDArray[np.bool_], rule: Rule, price: float
    ) -> NDArray[np.int64]:
        """Return the number of the route of each prompt, int64 (prompts,), and enter the costs.

        The price stands where it keeps to the rule; else the nearest one does that keeps to it, so
        that the prompts that gain least by a change are those that change.

        Args:
            worth: As for `pqpp_engines.route.routes.choose`, like the others.

        Example:
            >>> account = Account()
            >>> worth, costs = np.array([[0, 1.0], [0, 3.0], [0, 2.0]]), np.array([1.0, 4.0])
            >>> account.choose(worth, costs, np.zeros(3, bool), Rule(budget=2), 0.1).tolist()
            [0, 1, 0]
            >>> account.asked, account.spent
            (3, 6.0)
        """
        with self._lock:
            low, high = self._room(rule, costs, len(worth))
            dearer = costs.max() - costs.min()
            if np.isfinite(high) and dearer:
                fitting = (high - costs.min() * len(worth) + 1e-9) // dearer
                far = far & (np.cumsum(far) <= fitting)
            chosen = choose(worth, costs, far, rule, price)
            if len(worth) and not low <= costs[chosen].sum() <= high:
                price = price_for(worth, costs, far, rule, high / len(worth))
                chosen = choose(worth, costs, far, rule, price)
            self.asked += len(worth)
            self.spent += float(costs[chosen].sum())
        return chosen

    def allow(self, rule: Rule, more: float) -> bool:
        """Enter what a prompt costs more than was planned, where the budget has it."""
        with self._lock:
            fits = rule.budget is None or self.spent + more <= rule.budget * self.asked + 1e-9
            self.spent += more if fits else 0.0
        return fits

    def give_back(self, cost: float, prompts: int = 0) -> None:
        """Take off what was entered and is not paid, and prompts without an answer."""
        with self._lock:
            self.spent -= cost
            self.asked -= prompts

    def _room(self, rule: Rule, costs: Floats, prompts: int) -> tuple[float, float]:
        """Return the least and the most that the next prompts may cost in all."""
        total = self.asked + prompts
        if rule.budget is not None:
            return -np.inf, rule.budget * total - self.spent + 1e-9
        if rule.share is None:
            return -np.inf, np.inf
        step = float(np.ptp(costs))
        wanted = (costs.min() + rule.share * step) * total - self.spent
        near = max(_NEAR * total, 1.0) * step
        return wanted - near, wanted + near
