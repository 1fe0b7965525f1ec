"""How probably rewrites of a prompt are better, in order, and why some are none.

A predictor alone is gamed at once: leaving out words raises what it predicts. So a rewrite has to
keep the meaning, and is ranked by the probability that it is expected to do better. In that
probability counts what the predictor does not know of the two prompts, and not the chance in votes
and images, which is most of a prediction's deviation and the same for any prompt. How much of their
errors two like prompts share stands in `likeness.json`; `benchmarks/rewriting.md` tells how that
was measured inside the train split of PQPP: residuals of a kernel ridge fitted without both
captions of a pair, by the pair's cosine. Chance is not shared, so what the most alike share is the
part of the variance that is no chance.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_engines.errors import EngineError
from pqpp_engines.rewrite.meaning import meaning_lost, missing, only_shorter, words_to_keep
from pqpp_engines.route.routes import require_deviations
from pqpp_files.foreign.json_values import read_json
from pqpp_models import DEFAULT_PREDICTOR, Predictor
from pqpp_models.measures.nltk_resources import stopwords, wordnet
from pqpp_models.prompts import normalise

_LIKENESS = Path(__file__).with_name("likeness.json")
_read = cache(read_json)
TOO_UNSURE = "not better"
"""How the reason begins where a rewrite says the same, and is too improbably better."""

LEAST_ENTAILED = 0.5
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
        probability: That the gain to be expected is over the margin; None for a target
            without a deviation, like `alignment`.
        similarity: The cosine of both prompts in the predictor's space; 1 where it has none.
        added: Content words that the original has no word for.
        lost: Content words of the original that the candidate has no word for.
        beside: The gain of `mean_hbpp`, or of `alignment` where `mean_hbpp` is judged by; None
            where the predictor has no such target.
        entailment: The probability that it entails the original or is entailed by it, whichever is
            less; None without such a model.
    """

    prompt: str
    accepted: bool
    reason: str
    predicted: float
    gain: float
    probability: float | None
    similarity: float
    added: tuple[str, ...]
    lost: tuple[str, ...]
    beside: float | None
    entailment: float | None


