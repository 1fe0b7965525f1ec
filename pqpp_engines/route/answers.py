"""Call the routes' functions in threads, and log each call with its answer or failure.

A killed job continues from the log: prompts with an answer in the log are not sent again.
"""

import contextlib
import json
import os
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from pqpp_backbones.chat.ledger import Ledger
from pqpp_backbones.errors import ServiceError
from pqpp_engines.route.routes import Account, Rule
from pqpp_files.errors import describe, reraise
from pqpp_files.hashes import hash_parts
from pqpp_files.paths import join_inside


class Decision(NamedTuple):
    """The chosen route of a prompt.

    Attributes:
        route: The name of the route.
        value: The lower bound of each route's quality, in units of utility, by the route's name.
        cost: Cost of the chosen route.
        out_of_domain: Whether the predictor cannot read the prompt; if so, the prompt goes to the
            most expensive route.
        reason: The reason for the choice, in a few words.
    """

    route: str
    value: dict[str, float]
    cost: float
    out_of_domain: bool
    reason: str


@dataclass
class RoutedAnswer:
    """The answer to a prompt.

    Attributes:
        result: The output of the route's function; None if every route failed.
        route: The route that answered; None if none did.
        failed: The reason of each route that failed before, by the route's name.
    """

    result: Any
    route: str | None
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def error(self) -> str | None:
        """The reason why there is no answer, or None."""
        if self.route is not None:
            return None
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self.failed.items())
        return f"every route has failed ({reasons})"


class RouteLog:
    """A log of a router's calls, with their answers.

    Attributes:
        answers: The answers in the file, by index of the prompt.
        account: The spending so far: the number of logged prompts that are not sent again, and the
            total cost of the logged calls, with the maximum cost of a call that has no recorded
            cost.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, router: str, texts: Sequence[str]
    ) -> None:
        self._ledger, self._router, occurrences = Ledger(path), router, Counter[str]()
        self._images = Path(f"{self._ledger.path}.images")
        self._keys = []  # a hash of each prompt and the number of its earlier occurrences
        for text in texts:
            self._keys.append(hash_parts([router, str(occurrences[text]), text]))
            occurrences[text] += 1
        with self._ledger.lock():
            lines = [line for line in self._ledger.lines if line.get("router") == router]
        with reraise(f"{path} has a damaged entry", "choose another `log`", ServiceError):
            replies = {line["key"]: line["reply"] for line in lines if "reply" in line}
            logged = {n: replies[key] for n, key in enumerate(self._keys) if key in replies}
            answers = {index: self._load_answer(reply) for index, reply in logged.items()}
            self.answers = {index: answer for index, answer in answers.items() if answer}
            unanswered = {key for index, key in enumerate(self._keys) if index not in self.answers}
            spent = sum(line.get("paid", line["most"]) for line in lines)
            self.account = Account(len({line["key"] for line in lines} - unanswered), spent)

    def _load_answer(self, reply: Mapping[str, Any]) -> RoutedAnswer | None:
        """Load a logged answer; None if the user has removed its image."""
        answer = RoutedAnswer(reply["result"], reply["route"], reply["failed"])
        if reply["image"]:
            from PIL import Image

            file = join_inside(self._images, reply["image"])
            if not file.is_file():
                return None
            with Image.open(file, formats=["TIFF"]) as answer.result:  # noqa: TID251 - own mode
                answer.result.load()
        return answer

    def add_call(self, index: int, decision: Decision, route: str, max_cost: float) -> int:
        """Record a call before it is made, and return its number."""
        record = {"key": self._keys[index], "router": self._router, "called": route}
        with self._ledger.lock():
            return self._ledger.record_call(max_cost, **record, **decision._asdict())

    def add_answer(self, call: int, paid: float, answer: RoutedAnswer) -> None:
        """Record the outcome of a call; an image is written to a file next to the log."""
        outcome: dict[str, Any] = {"failed": answer.failed}
        if answer.route and self._ledger.path:
            reply, result = asdict(replace(answer, result=None)), answer.result
            try:
                json.dumps(result, allow_nan=False)
                outcome["reply"] = {**reply, "result": result, "image": None}
            except (TypeError, ValueError):
                image = self._images / f"{call}.tiff"
                if hasattr(result, "getbands"):  # a PIL image
                    image.parent.mkdir(exist_ok=True)
                    with contextlib.suppress(OSError):  # TIFF lacks the image's mode
                        result.save(image)
                        outcome["reply"] = {**reply, "image": image.name}
                if "reply" not in outcome:
                    problem = f"{self._ledger.path} cannot store a {type(result).__name__}"
                    remedy = "another run will request the answer again"
                    warnings.warn(f"{problem}; {remedy}", stacklevel=2)
        self._ledger.record_cost(call, paid, **outcome)


def answer_prompts(
    decisions: Mapping[int, Decision],
    texts: Sequence[str],
    functions: Mapping[str, Callable[[str], Any]],
    costs: Mapping[str, float],
    rule: Rule,
    account: Account,
    log: RouteLog,
    workers: int = 1,
    progress: bool = False,
) -> list[RoutedAnswer]:
    """Return the answers to all prompts, from the log or from new calls.

    Args:
        decisions: The decision for each prompt without an answer, by index.
        texts: The prompts.
        functions: The function of each route by name.
        costs: The cost of an answer, by the route's name.
        rule: The rule whose budget limits the alternatives to a failed route.
        account: The planned and actual spending.
        log: The log of calls and answers.
        workers: Number of parallel calls, in threads.
        progress: Whether to show a progress bar.
    """
    from tqdm import tqdm

    def call(index: int) -> RoutedAnswer:
        """Call the chosen route, and after a failure the next best; failed calls count as paid."""
        decision, failures = decisions[index], dict[str, str]()
        best_first = sorted(decision.value, key=lambda name: -decision.value[name])
        for name in dict.fromkeys([decision.route, *best_first]):
            cost = costs[name]
            if not account.try_to_spend(rule, cost, cost if name == decision.route else 0.0):
                failures[name] = "not requested: over the budget"
                continue
            number = log.add_call(index, decision, name, cost)
            try:
                answer = RoutedAnswer(functions[name](texts[index]), name, failures)
            except Exception as error:  # a user's function may raise anything
                failures[name] = describe(error)[:200]
                answer = RoutedAnswer(None, None, failures)
            log.add_answer(number, cost, answer)
            if answer.route:
                return answer
        return RoutedAnswer(None, None, failures)

    answers = dict(log.answers)
    bar = tqdm(total=len(texts), initial=len(answers), unit="prompt", disable=not progress)
    pool = ThreadPoolExecutor(workers)
    try:
        indices = {pool.submit(call, index): index for index in decisions}
        for future in as_completed(indices):
            answers[indices[future]] = future.result()
            bar.update()
    finally:
        pool.shutdown(cancel_futures=True)
        bar.close()
    return [answers[index] for index in range(len(texts))]
