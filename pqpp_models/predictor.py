"""The interface of all predictors."""

import contextlib
import logging
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.checkpoint import Tensors, write_checkpoint
from pqpp_backbones.errors import ModelError
from pqpp_files.errors import describe
from pqpp_files.paths import expand
from pqpp_files.threads import limit_blas_threads
from pqpp_models.errors import PredictorError
from pqpp_models.prompts import COLUMN, parse_prompts, read_prompts
from pqpp_models.record.record import (
    FittedRows,
    TrainingRecord,
    fill_means,
    find_averaged_targets,
    find_mean_targets,
)
from pqpp_models.registration import NUMPY
from pqpp_models.targets import TARGETS, resolve_targets

if TYPE_CHECKING:
    from pqpp_models.explain.explanation import Explanation

_log = logging.getLogger(__name__)

_FEW_ROWS = 32
SCORE = "score"
"""The column of a predictor that has no targets of its own."""
REFERENCE = "reference"
"""The key of the verdict's reference in a predictor's `details`."""


class Estimates(NamedTuple):
    """Predictions with their uncertainty.

    Attributes:
        values: shape ``(rows, targets)``.
        deviations: standard deviations of the same shape; about 90% of true values are within
            1.645 of them. NaN for `alignment`, whose errors cannot be predicted.
        distance: distance of each prompt to the training prompts, from 0 to slightly above 1.
        out_of_domain: whether each prompt is not plain English. Its prediction is then the average
            of all prompts, or one standard deviation lower if the words are garbled.
        ignored: a description of the ignored parts of each prompt; empty if there are none.
    """

    values: NDArray[np.float64]
    deviations: NDArray[np.float64]
    distance: NDArray[np.float64]
    out_of_domain: NDArray[np.bool_]
    ignored: list[str]

    @classmethod
    def from_values(cls, values: NDArray[np.float64]) -> Self:
        """Return predictions with unknown uncertainty."""
        count = len(values)
        unknown, in_domain = np.full(count, np.nan), np.zeros(count, dtype=bool)
        return cls(values, np.full(values.shape, np.nan), unknown, in_domain, [""] * count)


