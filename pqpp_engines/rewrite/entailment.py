"""Whether a rewrite says what its original says, by a model of textual entailment."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pqpp_engines.errors import RewriteError


class Entailment:
    """A model of transformers that tells entailment from contradiction.

    Args:
        name: Its folder or OWNER/NAME, trained on pairs as those of MNLI.

    Raises:
        CheckpointError: It cannot be had, or is no classifier.
        RewriteError: None of its labels is entailment.
    """

    def __init__(self, name: str) -> None:
        from pqpp_backbones.pretrained import load_model

        self._loaded = load_model(name, "AutoModelForSequenceClassification", "model of entailment")
        labels = self._loaded.model.config.id2label
        known = {str(label).lower(): place for place, label in labels.items()}
        self._place = known.get("entailment")
        if self._place is None:
            named = ", ".join(map(str, labels.values()))[:80]
            raise RewriteError(f"{name} has no label entailment but {named}; name one that has")

    def __call__(self, original: str, rewrites: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability that each rewrite entails the original, (rewrites,)."""
        import torch

        pairs = list(rewrites), [original] * len(rewrites)
        inputs = self._loaded.processor(*pairs, padding=True, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            logits = self._loaded.model(**inputs.to(self._loaded.device)).logits
        probabilities: NDArray[np.float64] = (
            logits.double().softmax(1)[:, self._place].cpu().numpy()
        )
        return probabilities
