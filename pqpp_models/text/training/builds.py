"""Training the text predictors, step by step.

The text ensemble is put together of kernel ridge, networks and a fine-tuned encoder. The static
predictor has teachers, what they label, students, and a calibration.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from pqpp_backbones.encoder.normaliser import content
from pqpp_backbones.encoder.pretrained import allowed_length, word_pieces_of
from pqpp_backbones.training.number_format import number_format
from pqpp_datasets.target_columns import is_of_images
from pqpp_files.errors import PqppError
from pqpp_models.predictor import Predictor
from pqpp_models.scored_prompts import ScoredPrompts
from pqpp_models.text.arrays import INT8_SCALE, Floats, Singles
from pqpp_models.text.calibration import (
    Calibration,
    calibrate_across_sources,
    calibrate_targets,
    distance_to_nearest,
    join_calibrations,
)
from pqpp_models.text.collection.collection import Collection, Postings
from pqpp_models.text.collection.pairs import PiecePairs
from pqpp_models.text.reading.asking_less import log_asked
from pqpp_models.text.reading.known_words import KnownWords
from pqpp_models.text.reading.words import WordTables, difficulty_features, words_of
from pqpp_models.text.static import StaticNetwork, StaticPredictor, WordPieces
from pqpp_models.text.text_ensemble import TextEnsemblePredictor, tuned_logits
from pqpp_models.text.training.data import (
    TextData,
    fewer_words,
    interval_over_studies,
    made_up_prompts,
    read_parti,
    study_row,
)
from pqpp_models.text.training.pooling import Judged, Pool
from pqpp_models.text.training.recipe import EnsembleRecipe, StaticRecipe
from pqpp_models.text.training.studies import (
    ANCHOR,
    read_sources,
    shares,
    without_prompts_of,
)
from pqpp_models.text.training.teacher_student import (
    Fitted,
    StaticModule,
    add_to_first,
    deepen,
    distil,
    first_points,
    first_vectors,
    fit_collection_model,
    gaussian,
    relative_ranks,
    spaced,
    tune_on_sources,
    tune_on_targets,
    tuned_states,
)

_UNLABELLED = 2000


class EnsembleData(TextData):
    """What the text ensemble is trained on; `texts` are the training prompts and the captions."""

    def __init__(self, recipe: EnsembleRecipe) -> None:
        super().__init__(recipe, TextEnsemblePredictor.name)
        some = spaced(0, len(self.captions), recipe.collection_captions)
        self.captions = [self.captions[i] for i in some]
        self.texts = [*self.train.prompts, *self.captions]
        allowed_length(self.encoder, recipe.tuned.max_length)  # before what takes long


def train_ensemble(recipe: EnsembleRecipe, data: EnsembleData) -> TextEnsemblePredictor:
    """Train everything and put it together."""
    train = data.train
    tables, postings = WordTables.build(data.texts), Postings.build(data.texts)
    collection = Collection.build(data.encoded, len(train), tables, postings)
    fitted = fit_collection_model(collection, train.prompts, data.goals, recipe.fit, recipe.seed)
    print("kernel ridge and networks are fitted", flush=True)
    columns = [recipe.targets.index(target) for target in recipe.tuned_targets]
    tuned = tune_on_targets(
        *(data.new_model, data.tokenizer, train.prompts, train.targets[:, columns]),
        *(recipe.tuned_targets, recipe.tuned, recipe.seed, train.limits),
    )
    references = collection.references
    distance = distance_to_nearest(references.T, references, own=True)
    left_out = fitted.left_out[:, : len(recipe.targets)]
    calibration = calibrate_targets(left_out, train.targets, train.prompts, distance)
    calibration["share"] = np.array([recipe.tuned.share], np.float32)
    # The tuned encoder's outputs are brought to the scale of the others, on captions.
    some = spaced(0, len(data.captions), _UNLABELLED)
    captions = [data.captions[i] for i in some]
    base = fitted.model.predict(captions, data.states(some + len(train)))[:, columns]
    logits = tuned_logits(tuned, data.tokenizer, captions)
    scale = base.std(axis=0) / logits.std(axis=0)
    calibration["tuned_mean"] = (logits.mean(axis=0) - base.mean(axis=0) / scale).astype(np.float32)
    calibration["tuned_scale"] = scale.astype(np.float32)
    predictor = TextEnsemblePredictor(
        *(data.tokenizer, data.encoder, tuned, fitted.model, tuple(recipe.targets)),
        calibration=calibration,
        known_words=KnownWords.fit(data.texts, data.tokenizer.get_vocab()),
    )
    recipe.record(predictor, train)
    predictor.details = recipe.describe(train, len(data.captions), "fit", "tuned")
    return predictor


NEWEST = "sdxl_hbpp"
"""The target of the newest generator, which people's words on other generators are nearest to."""

