"""Training the static predictor, step by step: teachers, what they label, students, calibration."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from pqpp_files.full_disk import require_room
from pqpp_models.alignment.leave_one_out import study_row
from pqpp_models.alignment.linear import leave_each_out, tuned_states
from pqpp_models.alignment.recipe import StaticRecipe
from pqpp_models.alignment.sources import ANCHOR, read_sources, shares
from pqpp_models.alignment.teacher import (
    TARGET,
    gaussian,
    relative_ranks,
    tune_on_sources,
    tune_on_targets,
)
from pqpp_models.bench.calibrated import evaluate_calibrated
from pqpp_models.bench.generalisation import ScoredPrompts
from pqpp_models.encoder.normaliser import normalise
from pqpp_models.encoder.pretrained import check_layers, load_encoder, word_pieces_of
from pqpp_models.text.calibration import distance_to_nearest
from pqpp_models.text.collection.collection import Collection
from pqpp_models.text.conformal import (
    calibrate_across_sources,
    calibrate_targets,
    join_calibrations,
)
from pqpp_models.text.known_words import KnownWords
from pqpp_models.text.static.distillation import (
    DistilSettings,
    StaticModule,
    distil,
    first_points,
    first_vectors,
)
from pqpp_models.text.static.network import SCALE
from pqpp_models.text.static.predictor import StaticPredictor
from pqpp_models.text.static.word_pieces import WordPieces
from pqpp_models.text.text_ensemble.predictor import tuned_logits
from pqpp_models.text.training.collection_model import (
    Fitted,
    fit_collection_model,
)
from pqpp_models.text.training.texts import (
    cached_layer_means,
    made_up_prompts,
    read_captions,
    read_parti,
    spaced,
)
from pqpp_models.text.words import WordTables
from pqpp_models.training.number_format import number_format
from pqpp_models.training.options import RecipeError

MAX_PIECES = 96
MOST_REFERENCES = 6000


@dataclass
class Texts:
    """What is read, normalised.

    Attributes:
        train: the training prompts, the collection's labelled part.
        captions: further captions of the collection.
        sources: the studies of `alignment`.
        others: prompts without any score, which only widen what the student reads.
    """

    train: list[str]
    captions: list[str]
    sources: dict[str, ScoredPrompts]
    others: list[str]

    @cached_property
    def judged(self) -> list[str]:
        """Return the prompts of the studies."""
        return [normalise(one) for source in self.sources.values() for one in source.prompts]

    @cached_property
    def all(self) -> list[str]:
        """Return all texts in one list; the collection comes first."""
        return [*self.train, *self.captions, *self.judged, *self.others]


@dataclass
class Teachers:
    """What labels the texts for one seed.

    Attributes:
        fitted: the teacher of the targets.
        tuned: the encoder, tuned on the targets.
        goals: what the first says of each text, shape ``(texts, targets and one more)``.
    """

    fitted: Fitted
    tuned: Any
    goals: np.ndarray


class Training:
    """One training of the predictor: what is read, and each step.

    Args:
        recipe: what is asked for.
    """

    def __init__(self, recipe: StaticRecipe) -> None:
        self.recipe = recipe
        self.train, self.validation = (
            recipe.read(split) for split in (recipe.train_split, recipe.validation_split)
        )
        self.held_out = recipe.held_out(StaticPredictor.name, self.train, self.validation)
        if recipe.spread_seeds and self.held_out.fitted:
            raise RecipeError(
                f"`spread_seeds` is {recipe.spread_seeds}, but {recipe.train_split} holds what "
                "they would be scored on; leave them out, or train on another split"
            )
        known = [*self.train.prompts, *self.validation.prompts]
        assert recipe.captions is not None
        captions = [normalise(one) for one in read_captions(recipe.captions, known)]
        self.sources = read_sources(recipe.sources_dir)
        others = [normalise(one) for one in read_parti(recipe.parti)] if recipe.parti else []
        self.encoder, self.tokenizer = load_encoder(recipe.model)
        check_layers(self.encoder, recipe.layers)
        pieces = word_pieces_of(self.encoder, self.tokenizer)
        require_room(recipe.output_dir, len(pieces) * recipe.student.piece_size)
        self.tokens = WordPieces(pieces, MAX_PIECES)
        names = sorted(piece for piece in pieces if piece.isalpha() and len(piece) > 3)
        made = made_up_prompts(captions, names, recipe.made_up, recipe.seed)
        others += [normalise(one) for one in made]
        self.texts = Texts(self.train.prompts, captions, self.sources, others)
        self.size = len(self.train) + len(captions)  # of the collection, which comes first
        self._teachers: dict[int, Teachers] = {}  # of one seed at a time
        self._students: dict[int, StaticModule] = {}
        self._places: np.ndarray | None = None

    def __str__(self) -> str:
        """Return how much was read."""
        texts = self.texts
        return (
            f"{len(texts.train)} training prompts, {len(texts.captions)} further captions, "
            f"{len(texts.judged)} prompts of {len(self.sources)} studies, "
            f"{len(texts.others)} others"
        )

    @cached_property
    def encoded(self) -> dict[int, np.ndarray]:
        """The encoder's states of all texts, by layer."""
        recipe = self.recipe
        return cached_layer_means(
            *(self.encoder, self.tokenizer, self.texts.all, recipe.layers, recipe.cache),
            recipe.mixed_precision,
        )

    def teachers(self, seed: int) -> Teachers:
        """Return the teachers of a seed; neither has seen a study of `alignment`."""
        if seed in self._teachers:
            return self._teachers[seed]
        recipe, texts, n = self.recipe, self.texts, len(self.train)
        # Evenly spaced captions: all of them say little more, and cost as much more time.
        members = np.r_[np.arange(n), spaced(n, self.size, recipe.collection_captions)]
        known = {layer: array[members] for layer, array in self.encoded.items()}
        collection = Collection.build(known, n, WordTables.build(texts.all[: self.size]))
        training = {layer: array[:n] for layer, array in self.encoded.items()}
        goals = recipe.goals(self.train)
        fitted = fit_collection_model(
            collection, texts.train, training, goals, recipe.teacher, seed
        )
        share = recipe.student.true_share
        honest = (1 - share) * fitted.left_out + share * fitted.goals
        rest = {layer: array[n:] for layer, array in self.encoded.items()}
        labels = np.concatenate([honest, fitted.model.predict(texts.all[n:], rest)])
        tuned = tune_on_targets(
            *(recipe.model, self.tokenizer, texts.train, self.train.targets, recipe.targets),
            *(recipe.tuned_on_targets, seed),
        )
        self._teachers = {seed: Teachers(fitted, tuned, labels)}
        return self._teachers[seed]

    def alignment(self, seed: int, sources: dict[str, ScoredPrompts]) -> np.ndarray:
        """Return what the teacher of `alignment` says of each text, NaN where it was not asked.

        The prompts that it learned from have half of what people said of them.
        """
        texts, tokenizer = self.texts, self.tokenizer
        tuned = self.taught = tune_on_sources(
            self.teachers(seed).tuned, tokenizer, sources, self.recipe.tuned_on_sources, seed
        )
        asked = np.r_[
            spaced(0, self.size, self.recipe.labelled_captions),
            np.arange(self.size, len(texts.all)),
        ]
        found = np.full(len(texts.all), np.nan)
        rows = [texts.all[i] for i in asked]
        with number_format(self.recipe.mixed_precision):
            found[asked] = gaussian(expit(tuned_logits(tuned, tokenizer, rows)[:, 0]))
        places = {text: self.size + at for at, text in enumerate(texts.judged)}
        share = self.recipe.student.true_share
        for source in sources.values():
            own = [places[normalise(one)] for one in source.prompts]
            told = gaussian(relative_ranks(source.scores))
            found[own] = share * told + (1 - share) * found[own]
        return found

    def student(self, seed: int) -> StaticModule:
        """Train the network on what the teacher of the targets says of all unjudged texts."""
        if seed not in self._students:
            judged = set(self.texts.judged)
            kept = np.array([at for at, text in enumerate(self.texts.all) if text not in judged])
            goals = self.teachers(seed).goals[kept]
            unknown = np.full((len(goals), 1), np.nan)
            self._students = {
                seed: self._distil(kept, np.hstack([unknown, goals]), self.recipe.student, seed)
            }
        return self._students[seed]

    def student_of_alignment(
        self, seed: int, alignment: np.ndarray, held: set[str]
    ) -> StaticModule:
        """Train it further on what the teacher of `alignment` says, without texts held out."""
        settings = self.recipe.student
        settings = replace(
            settings,
            epochs=settings.alignment_epochs,
            learning_rate=settings.alignment_learning_rate,
        )
        known = ~np.isnan(alignment)
        known[: len(self.train)] = True  # so that the targets are not forgotten
        kept = np.array([at for at in np.flatnonzero(known) if self.texts.all[at] not in held])
        goals = np.column_stack([alignment, self.teachers(seed).goals])[kept]
        return self._distil(kept, goals, settings, seed, self.student(seed))

    def _distil(
        self,
        kept: np.ndarray,
        goals: np.ndarray,
        settings: DistilSettings,
        seed: int,
        begin: StaticModule | None = None,
    ) -> StaticModule:
        size = self.recipe.student.point_size
        numbers = [self.tokens.encode(self.texts.all[i]) for i in kept]
        embeddings = self.encoder.get_input_embeddings().weight.detach().numpy()
        pieces = first_vectors(embeddings, self.recipe.student.piece_size)
        return distil(numbers, goals, self._points(size)[kept], pieces, settings, seed, begin)

    def _points(self, size: int) -> np.ndarray:
        """Return where the texts' points are to be; one space for all builds."""
        if self._places is None:
            sentence = self.encoded[max(self.recipe.layers)]
            self._places = first_points(sentence / np.linalg.norm(sentence, axis=1)[:, None], size)
        return self._places

    def build(self, seed: int, without: list[str]) -> StaticPredictor:
        """Train a predictor that has not read some studies."""
        sources = read_sources(self.recipe.sources_dir, without)
        held = {normalise(one) for name in without for one in self.sources[name].prompts}
        alignment = self.alignment(seed, sources)
        student = self.student_of_alignment(seed, alignment, held)
        network = student.to_static(1 + len(self.recipe.targets))
        predictor = self.assemble(seed, network, sources)
        predictor.details |= self.describe(seed, list(sources))
        return predictor

    def left_out(self, seed: int, sources: dict[str, ScoredPrompts]) -> dict[str, np.ndarray]:
        """Return what a linear model of the tuned encoder's states says of studies by the others.

        It stands in for the teacher, which would have to be tuned once a study.
        """
        states = {
            name: tuned_states(self.teachers(seed).tuned, self.tokenizer, source.prompts)
            for name, source in sources.items()
        }
        return leave_each_out(states, {n: one.scores for n, one in sources.items()})

    def assemble(
        self, seed: int, network: Any, sources: dict[str, ScoredPrompts]
    ) -> StaticPredictor:
        """Put network, references and calibration together."""
        fitted, prompts = self.teachers(seed).fitted, self.texts.train
        judged = [normalise(one) for source in sources.values() for one in source.prompts]
        points = network([self.tokens.encode(text) for text in prompts])[1]
        some = spaced(0, len(points), MOST_REFERENCES)
        references = np.round(points[some] * SCALE).astype(np.int8)
        distance = distance_to_nearest(points, references.astype(np.float32).T / SCALE, own=True)
        tables = fitted.model.collection.tables
        left_out = fitted.left_out[:, : len(self.recipe.targets)]
        calibration = join_calibrations(
            self.calibrate_alignment(seed, network, sources),
            calibrate_targets(left_out, self.train.targets, prompts, distance),
        )
        targets = (TARGET, *self.recipe.targets)
        known = KnownWords.fit([*self.texts.all[: self.size], *judged], self.tokens.vocabulary)
        predictor = StaticPredictor(
            *(self.tokens, network, references, tables, None, calibration, targets),
            known_words=known,
        )
        self.recipe.record(predictor, self.train)
        for source in sources.values():
            predictor.was_fitted_to(source.prompts)
        return predictor

    def calibrate_alignment(
        self, seed: int, network: Any, sources: dict[str, ScoredPrompts]
    ) -> dict[str, np.ndarray]:
        """Fit units and deviations of `alignment` to predictions of each study by the others."""
        left_out = self.left_out(seed, sources)
        prompts = [one for source in sources.values() for one in source.prompts]
        own = network([self.tokens.encode(normalise(one)) for one in prompts])[0][:, 0]
        # Without GenAI-Bench nothing tells the level, and the middle of a study stands for it.
        anchor = ANCHOR if ANCHOR in sources else next(iter(sources))
        level = {name: np.full(len(one.prompts), np.nan) for name, one in sources.items()}
        if anchor == ANCHOR:
            level[anchor] = shares(self.recipe.sources_dir, sources[anchor].prompts)
        else:
            level[anchor] = relative_ranks(sources[anchor].scores)
        return calibrate_across_sources(
            np.concatenate([left_out[name] for name in sources]),
            np.concatenate([source.scores for source in sources.values()]),
            [name for name, source in sources.items() for _ in source.prompts],
            prompts,
            np.concatenate(list(level.values())),
            own.astype(np.float64),
        )

    def describe(self, seed: int, sources: list[str]) -> dict[str, Any]:
        """Return what the configuration and the card tell of the training."""
        recipe = self.recipe
        told = recipe.describe(self.train, len(self.texts.captions))
        told["alignment_sources"] = sources
        told["training"] |= {
            "seed": seed,
            "judged_prompts": {name: len(self.sources[name].prompts) for name in sources},
            "unscored_prompts": len(self.texts.others),
            **{
                name: asdict(getattr(recipe, name))
                for name in ("teacher", "tuned_on_targets", "tuned_on_sources", "student")
            },
        }
        return told

    def evaluate(self, predictor: StaticPredictor, without: list[str]) -> dict[str, Any]:
        """Score a predictor on the validation split, and on the studies that it has not read."""
        validation, targets = self.validation, self.recipe.targets
        assert predictor.record.rows is not None
        learned = predictor.record.rows.among(validation.identified)  # a study may share rows
        scores = replace(self.held_out, fitted=int(learned.sum())).scores(
            lambda: evaluate_calibrated(predictor, validation.prompts, validation.targets, targets)
        )
        studies = {name: study_row(self.sources[name], predictor, {}) for name in without}
        return {**scores, **({"studies": studies} if studies else {})}
