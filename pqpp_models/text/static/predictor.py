"""The static predictor: word vectors and two small convolutions, on numpy alone.

It is distilled from a transformer and a collection of captions (see `training/train_static.py`),
and it says how sure it is and how far a prompt is from its training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_models import registry
from pqpp_models.checkpoint import CONFIG, Tensors, check_tensors
from pqpp_models.encoder.normaliser import CURRENT, NORMALISERS, read_normaliser
from pqpp_models.encoder.normaliser import KEY as NORMALISER
from pqpp_models.errors import CheckpointError, UnknownTargetError
from pqpp_models.targets import TARGETS, resolve_targets
from pqpp_models.text import instructions
from pqpp_models.text.calibration import (
    CalibratedPredictor,
    calibration_tensors,
    distance_to_nearest,
    read_calibration,
)
from pqpp_models.text.instructions import InstructionModel, renamed_details
from pqpp_models.text.known_words import KnownWords
from pqpp_models.text.static.network import LINEAR, SCALE, StaticNetwork
from pqpp_models.text.static.word_pieces import WordPieces, pack_vocabulary, unpack_vocabulary
from pqpp_models.text.words import WordTables

SHIPPED = registry.SHIPPED / "static"


_OWN = ("predictor_type", "format_version", "targets", "weights_sha256", NORMALISER)


class StaticPredictor(CalibratedPredictor):
    """Predicts performance from a prompt's word pieces by a small convolutional network.

    Predictions are in each target's own units and clipped to its range. A prediction does not
    depend on the prompts beside it.

    Args:
        tokens: splits prompts into word pieces.
        network: the network.
        references: int8 points of the training prompts, for the distance.
        tables, instruction_model, calibration, known_words: as in `CalibratedPredictor`.
        targets: the targets, in the order of the network's first scores.
        details: as in `CalibratedPredictor`.
        normaliser: the name of what brings prompts into one spelling.

    >>> predictor = StaticPredictor.from_shipped("static")
    >>> predictor.predict(["a man riding a wave", "a red hat"], "mean_p10").shape
    (2, 1)
    """

    name = "static"
    supervised = True
    chunk_size = 1024

    def __init__(
        self,
        tokens: WordPieces,
        network: StaticNetwork,
        references: NDArray[np.int8],
        tables: WordTables,
        instruction_model: InstructionModel | None,
        calibration: Mapping[str, NDArray[np.float32]],
        targets: Sequence[str] = TARGETS,
        details: Mapping[str, Any] | None = None,
        known_words: KnownWords | None = None,
        normaliser: str = CURRENT,
    ) -> None:
        self.normaliser = normaliser
        self.known_words = known_words
        self.tokens, self.network, self.references = tokens, network, references
        self.tables, self.instruction_model = tables, instruction_model
        self.calibration = dict(calibration)
        self.targets = tuple(targets)
        self.details = dict(details or {})
        self._points = references.astype(np.float32).T / SCALE

    def embed(self, rows: Any) -> NDArray[np.float32]:
        """Return the points, of length one, in the space that distances are measured in.

        >>> StaticPredictor.from_shipped("static").embed(["A man riding a wave."]).shape
        (1, 64)
        """
        return self.network(self._encode(self._read_rows(rows)))[1]

    def represent(self, rows: Any) -> tuple[NDArray[np.float32], ...]:
        """Return what a head for other targets can be fitted to.

        Returns:
            As `embed`, the points; then the mean vectors of the word pieces, and the hidden layer.

        >>> points, vectors, hidden = StaticPredictor.from_shipped("static").represent(["A cat"])
        >>> points.shape, vectors.shape, hidden.shape
        ((1, 64), (1, 96), (1, 256))
        """
        return self.network.layers(self._encode(self._read_rows(rows)))[1:]

    def raw_scores(self, prompts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the standardised scores of all targets, and the distances."""
        scores, points = self.network(self._encode(prompts))
        return scores.astype(np.float64), distance_to_nearest(points, self._points)

    def _encode(self, prompts: Sequence[str]) -> list[list[int]]:
        normalise = NORMALISERS[self.normaliser]
        return [self.tokens.encode(normalise(prompt)) for prompt in prompts]

    def _state(self) -> tuple[dict[str, Any], Tensors]:
        network = {
            f"network.{name}": value.astype(np.float16)
            for name, value in self.network.weights.items()
        }
        tensors: Tensors = {
            "vocabulary": pack_vocabulary(self.tokens.vocabulary),
            "pieces": self.network.pieces,
            "scales": self.network.scales.astype(np.float16),
            "references": self.references,
            "word_counts": self.tables.counts,
            "word_pairs": self.tables.pairs,
            **network,
            **(self.instruction_model.tensors() if self.instruction_model else {}),
            **self._calibration_tensors(),
        }
        config = {
            "max_pieces": self.tokens.max_pieces,
            "captions": self.tables.size,
            NORMALISER: self.normaliser,
        }
        return {**config, **self.details}, tensors

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
        targets, settings = _read_settings(folder, config)
        check_tensors(folder, tensors, _expected(folder, tensors, len(targets)))
        vocabulary = _read_vocabulary(folder, tensors)
        weights = {
            f"{layer}.{part}": tensors[f"network.{layer}.{part}"]
            for layer in LINEAR
            for part in ("weight", "bias")
        }
        known = {*_OWN, *settings}
        return cls(
            WordPieces(vocabulary, settings["max_pieces"]),
            StaticNetwork(tensors["pieces"], tensors["scales"], weights),
            tensors["references"],
            WordTables(tensors["word_counts"], tensors["word_pairs"], settings["captions"]),
            InstructionModel.from_tensors(tensors) if "gate.weight" in tensors else None,
            read_calibration(tensors),
            targets,
            renamed_details({key: value for key, value in config.items() if key not in known}),
            known_words=KnownWords.from_tensors(tensors),
            normaliser=read_normaliser(folder, config),
        )