_ASKING_COST = 0.27
_MOST_PIECES = 96
_MOST_REFERENCES = 6000

Studies = Mapping[str, ScoredPrompts]


class StaticData(TextData):
    """What the static predictor is trained on.

    Attributes:
        judged: the prompts of the studies, where these are learned.
        others: prompts without any score, which only widen what the student reads.
        texts: training prompts and captions, which are the collection; judged; others.
        size: of the collection.
        begun: the predictor whose network is kept, if one is.
        tokens: splits texts into the encoder's word pieces.
    """

    recipe: StaticRecipe

    def __init__(self, recipe: StaticRecipe) -> None:
        super().__init__(recipe, StaticPredictor.name, learns_studies=recipe.alignment)
        unscored = read_parti(recipe.parti) if recipe.parti else []
        pieces = word_pieces_of(self.encoder, self.tokenizer)
        self.tokens = WordPieces(pieces, _MOST_PIECES)
        self.begun: StaticPredictor | None = None
        if recipe.network is not None:
            begun, count = Predictor.from_pretrained(recipe.network), len(recipe.targets)
            if (
                not isinstance(begun, StaticPredictor)
                or [*begun.targets[-count:]] != recipe.targets
            ):
                raise PqppError(
                    f"`network`: {begun.called} is no static predictor whose last targets are "
                    f"{', '.join(recipe.targets)}; name another, or give its `targets`"
                )
            self.begun, self.tokens = begun, begun.tokens
        names = sorted(piece for piece in pieces if piece.isalpha() and len(piece) > 3)
        if recipe.made_up:
            unscored += made_up_prompts(self.captions, names, recipe.made_up, recipe.seed)
        self.others = [content(text) for text in unscored]
        self.judged = judged_in(self.sources) if recipe.alignment else []
        self.texts = [*self.train.prompts, *self.captions, *self.judged, *self.others]
        self.size = len(self.train) + len(self.captions)

    def __str__(self) -> str:
        """Return how much was read."""
        return (
            f"{len(self.train)} training prompts, {len(self.captions)} further captions, "
            f"{len(self.judged)} prompts of {len(self.sources)} studies, {len(self.others)} others"
        )

    @cached_property
    def points(self) -> Singles:
        """Where the texts' points are to be; one space for all builds."""
        states = self.encoded[max(self.recipe.layers)]
        unit_states = states / np.linalg.norm(states, axis=1)[:, None]
        return first_points(unit_states, self.recipe.student.point_size)


