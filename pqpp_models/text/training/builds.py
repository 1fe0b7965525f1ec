"""Training the text predictors, step by step.

The text ensemble is put together of kernel ridge, networks and a fine-tuned encoder. The static
predictor has teachers, what they label, students, and a calibration.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from pqpp_backbones.encoder.normaliser import content
from pqpp_backbones.encoder.pretrained import allowed_length, get_word_pieces
from pqpp_backbones.training.number_format import number_format
from pqpp_datasets.target_columns import is_of_images
from pqpp_files.errors import PqppError
from pqpp_models.predictor import REFERENCE, Predictor
from pqpp_models.targets import ALIGNMENT
from pqpp_models.text.arrays import INT8_SCALE, Floats
from pqpp_models.text.calibration import (
    calibrate_across_sources,
    calibrate_targets,
    join_calibrations,
    measure_distance,
)
from pqpp_models.text.collection.collection import Collection, Postings
from pqpp_models.text.collection.pairs import PiecePairs
from pqpp_models.text.judged import compute_facts, compute_lengths
from pqpp_models.text.reading.known_words import KnownWords
from pqpp_models.text.reading.words import WordTables
from pqpp_models.text.static import StaticNetwork, StaticPredictor, WordPieces
from pqpp_models.text.text_ensemble import TextEnsemblePredictor, compute_logits
from pqpp_models.text.training.data import (
    TextData,
    bootstrap_interval,
    count_fewer_words,
    make_up_prompts,
    read_parti,
    score_study,
)
from pqpp_models.text.training.pooling import Judged, pool
from pqpp_models.text.training.recipe import EnsembleRecipe, StaticRecipe
from pqpp_models.text.training.reference import FREELY_WRITTEN, make_reference
from pqpp_models.text.training.studies import ANCHOR, Study, exclude_studies, read_sources, shares
from pqpp_models.text.training.teacher_student import (
    Fitted,
    StaticModule,
    deepen,
    distil,
    fit_collection_model,
    make_first_points,
    make_first_vectors,
    rank_relatively,
    space_evenly,
    to_gaussian,
    tune_on_sources,
    tune_on_targets,
)

_UNLABELLED = 2000


class EnsembleData(TextData):
    """What the text ensemble is trained on; `texts` are the training prompts and the captions."""

    def __init__(self, recipe: EnsembleRecipe) -> None:
        super().__init__(recipe, TextEnsemblePredictor.name)
        some = space_evenly(0, len(self.captions), recipe.collection_captions)
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
    distance = measure_distance(references.T, references, own=True)
    left_out = fitted.left_out[:, : len(recipe.targets)]
    calibration = calibrate_targets(left_out, train.targets, train.prompts, distance)
    calibration["share"] = np.array([recipe.tuned.share], np.float32)
    # The tuned encoder's outputs are brought to the scale of the others, on captions.
    some = space_evenly(0, len(data.captions), _UNLABELLED)
    captions = [data.captions[i] for i in some]
    base = fitted.model.predict(captions, data.states(some + len(train)))[:, columns]
    logits = compute_logits(tuned, data.tokenizer, captions)
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


_ASKED, _ASKING_COST = -3, 0.1  # what `compute_log_demand` says is so far from the end of facts
_MOST_PIECES = 96
_MOST_REFERENCES = 6000

Studies = Mapping[str, Study]


class StaticData(TextData):
    """What the static predictor is trained on.

    Attributes:
        studies: those that are learned.
        judged: their prompts, normalised.
        others: prompts without any score, which only widen what the student reads.
        texts: training prompts and captions, which are the collection; judged; others.
        size: of the collection.
        tokens: splits texts into the encoder's word pieces.
    """

    recipe: StaticRecipe

    def __init__(self, recipe: StaticRecipe) -> None:
        super().__init__(recipe, StaticPredictor.name, learns_studies=recipe.alignment)
        unscored = read_parti(recipe.parti) if recipe.parti else []
        pieces = get_word_pieces(self.encoder, self.tokenizer)
        self.tokens = WordPieces(pieces, _MOST_PIECES)
        names = sorted(piece for piece in pieces if piece.isalpha() and len(piece) > 3)
        if recipe.made_up:
            unscored += make_up_prompts(self.captions, names, recipe.made_up, recipe.seed)
        self.others = [content(text) for text in unscored]
        studies = exclude_studies(self.sources, recipe.without)
        self.studies = studies if recipe.alignment else {}
        self.judged = [content(text) for study in self.studies.values() for text in study.prompts]
        self.texts = [*self.train.prompts, *self.captions, *self.judged, *self.others]
        self.size = len(self.train) + len(self.captions)


class StaticBuild:
    """The build of a predictor: what its steps share."""

    def __init__(self, recipe: StaticRecipe, data: StaticData) -> None:
        self.recipe, self.data, self.seed = recipe, data, recipe.seed
        self.numbers = [data.tokens.encode(text) for text in data.texts]

    @cached_property
    def teacher(self) -> Fitted:
        """The teacher of the targets, which has seen no study of `alignment`."""
        data, n = self.data, len(self.data.train)
        # Evenly spaced captions: all of them say little more, and cost as much more time.
        members = np.r_[np.arange(n), space_evenly(n, data.size, self.recipe.collection_captions)]
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

    def alignment(self) -> Floats:
        """Return what the teacher of `alignment` says of each text, NaN if it was not asked.

        The teacher is the encoder, tuned on the targets and then on the studies. The prompts that
        it learned from have half of what people said of them.
        """
        recipe, data, studies = self.recipe, self.data, self.data.studies
        tuned = tune_on_targets(
            *(data.new_model, data.tokenizer, data.train.prompts, data.train.targets),
            *(recipe.targets, recipe.tuned_on_targets, self.seed),
        )
        settings = recipe.tuned_on_sources
        taught = tune_on_sources(tuned, data.tokenizer, studies, settings, self.seed)
        asked = space_evenly(0, data.size, recipe.labelled_captions)
        asked = np.r_[asked, np.arange(data.size, len(data.texts))]
        goals = np.full(len(data.texts), np.nan)
        with number_format(recipe.mixed_precision):
            logits = compute_logits(taught, data.tokenizer, [data.texts[i] for i in asked])
        goals[asked] = to_gaussian(expit(logits[:, 0]))
        indices = {text: data.size + at for at, text in enumerate(data.judged)}
        share = recipe.student.true_share
        for study in studies.values():
            rows = [indices[content(prompt)] for prompt in study.prompts]
            true = to_gaussian(rank_relatively(study.scores))
            goals[rows] = share * true + (1 - share) * goals[rows]
        return goals

    def network(self) -> StaticNetwork:
        """Train the network: on what teachers say, then its deeper layer and that of pairs."""
        recipe, data, settings = self.recipe, self.data, self.recipe.student
        states = data.encoded[max(recipe.layers)]
        unit_states = states / np.linalg.norm(states, axis=1)[:, None]
        points = make_first_points(unit_states, settings.point_size)
        embeddings = data.encoder.get_input_embeddings().weight.detach().numpy()
        pieces = make_first_vectors(embeddings, settings.piece_size)

        def distil_on(kept: Any, first: Floats, settings: Any, begin: Any = None) -> StaticModule:
            goals = np.column_stack([first, self.labels])[kept]
            numbers = [self.numbers[at] for at in kept]
            return distil(numbers, goals, points[kept], pieces, settings, self.seed, begin)

        judged, end = set(data.judged), 1 + len(recipe.targets)
        kept = [at for at, text in enumerate(data.texts) if text not in judged]
        student = distil_on(kept, np.full(len(data.texts), np.nan), settings)
        network = student.to_static(slice(1, end))
        if data.studies:
            alignment = self.alignment()
            known = ~np.isnan(alignment)
            known[: len(data.train)] = True  # so that the targets are not forgotten
            further = replace(settings, epochs=settings.alignment_epochs)
            student = distil_on(np.flatnonzero(known), alignment, further, student)
            network = student.to_static(slice(end))
        labels = self.labels[:, : len(recipe.targets)]
        network = deepen(network, self.numbers, labels, settings, self.seed)
        retrieval = [at for at, name in enumerate(recipe.targets) if not is_of_images(name)]
        if not retrieval:
            return network
        pairs = PiecePairs.build(self.numbers[: data.size], len(data.tokens.vocabulary))
        units, epochs = recipe.pairs.units, recipe.pairs.epochs
        settings = replace(settings, deeper_size=units, epochs=epochs)
        return deepen(network, self.numbers, labels[:, retrieval[0] :], settings, self.seed, pairs)

    def predictor(self) -> StaticPredictor:
        """Put network, references and calibration together."""
        recipe, data, targets = self.recipe, self.data, self.recipe.targets
        prompts, tokens, network = data.train.prompts, data.tokens, self.network()
        points = network(self.numbers[: len(prompts)])[1]
        some = space_evenly(0, len(points), _MOST_REFERENCES)
        references = np.round(points[some] * INT8_SCALE).astype(np.int8)
        columns = references.astype(np.float32).T / INT8_SCALE
        distance = measure_distance(points, columns, own=True)
        left_out = self.teacher.left_out[:, : len(targets)]
        texts = [*data.texts[: data.size], *data.judged]
        names = (*((ALIGNMENT,) if data.studies else ()), *targets)
        predictor = StaticPredictor(
            *(tokens, network, references, names),
            tables=self.teacher.model.collection.tables,
            calibration=calibrate_targets(left_out, data.train.targets, prompts, distance),
            known_words=KnownWords.fit(texts, tokens.vocabulary),
            no_easier_with_more=tuple(filter(is_of_images, names)),
        )
        recipe.record(predictor, data.train)
        groups = ["teacher", "student", "pairs"]
        groups += ["tuned_on_targets", "tuned_on_sources"] if data.studies else []
        facts = recipe.describe(data.train, len(data.captions), *groups)
        facts["training"]["unscored_prompts"] = len(data.others)
        predictor.details = facts
        if data.studies:
            rows = learn_alignment(predictor, data.studies, recipe, prompts)
            facts |= {} if recipe.without else {"evaluation": {"studies": rows}}
        else:
            del facts["training"]["student"]["alignment_epochs"]
        return predictor


def read_study_facts(predictor: StaticPredictor, study: Study) -> Judged:
    """Return the prompts of a study as numbers, by a predictor's network and reader.

    They are `compute_facts` the prompts, and whether these are plain English.
    """
    texts, known = [content(prompt) for prompt in study.prompts], predictor.known_words
    assert known is not None
    encoded = [predictor.tokens.encode(text) for text in texts]
    scores, _, vectors, _ = predictor.network.layers(encoded)
    blocks = compute_facts(texts, vectors, scores, predictor.tables)
    blocks.append(np.column_stack([known.rate_garbled(texts), 1 - known.weights(texts)]))
    return Judged(blocks, compute_lengths(texts), to_gaussian(rank_relatively(study.scores)))


def predict_each_left_out(
    sources: Studies, names: Sequence[str] = ()
) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Predict each study, or some, by the others, without their prompts that also are in it.

    What the models are on is the network of `static-train`, which has read no study. As everywhere,
    garbled prompts are a deviation below the mean, and other languages at it. A study that is alone
    is predicted by itself.

    Returns:
        The predictions, and how they order each study's prompts.
    """
    base, predicted, rows = StaticPredictor.from_shipped("static-train"), {}, {}
    judged = {name: read_study_facts(base, study) for name, study in sources.items()}
    for name in names or sources:
        others = {}
        for other, study in exclude_studies(sources, [name]).items():
            kept = set(study.prompts)
            indices = [at for at, one in enumerate(sources[other].prompts) if one in kept]
            others[other] = judged[other].take(indices)
        scores = pool(others or judged)(judged[name].facts, judged[name].lengths)
        garbled, unknown = judged[name].blocks[-1].T
        known = 1 - np.maximum(garbled, unknown)
        values = known * (scores - scores.mean()) - garbled * scores.std()
        with_words = -np.corrcoef(values, count_fewer_words(sources[name].prompts))[0, 1]
        row = score_study(sources[name], values)
        predicted[name], rows[name] = values, row | {"with words": round(float(with_words), 4)}
    return predicted, rows


