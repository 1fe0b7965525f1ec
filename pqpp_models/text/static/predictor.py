"""The static predictor: word vectors and two small convolutions, on numpy alone.

It is distilled from a transformer and a collection of captions (see `pqpp train static`),
and it says how sure it is and how far a prompt is from its training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.checkpoint import CONFIG, Tensors
from pqpp_backbones.errors import CheckpointError
from pqpp_models import registry
from pqpp_models.targets import TARGETS
from pqpp_models.text.arrays import INT8_SCALE, Floats, Singles, prefixed, unprefixed
from pqpp_models.text.calibration import (
    CalibratedPredictor,
    read_calibrated,
    read_targets,
    texts_of,
)
from pqpp_models.text.reading.asking_less import asking_less, log_asked
from pqpp_models.text.reading.words import WordTables
from pqpp_models.text.static.network import UNKNOWN_PIECE, StaticNetwork, WordPieces

_REMEDY = "save or download the predictor again"
_FEWER, _COSTS = "no_easier_with_more", "length_costs"
_MOST_TOLD = 12


@dataclass(eq=False, repr=False)
class StaticPredictor(CalibratedPredictor):
    """Predicts performance from a prompt's word pieces by a small convolutional network.

    Predictions are in each target's own units and clipped to its range. A prediction does not
    depend on the prompts beside it.

    Attributes:
        tokens: splits prompts into word pieces.
        network: the network.
        references: int8 points of the training prompts, for the distance.
        tables: as in `CalibratedPredictor`.
        targets: the targets, in the order of the network's first scores.
        no_easier_with_more: targets that asking for more never raises: their scores are the lowest
            of those of the same prompt that asks for less (`asking_less`).
        length_costs: by target, what its score loses with `log_asked`.

    >>> predictor = StaticPredictor.from_shipped("static")
    >>> predictor.predict(["a man riding a wave", "a red hat"], "mean_p10").shape
    (2, 1)
    """

    tokens: WordPieces
    network: StaticNetwork
    references: NDArray[np.int8]
    tables: WordTables = field(kw_only=True)
    targets: tuple[str, ...] = TARGETS
    no_easier_with_more: tuple[str, ...] = field(default=(), kw_only=True)
    length_costs: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    name = "static"
    chunk_size = 1024

    @cached_property
    def reference_points(self) -> Singles:
        """The points of training prompts, of length one, one a column."""
        return self.references.astype(np.float32).T / INT8_SCALE

    def embed(self, rows: Any) -> Singles:
        """Return the points, of length one, in the space that distances are measured in.

        >>> StaticPredictor.from_shipped("static").embed(["A man riding a wave."]).shape
        (1, 64)
        """
        return self.network(self._encode(texts_of(self.read_rows(rows))))[1]

    def represent(self, rows: Any) -> tuple[Singles, ...]:
        """Return what a head for other targets can be fitted to.

        Returns:
            As `embed`, the points; then the mean vectors of the word pieces, and the hidden layer.

        >>> points, vectors, hidden = StaticPredictor.from_shipped("static").represent(["A cat"])
        >>> points.shape, vectors.shape, hidden.shape
        ((1, 64), (1, 96), (1, 256))
        """
        return self.network.layers(self._encode(texts_of(self.read_rows(rows))))[1:]

    def raw_scores(self, prompts: Sequence[str]) -> tuple[Floats, Singles]:
        """Return the standardised scores of all targets, and the points."""
        scores, points = self.network(self._encode(prompts))
        return self._lowest_asking_less(prompts, scores.astype(np.float64)), points

    def _lowest_asking_less(self, prompts: Sequence[str], scores: Floats) -> Floats:
        """Return scores of which those of the rule are the lowest of all that asks for less."""
        columns = [self.targets.index(name) for name in self.no_easier_with_more]
        costs = np.array([self.length_costs.get(name, 0.0) for name in self.no_easier_with_more])
        others: list[str] = []
        owners: list[int] = []
        for at, prompt in enumerate(prompts if columns else ()):
            texts = asking_less(prompt)
            asked = log_asked(prompt)
            if texts == [prompt] and not asked:
                continue
            is_itself = texts[-1] == prompt
            scores[at, columns] = scores[at, columns] - asked * costs if is_itself else np.inf
            others += texts[: len(texts) - is_itself]
            owners += [at] * (len(texts) - is_itself)
        if others:
            logs = np.array([log_asked(text) for text in others])
            lowered = self.network(self._encode(others))[0][:, columns] - np.outer(logs, costs)
            np.minimum.at(scores, np.ix_(owners, columns), lowered)
        return scores

    def _unread(self, text: str) -> str:
        beyond = self.tokens.beyond(text).split()
        more = " ..." if len(beyond) > _MOST_TOLD else ""
        reason = (
            f"beyond {self.tokens.max_pieces} word pieces: {' '.join(beyond[:_MOST_TOLD])}{more}"
        )
        return "; ".join(filter(None, (super()._unread(text), reason if beyond else "")))

    def _further_facts(self) -> dict[str, Any]:
        return {_FEWER: self.no_easier_with_more, _COSTS: self.length_costs}

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.tokens.encode(text) for text in texts]

    def _state(self) -> tuple[dict[str, Any], Tensors]:
        weights = {k: array.astype(np.float16) for k, array in self.network.weights.items()}
        tensors: Tensors = {
            "vocabulary": np.frombuffer("\n".join(self.tokens.vocabulary).encode(), np.uint8),
            "pieces": self.network.pieces,
            "scales": self.network.scales.astype(np.float16),
            "references": self.references,
            "word_counts": self.tables.counts,
            "word_pairs": self.tables.pairs,
            **prefixed("network.", weights),
            **self._calibration_tensors(),
        }
        numbers = {"max_pieces": self.tokens.max_pieces, "captions": self.tables.size}
        rules = {_FEWER: list(self.no_easier_with_more), _COSTS: dict(self.length_costs)}
        rules = {name: rule for name, rule in rules.items() if rule}
        return {**numbers, **rules, **self.details}, tensors

    @classmethod
    def from_shipped(cls, name: str) -> Self:
        """Return a predictor that the package ships: `static`, or its build `static-train`."""
        return registry.loaded_from(registry.SHIPPED / name)

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the predictor of a folder whose files have been read.

        Raises:
            CheckpointError: the configuration or the weights are not those of such a predictor.
        """
        targets = read_targets(folder, config)
        numbers = max_pieces, captions = config.get("max_pieces", 0), config.get("captions", 0)
        rule, costs = tuple(config.get(_FEWER, [])), dict(config.get(_COSTS, {}))
        if (
            not all(type(number) is int and number > 0 for number in numbers)
            or not {*rule, *costs} <= set(targets)
            or not all(type(cost) is float and 0 <= cost < 9 for cost in costs.values())
        ):
            raise CheckpointError(
                f"{folder / CONFIG} has no usable 'max_pieces', 'captions', {_FEWER!r} or "
                f"{_COSTS!r}; {_REMEDY}"
            )
        vocabulary = tensors["vocabulary"].tobytes().decode().split("\n")
        sizes = {len(vocabulary), len(tensors["pieces"]), len(tensors["scales"])}
        if len(sizes) > 1 or UNKNOWN_PIECE not in vocabulary:
            raise CheckpointError(
                f"{folder / CONFIG}: the vocabulary does not fit the vectors of the word pieces; "
                f"{_REMEDY}"
            )
        return cls(
            WordPieces(vocabulary, max_pieces),
            StaticNetwork(tensors["pieces"], tensors["scales"], unprefixed("network.", tensors)),
            tensors["references"],
            targets,
            no_easier_with_more=rule,
            length_costs=costs,
            tables=WordTables(tensors["word_counts"], tensors["word_pairs"], captions),
            **read_calibrated(config, tensors, "max_pieces", "captions", _FEWER, _COSTS),
        )