class StaticBuilds:
    """Builds of the predictor, whose teachers they share."""

    def __init__(self, recipe: StaticRecipe, data: StaticData) -> None:
        self.recipe, self.data, self.seed = recipe, data, recipe.seed

    @cached_property
    def teacher(self) -> Fitted:
        """The teacher of the targets, which has seen no study of `alignment`."""
        data, n = self.data, len(self.data.train)
        # Evenly spaced captions: all of them say little more, and cost as much more time.
        members = np.r_[np.arange(n), spaced(n, data.size, self.recipe.collection_captions)]
        tables = WordTables.build(data.texts[: data.size])
        collection = Collection.build(data.states(members), n, tables)
        prompts, settings = data.train.prompts, self.recipe.teacher
        return fit_collection_model(collection, prompts, data.goals, settings, self.seed)

    @cached_property
    def labels(self) -> Floats:
        """What it says of each text; of the training prompts half, the rest is the truth."""
        fitted, n, share = self.teacher, len(self.data.train), self.recipe.student.true_share
        honest = (1 - share) * fitted.left_out + share * fitted.goals
        others = fitted.model.predict(self.data.texts[n:], self.data.states(slice(n, None)))
        return np.concatenate([honest, others])

    @cached_property
    def tuned(self) -> Any:
        """The encoder, tuned on the targets."""
        recipe, data = self.recipe, self.data
        return tune_on_targets(
            *(data.new_model, data.tokenizer, data.train.prompts, data.train.targets),
            *(recipe.targets, recipe.tuned_on_targets, self.seed),
        )

    @cached_property
    def student(self) -> StaticModule:
        """The network, trained on what the teacher of the targets says of all unjudged texts."""
        judged = set(self.data.judged)
        kept = [at for at, text in enumerate(self.data.texts) if text not in judged]
        return self._distil(kept, np.full(len(self.data.texts), np.nan), self.recipe.student)

    def build(self, without: Sequence[str]) -> StaticPredictor:
        """Train a predictor that has not read some studies, or none where it is not to."""
        recipe, sources = self.recipe, {}
        end = 1 + len(recipe.targets)
        if (begun := self.data.begun) is not None:
            begun.network = self.paired(begun.network)
            begun.tables = self.teacher.model.collection.tables
            recipe.record(begun, self.data.train)
            begun.details["training"]["pairs"] = {**asdict(recipe.pairs), "seed": self.seed}
            return begun
        if recipe.alignment:
            sources = read_sources(recipe.sources_dir, without)
            held = set(judged_in({name: self.data.sources[name] for name in without}))
            student = self.student_of_alignment(self.alignment(sources), held)
            network = self.deeper(student.to_static(slice(end)), held)
            if NEWEST in recipe.targets:
                score = recipe.targets.index(NEWEST) - len(recipe.targets)
                network = add_to_first(network, score, recipe.student.sdxl_share)
            predictor = self.assemble(self.paired(network, held), sources)
            groups = ["teacher", "tuned_on_targets", "tuned_on_sources", "student", "pairs"]
        else:
            network = self.student.to_static(slice(1, end))
            predictor = self.assemble(self.paired(self.deeper(network)), sources)
            groups = ["teacher", "student", "pairs"]
        facts = recipe.describe(self.data.train, len(self.data.captions), *groups)
        facts["training"]["unscored_prompts"] = len(self.data.others)
        if sources:
            judged = {name: len(self.data.sources[name].prompts) for name in sources}
            facts |= {"alignment_sources": list(sources)}
            facts["training"]["judged_prompts"] = judged
        else:
            for name in ("alignment_epochs", "alignment_learning_rate", "sdxl_share"):
                del facts["training"]["student"][name]
        predictor.details = facts
        return predictor

    def alignment(self, sources: Studies) -> Floats:
        """Return what the teacher of `alignment` says of each text, NaN where it was not asked.

        The prompts that it learned from have half of what people said of them.
        """
        data, recipe = self.data, self.recipe
        taught = tune_on_sources(
            self.tuned, data.tokenizer, sources, recipe.tuned_on_sources, self.seed
        )
        asked = spaced(0, data.size, recipe.labelled_captions)
        asked = np.r_[asked, np.arange(data.size, len(data.texts))]
        goals = np.full(len(data.texts), np.nan)
        with number_format(recipe.mixed_precision):
            logits = tuned_logits(taught, data.tokenizer, [data.texts[i] for i in asked])
        goals[asked] = gaussian(expit(logits[:, 0]))
        places = {text: data.size + at for at, text in enumerate(data.judged)}
        share = recipe.student.true_share
        for study in sources.values():
            rows = [places[content(prompt)] for prompt in study.prompts]
            true = gaussian(relative_ranks(study.scores))
            goals[rows] = share * true + (1 - share) * goals[rows]
        return goals

    def student_of_alignment(self, alignment: Floats, held: set[str]) -> StaticModule:
        """Train the student further on what the teacher of `alignment` says, but for texts held."""
        student = self.recipe.student
        epochs, rate = student.alignment_epochs, student.alignment_learning_rate
        known = ~np.isnan(alignment)
        known[: len(self.data.train)] = True  # so that the targets are not forgotten
        kept = [at for at in np.flatnonzero(known) if self.data.texts[at] not in held]
        settings = replace(student, epochs=epochs, learning_rate=rate)
        return self._distil(kept, alignment, settings, self.student)

    def _distil(
        self, kept: list[Any], alignment: Floats, settings: Any, begin: StaticModule | None = None
    ) -> StaticModule:
        goals = np.column_stack([alignment, self.labels])[kept]
        numbers = [self.data.tokens.encode(self.data.texts[i]) for i in kept]
        embeddings = self.data.encoder.get_input_embeddings().weight.detach().numpy()
        pieces = first_vectors(embeddings, settings.piece_size)
        points = self.data.points[kept]
        return distil(numbers, goals, points, pieces, settings, self.seed, begin)

    def deeper(self, network: StaticNetwork, held: Set[str] = frozenset()) -> StaticNetwork:
        """Return a network with a deeper layer for the targets, fitted to all texts but some."""
        return deepen(network, *self._lessons(held), self.recipe.student, self.seed)

    def paired(self, network: StaticNetwork, held: Set[str] = frozenset()) -> StaticNetwork:
        """Return a network whose last scores, from retrieval's first on, also hear pairs."""
        recipe = self.recipe
        retrieval = [at for at, name in enumerate(recipe.targets) if not is_of_images(name)]
        if not retrieval:
            return network
        numbers, goals = self._lessons(held)
        pairs = PiecePairs.build(numbers[: self.data.size], len(self.data.tokens.vocabulary))
        units, epochs = recipe.pairs.units, recipe.pairs.epochs
        settings = replace(recipe.student, deeper_size=units, epochs=epochs)
        return deepen(network, numbers, goals[:, retrieval[0] :], settings, self.seed, pairs)

    def _lessons(self, held: Set[str]) -> tuple[list[list[int]], Floats]:
        """Return all texts but some as numbers of word pieces, and what is said of them."""
        data = self.data
        kept = [at for at, text in enumerate(data.texts) if at < data.size or text not in held]
        numbers = [data.tokens.encode(data.texts[at]) for at in kept]
        return numbers, self.labels[kept, : len(self.recipe.targets)]

    def assemble(self, network: StaticNetwork, sources: Studies) -> StaticPredictor:
        """Put network, references and calibration together."""
        data, targets = self.data, self.recipe.targets
        prompts, tokens = data.train.prompts, data.tokens
        points = network([tokens.encode(text) for text in prompts])[1]
        some = spaced(0, len(points), _MOST_REFERENCES)
        references = np.round(points[some] * INT8_SCALE).astype(np.int8)
        columns = references.astype(np.float32).T / INT8_SCALE
        distance = distance_to_nearest(points, columns, own=True)
        left_out = self.teacher.left_out[:, : len(targets)]
        calibration = calibrate_targets(left_out, data.train.targets, prompts, distance)
        if sources:
            calibration = join_calibrations(self.calibrate_alignment(network, sources), calibration)
        texts = [*data.texts[: data.size], *judged_in(sources)]
        known = KnownWords.fit(texts, tokens.vocabulary)
        names = (*(("alignment",) if sources else ()), *targets)
        predictor = StaticPredictor(
            *(tokens, network, references, names),
            tables=self.teacher.model.collection.tables,
            calibration=calibration,
            known_words=known,
            no_easier_with_more=tuple(filter(is_of_images, names)),
            length_costs={"alignment": _ASKING_COST} if sources else {},
        )
        self.recipe.record(predictor, data.train)
        for study in sources.values():
            predictor.was_fitted_to(study.prompts)
        return predictor

    def calibrate_alignment(self, network: StaticNetwork, sources: Studies) -> Calibration:
        """Fit the units of `alignment` to predictions of each study by the others.

        A linear model of the tuned encoder's states stands in for the teacher, which would have to
        be tuned once a study.
        """
        tokenizer, tokens = self.data.tokenizer, self.data.tokens
        pool = Pool(
            {
                name: as_judged([tuned_states(self.tuned, tokenizer, study.prompts)], study)
                for name, study in sources.items()
            }
        )
        left_out = pool.leave_each_out()
        own = network([tokens.encode(text) for text in judged_in(sources)])[0][:, 0]
        # Without GenAI-Bench nothing tells the level, and the middle of a study stands for it.
        level = {name: np.full(len(study.prompts), np.nan) for name, study in sources.items()}
        if ANCHOR in sources:
            level[ANCHOR] = shares(self.recipe.sources_dir, sources[ANCHOR].prompts)
        else:
            name, study = next(iter(sources.items()))
            level[name] = relative_ranks(study.scores)
        return calibrate_across_sources(
            np.concatenate([left_out[name] for name in sources]),
            np.concatenate([study.scores for study in sources.values()]),
            [name for name, study in sources.items() for _ in study.prompts],
            np.concatenate(list(level.values())),
            own.astype(np.float64),
        )


