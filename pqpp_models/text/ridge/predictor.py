"""The ridge predictor, which `pqpp fit` fits to a user's scores.

Its features are the network's layers, the difficulty of the words, hashed words, TF-IDF, and
Gaussian kernels of embeddings. The fit chooses one of these blocks, or all, for each target.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.checkpoint import Tensors
from pqpp_files.escape import escape_controls
from pqpp_hub.card import render_card
from pqpp_models import registry
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Estimates
from pqpp_models.targets import get_limits
from pqpp_models.text.arrays import Floats, Singles, add_prefix, select_prefixed
from pqpp_models.text.calibration import CalibratedPredictor, read_calibration
from pqpp_models.text.ridge.blocks import KernelHead, SeenPieces, TfidfHead, compute_prompt_features
from pqpp_models.text.saved_encoder import SentenceEncoder
from pqpp_models.torch_predictor import read_processor_files

_MAX_DEVIATIONS = 4.0


@dataclass(frozen=True)
class Standardisation:
    """A standardisation of feature columns, with weights for the blocks.

    Attributes:
        mean: mean of each column, except hashed ones.
        deviation: standard deviation of each column; positive.
        weight: factor of each column, such that all blocks have the same total weight.
    """

    mean: Singles
    deviation: Singles
    weight: Singles

    @classmethod
    def fit(cls, blocks: Sequence[Singles]) -> Self:
        """Fit a standardisation to blocks of features."""
        columns = np.hstack(blocks).astype(np.float64)
        deviation = columns.std(axis=0)
        varies = deviation > 1e-6
        ends = np.cumsum([block.shape[1] for block in blocks])[:-1]
        *layers, difficulty = np.split(np.where(varies, deviation, 0.0), ends)
        spreads = (*layers, np.sign(difficulty))
        # The squared lengths of a block's rows become one on average.
        weight = [spread / max(np.sqrt((spread**2).sum()), 1e-12) for spread in spreads]
        arrays = (columns.mean(axis=0), np.where(varies, deviation, 1.0), np.concatenate(weight))
        return cls(*(array.astype(np.float32) for array in arrays))

    def __call__(self, columns: Singles) -> Floats:
        """Standardise and weight columns, clipped at four standard deviations from the mean."""
        scaled = (columns.astype(np.float64) - self.mean) / self.deviation
        return np.clip(scaled, -_MAX_DEVIATIONS, _MAX_DEVIATIONS) * self.weight


ENCODER = "static"
"""The predictor whose network computes the features of the head."""

_SENTENCE, _ANY_LANGUAGE = "sentence_encoder", "reads_any_language"
_BASE = "base"


@dataclass(eq=False, repr=False)
class RidgePredictor(CalibratedPredictor):
    """A ridge regression for any targets; `pqpp_models.text.ridge.fitting.fit` fits it.

    Predictions are in each target's own units and within its limits.

    Attributes:
        encoder: the `static` predictor whose network is used.
        standardisation: standardisation of all columns but the hashed words.
        weights: shape ``(columns, targets)``, the hashed words' columns first.
        intercept: one per target.
        references: embeddings of the training prompts as int8, for distances.
        limits: the lowest and highest value of each target, in order.
        pieces: the TF-IDF head.
        neighbours: the kernel heads on embeddings, by `embedding` and `sentence`.
        base: the target of the encoder that scores start from, scaled by ``base_slope``.
        reads_any_language: whether most training prompts are not plain English; then a prompt is
            readable if it has a piece in common with the training prompts.
    """

    encoder: Any
    standardisation: Standardisation
    weights: Singles
    intercept: Singles
    references: NDArray[np.int8]
    limits: Mapping[str, tuple[float, float]]
    pieces: TfidfHead
    neighbours: Mapping[str, KernelHead] = field(default_factory=dict, kw_only=True)
    sentence_encoder: SentenceEncoder | None = field(default=None, kw_only=True)
    base: str | None = field(default=None, kw_only=True)
    base_slope: float = field(default=0.0, kw_only=True)
    reads_any_language: bool = field(default=False, kw_only=True)

    name = "ridge"
    made_by = "pqpp fit DATASET --targets NAME --output DIR"
    chunk_size = 1024

    def __post_init__(self) -> None:
        """Set the detector of unread prompts and the tables."""
        self.targets = tuple(self.limits)
        self.tables, self.known_words = self.encoder.tables, self.encoder.known_words
        if self.reads_any_language:
            detector: Any = SeenPieces(self.pieces.rarity)
            self.known_words = detector
            self.domain_note = "no word in common with the prompts it was fitted to"

    def embed(self, rows: Any) -> Singles:
        """Return unit vectors of prompts, by which distances are measured."""
        return self.encoder.embed([prompt.normalised for prompt in self.read_rows(rows)])

    def compute_raw_scores(self, prompts: Sequence[str]) -> tuple[Floats, Singles]:
        """Return the standardised scores of all targets, and the prompts' unit vectors."""
        features = compute_prompt_features(self.encoder, self.sentence_encoder, prompts, self.base)
        rows = np.hstack([features.words, self.standardisation(np.hstack(features.blocks))])
        scores: Floats = np.asarray(rows @ self.weights + self.intercept, dtype=np.float64)
        scores = scores + self.pieces.score(features)
        for name, head in self.neighbours.items():
            scores = scores + head.score(getattr(features, name))
        if features.base is not None:
            scores = scores + self.base_slope * features.base[:, None]
        # Further digits depend on BLAS's order of summation, and so on the other rows.
        return scores.astype(np.float32).astype(np.float64), features.points

    def _estimate(self, rows: list[Any], targets: tuple[str, ...], uncertainty: bool) -> Estimates:
        estimates = super()._estimate(rows, targets, uncertainty)
        low, high = get_limits(targets, self.limits)
        # Values within limits cannot vary more, but the fit may predict it for distant prompts.
        return estimates._replace(deviations=np.minimum(estimates.deviations, (high - low) / 2))

    def _get_state(self) -> tuple[dict[str, Any], Tensors]:
        encoder, tensors = self.encoder._get_state()
        names = {"predictor_type": self.encoder.name, "targets": list(self.encoder.targets)}
        config = {**self.details, "limits": [list(pair) for pair in self.limits.values()]}
        config["encoder"] = {**names, **encoder}
        parts: Tensors = add_prefix("pieces.", self.pieces._asdict())
        if self.base is not None:
            config[_BASE] = {"target": self.base, "slope": self.base_slope}
        for name, head in self.neighbours.items():
            parts |= add_prefix(f"{name}.", head._asdict())
        if self.reads_any_language:
            config[_ANY_LANGUAGE] = True
        if self.sentence_encoder is not None:
            config[_SENTENCE], arrays = self.sentence_encoder.get_state()
            parts |= add_prefix(f"{_SENTENCE}.", arrays)
        return config, {
            **parts,
            "weights": self.weights,
            "intercept": self.intercept,
            "references": self.references,
            **add_prefix("standard.", vars(self.standardisation)),
            **add_prefix("calibration.", self.calibration),
            **add_prefix("encoder.", tensors),
        }

    def _get_extra_files(self) -> dict[str, bytes]:
        encoder = self.sentence_encoder
        return {} if encoder is None else read_processor_files(encoder.tokenizer)

    def _render_card(self) -> str:
        limits = [(name, *self.limits[name]) for name in self.targets]
        facts = {name: self.details.get(name) for name in ("data", "training", "dataset")}
        facts["encoder"] = None if self.sentence_encoder is None else self.sentence_encoder.name
        facts |= {_ANY_LANGUAGE: self.reads_any_language, _BASE: self.base}
        return render_card("predictors/ridge", limits=limits, **facts)

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the predictor of a checkpoint, given its parsed files."""
        encoder_class = registry.get_predictor_class(ENCODER)
        arrays = select_prefixed("encoder.", tensors)
        encoder = encoder_class.from_checkpoint(folder, config["encoder"], arrays)
        pairs = [(float(low), float(high)) for low, high in config["limits"]]
        if not all(low < high for low, high in pairs) or (tensors["standard.deviation"] <= 0).any():
            raise ValueError("its limits or deviations are invalid")
        base = config.get(_BASE) or {}
        sentence = None
        if _SENTENCE in config:
            arrays = select_prefixed(f"{_SENTENCE}.", tensors)
            sentence = SentenceEncoder.from_checkpoint(folder, config[_SENTENCE], arrays)
        return cls(
            encoder,
            Standardisation(**select_prefixed("standard.", tensors)),
            tensors["weights"],
            tensors["intercept"],
            tensors["references"],
            dict(zip(check_target_names(config["targets"]), pairs, strict=True)),
            TfidfHead(**select_prefixed("pieces.", tensors)),
            neighbours={
                name: KernelHead(**select_prefixed(f"{name}.", tensors))
                for name in ("embedding", "sentence")
                if f"{name}.width" in tensors
            },
            sentence_encoder=sentence,
            base=base.get("target"),
            base_slope=float(base.get("slope", 0.0)),
            reads_any_language=config.get(_ANY_LANGUAGE) is True,
            **read_calibration(
                config, tensors, "limits", "encoder", _SENTENCE, _ANY_LANGUAGE, _BASE
            ),
        )


def check_target_names(targets: Sequence[Any]) -> tuple[str, ...]:
    """Check that target names are distinct, without commas, control characters or outer spaces.

    Raises:
        PredictorError: a name is not allowed.

    >>> check_target_names(["rating", "flux_hbpp"])
    ('rating', 'flux_hbpp')
    """
    for name in targets:
        plain = escape_controls(name.strip()) if isinstance(name, str) else ""
        if not plain or name != plain or "," in name:
            rule = "non-empty text without commas, control characters or outer spaces"
            raise PredictorError(f"a target must be {rule}; got {name!r:.60}")
    if not targets or len(set(targets)) < len(targets):
        raise PredictorError(f"`targets` must be one or more different names; got {list(targets)}")
    return tuple(targets)
