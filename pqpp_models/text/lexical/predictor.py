"""The lexical predictor: n-grams of words and characters, rarity, ridge regression; numpy only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_models.checkpoint import CONFIG, Tensors, read_config, read_tensors
from pqpp_models.errors import CheckpointError, UnknownTargetError
from pqpp_models.predictor import Predictor
from pqpp_models.targets import TARGETS, resolve_targets, target_limits
from pqpp_models.text.lexical.features import dense_features, standardise, weighted_entries
from pqpp_models.text.lexical.index import NgramIndex
from pqpp_models.text.lexical.ngrams import KINDS
from pqpp_models.text.lexical.state import LinearWeights, pack, unpack

SHIPPED = Path(__file__).parents[2] / "weights" / "lexical"


class LexicalPredictor(Predictor):
    """Predicts performance from the words of a prompt by a linear model.

    Predictions are in each target's own units and clipped to its range. A prompt without words
    gets about the training mean. A prediction does not depend on the prompts beside it.

    Args:
        index: the n-grams that it knows.
        weights: the linear map.
        targets: the targets, in the order of the map's columns.
        details: what the configuration tells beside this: how it was trained and what it scores.

    >>> predictor = LexicalPredictor.from_shipped("lexical")
    >>> predictor.predict(["a man riding a wave", "a red hat"], "mean_p10").shape
    (2, 1)
    """

    name = "lexical"
    supervised = True
    chunk_size = 1024

    def __init__(
        self,
        index: NgramIndex,
        weights: LinearWeights,
        targets: Sequence[str] = TARGETS,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        self.index, self.weights = index, weights
        self.targets = tuple(targets)
        self.details = dict(details or {})

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        columns = [self.targets.index(target) for target in targets]
        weights, n = self.weights, len(rows)
        encoded = self.index.encode(rows)
        dense = dense_features(self.index, rows, encoded)
        dense = standardise(dense, weights.mean, weights.deviation)
        # einsum adds in one order whatever the number of rows, so that a prompt's prediction does
        # not depend on its neighbours; a matrix product does not promise that.
        scores = np.einsum("nd,dt->nt", dense, weights.dense[:, columns].astype(np.float64))
        scores += weights.intercept[columns]
        for kind in KINDS:
            at, ids, values = weighted_entries(self.index, kind, encoded.kinds[kind], n)
            for place, column in enumerate(columns):
                terms = values * weights.ngrams[kind][ids, column]
                scale = np.float64(weights.scales[kind][column])
                scores[:, place] += scale * np.bincount(at, weights=terms, minlength=n)
        return np.clip(scores, *target_limits(targets))

    @classmethod
    def fit(
        cls,
        prompts: Sequence[str],
        scores: ArrayLike,
        targets: Sequence[str] = TARGETS,
        **options: Any,
    ) -> LexicalPredictor:
        """Fit a predictor; see `pqpp_models.text.lexical.fitting.fit_lexical`, which needs scipy.

        >>> prompts = [f"{n} {x} cats" for x in ("red", "tan") for n in range(10)]
        >>> fitted = LexicalPredictor.fit(prompts, [[n / 20] for n in range(20)], ["mean_rr"])
        >>> fitted.targets
        ('mean_rr',)
        """
        from pqpp_models.text.lexical.fitting import fit_lexical

        return fit_lexical(prompts, scores, targets, **options)

    def _state(self) -> tuple[dict[str, Any], Tensors]:
        sizes, tensors = pack(self.index, self.weights)
        return {**self.details, "index": sizes}, tensors

    def _card(self) -> str:
        from pqpp_models.text.lexical.card import render_card

        return render_card(self.targets, self.details)

    @classmethod
    def from_shipped(cls, name: str) -> Self:
        """Return the predictor that comes with the package."""
        config = read_config(SHIPPED)
        return cls.from_checkpoint(SHIPPED, config, read_tensors(SHIPPED, config))

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the predictor of a folder whose files have been read.

        Raises:
            CheckpointError: the weights or the configuration do not fit each other.
        """
        try:
            targets = resolve_targets(config["targets"])
        except (KeyError, TypeError, UnknownTargetError) as error:
            raise CheckpointError(
                f"{folder / CONFIG} has no usable 'targets' ({error}); save or download the "
                "predictor again"
            ) from None
        index, weights = unpack(folder, config.get("index", {}), tensors, len(targets))
        own = {"predictor_type", "format_version", "targets", "index", "weights_sha256"}
        details = {key: value for key, value in config.items() if key not in own}
        return cls(index, weights, targets, details)