def judged_in(sources: Studies) -> list[str]:
    """Return the prompts of some studies, normalised."""
    return [content(prompt) for study in sources.values() for prompt in study.prompts]


def judged_facts(predictor: StaticPredictor, study: ScoredPrompts) -> Judged:
    """Return the prompts of a study as numbers, by a network that has not read the study.

    They are its hidden layer, the mean vectors of word pieces, its scores, what makes prompts hard,
    how much they ask for, and whether they are plain English.
    """
    texts, known = [content(prompt) for prompt in study.prompts], predictor.known_words
    assert known is not None
    encoded = [predictor.tokens.encode(text) for text in texts]
    scores, _, vectors, hidden = predictor.network.layers(encoded)
    blocks = [
        *(hidden, vectors, scores, difficulty_features(texts, predictor.tables)),
        np.array([[log_asked(text)] for text in texts]),
        np.column_stack([known.garbled(texts), 1 - known.weights(texts)]),
    ]
    return as_judged(blocks, study)


def as_judged(blocks: list[Any], study: ScoredPrompts) -> Judged:
    """Return the prompts of a study as numbers, given what is known of them."""
    words = [len(words_of(content(prompt))) for prompt in study.prompts]
    return Judged(blocks, np.log1p(words), gaussian(relative_ranks(study.scores)))


