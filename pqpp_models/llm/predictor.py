"""A predictor with a language model that rates prompts, given rated examples.

It is the baseline of VQPP (2026), the video benchmark of PQPP's authors. Half of the examples are
spread over the scores; the others are the training prompts that share the most words with the
prompt.
"""

import logging
import math
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_backbones.chat.chat import Chat, Reply, Request
from pqpp_backbones.chat.models import ChatOptions
from pqpp_backbones.checkpoint import Tensors
from pqpp_backbones.errors import ServiceError
from pqpp_datasets.target_columns import get_measure
from pqpp_hub.card import render_card
from pqpp_metrics.functional.qpp_report import qpp_values
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Estimates, Predictor
from pqpp_models.prompts import normalise
from pqpp_models.targets import find_range

FEWEST = 20
"""The minimum number of distinct prompts with a score per target."""
_DIGITS = tuple("0123456789")
_MAX_CHARACTERS = 1000  # of a prompt
_N_EXAMPLES = 8  # per request
_MEASURES = ("pearson", "kendall", "spearman")
_CARD_FACTS = ("data", "training", "dataset")
_GENERATION_TASK = "how well people will rate the images that text-to-image models make of a prompt"
_RETRIEVAL_TASK = "how relevant the first images are that a search engine finds for a prompt"
_log = logging.getLogger(__name__)


