"""A predictor with the correlation-based CNN of the PQPP paper."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqpp_backbones.errors import ModelError
from pqpp_backbones.pretrained import LoadedModel, load_model
from pqpp_files.names import is_repository_id
from pqpp_models.errors import PredictorError
from pqpp_models.images.pairs import IMAGE_COLUMNS, get_task, read_mappings, read_pairs
from pqpp_models.targets import get_limits, unscale_targets
from pqpp_models.torch_predictor import TorchPredictor

# The retrieval models of the columns `<model>_embeddings`, in channel order.
CHANNELS = ("clip", "blip2")
ENCODER = "encoder_revision"
"""The key in a predictor's `details` of the revision of the recipe's model, if it embeds images."""
_COLUMNS = (
    "'similarities' (n x n, or one n x n matrix per channel), 'embeddings' (n x size), or "
    "'clip_embeddings' and 'blip2_embeddings'"
)


class CorrelationCnnPredictor(TorchPredictor):
    """A predictor with a CNN on the similarities among the images of a prompt.

    PQPP, sections 5.2 and 11. The columns are those of `stack_matrices`; prompts are not needed. If
    it was trained on images, it also reads those of `pqpp_models.images.pairs.read_pairs`.
    """

    name = "correlation_cnn"
    model_type = "correlation_cnn"
    made_by = "pqpp train correlation_cnn"
    chunk_size = 1024

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        columns = ["similarities", "embeddings", *(f"{model}_embeddings" for model in CHANNELS)]
        self.inputs = "text+scores"
        if ENCODER in self.details:
            self.inputs = "text+images"
            columns += IMAGE_COLUMNS[1]
        self.required_columns = (tuple(columns),)

    @cached_property
    def encoder(self) -> LoadedModel:
        """The model that embeds images, which is that of the training.

        Raises:
            ModelError: The model is not available, or has changed.
        """
        name, revision = str(self.details["recipe"]["model"]), str(self.details[ENCODER])
        is_folder = revision.startswith("sha256:")
        is_here = is_folder and Path(name).name == name and Path(name).is_dir()
        if not (is_here or is_repository_id(name)):  # someone else's predictor names no path
            problem = f"{self.title} embeds images with a model in a folder {name!r:.80}"
            raise ModelError(f"{problem}; copy that folder to the current one, or link it there")
        encoder = load_encoder(name, None if is_folder else revision, str(self.model.device))
        if encoder.identity.revision != revision:
            problem = f"{name} has changed since {self.title} was trained"
            raise ModelError(f"{problem}; use the same model, or train again")
        return encoder

    def run_smoke_test(self) -> None:
        """Predict once, to find errors that loading does not reveal."""
        config = self.model.config
        matrix = np.zeros((1, config.channels, *[config.matrix_size] * 2), np.float32)
        score_matrices(self.model, matrix, 1)
        if ENCODER in self.details:
            _ = self.details["recipe"]["model"]

    read_rows = staticmethod(read_mappings)

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        config = self.model.config
        if ENCODER in self.details and any(map(has_images, rows)):
            rows = compute_image_similarities(rows, self.encoder, config)
        matrices = stack_matrices(rows, config.channels, config.matrix_size)
        scores = score_matrices(self.model, matrices, self.batch_size)
        columns = [self.targets.index(target) for target in targets]
        values = unscale_targets(scores, self.targets, self.limits)[:, columns]
        return np.clip(values, *get_limits(targets, self.limits))


def load_encoder(name: str, revision: str | None = None, device: str | None = None) -> LoadedModel:
    """Load a model that embeds images.

    Raises:
        ModelError: The model is not available, or has no image features.
    """
    encoder = load_model(name, "AutoModel", "encoder of images", device, revision=revision)
    if not hasattr(encoder.model, "get_image_features"):
        raise ModelError(f"{name} has no image features; use a model such as CLIP")
    return encoder


def has_images(columns: Iterable[str]) -> bool:
    """Return whether there is a column of images.

    Example:
        >>> has_images(["prompt", "flux_images"])
        True
    """
    return any(name.endswith("images") for name in columns)


def compute_image_similarities(
    rows: Sequence[Any], encoder: LoadedModel, config: Any
) -> list[dict[str, NDArray[np.float32]]]:
    """Return similarities of the rows' images, by retrieval model or for all generated images.

    Args:
        config: The configuration or recipe: its `channels`, `matrix_size` and `targets` are used.
    """
    from pqpp_backbones.images.embedding import embed_images

    is_retrieval = config.channels > 1 or {*map(get_task, config.targets)} == {"retrieval"}
    pairs = read_pairs(rows, "retrieval" if is_retrieval else "generation", config.matrix_size)
    batch_size = encoder.max_batch or 256
    embeddings = embed_images(encoder.model, encoder.processor, pairs.images, batch_size)
    models = pairs.model if is_retrieval else np.zeros_like(pairs.row)
    similarities = []
    for index in range(len(rows)):
        in_row = pairs.row == index
        groups = [in_row & (models == model) for model in np.unique(models[in_row])]
        matrices = [compute_cosine_similarities(embeddings[group]) for group in groups]
        resized = [pad_or_crop(matrix, config.matrix_size) for matrix in matrices]
        similarities.append({"similarities": np.stack(resized)})
    return similarities


def score_matrices(
    model: Any, matrices: NDArray[np.float32], batch_size: int
) -> NDArray[np.float64]:
    """Return the scores of matrices, `(rows, targets)`."""
    import torch

    from pqpp_backbones.images.embedding import run_batches

    scores = run_batches(
        matrices, lambda part: model(torch.from_numpy(part).to(model.device)).scores, batch_size
    )
    return scores.astype(np.float64)


def compute_cosine_similarities(embeddings: ArrayLike) -> NDArray[np.float32]:
    """Return the matrix of cosine similarities of embeddings; those of a zero vector are 0.

    Example:
        >>> compute_cosine_similarities([[3.0, 0.0], [0.0, 2.0], [1.0, 0.0]])[0].tolist()
        [1.0, 0.0, 1.0]
    """
    vectors = np.asarray(embeddings, dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0, lengths, 1)
    return (unit @ unit.T).astype(np.float32)


def pad_or_crop(matrices: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Crop square matrices to a size, or pad them with zeros.

    Example:
        >>> pad_or_crop(np.ones((2, 2), dtype=np.float32), 3)[2].tolist()
        [0.0, 0.0, 0.0]
    """
    resized = np.zeros((*matrices.shape[:-2], size, size), dtype=np.float32)
    resized[..., : matrices.shape[-1], : matrices.shape[-1]] = matrices[..., :size, :size]
    return resized


