"""A router that is fitted to a user's routes, rule and prompts, and saved in a small folder."""

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np

from pqpp_backbones.foreign import check_foreign_folder
from pqpp_engines.errors import EngineError
from pqpp_engines.route import routes as rules
from pqpp_engines.route.answers import Decision, RoutedAnswer, RouteLog, answer_prompts
from pqpp_engines.route.routes import Account, Route, Rule
from pqpp_files.atomic_write import atomic_folder
from pqpp_files.paths import expand
from pqpp_hub import is_repository_id
from pqpp_hub.card import render_card
from pqpp_hub.pull import pull_files
from pqpp_models import DEFAULT_PREDICTOR, Predictor
from pqpp_models.prompts import read_prompts, to_prompt_list

FILE, CARD = "router.json", "README.md"
#: With fewer calibration prompts, the expected cost of further prompts is too uncertain.
MIN_SIZE = 30


class Router:
    """A router that chooses a model for each prompt; see `Router.fit`.

    Attributes:
        routes: The models to choose from.
        rule: The rule of the choice.
        price: The gain in utility that must justify a unit of cost, found on the calibration
            prompts.
        shares: The share of the calibration prompts that each route gets, by the route's name.
        prompts: The number of calibration prompts.
        predictor: The predictor of each route's quality.
        predictor_name: The name under which the predictor was loaded.
        revision: Revision of the predictor on the Hub.
        account: The spending of `route` so far, if there is no log.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        rule: Rule,
        predictor: str = DEFAULT_PREDICTOR,
        price: float = 0.0,
        shares: Mapping[str, float] | None = None,
        prompts: int = 0,
        revision: str | None = None,
    ) -> None:
        self.routes, self.rule, self.price = tuple(routes), rule, float(price)
        self.shares, self.prompts, self.revision = dict(shares or {}), prompts, revision
        self.account, self._costs = Account(), np.array([float(route.cost) for route in routes])
        rules.check_routes(self.routes, rule)
        self.predictor_name = predictor
        self.predictor = Predictor.from_pretrained(predictor, revision=revision)
        targets = self.predictor.list_columns([route.target for route in self.routes])
        if rule.confidence != 0.5:
            rules.require_deviations(self.predictor, targets)

    @classmethod
    def fit(
        cls,
        routes: Sequence[Route],
        rule: Rule,
        calibration: Any,
        predictor: str = DEFAULT_PREDICTOR,
        revision: str | None = None,
    ) -> Self:
        """Return a router with a price at which the calibration prompts satisfy the rule.

        Args:
            routes: Two or more; exactly two for a share.
            rule: The budget, share or floor.
            calibration: At least 30 prompts like those to route, without answers.
            predictor: A predictor of the routes' targets, its name, folder or OWNER/NAME.
            revision: The revision of a predictor on the Hub.

        Raises:
            EngineError: See `check_routes`; or there are too few prompts, or they cannot satisfy
                the rule.
            PredictorError: The predictor has no such target.

        Example:
            >>> routes = [Route("glide", "glide_hbpp", cost=1), Route("sdxl", "sdxl_hbpp", cost=4)]
            >>> prompts = [f"a photo of {n} dogs and a cat" for n in range(40)]
            >>> router = Router.fit(routes, Rule(budget=2.5), prompts)
            >>> 0 < router.shares["sdxl"] <= 0.5
            True
            >>> router.decide(["a dog"])[0].route in ("glide", "sdxl")
            True
        """
        router = cls(routes, rule, predictor, revision=revision)
        texts = [text for text in read_prompts(calibration) if text.strip()]
        if len(texts) < MIN_SIZE:
            raise EngineError(f"expected at least {MIN_SIZE} calibration prompts; got {len(texts)}")
        value, ood = router._predict_bounds(texts)
        router.price = rules.find_price(value, router._costs, ood, rule)
        counts = Counter(decision.route for decision in router.decide(texts))
        router.shares = {route.name: round(counts[route.name] / len(texts), 6) for route in routes}
        router.prompts = len(texts)
        return router

    def decide(self, prompts: Any, account: Account | None = None) -> list[Decision]:
        """Choose a route for each prompt; unreadable prompts go to the most expensive route.

        Without an account, only the price decides, so a budget or share is met only if the prompts
        resemble the calibration prompts.

        Args:
            prompts: One prompt, or several as for `Predictor.predict`.
            account: Earlier spending. With an account, the rule holds for any prompts, and these
                prompts are added to the account. Pass prompts together for the best choice; if they
                are passed one by one, the first prompts go to the cheapest route.

        Example:
            >>> routes = [Route("glide", "glide_hbpp", 1), Route("sdxl", "sdxl_hbpp", 4)]
            >>> account = Account()
            >>> prompts = [f"{n} dogs and a cat" for n in range(2, 50)]
            >>> decided = Router(routes, Rule(budget=2)).decide(prompts, account)
            >>> account.n_prompts, account.spent <= 2 * account.n_prompts
            (48, True)
        """
        texts = read_prompts(to_prompt_list(prompts))
        value, ood = self._predict_bounds(texts)
        choose_routes = (rules if account is None else account).choose_routes
        chosen = choose_routes(value, self._costs, ood, self.rule, self.price)
        names, decisions = [route.name for route in self.routes], []
        for index, row, is_ood in zip(chosen, value.tolist(), ood.tolist(), strict=True):
            bounds, cost = dict(zip(names, row, strict=True)), self.routes[index].cost
            reason = self._explain_choice(index, row, is_ood)
            decisions.append(Decision(names[index], bounds, cost, is_ood, reason))
        return decisions

    def route(
        self,
        prompts: Any,
        functions: Mapping[str, Callable[[str], Any]],
        log: str | os.PathLike[str] | None = None,
        workers: int = 1,
        progress: bool = False,
    ) -> list[RoutedAnswer]:
        """Call the chosen route's function for each prompt; if it fails, try the next best route.

        If every route fails for a prompt, its answer has the error. The budget is never exceeded
        over all runs with one log. Failed and killed calls count as paid.

        Args:
            prompts: One prompt, or several as for `Predictor.predict`.
            functions: For each route by name, a function from a prompt to an answer.
            log: A file of JSON lines, two per call: the decision before it, and the answer (JSON or
                an image file) or the failure after it. A later run with the same log requests only
                the missing answers. It contains hashes of the prompts, not the prompts.
            workers: Number of calls at once, in threads.
            progress: Show a progress bar.

        Returns:
            One answer per prompt, in their order.

        Raises:
            EngineError: A route has no function.
            ServiceError: The log is not a file of calls.

        Example:
            >>> routes = [Route("a", "glide_hbpp", 1), Route("b", "sdxl_hbpp", 4)]
            >>> router = Router(routes, Rule(floor=0.5))
            >>> answers = router.route(["a dog"], {"a": str.upper, "b": str.title})
            >>> answers[0].result in ("A DOG", "A Dog")
            True
        """
        if missing := [route.name for route in self.routes if route.name not in functions]:
            raise EngineError(f"the route {missing[0]!r} has no function; add one to `functions`")
        texts = read_prompts(to_prompt_list(prompts))
        route_log = RouteLog(log, rules.hash_router(self._get_config()), texts)
        account = self.account if log is None else route_log.account
        unanswered = [index for index in range(len(texts)) if index not in route_log.answers]
        new_decisions = self.decide([texts[index] for index in unanswered], account)
        decisions = dict(zip(unanswered, new_decisions, strict=True))
        costs = {route.name: route.cost for route in self.routes}
        return answer_prompts(
            decisions, texts, functions, costs, self.rule, account, route_log, workers, progress
        )

    def save_pretrained(self, folder: str | os.PathLike[str], overwrite: bool = True) -> Path:
        """Write `router.json` and a card; the predictor is named, not copied.

        Args:
            folder: A new or empty folder, or one with a router.
            overwrite: Whether to replace that router.
        """
        facts = self._get_config()
        path = expand(folder)
        with atomic_folder(path, (FILE, CARD) if overwrite else ()) as temp_folder:
            record = {"model_type": rules.MODEL_TYPE, **facts}
            text = json.dumps({**record, "sha256": rules.hash_router(record)}, indent=1) + "\n"
            (temp_folder / FILE).write_text(text, "utf-8")
            (temp_folder / CARD).write_text(render_card("engines/router", **facts), "utf-8")
        return path

    @classmethod
    def from_pretrained(
        cls, name_or_path: str | os.PathLike[str], revision: str | None = None
    ) -> Self:
        """Load a router from a folder or a repository of the Hub.

        Raises:
            EngineError: The router does not exist, or is damaged.
        """
        folder = expand(name_or_path)
        if not folder.is_dir():
            if not is_repository_id(str(name_or_path)):
                raise EngineError(f"{name_or_path} does not exist; use a folder or OWNER/NAME")
            folder = pull_files(str(name_or_path), [FILE], revision, error=EngineError)
        if not (folder / FILE).is_file():
            raise EngineError(f"{name_or_path} has no {FILE}; use the folder of a router")
        check_foreign_folder(folder)
        saved = rules.read_router(folder / FILE)
        routes = [Route(**route) for route in saved["routes"]]
        names = ("predictor", "price", "shares", "prompts", "revision")
        return cls(routes, Rule(**saved["rule"]), **{name: saved[name] for name in names})

    def _get_config(self) -> dict[str, Any]:
        routes, rule = [asdict(route) for route in self.routes], asdict(self.rule)
        fitted = {name: getattr(self, name) for name in ("price", "shares", "prompts", "revision")}
        return {"routes": routes, "rule": rule, "predictor": self.predictor_name, **fitted}

    def _predict_bounds(self, texts: list[str]):
        """Return lower bounds in units of utility, (prompts, routes), and out-of-domain flags."""
        targets = [route.target for route in self.routes]
        predicted = self.predictor.estimate(self.predictor.read_rows(texts), targets)
        bounds = self.rule.get_lower_bounds(predicted.values, predicted.deviations)
        has_unknown = np.asarray(np.isnan(bounds).any(axis=1))
        bounds = np.where(has_unknown[:, None], 0.0, bounds)
        utilities = [float(route.utility) for route in self.routes]
        return bounds * utilities, predicted.out_of_domain | has_unknown

    def _explain_choice(self, index: int, value: Sequence[float], ood: bool) -> str:
        cost = self.routes[index].cost
        if ood and cost == self._costs.max():
            return "out of domain: sent to the most expensive route"
        if self.rule.floor is not None:
            if value[index] >= self.rule.floor:
                return f"the cheapest route that reaches {self.rule.floor:g}"
            return f"no route reaches {self.rule.floor:g}: the best route"
        cheaper = [b for b, route in zip(value, self.routes, strict=True) if route.cost < cost]
        if not cheaper:
            return "no more expensive route gains enough for its cost"
        return f"{value[index] - max(cheaper):+.2f} over the cheaper route, enough for the cost"
