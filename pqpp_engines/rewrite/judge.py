"""The probabilities that a rewrite is better, in word order, and equal in meaning.

A prediction alone is a bad criterion: leaving out words raises it, and word salad scores as well as
a phrase. A rewrite is therefore ranked by the product of three probabilities: that it performs
better, that its words are in order, and that it has the same meaning. It is accepted only if an
entailment model confirms the meaning.

The first probability ignores chance in votes and images, which is most of a prediction's variance
and equal for all prompts. `likeness.json` has the correlation of the errors of two similar prompts
by their cosine, measured within PQPP's train split (`benchmarks/rewriting.md`) on residuals of
kernel ridge regressions that were fitted without both prompts. Chance is not shared by two prompts,
so the correlation for the most similar pairs is the share of the variance that is not chance.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_backbones.prompt.leaving_out import leave_one_out
from pqpp_backbones.prompt.numbers import find_numbers
from pqpp_backbones.prompt.prompt import Prompt
from pqpp_backbones.prompt.quoted import find_texts_to_draw, strip_outer_quotes
from pqpp_datasets.target_columns import get_measure
from pqpp_engines.errors import EngineError
from pqpp_engines.rewrite.facts import COLOURS, swaps_facts, to_stems
from pqpp_engines.rewrite.order import compute_order_probability
from pqpp_engines.route.routes import require_deviations
from pqpp_files.errors import reraise
from pqpp_files.foreign.json_values import read_json
from pqpp_models import DEFAULT_PREDICTOR, Predictor
from pqpp_models.prompts import normalise
from pqpp_models.targets import get_target_range
from pqpp_models.text.arrays import normalise_rows
from pqpp_models.text.reading.words import WORD_LISTS, to_words

_read_cached = cache(read_json)
#: The reason if a rewrite has no fault, but no entailment model can confirm it.
UNCONFIRMED = "not confirmed: no entailment model"

UNREAD = "not confirmed: the original is not read as English"
SAME = "it is the same prompt"
MIN_ENTAILMENT = 0.5
# A phrase is lost if leaving it out raises the cosine by more than the first number, or by more
# than the second if the other text lacks its words; a colour is lost if the cosine rises at all.
_LOSS_THRESHOLDS = 0.05, 0.04
#: 1% of PQPP's captions have a lower probability, and 78% of shuffled captions.
MIN_IN_ORDER = 0.02
_REQUESTS = {"me", "u", "plz", "image", "picture", "pictures", "pic", "pics", "photo", "photos"}


class RewriteVerdict(NamedTuple):
    """The assessment of a candidate.

    Attributes:
        prompt: The candidate.
        accepted: Whether the candidate may replace the original; an entailment model has confirmed
            it.
        reason: Why the candidate is not accepted; empty if it is.
        score: The score for ranking, from 0 to 1: the product of the probabilities that the
            candidate is better, that its words are in order, and that it is equal in meaning. 0 if
            it is refused.
        predicted: The prediction for the candidate.
        gain: The prediction for the candidate minus that for the original.
        probability: Probability that the expected gain is above the margin; None for a target
            without a standard deviation, like `alignment`.
        similarity: The cosine between the encoder's embeddings of candidate and original.
        in_order: Probability that the candidate's words are in English order.
        added: Phrases whose removal from the candidate makes it more similar to the original.
        lost: Phrases whose removal from the original makes it more similar to the candidate.
        other_gain: The gain in `mean_hbpp`, or in `alignment` if the target is `mean_hbpp`; None if
            the predictor has no such target.
        entailment: The lower of the probabilities that the candidate entails the original, and that
            the original entails the candidate; None without an entailment model.
    """

    prompt: str
    accepted: bool
    reason: str
    score: float
    predicted: float
    gain: float
    probability: float | None
    similarity: float
    in_order: float
    added: tuple[str, ...]
    lost: tuple[str, ...]
    other_gain: float | None
    entailment: float | None


class Judge:
    """A judge that ranks rewrites by the probability that they are better and mean the same.

    Ignored text, such as a request ("please draw me"), is not part of the meaning. Numbers must
    stay the same, and two things or colours must not be swapped ("a dog on a cat" for "a cat on a
    dog"); a negation may only be dropped if an entailment model confirms the rewrite.
    Without an entailment model, an encoder measures how similar the meanings are, by the angle
    between the embeddings; the similarity is halved for each lost phrase of the original. The
    encoder overlooks many differences, so without an entailment model, candidates are ranked, but
    none is accepted.

    Args:
        target: Target to improve, such as `mean_hbpp` or `mean_p10`; for a retrieval
            target, rewrites are queries, in any word order.
        predictor: Name, folder or OWNER/NAME of the predictor.
        margin: Expected gain that a rewrite must exceed. In the target's units.
        confidence: Minimum probability of that gain. It is below 1.
        entailment: Natural language inference model, such as one trained on MNLI; a rewrite is
            accepted only if it and the original entail each other. A folder or OWNER/NAME; a text
            entails another if the probability is at least .5.
        encoder: Sentence encoder that measures the similarity of prompts (default: the
            predictor's embedding, or that of static). A folder or OWNER/NAME.

    Raises:
        EngineError: `target` names several targets, or the confidence is above .5 and the target
            has no standard deviation.
        ModelError: A model cannot be loaded.

    Example:
        >>> judge = Judge("mean_hbpp")
        >>> [verdict] = judge("two dogs on a couch", ["three dogs on a couch"])
        >>> verdict.accepted, verdict.reason
        (False, 'numbers differ: 2 became 3')
    """

    def __init__(
        self,
        target: str = "alignment",
        predictor: str = DEFAULT_PREDICTOR,
        margin: float = 0.0,
        confidence: float = 0.5,
        entailment: str | None = None,
        encoder: str | None = None,
    ) -> None:
        self.margin, self.confidence = margin, confidence
        self.predictor = Predictor.from_pretrained(predictor)
        self.target, *others = self.predictor.list_columns(target)
        if others:
            raise EngineError(f"`target` must be a single target; got {target!r}")
        if confidence > 0.5:
            require_deviations(self.predictor, [self.target])
        other = "alignment" if self.target == "mean_hbpp" else "mean_hbpp"
        self.other_target = other if other in self.predictor.targets else None
        self.entailment = None if entailment is None else Entailment(entailment)
        measure = get_measure(self.target)
        self.is_query = measure is not None and measure.task == "retrieval"
        self._uses_predictor_space = encoder is None and self.predictor.can_embed
        embedder: Any = self.predictor
        if encoder is not None:
            from pqpp_models.text.saved_encoder import SentenceEncoder

            embedder = SentenceEncoder.load(encoder)
        elif not self.predictor.can_embed:
            embedder = Predictor.from_pretrained("static")
        self._embed = embedder.embed

    def __call__(self, original: str, candidates: Sequence[str]) -> list[RewriteVerdict]:
        """Return a verdict on each candidate, in the order of the candidates."""
        from scipy.special import ndtr

        texts = [original, *candidates]
        contents = [Prompt.read(text).normalised for text in texts]
        targets = [self.target, *filter(None, [self.other_target])]
        predicted = self.predictor.estimate(self.predictor.read_rows(texts), targets)
        values, deviations = predicted.values[:, 0], predicted.deviations[:, 0]
        entailments: Sequence[float | None] = [None] * len(candidates)
        if self.entailment is not None and candidates:
            entailments = self.entailment(contents[0], contents[1:])
        comparisons = [self._compare_phrases(contents[0], content) for content in contents]
        cosines, gains = np.array([cosine for cosine, _ in comparisons]), values - values[0]
        other_gains = predicted.values[:, -1] - predicted.values[0, -1]
        gain_deviations = self._get_gain_deviations(deviations, cosines)
        low, high = get_target_range(self.target)
        verdicts = []
        for row, (text, entailment) in enumerate(zip(candidates, entailments, strict=True), 1):
            cosine, lost = comparisons[row]
            _, added = self._compare_phrases(contents[row], contents[0])
            excess, probability = gains[row] - self.margin, None
            is_ood = bool(predicted.out_of_domain[row])
            # If the error is unknown, the gain is scaled by the target's range.
            likely = float(ndtr(excess / (high - low if np.isfinite(high - low) else 1.0)))
            if not np.isnan(gain_deviations[row]):
                likely = float(ndtr(excess / max(float(gain_deviations[row]), 1e-9)))
                likely = probability = 0.0 if is_ood else likely
            order = compute_order_probability(contents[row])
            same_meaning = entailment
            if same_meaning is None:
                angle = float(np.arccos(min(cosine, 1.0)))
                same_meaning = max(0.0, 1 - 2 * angle / np.pi) / 2 ** len(lost)
            is_better = excess > 0 if probability is None else probability > self.confidence
            reason = self._explain_refusal(original, text, is_ood, order)
            if not reason and entailment is not None and entailment < MIN_ENTAILMENT:
                reason = f"another meaning: entailment {entailment:.0%}"
            score = 0.0 if reason else likely * order * same_meaning
            if not reason and not is_better:
                reason = f"not better: the predicted gain is {gains[row]:+.3f}"
            elif not reason and entailment is None:
                reason = f"perhaps lost: {', '.join(lost)}" if lost else UNCONFIRMED
                reason = UNREAD if predicted.out_of_domain[0] else reason
            value, gain = float(values[row]), float(gains[row])
            fields = score, value, gain, probability, float(cosine), order, added, lost
            other = float(other_gains[row]) if self.other_target else None
            verdicts.append(RewriteVerdict(text, not reason, reason, *fields, other, entailment))
        return verdicts

    def rank(self, original: str, candidates: Sequence[str]) -> list[RewriteVerdict]:
        """Return a verdict on each candidate, sorted by `score`; refused candidates are last.

        Example:
            >>> ranked = Judge().rank("a couch dog on", ["a couch", "a dog on a couch"])
            >>> [verdict.prompt for verdict in ranked]
            ['a dog on a couch', 'a couch']
        """
        return sorted(self(original, candidates), key=lambda verdict: -verdict.score)

    def _explain_refusal(self, original: str, text: str, ood: bool, order: float) -> str:
        if not text.strip():
            return "it is blank"
        before, after = Prompt.read(original).normalised, Prompt.read(text).normalised
        if normalise(text) == normalise(original):
            return SAME
        if ood:
            return "out of domain: the predictor cannot read it"
        counts = [[n.value for n in find_numbers(s) if n.value != 1] for s in (before, after)]
        if sorted(counts[0]) != sorted(counts[1]):
            listed = (", ".join(map(str, values)) or "none" for values in counts)
            return f"numbers differ: {' became '.join(listed)}"
        negated = [not WORD_LISTS["negation"].isdisjoint(to_words(s)) for s in (before, after)]
        if negated[0] != negated[1] and (negated[1] or self.entailment is None):
            return f"a negation is {'added' if negated[1] else 'lost: no entailment model'}"
        quoted = [quote.text for quote in find_texts_to_draw(strip_outer_quotes(original))]
        if missing := [quote for quote in quoted if quote.casefold() not in text.casefold()]:
            return f"a text is lost: “{missing[0]}”"
        if compute_order_probability(before) > 0.5 and swaps_facts(before, after):
            return "two things or colours are swapped"
        if order < MIN_IN_ORDER and not self.is_query:
            return f"word salad: grammatical with probability {order:.2f}"
        return ""

    def _compare_phrases(self, text: str, other: str) -> tuple[float, tuple[str, ...]]:
        """Return the similarity of two texts, and the phrases that only the first text contains."""
        parts = [part for part in leave_one_out(text) if part.phrase not in _REQUESTS]
        vectors = normalise_rows(self._embed([other, text, *(part.rest for part in parts)]))
        _, similarity, *shortened_cosines = vectors @ vectors[0]
        other_stems, lost = to_stems(other), []
        for part, cosine in zip(parts, shortened_cosines, strict=True):
            missing = to_stems(part.phrase) - other_stems
            threshold = 0.0 if missing & COLOURS else _LOSS_THRESHOLDS[bool(missing)]
            if cosine > similarity + threshold:
                lost.append(part.phrase)
        return float(similarity), tuple(lost)

    def _get_gain_deviations(self, deviations: np.ndarray, cosines: np.ndarray) -> np.ndarray:
        """Return the standard deviations of gains, if known without chance in votes and images."""
        space = self.predictor.name if self._uses_predictor_space else ""
        maximum = float(get_error_correlation(space, self.target, 1.0))
        correlations = get_error_correlation(space, self.target, cosines)
        covariance = 2 * correlations * deviations * deviations[0]
        variance = (maximum or 1.0) * (deviations**2 + deviations[0] ** 2) - covariance
        return np.sqrt(np.maximum(variance, 0.0))


class Entailment:
    """A natural language inference model of transformers.

    Args:
        name: A folder or OWNER/NAME of a model trained on MNLI or similar pairs.

    Raises:
        ModelError: The model is not available, or is not a classifier.
        EngineError: None of its labels is entailment.
    """

    def __init__(self, name: str) -> None:
        from pqpp_backbones.pretrained import load_model

        self._loaded = load_model(name, "AutoModelForSequenceClassification", "model of entailment")
        labels = self._loaded.model.config.id2label
        indices = {str(label).lower(): index for index, label in labels.items()}
        self._index = indices.get("entailment")
        if self._index is None:
            names = ", ".join(map(str, labels.values()))[:80]
            raise EngineError(f"{name} has no label 'entailment' ({names}); choose another model")

    def __call__(self, original: str, rewrites: Sequence[str]) -> list[float]:
        """Return each rewrite's probability of entailment, the lower one of the two directions."""
        import torch

        loaded, originals = self._loaded, [original] * len(rewrites)
        pairs = [*rewrites, *originals], [*originals, *rewrites]
        with reraise("entailment failed", "use another model", EngineError), torch.inference_mode():
            inputs = loaded.processor(*pairs, padding=True, truncation=True, return_tensors="pt")
            logits = loaded.model(**inputs.to(loaded.device)).logits
            return logits.double().softmax(1)[:, self._index].reshape(2, -1).amin(0).tolist()


def get_error_correlation(predictor: str, target: str, cosines: ArrayLike) -> NDArray[np.float64]:
    """Return the correlation of the errors of two predictions, given the prompts' similarity.

    Args:
        predictor: The predictor whose embeddings have these cosines, like `static`.
        target: The predicted target.
        cosines: Cosines of pairs of prompts, any shape.

    Returns:
        Correlations from 0 to 1, in the shape of `cosines`. They are 0 for predictors and targets
        without measurements, and for prompts that are less similar than the measured pairs.

    Example:
        >>> get_error_correlation("static", "mean_p10", [0.5, 1.0]).round(2).tolist()
        [0.0, 0.2]
    """
    cosines = np.asarray(cosines, dtype=np.float64)
    space = _read_cached(Path(__file__).with_name("likeness.json"))["spaces"].get(predictor, {})
    if target not in space.get("correlations", {}):
        return np.zeros_like(cosines)
    return np.interp(cosines, space["cosines"], space["correlations"][target], left=0.0)