def stack_matrices(rows: Sequence[Any], channels: int, size: int) -> NDArray[np.float32]:
    """Return the similarity matrices of rows, shape `(rows, channels, size, size)`.

    Args:
        rows: Mappings with `similarities`, `embeddings` or `<model>_embeddings` of the images.
        channels: The number of matrices per row.
        size: The number of images per matrix.

    Raises:
        PredictorError: A row has none of these, the wrong number of matrices, or one that is not
            square or not finite.

    Example:
        >>> stack_matrices([{"similarities": [[1.0, 0.5], [0.5, 1.0]]}], channels=1, size=2).shape
        (1, 1, 2, 2)
    """
    stacked = np.empty((len(rows), channels, size, size), dtype=np.float32)
    for index, row in enumerate(rows):
        matrices, where = _read_matrices(row, index), f"the row at index {index}"
        if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or not matrices.size:
            raise PredictorError(f"{where} has an array of shape {matrices.shape}; use {_COLUMNS}")
        if len(matrices) != channels:
            rule = f"must have one matrix per channel ({channels})"
            raise PredictorError(f"{where} {rule}; got {len(matrices)}")
        if not np.isfinite(matrices).all():
            raise PredictorError(f"{where} contains NaN or infinity; remove the row")
        stacked[index] = pad_or_crop(matrices, size)
    return stacked


def _read_matrices(row: Any, index: int) -> NDArray[np.float32]:
    try:
        if row.get("similarities") is not None:
            similarities = np.asarray(row["similarities"], dtype=np.float32)
            return similarities[None] if similarities.ndim == 2 else similarities
        if row.get("embeddings") is not None:
            return compute_cosine_similarities(row["embeddings"])[None]
        arrays = [row.get(f"{model}_embeddings") for model in CHANNELS]
        matrices = [compute_cosine_similarities(array) for array in arrays if array is not None]
        if matrices:
            return np.stack([pad_or_crop(m, max(map(len, matrices))) for m in matrices])
    except (TypeError, ValueError):
        raise PredictorError(
            f"the row at index {index} has a ragged or non-numeric array; use {_COLUMNS}"
        ) from None
    raise PredictorError(f"the row at index {index} has no similarities; add {_COLUMNS}")
