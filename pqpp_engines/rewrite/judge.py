"""Which rewrites of a prompt are accepted, and why the others are not.

A predictor alone is gamed at once: leaving out words raises what it predicts. So a rewrite has to
keep the meaning, and to be better by more than the predictor's own doubt. How much of their errors
two like prompts share stands in `likeness.json`; `benchmarks/rewriting.md` tells how that was
measured inside the train split of PQPP: residuals of a kernel ridge fitted without both captions of
a pair, by the pair's cosine.
"""

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_engines.errors import RewriteError
from pqpp_engines.rewrite.meaning import meaning_lost
from pqpp_files.foreign.json_values import read_json
from pqpp_files.options.arguments import typed
from pqpp_files.paths import expanded
from pqpp_models import DEFAULT_PREDICTOR, Predictor
from pqpp_models.measures.nltk_resources import stopwords, wordnet
from pqpp_models.prompts import normalise

_LIKENESS = Path(__file__).with_name("likeness.json")
LEAST_COSINE = 0.6
"""Of the predictor's space: paraphrases of PQPP's captions have means of .81 to .99, others .16."""


class RewriteVerdict(NamedTuple):
    """What was found of a candidate.

    Attributes:
        prompt: The candidate.
        accepted: Whether it may stand for the original.
        reason: Why not; empty where it is accepted.
        predicted: What is predicted of it.
        gain: That less what is predicted of the original.
        lower_bound: Of the gain.
    """

    prompt: str
    accepted: bool
    reason: str
    predicted: float
    gain: float
    lower_bound: float