class Predictor(ABC):
    """A predictor of how well prompts will do.

    A subclass defines ``name``, ``targets``, ``inputs``, ``supervised``, ``_score`` and
    ``from_checkpoint``; also ``_get_state`` if it has weights, ``from_shipped`` if it is shipped,
    and ``embed`` if it has an embedding space. If it knows its uncertainty, it sets
    ``has_uncertainty`` and defines ``_estimate`` instead of ``_score``. Its card is
    ``hub_cards/predictors/<name>.md``.

    Attributes:
        name: the registered name, also the ``predictor_type`` of its checkpoints.
        targets: the targets that it predicts, in the order of its columns.
        inputs: the input: ``"text"``, ``"text+images"``, ``"text+scores"`` or, if it looks up rows
            in a file of predictions, ``"table"``.
        supervised: whether it was fitted to targets; only then are predictions in their units.
        is_scalar: whether it predicts one score for all targets.
        has_image_means: whether a prediction is the mean over a prompt's images.
        has_uncertainty: whether ``predict_with_uncertainty`` is available.
        made_by: the command that creates such a predictor, if none is shipped.
        higher_is: whether higher predictions mean ``"easier"`` or ``"harder"`` prompts, or
            ``"unknown"``.
        details: further entries of its configuration, such as the training data.
        record: the rows that it was fitted to, and the targets that are means of others.
        shipped_as: its name if it is shipped.
    """

    name: str
    details: Mapping[str, Any] = MappingProxyType({})
    record: TrainingRecord = TrainingRecord()
    shipped_as: str | None = None
    targets: tuple[str, ...] = TARGETS
    inputs: Literal["text", "text+images", "text+scores", "table"] = "text"
    supervised: ClassVar[bool] = False
    is_scalar: ClassVar[bool] = False
    has_image_means: ClassVar[bool] = False
    has_uncertainty: ClassVar[bool] = False
    made_by: ClassVar[str] = ""
    higher_is: str = "easier"
    read_rows: Callable[[Any], list[Any]] = staticmethod(read_prompts)
    """Converts rows to the input of ``_score``: prompts, unless a subclass needs other columns."""
    domain_note: str = "not read as plain English"
    """A description of ``out_of_domain``."""
    required_columns: tuple[tuple[str, ...], ...] = ((COLUMN,),)
    """A row needs at least one column of each group."""
    chunk_size: int = 4096
    """The number of rows that are scored at a time, which limits memory.

    With a torch network it may change the last digits of a prediction (3e-7), since rounding
    depends on a batch's shape.
    """

    def __repr__(self) -> str:
        targets = SCORE if self.is_scalar else ", ".join(self.targets)
        return f"<{type(self).__name__} {self.title}: {targets}; {self.size}>"

    @property
    def direction(self) -> str:
        """A description of what a higher prediction means.

        >>> Predictor.from_pretrained("n_words").direction
        'a higher score means a harder prompt'
        """
        if self.higher_is not in ("easier", "harder"):
            return "whether higher is easier or harder is not known"
        article = "an" if self.higher_is == "easier" else "a"
        return f"a higher score means {article} {self.higher_is} prompt"

    @property
    def size(self) -> str:
        """A description of its size.

        >>> Predictor.from_pretrained("n_words").size
        'no weights'
        """
        sizes = [array.nbytes for array in self._get_state()[1].values()]
        return f"{sum(sizes) / 1e6:.1f} MB of weights" if sizes else "no weights"

    @property
    def title(self) -> str:
        """The name in messages: the shipped name, or else the type.

        >>> Predictor.from_pretrained("static-train").title
        'static-train'
        """
        return self.shipped_as or self.name

    @property
    def trained_on(self) -> str | None:
        """The PQPP configuration that it was trained on; None if unknown.

        >>> Predictor.from_pretrained("static").trained_on
        'pqpp-v1.0'
        """
        from pqpp_datasets.benchmarks import BENCHMARKS

        recipe = self.details.get("recipe") or {}
        names = [*self._parse_data()[:-1], recipe.get("dataset"), recipe.get("subset")]
        return next((name for name in reversed(names) if name in BENCHMARKS), None)

    @property
    def fitted_on(self) -> str | None:
        """The split that it was trained on, like `train`; None if unknown.

        >>> Predictor.from_pretrained("static-train").fitted_on
        'train'
        """
        split = self._parse_data()[-1] or (self.details.get("recipe") or {}).get("train_split")
        return re.sub(r" *\+ *", " + ", split) if isinstance(split, str) else None

    def _parse_data(self) -> list[str]:
        """Return the names of the training data and, last, of the split, empty if unknown."""
        match = re.fullmatch(r"(.+), split (\S+( *\+ *\S+)*)", str(self.details.get("data")))
        return [*match[1].split(", "), match[2]] if match else [""]

    @property
    def unlearned_targets(self) -> tuple[str, ...]:
        """The targets for which it is not clearly better than chance.

        In cross-validation, the 95% interval of their Spearman correlation reaches 0 or below; if
        there is no interval, the correlation is 0 or less.

        >>> Predictor.from_pretrained("static").unlearned_targets
        ()
        """
        try:
            figures = self.details["training"]["cross_validation"]
            ranks = {n: figures[n].get("ci_low", figures[n].get("spearman")) for n in figures}
            return tuple(name for name in self.targets if ranks.get(name, 1) <= 0)
        except (AttributeError, LookupError, TypeError):  # no such figures, or of another form
            return ()

    def _get_state(self) -> tuple[dict[str, Any], Tensors]:
        """Return the configuration entries and the weights to save."""
        return {}, {}

    def _get_extra_files(self) -> dict[str, bytes]:
        """Return further files to save, such as those of a tokenizer."""
        return {}

    def _render_card(self) -> str:
        from pqpp_hub.card import render_card

        return render_card(f"predictors/{self.name}", targets=self.targets, **self.details)

    def render_card(self) -> str:
        """Render the model card in Markdown.

        Raises:
            ModelError: The entries of the configuration do not fit the template.

        >>> Predictor.from_pretrained("n_words").render_card().startswith("---")
        True
        """
        try:
            return self._render_card()
        except Exception as error:  # `details` may come from a foreign configuration
            raise ModelError(
                f"the card of {self.title} cannot be written ({describe(error)}); correct "
                "`details` in its configuration"
            ) from error

    @classmethod
    @abstractmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the predictor of a checkpoint, given its parsed files."""

    def save_pretrained(self, folder: str | os.PathLike[str], overwrite: bool = True) -> Path:
        """Save the configuration, the weights and the model card.

        Args:
            folder: a new or empty folder, or one with a predictor of the same type.
            overwrite: whether to replace that predictor.

        Raises:
            ModelError: the folder contains other files, or another type of predictor.
        """
        state, arrays = self._get_state()
        facts, files = self.record.to_files()
        identity = {"predictor_type": self.name, "targets": list(self.targets)}
        config = {"model_type": NUMPY, **state, **facts, **identity}
        files |= self._get_extra_files()
        return write_checkpoint(folder, config, arrays, self.render_card(), files, overwrite)

    def require_columns(self, columns: Iterable[str], where: str) -> None:
        """Check that a dataset has the columns that this predictor needs.

        Raises:
            PredictorError: a column is missing.

        >>> Predictor.from_pretrained("nqc").require_columns(["prompt"], "mine")
        Traceback (most recent call last):
            ...
        pqpp_models.errors.PredictorError: nqc needs a column 'scores', but mine has none; ...
        """
        available = set(columns)
        available |= {"<model>_images" for name in available if name.endswith("_images")}
        for group in self.required_columns:
            if available.isdisjoint(group):
                remedy = "add it, with a list in each row, to a JSON Lines or Parquet file"
                if self.inputs == "text+images":
                    remedy = "set `image_dir` to the folder of the images"
                raise PredictorError(
                    f"{self.title} needs a column {' or '.join(map(repr, group))}, but {where} has "
                    f"none; {remedy}"
                )

    def list_columns(self, targets: str | Iterable[str] | None) -> tuple[str, ...]:
        """Return the names of the columns of ``predict``.

        >>> Predictor.from_pretrained("n_words").list_columns(None)
        ('score',)
        """
        names = targets if targets is None or isinstance(targets, str) else tuple(targets)
        if not self.is_scalar:
            return resolve_targets(names, self.targets)
        return (SCORE,) if names in (None, SCORE, (SCORE,)) else resolve_targets(names)

    def predict(
        self, rows: Any, targets: str | Iterable[str] | None = None, progress: bool = False
    ) -> NDArray[np.float64]:
        """Predict the performance of prompts, including those that `pqpp.predict` leaves empty.

        Args:
            rows: strings, mappings with ``"prompt"``, or a table or dataset with such a column.
                A blank prompt has the prediction NaN.
            targets: names, or one string with commas; default: all targets of the predictor, or
                its one column ``score`` if it is not fitted to targets.
            progress: show a progress bar on standard error.

        Returns:
            A float64 array of shape ``(rows, targets)``, ``(0, targets)`` for no rows.

        Raises:
            PredictorError: the prompts cannot be read, or the predictor has no such target.

        >>> Predictor.from_pretrained("n_words").predict([], "mean_hbpp").shape
        (0, 1)
        """
        return self.estimate(self.read_rows(rows), targets, progress, uncertainty=False).values

    def predict_records(
        self, rows: Any, targets: str | Iterable[str] | None = None
    ) -> list[dict[str, float]]:
        """Predict by target; NaN for a prompt that is blank or ``out_of_domain``.

        The arguments are those of ``predict``.

        >>> Predictor.from_pretrained("static").predict_records(["ein Hund"], "mean_rr")
        [{'mean_rr': nan}]
        """
        names = self.list_columns(targets)
        answer = self.estimate(self.read_rows(rows), names, uncertainty=False)
        answer.values[answer.out_of_domain] = np.nan
        return [dict(zip(names, row, strict=True)) for row in answer.values.tolist()]

    def predict_with_uncertainty(
        self, rows: Any, targets: str | Iterable[str] | None = None, progress: bool = False
    ) -> Estimates:
        """Predict the performance of prompts, with standard deviations.

        The arguments are those of ``predict``.

        Raises:
            PredictorError: the predictor does not estimate its uncertainty.

        >>> predictor = Predictor.from_pretrained("static")
        >>> result = predictor.predict_with_uncertainty(["A man riding a wave, 4k", "qwx zzyv 77"])
        >>> result.deviations.shape, result.out_of_domain.tolist(), result.ignored[0]
        ((2, 10), [False, True], 'quality: 4k')
        """
        self.require_uncertainty()
        return self.estimate(self.read_rows(rows), targets, progress)

    def estimate(
        self,
        rows: Sequence[Any],
        targets: str | Iterable[str] | None = None,
        progress: bool = False,
        uncertainty: bool = True,
    ) -> Estimates:
        """Predict the performance of rows from ``read_rows``.

        Standard deviations and distances are NaN if the predictor has none, or without
        ``uncertainty``, which is faster.

        >>> predictor = Predictor.from_pretrained("n_words")
        >>> predictor.estimate(predictor.read_rows(["a red cat"])).values.tolist()
        [[3.0]]
        """
        chosen = self.list_columns(targets)
        result = Estimates.from_values(np.full((len(rows), len(chosen)), np.nan))
        means = (target for target in chosen if target in self.record.means)
        parts = (part for mean in means for part in find_averaged_targets(mean, self.targets))
        needed = tuple(dict.fromkeys((*chosen, *parts)))  # also the parts of means
        if unlearned := [target for target in chosen if target in self.unlearned_targets]:
            _log.warning(
                "the predictor was not clearly better than chance on %s in cross-validation; do "
                "not rely on its values",
                ", ".join(unlearned),
            )
        # BLAS uses one thread for the small products of a few rows, so these need no limit.
        with limit_blas_threads() if len(rows) > _FEW_ROWS else contextlib.nullcontext():
            for indices, batch in self._iterate_batches(rows, progress):
                estimates = self._estimate(batch, needed, uncertainty)
                values = fill_means(estimates.values, needed, self.record.means)
                result.values[indices] = values[:, : len(chosen)]
                # A mean keeps its own deviation, since the errors of its parts are correlated.
                result.deviations[indices] = estimates.deviations[:, : len(chosen)]
                result.distance[indices] = estimates.distance
                result.out_of_domain[indices] = estimates.out_of_domain
                for index, text in zip(indices, estimates.ignored, strict=True):
                    result.ignored[index] = text
        return result

    def require_uncertainty(self) -> None:
        """Check that the predictor estimates its uncertainty.

        Raises:
            PredictorError: it does not.
        """
        if not self.has_uncertainty:
            raise PredictorError(f"{self.title} does not estimate uncertainty; use static or ridge")

    def record_fit(
        self, rows: Any, values: Any = None, targets: Sequence[str] | None = None
    ) -> None:
        """Record the rows that the predictor was fitted to, as hashes.

        Args:
            rows: as for ``predict``; a column ``prompt_id`` is read too.
            values: true values, NaN if missing; rows without values are skipped. A target that is
                the mean of others in all rows will be predicted as their mean.
            targets: the columns of ``values``; default: those of the predictor.

        >>> from pqpp_models.text.static import StaticPredictor
        >>> predictor = StaticPredictor.from_shipped("static")
        >>> true = [[0.5, 0.7, 0.6]]
        >>> predictor.record_fit(["a cat"], true, ["glide_hbpp", "sdxl_hbpp", "mean_hbpp"])
        >>> glide, sdxl, mean = predictor.predict(["two dogs"], "glide_hbpp,sdxl_hbpp,mean_hbpp")[0]
        >>> bool(mean == (glide + sdxl) / 2)
        True
        """
        scored, means = None, self.record.means
        if values is not None:
            names = tuple(targets or self.targets)
            array = np.asarray(values, dtype=np.float64).reshape(-1, len(names))
            scored = np.asarray(~np.isnan(array).all(axis=1))
            means = () if self.has_image_means else find_mean_targets(names, array)
        fitted, recorded = FittedRows.from_rows(rows, scored), self.record.rows
        fitted = fitted if recorded is None else recorded | fitted
        self.record = replace(self.record, rows=fitted, means=means)

    def _iterate_batches(
        self, rows: Sequence[Any], progress: bool
    ) -> Iterator[tuple[NDArray[np.int64], list[Any]]]:
        """Yield the indices and rows of batches, without blank prompts."""
        texts = (str(row.get(COLUMN, COLUMN) if isinstance(row, Mapping) else row) for row in rows)
        indices = np.array([at for at, text in enumerate(texts) if text.strip()], dtype=np.int64)
        starts: Iterable[int] = range(0, len(indices), self.chunk_size)
        if progress:
            from tqdm.auto import tqdm

            starts = tqdm(starts, desc=self.title, unit=f" x {self.chunk_size} rows", leave=None)
        for start in starts:
            batch = indices[start : start + self.chunk_size]
            yield batch, [rows[at] for at in batch]

    def explain(
        self, prompts: Any, target: str | None = None, progress: bool = False
    ) -> "list[Explanation]":
        """Explain a prediction by how much each phrase of the prompt raises or lowers it.

        Changes do not add up. There are none for ignored text, and for prompts that cannot be read
        or have one word.

        Args:
            prompts: as for ``predict``.
            target: the name of a target; default: the first one.
            progress: show a progress bar on standard error.

        Raises:
            PredictorError: the predictor needs more than texts, or the target does not exist.

        >>> Predictor.from_pretrained("n_words").explain(["a red cat --ar 1:1"])[0].changes
        (Change(phrase='red', start=2, end=5, change=1.0),)
        """
        from pqpp_backbones.prompt.leaving_out import leave_one_out
        from pqpp_models.explain.explanation import Change, Explanation

        if self.inputs != "text":
            raise PredictorError(
                f"{self.title} needs {self.inputs}, but only text can be explained; use a text "
                "predictor such as static"
            )
        chosen = self.list_columns(target)
        if target is not None and len(chosen) > 1:
            raise PredictorError(f"`target` must be one target; got {len(chosen)}")
        parsed = parse_prompts(prompts)
        contents = [prompt.content for prompt in parsed]
        variant_lists = [leave_one_out(prompt.content, prompt.text) for prompt in parsed]
        rests = (one.rest for variants in variant_lists for one in variants)
        texts = list(dict.fromkeys((*(prompt.text for prompt in parsed), *contents, *rests)))
        rows = self.read_rows([*parsed, *texts])[len(parsed) :]
        estimates = self.estimate(rows, chosen[:1], progress)
        # All texts that cannot be read have the same prediction, so nothing explains it.
        predictions = np.where(estimates.out_of_domain, np.nan, estimates.values[:, 0]).tolist()
        values = dict(zip(texts, predictions, strict=True))
        explanations = []
        for prompt, content, variants in zip(parsed, contents, variant_lists, strict=True):
            changes = (
                Change(one.phrase, one.start, one.end, values[content] - values[one.rest])
                for one in variants
            )
            known = tuple(change for change in changes if not np.isnan(change.change))
            explanations.append(Explanation(prompt.text, chosen[0], values[prompt.text], known))
        return explanations

    def embed(self, rows: Any) -> NDArray[np.float32]:
        """Return embeddings of prompts, shape ``(rows, size)``.

        Raises:
            PredictorError: the predictor does not embed prompts.

        >>> Predictor.from_pretrained("static").embed(["a red cat", "a dog"]).shape[0]
        2
        """
        raise PredictorError(f"{self.title} does not embed prompts; use static or ridge")

    @property
    def can_embed(self) -> bool:
        """Whether ``embed`` is available."""
        return type(self).embed is not Predictor.embed

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        """Return an array of shape ``(rows, targets)`` for 1 to ``chunk_size`` rows, none blank."""
        raise NotImplementedError

    def _estimate(self, rows: list[Any], targets: tuple[str, ...], uncertainty: bool) -> Estimates:
        """Return the estimates of rows, as for ``_score``; NaN for uncertainty not requested."""
        return Estimates.from_values(self._score(rows, targets))

    def run_smoke_test(self) -> None:  # noqa: B027
        """Predict once, to find errors that loading does not reveal."""

    @classmethod
    def from_shipped(cls, name: str) -> Self:
        """Load a shipped predictor.

        Raises:
            PredictorError: no predictor of this name is shipped.
        """
        remedy = f"create one with {cls.made_by}, or " if cls.made_by else ""
        raise PredictorError(
            f"no {name} predictor is shipped; {remedy}use a folder (./{name}) or OWNER/REPOSITORY"
        )

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | os.PathLike[str],
        revision: str | None = None,
        cache_dir: str | None = None,
        token: str | bool | None = None,
    ) -> Self:
        """Load a predictor that is shipped, in a folder or on the Hub.

        A shipped name has priority over a folder; write ``./static`` for the folder.

        Args:
            name_or_path: a name of ``list_predictors()``, a folder written by ``save_pretrained``,
                or ``OWNER/REPOSITORY``.
            revision: the branch, tag or commit of a repository.
            cache_dir: the folder for downloads.
            token: the access token for the Hub.

        Raises:
            PredictorError: the name is unknown.
            ModelError: the predictor cannot be loaded, or is of another class.

        >>> Predictor.from_pretrained("mean_word_length").predict(["a red"], "mean_rr").tolist()
        [[2.0]]
        """
        name = os.fspath(name_or_path)
        from pqpp_models import registry  # imports this module

        if isinstance(name_or_path, str) and name in registry.PREDICTORS:
            predictor = registry.get_predictor_class(name).from_shipped(name)
            predictor.shipped_as = where = name
        else:
            folder = expand(name)
            # An empty name would be the current folder.
            if not name or not folder.is_dir():
                folder = registry.pull_predictor_folder(name, folder, revision, cache_dir, token)
            predictor, where = registry.load_predictor_folder(folder), str(folder)
        if not isinstance(predictor, cls):
            raise ModelError(
                f"{where} is a {type(predictor).__name__}, not a {cls.__name__}; load it with "
                "Predictor.from_pretrained"
            )
        return predictor