class Judge:
    """Ranks rewrites that say the same by how probably they do better.

    Args:
        target: The target that shall become better. As `mean_hbpp` or `mean_p10`.
        predictor: Its name, folder or OWNER/NAME.
        margin: What the expected gain must be above. In the target's units.
        confidence: The least probability of that gain. It is below 1.
        least_cosine: Of the two prompts in the predictor's space, where it has one.
        most_added: Content words that may be added, as a share of the original's; one always may.
        entailment: A model that tells entailment, as one trained on MNLI: a rewrite that does not
            follow from the original, or from which that does not follow, is refused. A folder or
            OWNER/NAME; it follows with a probability of one half or more.

    Raises:
        EngineError: A confidence above .5 is asked for and the target has no deviation.
        PredictorError: NLTK's WordNet or stopwords are not installed.

    Example:
        >>> judge = Judge("mean_hbpp")
        >>> [verdict] = judge("a dog on a couch", ["a couch"])
        >>> verdict.accepted, verdict.reason
        (False, 'a word is lost: dog')
    """

    def __init__(
        self,
        target: str = "alignment",
        predictor: str = DEFAULT_PREDICTOR,
        margin: float = 0.0,
        confidence: float = 0.5,
        least_cosine: float = LEAST_COSINE,
        most_added: float = 1.0,
        entailment: str | None = None,
    ) -> None:
        self.target, self.margin, self.confidence = target, margin, confidence
        self.least_cosine, self.most_added = least_cosine, most_added
        self.predictor_name = predictor
        self.predictor = Predictor.from_pretrained(predictor)
        self.target, *others = self.predictor.columns_for(target)
        if others:
            raise EngineError(f"`target` is {target!r}; name one")
        if confidence > 0.5:
            require_deviations(self.predictor, [self.target])
        other = "alignment" if self.target == "mean_hbpp" else "mean_hbpp"
        self.beside = other if other in self.predictor.targets else None
        self.entailment = None if entailment is None else Entailment(entailment)
        stopwords()  # a lack of words is told before a writer is paid
        wordnet()

    def __call__(self, original: str, candidates: Sequence[str]) -> list[RewriteVerdict]:
        """Judge the candidates for one prompt, in their order."""
        from scipy.special import ndtr

        texts = [original, *candidates]
        targets = [self.target, *filter(None, [self.beside])]
        read, is_sure = self.predictor.read_rows(texts), self.predictor.knows_uncertainty
        predicted = self.predictor.answer(read, targets, uncertainty=is_sure)
        values, deviations = predicted.values[:, 0], predicted.deviations[:, 0]
        entailed: Sequence[float | None] = [None] * len(candidates)
        if self.entailment is not None and candidates:
            entailed = self.entailment(original, candidates)
        cosines, gains = self._cosines(texts), values - values[0]
        spread = self._spread(deviations, cosines)
        verdicts = []
        for at, text in enumerate(candidates, 1):
            is_better, probability = gains[at] > self.margin, None
            if not np.isnan(spread[at]):
                surely = (gains[at] - self.margin) / max(float(spread[at]), 1e-9)
                probability = 0.0 if predicted.far[at] else float(ndtr(surely))
                is_better = probability > self.confidence
            added, lost = tuple(missing(text, original)), tuple(missing(original, text))
            reason = self._why_not(original, text, bool(predicted.far[at]), cosines[at], added)
            entails = entailed[at - 1]
            if not reason and entails is not None and entails < LEAST_ENTAILED:
                reason = f"another meaning: entailment {entails:.0%}"
            if not reason and not is_better:
                reason = f"{TOO_UNSURE}: the predicted gain is {gains[at]:+.3f}"
            figures = float(values[at]), float(gains[at]), probability, float(cosines[at])
            beside = float(np.subtract(*predicted.values[[at, 0], 1])) if self.beside else None
            words = added, lost, beside, entails
            verdicts.append(RewriteVerdict(text, not reason, reason, *figures, *words))
        return verdicts

    def rank(self, original: str, candidates: Sequence[str]) -> list[RewriteVerdict]:
        """Judge the candidates, and put them in order: by their probability of being better.

        By their gain, if no probability is known. Those that are refused for more than a low
        probability come last.

        Example:
            >>> ranked = Judge().rank("a couch dog on", ["a couch", "a dog on a couch"])
            >>> [verdict.prompt for verdict in ranked]
            ['a dog on a couch', 'a couch']
        """

        def place(verdict: RewriteVerdict) -> tuple[bool, float]:
            is_refused = not verdict.accepted and not verdict.reason.startswith(TOO_UNSURE)
            known = verdict.probability
            return is_refused, -(verdict.gain if known is None else known)

        return sorted(self(original, candidates), key=place)

    def _why_not(
        self, original: str, text: str, far: bool, cosine: float, added: Sequence[str]
    ) -> str:
        if not text.strip():
            return "it is blank"
        if normalise(text) == normalise(original):
            return "it is the same prompt"
        if far:
            return "it is far: the predictor cannot read it"
        if lost := meaning_lost(original, text):
            return lost
        if only_shorter(original, text):
            return "it only leaves words out"
        if len(added) > max(1, self.most_added * len(words_to_keep(original))):
            return f"too much is added: {', '.join(added)}"
        if cosine < self.least_cosine:
            return f"another meaning: cosine {cosine:.2f}, {self.least_cosine:g} is needed"
        return ""

    def _spread(self, deviations: np.ndarray, cosines: np.ndarray) -> np.ndarray:
        """Return the deviation of each gain as far as it is no chance in votes and images.

        Where nothing was measured all of it counts.
        """
        known, target = self.predictor.name, self.target
        most = float(shared_error(known, target, 1.0)) if self.predictor.has_space else 0.0
        shared = shared_error(known, target, cosines) if most else np.zeros(len(cosines))
        covariance = 2 * shared * deviations * deviations[0]
        variance = (most or 1.0) * (deviations**2 + deviations[0] ** 2) - covariance
        return np.sqrt(np.maximum(variance, 0.0))

    def _cosines(self, texts: list[str]) -> np.ndarray:
        """Return each text's cosine with the first; 1 where the predictor has no space."""
        if not self.predictor.has_space:
            return np.ones(len(texts))
        points = np.asarray(self.predictor.embed(texts), dtype=np.float64)
        lengths = np.maximum(np.linalg.norm(points, axis=1), 1e-12)
        return points @ points[0] / (lengths * lengths[0])


class Entailment:
    """A model of transformers that tells entailment from contradiction.

    Args:
        name: Its folder or OWNER/NAME, trained on pairs as those of MNLI.

    Raises:
        ModelError: It cannot be had, or is no classifier.
        EngineError: None of its labels is entailment.
    """

    def __init__(self, name: str) -> None:
        from pqpp_backbones.pretrained import load_model

        self._loaded = load_model(name, "AutoModelForSequenceClassification", "model of entailment")
        labels = self._loaded.model.config.id2label
        known = {str(label).lower(): place for place, label in labels.items()}
        self._place = known.get("entailment")
        if self._place is None:
            named = ", ".join(map(str, labels.values()))[:80]
            raise EngineError(f"{name} has no label entailment but {named}; name one that has")

    def __call__(self, original: str, rewrites: Sequence[str]) -> list[float]:
        """Return the probability that each entails the original or follows, whichever is less."""
        import torch

        originals = [original] * len(rewrites)
        pairs = [*rewrites, *originals], [*originals, *rewrites]
        inputs = self._loaded.processor(*pairs, padding=True, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            logits = self._loaded.model(**inputs.to(self._loaded.device)).logits
        probabilities = logits.double().softmax(1)[:, self._place].cpu()
        return probabilities.reshape(2, -1).amin(0).tolist()


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
    cosines = np.asarray(cosines, dtype=np.float64)
    space = _read(_LIKENESS)["spaces"].get(predictor, {})
    if target not in space.get("correlations", {}):
        return np.zeros_like(cosines)
    return np.interp(cosines, space["cosines"], space["correlations"][target], left=0.0)
