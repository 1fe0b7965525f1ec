"""The interface of every predictor: rows with prompts in, predicted performance out."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_hub import is_repository_id
from pqpp_models import registry
from pqpp_models.checkpoint import CONFIG, Tensors, read_config, read_tensors, write_checkpoint
from pqpp_models.errors import CheckpointError, PredictorError
from pqpp_models.fetch import fetch_checkpoint
from pqpp_models.prompts import read_prompts
from pqpp_models.targets import TARGETS, resolve_targets


class Uncertain(NamedTuple):
    """Predictions with what is known of their errors.

    Attributes:
        values: shape ``(rows, targets)``.
        deviations: of the same shape; about 90 % of true values are within 1.645 of them.
        distance: one a row, from 0 (a training prompt) to 1 and a little more (nothing like one).
    """

    values: NDArray[np.float64]
    deviations: NDArray[np.float64]
    distance: NDArray[np.float64]


class Predictor(ABC):
    """Predicts how well prompts will do, for one or several targets.

    A subclass gives ``name``, ``targets``, ``inputs``, ``supervised`` and ``_score``; one that is
    saved or shipped also gives ``_state``, ``_card``, ``from_checkpoint`` and ``from_shipped``. One
    that knows how sure it is gives ``predict_with_uncertainty`` and ``is_far``; one that puts
    prompts into a space of its own gives ``embed``.

    Attributes:
        name: the name that it is registered under, also its checkpoints' ``predictor_type``.
        targets: the targets that it predicts, in the order of its columns.
        inputs: what a row must hold: ``"text"``, ``"text+images"`` or ``"text+scores"``.
        supervised: whether it was fitted to targets. If so, predictions are in the targets' own
            units and ranges; if not, a column is a raw value that may correlate with its target.
    """

    name: str
    targets: tuple[str, ...] = TARGETS
    inputs: ClassVar[str] = "text"
    supervised: ClassVar[bool] = False
    chunk_size: ClassVar[int] = 4096
    """Rows that are scored at a time: bounds the memory, never changes a result."""

    def predict(
        self, rows: Any, targets: str | Iterable[str] | None = None, progress: bool = False
    ) -> NDArray[np.float64]:
        """Predict the performance of some prompts.

        Args:
            rows: strings, mappings with ``"prompt"``, or a table or dataset with such a column.
                Blank prompts are allowed; each predictor says what it makes of them.
            targets: names, or one string with commas; all of the predictor's if left out.
            progress: show a progress bar on standard error.

        Returns:
            A float64 array of shape ``(rows, targets)``, ``(0, targets)`` for no rows.

        Raises:
            PredictorError: rows are not readable as prompts, or a target is not predicted here.

        >>> Predictor.from_pretrained("n_words").predict([], "mean_hbpp").shape
        (0, 1)
        """
        chosen = resolve_targets(targets, self.targets)
        read = self._read_rows(rows)
        scores = np.empty((len(read), len(chosen)), dtype=np.float64)
        starts: Iterable[int] = range(0, len(read), self.chunk_size)
        if progress:
            from tqdm.auto import tqdm

            starts = tqdm(starts, desc=self.name, unit=f" x {self.chunk_size} rows")
        for start in starts:
            stop = start + self.chunk_size
            scores[start:stop] = self._score(read[start:stop], chosen)
        return scores

    def predict_with_uncertainty(
        self, rows: Any, targets: str | Iterable[str] | None = None
    ) -> Uncertain:
        """Predict some prompts and say how sure that is and how far they are from the training.

        Args:
            rows: as in ``predict``.
            targets: as in ``predict``.

        Returns:
            Values, standard deviations and distances; ``is_far`` says which distances are large.

        Raises:
            PredictorError: this predictor does not know it; ``knows_uncertainty`` tells.

        >>> predictor = Predictor.from_pretrained("static")
        >>> found = predictor.predict_with_uncertainty(["A man riding a wave."], "mean_hbpp")
        >>> found.deviations.shape, predictor.is_far(found.distance).tolist()
        ((1, 1), [False])
        """
        raise PredictorError(
            f"{self.name} does not know how sure it is; use static, or a predictor whose "
            "knows_uncertainty is true"
        )

    @property
    def knows_uncertainty(self) -> bool:
        """Whether ``predict_with_uncertainty`` and ``is_far`` answer.

        >>> Predictor.from_pretrained("n_words").knows_uncertainty
        False
        """
        return type(self).predict_with_uncertainty is not Predictor.predict_with_uncertainty

    def is_far(self, distance: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which distances are so large that a prediction is not to be relied on.

        Args:
            distance: what ``predict_with_uncertainty`` returned.

        Raises:
            PredictorError: this predictor knows no distance.
        """
        raise PredictorError(f"{self.name} knows no distance; use static, or another that does")

    def embed(self, rows: Any) -> NDArray[np.float32]:
        """Return where prompts lie in the space that the predictor learned.

        Args:
            rows: as in ``predict``.

        Returns:
            An array of shape ``(rows, size)``.

        Raises:
            PredictorError: this predictor has no such space; ``has_space`` tells.

        >>> Predictor.from_pretrained("static").embed(["a red cat", "a dog"]).shape[0]
        2
        """
        raise PredictorError(
            f"{self.name} puts prompts into no space; use one whose has_space is true, like static"
        )

    @property
    def has_space(self) -> bool:
        """Whether ``embed`` answers.

        >>> Predictor.from_pretrained("n_words").has_space
        False
        """
        return type(self).embed is not Predictor.embed

    def _read_rows(self, rows: Any) -> list[Any]:
        """Return what ``_score`` takes: prompts, unless a subclass needs more of a row."""
        return read_prompts(rows)

    @abstractmethod
    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        """Return an array of shape ``(rows, targets)`` for at most ``chunk_size`` rows."""

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], Tensors]:
        """Return the configuration and the weights to save."""

    @abstractmethod
    def _card(self) -> str:
        """Return the model card's text, in Markdown."""

    def card(self) -> str:
        """Return the model card's text, in Markdown.

        >>> Predictor.from_pretrained("n_words").card().startswith("---")
        True
        """
        return self._card()

    @classmethod
    @abstractmethod
    def from_shipped(cls, name: str) -> Self:
        """Return the predictor that the package ships under a registered name."""

    @classmethod
    @abstractmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the predictor saved in a folder whose files have been read."""

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | os.PathLike[str],
        revision: str | None = None,
        cache_dir: str | None = None,
        token: str | bool | None = None,
    ) -> Self:
        """Load a predictor: a shipped one, one in a folder, or one on the Hub.

        A shipped name wins over a folder of the same name; write ``./lexical`` for the folder.

        Args:
            name_or_path: a name of ``list_predictors()``, a folder written by
                ``save_pretrained``, or ``OWNER/REPOSITORY``.
            revision: branch, tag or commit of the repository; for the Hub only.
            cache_dir: where downloads are kept; for the Hub only.
            token: access token; for the Hub only, never stored or shown.

        Returns:
            The predictor, ready to predict.

        Raises:
            UnknownPredictorError: the name is none of the three.
            CheckpointError: the folder or repository has no usable predictor, or one of another
                class than the one that this was called on.

        >>> Predictor.from_pretrained("mean_word_length").predict(["a red"], "mean_rr").tolist()
        [[2.0]]
        """
        name = os.fspath(name_or_path)
        if isinstance(name_or_path, str) and name in registry.PREDICTORS:
            return cls._checked(registry.predictor_class(name).from_shipped(name), name)
        folder = Path(name).expanduser()
        # An empty name would be the current folder.
        if not name or not folder.is_dir():
            folder = _folder_from_hub(name, folder, revision, cache_dir, token)
        config = read_config(folder)
        kind = config["predictor_type"]
        if kind not in registry.PREDICTORS:
            raise CheckpointError(
                f"{folder / CONFIG} is of type {kind!r}, which is not registered; known: "
                f"{', '.join(registry.list_predictors())}; register it or upgrade pqpp"
            )
        tensors = read_tensors(folder, config)
        loaded = registry.predictor_class(kind).from_checkpoint(folder, config, tensors)
        return cls._checked(loaded, str(folder))

    @classmethod
    def _checked(cls, predictor: Predictor, where: str) -> Self:
        if not isinstance(predictor, cls):
            raise CheckpointError(
                f"{where} is a {type(predictor).__name__}, not a {cls.__name__}; load it with "
                "Predictor.from_pretrained"
            )
        return predictor

    def save_pretrained(self, folder: str | os.PathLike[str]) -> Path:
        """Write the predictor to a folder: configuration, weights and model card.

        Args:
            folder: a new folder, an empty one, or one with an older checkpoint of the
                same type, which is replaced whole or not at all.

        Returns:
            The folder.

        Raises:
            CheckpointError: the folder holds other things than a checkpoint.
        """
        config, tensors = self._state()
        full = {"predictor_type": self.name, "targets": list(self.targets), **config}
        return write_checkpoint(folder, full, tensors, self._card())


def _folder_from_hub(
    name: str,
    folder: Path,
    revision: str | None,
    cache_dir: str | None,
    token: str | bool | None,
) -> Path:
    if folder.is_file():
        raise CheckpointError(f"{folder} is a file; give the folder that holds {CONFIG}")
    if is_repository_id(name):
        return fetch_checkpoint(name, revision, cache_dir, token)
    if "/" in name or os.sep in name:
        raise CheckpointError(f"there is no folder {folder}; check the path")
    raise registry.unknown_predictor(name)
