"""Answers of the routes' functions: in batches and threads, with failures as rows, in a log.

A killed job continues from the log: prompts with an answer in it are not called again.
"""

import contextlib
import json
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pqpp_backbones.chat.ledger import Ledger
from pqpp_engines.errors import EngineError
from pqpp_engines.route.routes import Account, Rule
from pqpp_files.errors import in_a_line
from pqpp_files.hashes import hash_parts

_BEYOND = "not requested: over the budget"


class Decision(NamedTuple):
    """The chosen route of a prompt.

    Attributes:
        route: The name of the route.
        worth: Route to the lower bound of its quality in units of utility.
        cost: Cost of the chosen route.
        out_of_domain: Whether the predictor cannot read the prompt, which sends it to the most
            expensive route.
        reason: Why, in a few words.
    """

    route: str
    worth: dict[str, float]
    cost: float
    out_of_domain: bool
    reason: str


@dataclass
class RoutedAnswer:
    """The answer to a prompt.

    Attributes:
        result: What the route's function returned; None if every route failed.
        route: The route that answered; None if none did.
        failed: Routes that failed before, with the reason.
    """

    result: Any
    route: str | None
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def error(self) -> str | None:
        """Why there is no answer; None if there is one."""
        if self.route is not None:
            return None
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self.failed.items())
        return f"every route has failed ({reasons})"