def _read_settings(folder: Path, config: Mapping[str, Any]) -> tuple[tuple[str, ...], dict]:
    path, remedy = folder / CONFIG, "save or download the predictor again"
    names = config.get("targets")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CheckpointError(f"{path} has no list of targets; {remedy}")
    try:
        targets = resolve_targets(names)
    except UnknownTargetError as error:
        raise CheckpointError(f"{path}: {error}") from None
    settings = {key: config.get(key) for key in ("max_pieces", "captions")}
    for key, value in settings.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise CheckpointError(f"{path}: {key!r} is {value!r}, not a whole number; {remedy}")
    return targets, settings


def _read_vocabulary(folder: Path, tensors: Tensors) -> list[str]:
    try:
        vocabulary = unpack_vocabulary(tensors["vocabulary"])
    except UnicodeDecodeError:
        vocabulary = []
    if len(vocabulary) != len(tensors["pieces"]) or "[UNK]" not in vocabulary:
        raise CheckpointError(
            f"{folder / CONFIG}: the vocabulary does not fit the vectors of the word pieces; save "
            "or download the predictor again"
        )
    return vocabulary


def _expected(folder: Path, tensors: Tensors, targets: int) -> dict[str, tuple[str, tuple]]:
    """Return type and shape by name; free sizes are taken from the arrays themselves."""

    def size(name: str, axis: int = 0) -> int:
        array = tensors.get(name)
        return array.shape[axis] if array is not None and array.ndim > axis else 0

    width, filters = size("pieces", 1), size("network.first.bias")
    hidden, point = size("network.hidden.bias"), size("network.point.bias")
    outputs = max(size("network.scores.bias"), targets)
    shapes = {
        "first": (filters, 3 * width),
        "second": (filters, 3 * filters),
        "hidden": (hidden, 2 * filters + width + 1),
        "scores": (outputs, hidden),
        "point": (point, hidden),
    }
    network = {
        f"network.{layer}.{part}": ("float16", shape if part == "weight" else shape[:1])
        for layer, shape in shapes.items()
        for part in ("weight", "bias")
    }
    pieces = size("pieces")
    # Predictors of older releases have a model of instructions, later ones have none.
    old = instructions.TENSORS if set(instructions.TENSORS) & set(tensors) else {}
    return {
        "vocabulary": ("uint8", (size("vocabulary"),)),
        "pieces": ("int8", (pieces, width)),
        "scales": ("float16", (pieces,)),
        "references": ("int8", (size("references"), point)),
        "word_counts": ("uint8", (1 << 17,)),
        "word_pairs": ("uint8", (1 << 18,)),
        **network,
        **{name: ("float32", shape) for name, shape in old.items()},
        **calibration_tensors(tensors, targets),
    }
