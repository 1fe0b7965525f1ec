"""Answers of the routes' functions: in batches and threads, each failure a row, all kept in a log.

The log is what a killed job goes on from: a prompt that it has an answer to is not asked again.
"""

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pqpp_engines.errors import EngineError
from pqpp_engines.route.routes import Account, Rule
from pqpp_files.errors import in_a_line
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.hashes import sha256_of_parts
from pqpp_files.paths import expanded


class Decision(NamedTuple):
    """Where a prompt goes.

    Attributes:
        route: The name of the route.
        worth: Route to the lower bound of its quality in units of utility.
        cost: Of the chosen route.
        far: Whether nothing is known of the prompt, which sends it to the dearest route.
        reason: Why, in a few words.
    """

    route: str
    worth: dict[str, float]
    cost: float
    far: bool
    reason: str


@dataclass
class RoutedAnswer:
    """What came back for a prompt.

    Attributes:
        result: What the route's function returned; None where every route has failed.
        route: The route that answered; None where none did.
        failed: Routes that were asked before and failed, with the reason.
    """

    result: Any
    route: str | None
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def error(self) -> str | None:
        """Why there is no answer; None where there is one."""
        if self.route is not None:
            return None
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self.failed.items())
        return f"every route has failed ({reasons})"


class Log:
    """A file of answers by one router, for these prompts and others.

    Attributes:
        answers: Place of a prompt to the answer that the file has.
        account: What the other prompts in the file have cost.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        router: str,
        texts: Sequence[str],
        log_prompts: bool = False,
    ) -> None:
        self._path = None if path is None else expanded(path)
        self._texts, self._router, self._log_prompts = texts, router, log_prompts
        hashes, seen = [sha256_of_parts([text]) for text in texts], Counter[str]()
        self._keys = []  # of each prompt, and how often it came before
        for key in hashes:
            self._keys.append((key, seen[key]))
            seen[key] += 1
        self._lock = threading.Lock()
        self.answers: dict[int, RoutedAnswer] = {}
        self.account = Account()
        if self._path is not None and self._path.exists():
            self._read(self._path)

    def write(self, place: int, decision: Decision, answer: RoutedAnswer, cost: float) -> None:
        """Add the answer to a prompt; one that JSON cannot hold is asked for again next time."""
        if self._path is None:
            return
        key, occurrence = self._keys[place]
        line = {
            "prompt_sha256": key,
            "occurrence": occurrence,
            **({"prompt": self._texts[place]} if self._log_prompts else {}),
            "router": self._router,
            **decision._asdict(),
            "answered": answer.route,
            "paid": cost,
            "failed": answer.failed,
        }
        try:
            text = json.dumps({**line, "result": answer.result}, allow_nan=False)
        except (TypeError, ValueError):
            text = json.dumps(line)
        with self._lock, self._path.open("ab") as file:
            file.write(text.encode() + b"\n")

    def _read(self, path: Path) -> None:
        places = {key: place for place, key in enumerate(self._keys)}
        content = path.read_bytes()
        lines = content.split(b"\n")
        for number, line in enumerate(lines[:-1], 1):
            try:
                entry = parse_json(line.decode())
                key = entry["prompt_sha256"], entry.get("occurrence", 0)
                is_answer = entry.get("router") == self._router and entry["answered"] is not None
            except (ValueError, TypeError, KeyError, AttributeError):
                raise EngineError(
                    f"{path}, line {number}: not the log of a router; name another file"
                ) from None
            if is_answer and key not in places:
                self.account.asked += 1
                self.account.spent += entry["paid"]
            elif is_answer and "result" in entry:
                answer = RoutedAnswer(entry["result"], entry["answered"], entry["failed"])
                self.answers[places[key]] = answer
        if lines[-1]:  # a kill has cut it
            with path.open("r+b") as file:
                file.truncate(len(content) - len(lines[-1]))


@dataclass
class Asking:
    """How routes are asked.

    Attributes:
        functions: Route to its function.
        costs: Route to the cost of an answer.
        rule: The budget that another route must fit in where one has failed.
        account: What was planned, and is paid.
        batch_size: The most prompts of a call; None where functions take a prompt.
    """

    functions: Mapping[str, Callable[[Any], Any]]
    costs: Mapping[str, float]
    rule: Rule
    account: Account
    batch_size: int | None

    def batches(self, decisions: Mapping[int, Decision]) -> Iterator[list[int]]:
        """Give the places of prompts that are asked together: of one route, in their order."""
        for route in self.costs:
            places = [place for place, decision in decisions.items() if decision.route == route]
            for start in range(0, len(places), self.batch_size or 1):
                yield places[start : start + (self.batch_size or 1)]

    def ask(self, texts: Sequence[str], decisions: Sequence[Decision]) -> list[RoutedAnswer]:
        """Return the answers to a batch; each prompt alone where the route fails for it."""
        route = decisions[0].route
        if len(texts) == 1:
            return [self._ask_alone(texts[0], decisions[0])]
        try:
            results = self._call(route, texts)
        except Exception:  # whatever a user's function raises
            results = [EngineError("asked with others")] * len(texts)
        return [
            self._ask_alone(text, decision)
            if isinstance(result, Exception)
            else RoutedAnswer(result, route)
            for text, decision, result in zip(texts, decisions, results, strict=True)
        ]

    def _ask_alone(self, text: str, decision: Decision) -> RoutedAnswer:
        """Ask the chosen route, then the others from the best on."""
        others = sorted(decision.worth, key=lambda name: -decision.worth[name])
        failed: dict[str, str] = {}
        for name in dict.fromkeys([decision.route, *others]):
            more = self.costs[name] - decision.cost
            if more and not self.account.allow(self.rule, more):
                failed[name] = "not asked, it is beyond the budget"
                continue
            try:
                (result,) = self._call(name, [text])
                if not isinstance(result, Exception):
                    return RoutedAnswer(result, name, failed)
                error = result
            except Exception as raised:  # whatever a user's function raises
                error = raised
            failed[name] = in_a_line(error)[:200]
            self.account.give_back(more)
        self.account.give_back(decision.cost, 1)
        return RoutedAnswer(None, None, failed)

    def _call(self, name: str, texts: Sequence[str]) -> list[Any]:
        if self.batch_size is None:
            return [self.functions[name](texts[0])]
        results = list(self.functions[name](list(texts)))
        if len(results) != len(texts):
            raise EngineError(f"{len(results)} answers came to {len(texts)} prompts")
        return results


def answer_all(
    asking: Asking,
    texts: Sequence[str],
    decisions: Sequence[Decision],
    log: Log,
    workers: int = 1,
    progress: bool = False,
) -> list[RoutedAnswer]:
    """Return the answers to all prompts, those of the log and those that are asked for now."""
    from tqdm import tqdm

    answers = dict(log.answers)
    for place, answer in answers.items():  # what was paid, in place of what is planned
        asking.account.give_back(decisions[place].cost - asking.costs[str(answer.route)])
    left = {place: route for place, route in enumerate(decisions) if place not in answers}

    def ask(places: list[int]) -> list[int]:
        chosen = [decisions[place] for place in places]
        answered = asking.ask([texts[place] for place in places], chosen)
        for place, decision, answer in zip(places, chosen, answered, strict=True):
            log.write(place, decision, answer, asking.costs.get(answer.route or "", 0.0))
            answers[place] = answer
        return places

    shown = tqdm(total=len(texts), initial=len(answers), unit="prompt", disable=not progress)
    pool = ThreadPoolExecutor(workers)
    try:
        running = [pool.submit(ask, places) for places in asking.batches(left)]
        for future in as_completed(running):
            shown.update(len(future.result()))
    finally:
        pool.shutdown(cancel_futures=True)
        shown.close()
    return [answers[place] for place in range(len(texts))]
