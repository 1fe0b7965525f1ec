"""Routes, the rule for choosing among them, and the checked content of `router.json`."""

import json
import math
import threading
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.foreign import read_foreign_json
from pqpp_engines.errors import EngineError
from pqpp_files.errors import reraise
from pqpp_files.hashes import hash_parts
from pqpp_models import Predictor

Floats = NDArray[np.float64]
MODEL_TYPE = "pqpp_router"
# The tolerated deviation of a share, as a share of all prompts; at least one prompt.
_SHARE_TOLERANCE = 0.005
# In batches from this size, the best prompts gain more than those chosen by the price.
_MIN_BATCH_SIZE = 10
# The advantage of a prompt over the next one with the same gain, for the highest cost.
_TIE_ADVANTAGE = 1e-11
# The tolerated error of a sum of costs, as a share of the highest cost.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Route:
    """A model that can answer prompts: a generator or a retriever.

    Attributes:
        name: The route's name, chosen by the user.
        target: The target by which the predictor predicts the route's quality, like `sdxl_hbpp` or
            `clip_p10`.
        cost: Cost of one answer, at least 0, in any unit.
        utility: Value of one unit of the target; 1 if all targets have the same unit. Set it to
            choose between generation (HBPP, -1 to 2) and retrieval (P@10, 0 to 1).
    """

    name: str
    target: str
    cost: float
    utility: float = 1.0


@dataclass(frozen=True)
class Rule:
    """The rule for choosing a route: exactly one of budget, share and floor.

    Attributes:
        budget: Maximum mean cost of an answer.
        share: Share of prompts for the more expensive of two routes.
        floor: Minimum quality, by the lower bound of the prediction. In units of utility; the
            cheapest route whose bound reaches the floor is chosen, or if none does, the route with
            the highest bound.
        confidence: One-sided confidence of the lower bounds (default: 0.9 with a floor, else 0.5).
            At .5, a bound is the prediction itself. A floor should hold with high confidence; with
            a budget or a share, only differences of bounds matter, and the margins mostly cancel.
    """

    budget: float | None = None
    share: float | None = None
    floor: float | None = None
    confidence: float | None = None

    def __post_init__(self) -> None:
        limits = [name for name in ("budget", "share", "floor") if getattr(self, name) is not None]
        if len(limits) != 1:
            remedy = "give exactly one of `budget`, `share` and `floor`"
            raise EngineError(f"{remedy}; got {' and '.join(limits) or 'none'}")
        default = 0.5 if self.floor is None else 0.9
        confidence = default if self.confidence is None else self.confidence
        object.__setattr__(self, "confidence", confidence)
        if not 0.5 <= confidence < 1:
            raise EngineError(f"`confidence` must be from 0.5 to below 1; got {confidence}")
        value = getattr(self, limits[0])
        if not math.isfinite(value):
            raise EngineError(f"`{limits[0]}` must be a finite number; got {value}")
        if self.share is not None and not 0 <= self.share <= 1:
            raise EngineError(f"`share` must be from 0 to 1; got {self.share}")

    def get_lower_bounds(self, values: Floats, deviations: Floats) -> Floats:
        """Return lower confidence bounds of the quality, assuming normal errors."""
        from scipy.special import ndtri

        return values if self.confidence == 0.5 else values - ndtri(self.confidence) * deviations

    def get_mean_cost(self, costs: Floats) -> float:
        """Return the allowed mean cost of an answer, which is infinite for a floor."""
        if self.share is not None:
            return float(costs.min() + self.share * np.ptp(costs))
        return np.inf if self.budget is None else self.budget


def require_deviations(predictor: Predictor, targets: Sequence[str]) -> None:
    """Raise an error for targets without a standard deviation, which a confidence above .5 needs.

    Raises:
        EngineError: A target has no standard deviation.

    Example:
        >>> from pqpp_models import Predictor
        >>> require_deviations(Predictor.from_pretrained("static"), ["mean_p10", "alignment"])
        Traceback (most recent call last):
        pqpp_engines.errors.EngineError: ...static predicts none for alignment; ...
    """
    names = list(targets)
    if predictor.has_uncertainty:
        [deviations] = predictor.predict_with_uncertainty(["a cat"], targets).deviations
        names = [name for name, std in zip(targets, deviations, strict=True) if math.isnan(std)]
    if names:
        raise EngineError(
            f"a confidence above 0.5 needs standard deviations, and {predictor.title} predicts "
            f"none for {', '.join(names)}; set `confidence` to 0.5, or choose another predictor"
        )