def predict_left_out(sources: Studies, judged: Mapping[str, Judged], name: str) -> Floats:
    """Predict a study by the others, without their prompts that also stand in it.

    As everywhere, garbled prompts are a deviation below the mean, and other languages at it.
    """
    others = {}
    for other, study in without_prompts_of(sources, [name]).items():
        kept = set(study.prompts)
        rows = [at for at, prompt in enumerate(sources[other].prompts) if prompt in kept]
        others[other] = judged[other].take(rows)
    scores = Pool(others).predict(judged[name])
    garbled, unknown = judged[name].blocks[-1].T
    known = 1 - np.maximum(garbled, unknown)
    return known * (scores - scores.mean()) - garbled * scores.std()


def leave_each_study_out(recipe: StaticRecipe) -> dict[str, Any]:
    """Tell how a model of the other studies orders each study's prompts.

    What the model stands on is the network of `static-train`, which has read no study.
    """
    sources, base = read_sources(recipe.sources_dir), StaticPredictor.from_shipped("static-train")
    judged, rows = {name: judged_facts(base, study) for name, study in sources.items()}, {}
    for name in recipe.without or sources:
        predicted = predict_left_out(sources, judged, name)
        with_words = -np.corrcoef(predicted, fewer_words(sources[name].prompts))[0, 1]
        row = study_row(sources[name], predicted)
        rows[name] = row | {"with words": round(float(with_words), 4)}
        print(name, rows[name], flush=True)
    interval = interval_over_studies([row["spearman"] for row in rows.values()], recipe.seed)
    return {"mean_interval": interval, "studies": rows}