def leave_each_study_out(recipe: StaticRecipe) -> dict[str, Any]:
    """Tell how models of the other studies order each study's prompts."""
    rows = predict_each_left_out(read_sources(recipe.sources_dir), recipe.without)[1]
    interval = bootstrap_interval([row["spearman"] for row in rows.values()], recipe.seed)
    return {"mean_interval": interval, "studies": rows}


def learn_alignment(
    predictor: StaticPredictor, sources: Studies, recipe: StaticRecipe, captions: Sequence[str]
) -> dict[str, Any]:
    """Fit `alignment` of a predictor, its first target, to studies; all else of it stays.

    Its units are fitted to predictions of each study by the others. A verdict ranks prompts among
    captions and what people wrote in the studies.

    Returns:
        The rows of these predictions, by study.
    """
    judged = {name: read_study_facts(predictor, study) for name, study in sources.items()}
    predictor.judged = pool(judged)
    # What is asked for costs more than studies tell, few of which ask for much.
    predictor.judged.slopes[_ASKED] -= _ASKING_COST * predictor.judged.deviation[_ASKED]
    left_out, rows = predict_each_left_out(sources)
    # Without GenAI-Bench nothing tells the level, and the middle of a study stands for it.
    level = {name: np.full(len(study.prompts), np.nan) for name, study in sources.items()}
    if ANCHOR in sources:
        level[ANCHOR] = shares(recipe.sources_dir, sources[ANCHOR].prompts)
    else:
        name, study = next(iter(sources.items()))
        level[name] = rank_relatively(study.scores)
    units = calibrate_across_sources(
        np.concatenate([left_out[name] for name in sources]),
        np.concatenate([study.scores for study in sources.values()]),
        [name for name, study in sources.items() for _ in study.prompts],
        np.concatenate(list(level.values())),
        np.concatenate([predictor.judged(one.facts, one.lengths) for one in judged.values()]),
    )
    others = {
        name: array[1 - len(predictor.targets) :] for name, array in predictor.calibration.items()
    }
    predictor.calibration = join_calibrations(units, others)
    for study in sources.values():
        predictor.record_fit(study.prompts)
    if people := {k: sources[k].prompts for k in FREELY_WRITTEN if k in sources}:
        predictor.details[REFERENCE] = make_reference(predictor, captions, people)
    predictor.details["alignment_sources"] = list(sources)
    predictor.details["training"]["judged_prompts"] = {k: len(v.goals) for k, v in judged.items()}
    return dict(sorted(rows.items()))


def learn_anew(recipe: StaticRecipe) -> dict[str, Any]:
    """Learn `alignment` of the predictor that a recipe names as `network`, and return its scores.

    All else of it stays.
    """
    recipe.check_output(StaticPredictor.name)
    assert recipe.network is not None
    predictor = Predictor.from_pretrained(recipe.network)
    if not isinstance(predictor, StaticPredictor) or ALIGNMENT not in predictor.targets:
        raise PqppError(
            f"`network`: {predictor.title} is no static predictor of `alignment`; name another"
        )
    sources = read_sources(recipe.sources_dir, recipe.without)
    scores = predictor.details.setdefault("evaluation", {})
    captions = recipe.read(recipe.train_split).prompts
    scores["studies"] = learn_alignment(predictor, sources, recipe, captions)
    predictor.save_pretrained(recipe.output_dir)
    return scores