def check_routes(routes: Sequence[Route], rule: Rule) -> None:
    """Raise an error for routes between which the rule cannot choose.

    Raises:
        EngineError: There are fewer than two routes, two with the same name, an invalid cost or
            utility, a share without exactly two routes of different cost, or a budget below every
            cost.

    Example:
        >>> check_routes([Route("sdxl", "sdxl_hbpp", 1.0)], Rule(budget=1.0))
        Traceback (most recent call last):
        pqpp_engines.errors.EngineError: expected at least 2 routes; got 1
    """
    if len(routes) < 2:
        raise EngineError(f"expected at least 2 routes; got {len(routes)}")
    names = [route.name for route in routes]
    for route in routes:
        if names.count(route.name) > 1:
            raise EngineError(f"duplicate route {route.name!r}; set different `names`")
        if not (math.isfinite(route.cost) and route.cost >= 0):
            raise EngineError(f"route {route.name!r}: cost must be at least 0; got {route.cost}")
        if not (math.isfinite(route.utility) and route.utility > 0):
            raise EngineError(f"route {route.name!r}: utility must be above 0; got {route.utility}")
    costs = sorted({route.cost for route in routes})
    if rule.share is not None and (len(routes) != 2 or len(costs) != 2):
        raise EngineError("`share` needs exactly 2 routes of different cost; set `budget` instead")
    if rule.budget is not None and rule.budget < costs[0]:
        raise EngineError(f"`budget` must be at least {costs[0]:g}, the cost of the cheapest route")


def choose_routes(
    value: Floats, costs: Floats, ood: NDArray[np.bool_], rule: Rule, price: float
) -> NDArray[np.int64]:
    """Return the index of each prompt's route, int64 (prompts,).

    Args:
        value: Lower bounds of quality in units of utility, (prompts, routes).
        costs: One per route.
        ood: Whether each prompt is out of domain; such prompts go to the most expensive route.
        rule: The rule, of which only the floor is used; the price expresses other rules.
        price: The value of a unit of cost. Ties go to the cheaper route.

    Example:
        >>> value, costs = np.array([[1.0, 1.5], [1.0, 1.1]]), np.array([0.0, 1.0])
        >>> choose_routes(value, costs, np.zeros(2, bool), Rule(budget=0.5), price=0.3)
        array([1, 0])
    """
    cheapest_first = np.argsort(costs, kind="stable")
    value, ordered = value[:, cheapest_first], costs[cheapest_first]
    if rule.floor is not None:
        passes = value >= rule.floor
        best = np.where(passes.any(axis=1), passes.argmax(axis=1), value.argmax(axis=1))
    else:
        best = (value - price * ordered).argmax(axis=1)
    best[ood] = len(ordered) - 1
    return cheapest_first[best]


def find_price(
    value: Floats, costs: Floats, ood: NDArray[np.bool_], rule: Rule, limit: float | None = None
) -> float:
    """Find a price of a unit of cost at which the calibration prompts satisfy a budget or share.

    A share is converted to the mean cost of two routes with this share. It is reached even if the
    more expensive route is expected to be worse, by a negative price; a budget is never spent on
    worse answers. The price is halfway between the lowest sufficient price and the next higher one.
    `limit` is the allowed mean cost; default: that of the rule.

    Returns:
        The price; 0 for a floor.

    Raises:
        EngineError: The prompts out of domain alone exceed the budget.

    Example:
        >>> value, costs = np.array([[0, 3.0], [0, 1.0], [0, 2.0]]), np.array([0.0, 1.0])
        >>> find_price(value, costs, np.zeros(3, bool), Rule(share=1 / 3))
        2.5
    """
    if rule.floor is not None:
        return 0.0
    limit = rule.get_mean_cost(costs) if limit is None else limit

    def get_cost(price: float) -> float:
        return float(costs[choose_routes(value, costs, ood, rule, price)].mean())

    prices = _list_prices(value, costs, rule.share is not None)
    allowed = limit + _ROUNDING * costs.max()
    if get_cost(prices[-1]) > allowed:
        raise EngineError(
            f"{int(ood.sum())} of {len(ood)} calibration prompts are out of domain and go to the "
            f"most expensive route, so the mean cost exceeds {limit:g}; raise the "
            f"{'budget' if rule.share is None else 'share'}, or use other prompts"
        )
    return float(prices[bisect_left(prices, True, key=lambda price: get_cost(price) <= allowed)])


def _list_prices(value: Floats, costs: Floats, allow_negative: bool) -> Floats:
    """Return one price between any two adjacent prices at which a choice of route changes."""
    # In ascending order: the first is below all breakpoints (0 if negative prices are not allowed),
    # the last above all of them.
    expensive, cheap = np.nonzero(costs[:, None] > costs)
    gains = (value[:, expensive] - value[:, cheap]) / (costs[expensive] - costs[cheap])
    breakpoints = np.unique(np.append(gains if allow_negative else gains[gains > 0], 0.0))
    lowest = breakpoints[0] - 1 if allow_negative else 0.0
    midpoints = (breakpoints[1:] + breakpoints[:-1]) / 2
    return np.concatenate([[lowest], midpoints, [breakpoints[-1] + 1]])