class Log:
    """A ledger of the calls by one router, for these prompts and others, with their answers.

    Attributes:
        answers: Place of a prompt to the answer that the file has.
        account: The prompts of the file that are not asked for now, and what all calls have cost,
            or may have cost.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        router: str,
        texts: Sequence[str],
        log_prompts: bool = False,
    ) -> None:
        self._texts, self._router, self._log_prompts = texts, router, log_prompts
        self._ledger, seen = Ledger(path), Counter[str]()
        self._keys = []  # of each prompt, and how often it came before
        for digest in (hash_parts([text]) for text in texts):
            self._keys.append((digest, seen[digest]))
            seen[digest] += 1
        self.answers: dict[int, RoutedAnswer] = {}
        indices = {key: index for index, key in enumerate(self._keys)}
        asked, spent = set(), 0.0
        with self._ledger.locked():
            lines = [one for one in self._ledger.lines if one.get("router") == router]
        for line in lines:
            key = line["prompt_sha256"], line["occurrence"]
            asked.add(key)
            spent += line.get("paid", line["most"])
            kept = "result" in line or ("image" in line and self._image(line["call"]).is_file())
            if key in indices and kept:
                answer = RoutedAnswer(self._result(line), line["asked"], line["failed"])
                self.answers[indices[key]] = answer
        left = set(indices) - {self._keys[index] for index in self.answers}
        self.account = Account(len(asked - left), spent)

    def enter(self, index: int, decision: Decision, route: str, max_cost: float) -> int:
        """Note a call before it is made; return its number."""
        key, occurrence = self._keys[index]
        prompt = {"prompt": self._texts[index]} if self._log_prompts else {}
        told = {**prompt, "router": self._router, **decision._asdict(), "asked": route}
        with self._ledger.locked():
            return self._ledger.enter(max_cost, prompt_sha256=key, occurrence=occurrence, **told)

    def settle(self, call: int, paid: float, failed: Mapping[str, str], result: Any) -> None:
        """Note what came of a call; an image in a file beside the log."""
        told: dict[str, Any] = {"failed": dict(failed)}
        if not isinstance(result, Exception) and self._ledger.path:
            try:
                json.dumps(result, allow_nan=False)
                told["result"] = result
            except (TypeError, ValueError):
                image = self._image(call)
                if hasattr(result, "getbands"):  # an image of PIL
                    image.parent.mkdir(exist_ok=True)
                    with contextlib.suppress(OSError):  # of a mode that no file has
                        result.save(image)
                        told["image"] = image.name
                if "image" not in told:
                    warnings.warn(
                        f"JSON holds no {type(result).__name__}: {self._ledger.path} does not keep "
                        "such answers, and another run pays for them again",
                        stacklevel=2,
                    )
        self._ledger.settle(call, paid, **told)

    def _image(self, call: int) -> Path:
        assert self._ledger.path is not None
        return self._ledger.path.with_name(f"{self._ledger.path.name}.images") / f"{call}.tiff"

    def _result(self, line: Mapping[str, Any]) -> Any:
        if "result" in line:
            return line["result"]
        from PIL import Image

        # In its own mode, as it came.
        with Image.open(self._image(line["call"])) as image:  # noqa: TID251
            image.load()
            return image


@dataclass
class Caller:
    """Calls the chosen routes within the budget.

    Attributes:
        functions: Route to its function.
        costs: Route to the cost of an answer.
        rule: The budget that another route must fit in where one has failed.
        account: What was planned, and is paid, or may be.
        batch_size: The most prompts of a call; None where functions take a prompt.
        texts: The prompts.
        decisions: Place of a prompt that is asked now to where it goes.
        log: Where calls and answers are noted.
    """

    functions: Mapping[str, Callable[[Any], Any]]
    costs: Mapping[str, float]
    rule: Rule
    account: Account
    batch_size: int | None
    texts: Sequence[str]
    decisions: Mapping[int, Decision]
    log: Log

    def batches(self) -> Iterator[list[int]]:
        """Give the places of prompts that are asked together: of one route, in their order."""
        for route in self.costs:
            indices = [index for index, one in self.decisions.items() if one.route == route]
            for start in range(0, len(indices), self.batch_size or 1):
                yield indices[start : start + (self.batch_size or 1)]

    def call(self, indices: Sequence[int]) -> dict[int, RoutedAnswer]:
        """Return the answers to a batch; each prompt alone where the route fails for it."""
        route, answers = self.decisions[indices[0]].route, {}
        over = {}
        for index in indices:  # calls that failed, in an earlier run, may have spent their share
            if not self.account.allow(self.rule, 0.0):
                self.account.give_back(self.costs[route])
                over[index] = RoutedAnswer(None, None, {route: _BEYOND})
        fitting = [index for index in indices if index not in over]
        called = self._call(route, fitting) if fitting else []
        for index, (call, result) in zip(fitting, called, strict=True):
            answers[index] = self._settle(index, call, result, len(fitting) > 1)
        return answers | over

    def _settle(self, index: int, call: int, result: Any, was_of_many: bool) -> RoutedAnswer:
        """Settle a call; if it failed, call alone, then other routes from the best on.

        A call that failed may have been paid: another one must fit beside it.
        """
        decision = self.decisions[index]
        others = sorted(decision.worth, key=lambda name: -decision.worth[name])
        names = [name for name in others if name != decision.route]
        left = [decision.route, *names] if was_of_many else names
        name, failed = decision.route, dict[str, str]()
        while True:
            is_failure = isinstance(result, Exception)
            if is_failure:
                failed[name] = in_a_line(result)[:200]
            self.log.settle(call, self.costs[name], failed, result)
            if not is_failure:
                failed.pop(name, None)
                return RoutedAnswer(result, name, failed)
            while left and not self.account.allow(self.rule, self.costs[left[0]]):
                failed.setdefault(left.pop(0), _BEYOND)
            if not left:
                return RoutedAnswer(None, None, failed)
            name = left.pop(0)
            ((call, result),) = self._call(name, [index])

    def _call(self, name: str, indices: Sequence[int]) -> list[tuple[int, Any]]:
        """Ask a route; return of each prompt the number of its call, and a result or a failure."""
        calls = [
            self.log.enter(index, self.decisions[index], name, self.costs[name])
            for index in indices
        ]
        texts = [self.texts[index] for index in indices]
        try:
            ask = self.functions[name]
            results = [ask(texts[0])] if self.batch_size is None else list(ask(texts))
            if len(results) != len(texts):
                raise EngineError(f"expected {len(texts)} answers, got {len(results)}")
        except Exception as error:  # whatever a user's function raises
            results = [error] * len(texts)
        return list(zip(calls, results, strict=True))


def answer_all(asking: Caller, workers: int = 1, progress: bool = False) -> list[RoutedAnswer]:
    """Return the answers to all prompts, those of the log and those that are asked for now."""
    from tqdm import tqdm

    answers, prompts = dict(asking.log.answers), len(asking.texts)
    shown = tqdm(total=prompts, initial=len(answers), unit="prompt", disable=not progress)
    pool = ThreadPoolExecutor(workers)
    try:
        running = [pool.submit(asking.call, indices) for indices in asking.batches()]
        for future in as_completed(running):
            answers |= future.result()
            shown.update(len(future.result()))
    finally:
        pool.shutdown(cancel_futures=True)
        shown.close()
    return [answers[index] for index in range(prompts)]