class Judge:
    """Accepts rewrites that are surely better and say the same.

    The lower bound is that of a difference of two normal predictions whose errors are correlated as
    `shared_error` tells of prompts so much alike. It bounds what people would say of new images of
    both prompts, chance included, which is most of it.

    Args:
        target: What shall become better, such as `mean_hbpp`, `alignment` or `mean_p10`.
        predictor: Name, folder or OWNER/NAME of one that knows how sure it is.
        margin: By how much the lower bound must be over the original, in the target's units.
        confidence: Of the one-sided lower bound, from .5 to below 1.
        least_cosine: Of the two prompts in the predictor's space, where it has one.

    Raises:
        RewriteError: The predictor does not know how sure it is, or a number is out of range.
        MissingResourceError: NLTK's WordNet or stopwords are not installed.

    Example:
        >>> judge = Judge("mean_hbpp")
        >>> [verdict] = judge("a dog on a couch", ["a couch"])
        >>> verdict.accepted, verdict.reason
        (False, 'a word is lost: dog')
    """

    @typed
    def __init__(
        self,
        target: str,
        predictor: str = DEFAULT_PREDICTOR,
        margin: float = 0.0,
        confidence: float = 0.8,
        least_cosine: float = LEAST_COSINE,
    ) -> None:
        if not 0.5 <= confidence < 1:
            raise RewriteError(f"confidence {confidence}: give a number from .5 to below 1")
        if not (math.isfinite(margin) and margin >= 0):
            raise RewriteError(f"margin {margin}: give a number from 0")
        self.target, self.margin, self.confidence = target, margin, confidence
        self.least_cosine = least_cosine
        self.predictor_name = predictor
        self.predictor = Predictor.from_pretrained(predictor)
        if not self.predictor.knows_uncertainty:
            raise RewriteError(f"{predictor} does not know how sure it is; name one that does")
        self.target, *others = self.predictor.columns_for(target)
        if others:
            raise RewriteError(f"`target` is {target!r}; name one")
        stopwords()  # a lack of words is told before a writer is paid
        wordnet()

    @typed
    def __call__(self, original: str, candidates: Sequence[str]) -> list[RewriteVerdict]:
        """Judge the candidates for one prompt, in their order."""
        from scipy.special import ndtri

        texts = [original, *candidates]
        predicted = self.predictor.predict_with_uncertainty(texts, [self.target])
        values, deviations = predicted.values[:, 0], predicted.deviations[:, 0]
        cosines = self._cosines(texts)
        shared = 2 * self._shared_error(cosines) * deviations * deviations[0]
        spread = np.sqrt(np.maximum(deviations**2 + deviations[0] ** 2 - shared, 0.0))
        gains = values - values[0]
        bounds = gains - float(ndtri(self.confidence)) * spread
        verdicts = []
        for at, text in enumerate(candidates, 1):
            reason = self._why_not(original, text, bool(predicted.far[at]), cosines[at], bounds[at])
            figures = (float(values[at]), float(gains[at]), float(bounds[at]))
            verdicts.append(RewriteVerdict(text, not reason, reason, *figures))
        return verdicts

    @typed
    def check_writer(self, name: str) -> None:
        """Refuse the judge itself as the writer: it would praise its own words.

        Args:
            name: Folder or OWNER/NAME of the model that writes.

        Raises:
            RewriteError: It is the predictor that judges.

        Example:
            >>> Judge("mean_hbpp").check_writer("static")
            Traceback (most recent call last):
            pqpp_engines.errors.RewriteError: static judges and cannot write as well; name another
        """
        writer, judge = expanded(name), expanded(self.predictor_name)
        is_same = writer.exists() and judge.exists() and writer.samefile(judge)
        if is_same or name == self.predictor_name:
            raise RewriteError(f"{name} judges and cannot write as well; name another")

    @typed
    def best(self, original: str, candidates: Sequence[str]) -> str:
        """Return the accepted candidate with the highest lower bound, or the original.

        Example:
            >>> Judge("mean_hbpp").best("a dog on a couch", ["a couch", "dog"])
            'a dog on a couch'
        """
        accepted = [verdict for verdict in self(original, candidates) if verdict.accepted]
        best = max(accepted, key=lambda verdict: verdict.lower_bound, default=None)
        return best.prompt if best else original

    def _why_not(self, original: str, text: str, far: bool, cosine: float, bound: float) -> str:
        if not text.strip():
            return "it is blank"
        if normalise(text) == normalise(original):
            return "it is the same prompt"
        if far:
            return "it is far: the predictor cannot read it"
        if lost := meaning_lost(original, text):
            return lost
        if cosine < self.least_cosine:
            return f"another meaning: cosine {cosine:.2f}, {self.least_cosine:g} is needed"
        if not bound > self.margin:
            return f"not surely better: the lower bound of the gain is {bound:+.2f}"
        return ""

    def _shared_error(self, cosines: np.ndarray) -> np.ndarray:
        """Return the correlation of each text's error with that of the first."""
        if not self.predictor.has_space:
            return np.zeros(len(cosines))
        return shared_error(self.predictor.name, self.target, cosines)

    def _cosines(self, texts: list[str]) -> np.ndarray:
        """Return each text's cosine with the first; 1 where the predictor has no space."""
        if not self.predictor.has_space:
            return np.ones(len(texts))
        points = np.asarray(self.predictor.embed(texts), dtype=np.float64)
        lengths = np.maximum(np.linalg.norm(points, axis=1), 1e-12)
        return points @ points[0] / (lengths * lengths[0])


@typed
def shared_error(predictor: str, target: str, cosines: ArrayLike) -> NDArray[np.float64]:
    """Return the correlation of the errors of two predictions, by how alike the prompts are.

    Args:
        predictor: The name of the predictor in whose space the cosines are, like `static`.
        target: What is predicted.
        cosines: Of two prompts each, any shape.

    Returns:
        From 0 to 1, of the same shape. 0 where nothing was measured, for another predictor, another
        target or prompts that are less alike: errors are taken for independent there.

    Example:
        >>> shared_error("static", "mean_p10", [0.5, 1.0]).round(2).tolist()
        [0.0, 0.2]
    """
    try:
        cosines = np.asarray(cosines, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise RewriteError("`cosines` holds no numbers; give those of two prompts each") from None
    space = _figures()["spaces"].get(predictor, {})
    if target not in space.get("correlations", {}):
        return np.zeros_like(cosines)
    return np.interp(cosines, space["cosines"], space["correlations"][target], left=0.0)


@cache
def _figures() -> dict[str, Any]:
    return read_json(_LIKENESS)