@dataclass
class Account:
    """The number of prompts and the spending under a rule.

    With an account, the rule holds for the actual prompts, not only for the calibration prompts. A
    budget is never exceeded. The first prompts, and any 10 or more passed together, meet a share
    exactly (rounded down) and spend the budget on the greatest gains. Fewer prompts are
    decided by the price; a share is then off by at most half a percentage point or one prompt.
    Prompts out of domain go to the most expensive route only if the rule allows it.

    Attributes:
        n_prompts: Number of prompts.
        spent: Total cost of these prompts' routes.
    """

    n_prompts: int = 0
    spent: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def choose_routes(
        self, value: Floats, costs: Floats, ood: NDArray[np.bool_], rule: Rule, price: float
    ) -> NDArray[np.int64]:
        """Return the index of each prompt's route, int64 (prompts,), and record the costs.

        If the rule must be met exactly, or is broken at this price, the lowest price that satisfies
        the rule is used. Of prompts with equal gains, the first ones get the more expensive route.

        Args:
            value: As for the function `choose_routes`, like the other arguments.

        Example:
            >>> account = Account()
            >>> value, costs = np.array([[0, 1.0], [0, 3.0], [0, 2.0]]), np.array([1.0, 4.0])
            >>> account.choose_routes(value, costs, np.zeros(3, bool), Rule(budget=2), 0.1).tolist()
            [0, 1, 0]
            >>> account.n_prompts, account.spent
            (3, 6.0)
        """
        with self._lock:
            step, total = float(np.ptp(costs)), self.n_prompts + len(value)
            remaining = rule.get_mean_cost(costs) * total - self.spent
            is_exact = not self.n_prompts or len(value) >= _MIN_BATCH_SIZE
            low, high = -np.inf, remaining + _ROUNDING * costs.max()
            if rule.share is not None and not is_exact:
                tolerance = max(_SHARE_TOLERANCE * total, 1.0) * step
                low, high = remaining - tolerance, high + tolerance
            is_limited = len(value) and np.isfinite(remaining)
            if is_limited and step:
                # As many as the rule allows on the most expensive route.
                ood = ood & (np.cumsum(ood) <= (high - costs.min() * len(value)) // step)
            chosen = choose_routes(value, costs, ood, rule, price)
            if is_limited and (is_exact or not low <= costs[chosen].sum() <= high):
                limit = max(high / len(value), costs.min())  # failed calls may have overspent
                penalty = _TIE_ADVANTAGE * (np.abs(value).max() or 1.0) * np.arange(len(value))
                value = value - penalty[:, None] * costs / (costs.max() or 1.0)
                price = find_price(value, costs, ood, rule, limit)
                chosen = choose_routes(value, costs, ood, rule, price)
            self.n_prompts += len(value)
            self.spent += float(costs[chosen].sum())
        return chosen

    def try_to_spend(self, rule: Rule, cost: float, planned: float = 0.0) -> bool:
        """Replace a planned cost by a call's cost; return whether the budget allows the call."""
        with self._lock:
            total = self.spent - planned + cost
            fits = rule.budget is None or total <= rule.budget * self.n_prompts * (1 + _ROUNDING)
            self.spent = total if fits else self.spent - planned
        return fits


def hash_router(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a router's record without the record's own hash.

    Example:
        >>> hash_router({"price": 1.0}) == hash_router({"sha256": "b2", "price": 1.0})
        True
    """
    unhashed = {name: value for name, value in record.items() if name != "sha256"}
    return hash_parts([json.dumps(unhashed, sort_keys=True)])


def read_router(path: Path) -> dict[str, Any]:
    """Return the checked content of a router's file.

    Raises:
        EngineError: The file is not a router's, or an entry is invalid.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "router.json"
        >>> _ = path.write_text('{"model_type": "pqpp_router", "price": true}')
        >>> read_router(path)
        Traceback (most recent call last):
        pqpp_engines.errors.EngineError: ...router.json is damaged (...); fit the router again
    """
    router = read_foreign_json(path)
    if not isinstance(router, dict) or router.get("model_type") != MODEL_TYPE:
        raise EngineError(f"{path} is not a router; use the folder of a router")
    with reraise(f"{path} is damaged", "fit the router again", EngineError):
        if router["sha256"] != hash_router(router):
            raise ValueError("the file has changed since it was written")
        routes = [Route(**route) for route in router["routes"]]
        check_routes(routes, Rule(**router["rule"]))
        total = sum(router["shares"].get(route.name, 0) for route in routes)
        if total and not abs(total - 1) <= 0.001:
            raise ValueError("the shares do not sum to 1")
        texts = router["predictor"], router["revision"] or "", *(route.name for route in routes)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("predictor, revision and names must be text")
        if not (math.isfinite(router["price"]) and int(router["prompts"]) >= 0):
            raise ValueError("price must be finite, and prompts 0 or more")
    return router