class LlmPredictor(Predictor):
    """A predictor of any targets with a language model that rates prompts from 0 to 9.

    The rating is the expected digit if the model returns probabilities, else the digit in its
    reply. The prediction is a linear function of the rating, or NaN without a reply.

    A checkpoint never contains the endpoint. The variables PQPP_CHAT_URL, PQPP_CHAT_KEY,
    PQPP_CHAT_MODEL, PQPP_MAX_CALLS, PQPP_MAX_COST, PQPP_PRICES, PQPP_LEDGER and PQPP_BATCH set
    it, like the flags of `pqpp fit`. Without a URL, the model runs in this process.

    Args:
        chat_model: The name of the model.
        values: Shape `(prompts, targets)`, NaN if missing.
        scales: By target: the lowest and the highest value, the value of rating 0, and the step per
            rating.
    """

    name = "llm"
    supervised: ClassVar[bool] = True
    made_by = "pqpp fit DATASET --chat-model NAME --output DIR"
    chunk_size = 64

    def __init__(
        self,
        chat_model: str,
        prompts: Sequence[str],
        values: NDArray[np.float64],
        scales: Mapping[str, Sequence[float]],
    ) -> None:
        self.chat_model, self.prompts, self.values = chat_model, list(prompts), values
        self.scales, self.targets = dict(scales), tuple(scales)
        self._known: dict[tuple[str, str], float] = {}
        self._keys = np.array([normalise(prompt) for prompt in self.prompts])
        self._indices: dict[str, list[int]] = {}
        for index, key in enumerate(self._keys):
            for word in _split_words(key):
                self._indices.setdefault(word, []).append(index)
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        levels = 9 * (values - low) / np.where(high > low, high - low, 1)
        self._levels = dict(zip(self.targets, levels.T, strict=True))

    @classmethod
    def fit(
        cls,
        chat: Chat,
        prompts: Sequence[str],
        values: ArrayLike,
        targets: Sequence[str],
        data: str = "",
        limits: Mapping[str, tuple[float, float]] | None = None,
        calibrated: int = 100,
        progress: bool = False,
    ) -> Self:
        """Fit a predictor to rated prompts, which become its examples.

        Args:
            chat: The model; it receives one request for each calibrated prompt and target.
            prompts: The prompts; the values of duplicates are averaged.
            values: Shape `(prompts, targets)`, NaN if missing.
            data: The name of the data on the card.
            limits: Lowest and highest value of targets; default: those of their measures or values.
            calibrated: Number of prompts that each target is calibrated on.

        Raises:
            PredictorError: A target has too few prompts, or the model gives fewer than two ratings.
            ServiceError: The model does not answer, or the calls would exceed the budget.
        """
        import pandas as pd

        array = np.asarray(values, dtype=np.float64).reshape(len(prompts), len(targets))
        keys = [normalise(prompt) for prompt in prompts]
        originals = dict(zip(keys[::-1], prompts[::-1], strict=True))
        means = pd.DataFrame(array, keys).groupby(level=0).mean().drop("", errors="ignore")
        texts, averages = [originals[key] for key in means.index], means.to_numpy()
        known = dict(zip(targets, ~np.isnan(averages).T, strict=True))
        if few := [target for target in targets if known[target].sum() < FEWEST]:
            raise PredictorError(
                f"{few[0]!r} needs scores for at least {FEWEST} prompts; got {known[few[0]].sum()}"
            )
        name = Path(chat.name).name if Path(chat.name.partition("@")[0]).is_dir() else chat.name
        fitted = cls(name, texts, averages, dict.fromkeys(targets, (0.0, 9.0, 0.0, 1.0)))
        fitted.chat, figures = chat, {}
        order = np.random.default_rng(0).permutation(len(texts))
        rows = {target: order[known[target][order]][:calibrated] for target in targets}
        chat.prepare(
            fitted._to_request(texts[n], target) for target in targets for n in rows[target]
        )
        for column, target in enumerate(targets):
            sample, true = [texts[n] for n in rows[target]], averages[rows[target], column]
            levels = fitted.predict(sample, target, progress)[:, 0]
            levels, true = levels[~np.isnan(levels)], true[~np.isnan(levels)]
            if len(levels) < 2:
                raise PredictorError(
                    f"{chat.name} returned fewer than 2 ratings of {target!r}; use another model"
                )
            slope = max(np.cov(levels, true)[0, 1] / (levels.var(ddof=1) or 1.0), 0.0)
            bounds = np.nanmin(averages[:, column]), np.nanmax(averages[:, column])
            bounds = find_range(target) or (limits or {}).get(target) or bounds
            scale = (*bounds, true.mean() - slope * levels.mean(), slope)
            fitted.scales[target] = [float(number) for number in scale]
            correlations = qpp_values(levels[:, None], true[:, None], _MEASURES)
            rounded = {m: round(float(np.nan_to_num(correlations[m][0])), 4) for m in _MEASURES}
            figures[target] = {**rounded, "prompts": len(levels)}
        training = {"prompts": len(texts), "cross_validation": figures}
        fitted.details = {"data": data, "training": training}
        fitted.record_fit(prompts, array, targets)
        fitted.record = replace(fitted.record, means=())  # each target has its own request
        return fitted

    @cached_property
    def chat(self) -> Chat:
        """The chat model that the environment variables set."""
        options = ChatOptions.from_environment(self.chat_model)
        if not (options.chat_url or os.environ.get("PQPP_CHAT_MODEL")):  # a folder names no model
            raise PredictorError(
                f"llm needs the language model {self.chat_model!r:.80}; set PQPP_CHAT_URL to an "
                "endpoint, or PQPP_CHAT_MODEL to a folder or OWNER/REPOSITORY"
            )
        return options.open_chat(options.chat_model or "", options.make_budget())

    def estimate(self, rows: Any, targets: Any = None, *args: Any, **kwargs: Any) -> Estimates:
        """Check the budget, then predict as `Predictor.estimate` does."""
        columns = self.list_columns(targets)
        needed = {(text, target) for text in rows if text.strip() for target in columns}
        self.chat.prepare(self._to_request(*pair) for pair in needed if pair not in self._known)
        return super().estimate(rows, columns, *args, **kwargs)

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        pairs = dict.fromkeys((row, target) for row in rows for target in targets)
        new = [pair for pair in pairs if pair not in self._known]
        with ThreadPoolExecutor(self.chat.max_parallel) as pool:
            self._known |= zip(new, pool.map(self._rate, new), strict=True)
        levels = np.array([[self._known[row, target] for target in targets] for row in rows])
        if n_missing := int(np.isnan(levels).sum()):
            message = "%s: %d replies contain no digit, so their predictions are NaN"
            _log.warning(message, self.chat.name, n_missing)
        low, high, intercept, slope = np.array([self.scales[target] for target in targets]).T
        return np.clip(intercept + slope * levels, low, high)

    def _rate(self, pair: tuple[str, str]) -> float:
        try:
            return parse_rating(self.chat.ask(self._to_request(*pair)))
        except ServiceError as error:
            if error.affects_one_request:
                return math.nan
            raise

    def _to_request(self, prompt: str, target: str) -> Request:
        """Return the request for a prompt, with other rated prompts as examples."""
        measure, levels, key = get_measure(target), self._levels[target], normalise(prompt)
        scores = np.zeros(len(levels))
        for word in _split_words(key):
            indices = self._indices.get(word, [])
            scores[indices] += math.log(1 + len(levels) / (1 + len(indices)))
        scores /= np.sqrt(1 + np.char.count(self._keys, " "))
        usable = np.flatnonzero(~np.isnan(levels) & (self._keys != key))
        ranked = usable[np.argsort(levels[usable], kind="stable")]
        spread = np.linspace(0, len(ranked) - 1, _N_EXAMPLES // 2).round().astype(int)
        nearest = usable[np.argsort(-scores[usable], kind="stable")][:_N_EXAMPLES]
        examples = list(dict.fromkeys([*ranked[spread], *nearest]))[:_N_EXAMPLES]
        lines = [f"Prompt: {_shorten(self.prompts[n])}\nDigit: {levels[n]:.0f}\n" for n in examples]
        task = _RETRIEVAL_TASK if measure and measure.task == "retrieval" else _GENERATION_TASK
        system = (
            f"Predict {task} ({target}). Reply with one digit, from 0 (lowest) to 9 (highest), and "
            "nothing else."
        )
        text = "\n".join([*lines, f"Prompt: {_shorten(prompt)}\nDigit:"])
        return Request(text, system, max_tokens=8, answers=_DIGITS)

    def run_smoke_test(self) -> None:
        """Predict once, to find errors that loading does not reveal."""
        if not isinstance(self.chat_model, str):
            raise TypeError("'chat_model' must be a string")
        for target, scale in self.scales.items():
            self._to_request("a cat", target)
            if not np.isfinite(scale).all() or len(scale) != 4:
                raise ValueError(f"the scale of {target} must be four finite numbers")

    def _get_state(self) -> tuple[dict[str, Any], Tensors]:
        inputs = {"chat_model": self.chat_model, "prompts": self.prompts}
        values = [[v if v == v else None for v in row] for row in self.values.tolist()]
        return {**self.details, **inputs, "values": values, "scales": [*self.scales.values()]}, {}

    def _render_card(self) -> str:
        facts = {name: self.details.get(name) for name in _CARD_FACTS}
        return render_card("predictors/llm", scales=self.scales, model=self.chat_model, **facts)

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the predictor of a checkpoint, given its parsed files."""
        scales = dict(zip(config["targets"], config["scales"], strict=True))
        values = np.array(config["values"], dtype=np.float64)
        predictor = cls(config["chat_model"], config["prompts"], values, scales)
        predictor.details = {name: config[name] for name in _CARD_FACTS if name in config}
        return predictor


def parse_rating(reply: Reply) -> float:
    """Return the rating in a reply, NaN if there is none.

    Example:
        >>> parse_rating(Reply("7", probs={"7": 0.4, "8": 0.4}))
        7.5
        >>> parse_rating(Reply("A 6.5, maybe"))
        6.5
        >>> parse_rating(Reply("<think>It wants 1 digit", probs={"7": 0.0}))
        nan
    """
    probs = reply.probs or {}
    if (total := math.fsum(probs.values())) > 0.5:
        return math.fsum(int(digit) * chance for digit, chance in probs.items()) / total
    match = re.match(r"(?!\s*<think>)\D*(\d(?:\.\d+)?)(?!\d)", reply.text)
    return float(match[1]) if match else math.nan


def _split_words(key: str) -> set[str]:
    return set(re.findall(r"\w+", key))


def _shorten(prompt: str) -> str:
    return " ".join(prompt.split())[:_MAX_CHARACTERS]
