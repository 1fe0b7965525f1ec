"""Train the text predictors.

The text ensemble combines kernel ridge regression, networks and a fine-tuned encoder. For the
static predictor, teachers label texts, and a student network is trained on the labels and then
calibrated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from pqpp_backbones.encoder.normaliser import normalise_prompt
from pqpp_backbones.encoder.pretrained import get_word_pieces, resolve_max_length
from pqpp_backbones.training.number_format import use_number_format
from pqpp_datasets.target_columns import is_image_score
from pqpp_files.errors import PqppError
from pqpp_models.predictor import REFERENCE, Predictor
from pqpp_models.targets import ALIGNMENT
from pqpp_models.text.alignment import compute_features, compute_lengths
from pqpp_models.text.arrays import INT8_SCALE, Floats
from pqpp_models.text.calibration import (
    calibrate_across_sources,
    calibrate_targets,
    join_calibrations,
    measure_distance,
)
from pqpp_models.text.collection.collection import Collection, Postings
from pqpp_models.text.collection.pairs import PiecePairs
from pqpp_models.text.reading.known_words import KnownWords
from pqpp_models.text.reading.words import WordTables
from pqpp_models.text.static import StaticNetwork, StaticPredictor, WordPieces
from pqpp_models.text.text_ensemble import TextEnsemblePredictor, compute_logits
from pqpp_models.text.training.data import (
    TextData,
    bootstrap_interval,
    evaluate_study,
    make_up_prompts,
    read_parti_prompts,
    score_brevity,
)
from pqpp_models.text.training.pooling import StudyFeatures, pool_studies
from pqpp_models.text.training.recipe import EnsembleRecipe, StaticRecipe
from pqpp_models.text.training.reference import FREELY_WRITTEN, make_reference
from pqpp_models.text.training.studies import (
    ANCHOR,
    Study,
    drop_studies,
    read_match_shares,
    read_studies,
)
from pqpp_models.text.training.teacher_student import (
    FittedModel,
    StaticModule,
    add_deeper_layer,
    choose_evenly,
    distil,
    fit_collection_model,
    make_initial_vectors,
    project_to_size,
    to_normal_quantiles,
    to_ranks,
    tune_on_sources,
    tune_on_targets,
)

_SCALE_CAPTIONS = 2000


class EnsembleData(TextData):
    """The training data of the text ensemble."""

    def __init__(self, recipe: EnsembleRecipe) -> None:
        super().__init__(recipe, TextEnsemblePredictor.name)
        sample = choose_evenly(0, len(self.captions), recipe.collection_captions)
        self.captions = [self.captions[i] for i in sample]
        self.texts = [*self.train.prompts, *self.captions]
        resolve_max_length(self.encoder, recipe.tuned.max_length)  # before long computations


def train_ensemble(recipe: EnsembleRecipe, data: EnsembleData) -> TextEnsemblePredictor:
    """Train a text ensemble."""
    train = data.train
    tables, postings = WordTables.build(data.texts), Postings.build(data.texts)
    collection = Collection.build(data.encoded, len(train), tables, postings)
    teacher = fit_collection_model(collection, train.prompts, data.goals, recipe.fit, recipe.seed)
    print("kernel ridge and networks are fitted", flush=True)
    columns = [recipe.targets.index(target) for target in recipe.tuned_targets]
    inputs = data.new_model, data.tokenizer, train.prompts, train.targets[:, columns]
    tuned = tune_on_targets(*inputs, recipe.tuned_targets, recipe.tuned, recipe.seed, train.limits)
    references = collection.references
    distance = measure_distance(references.T, references, exclude_self=True)
    out_of_fold = teacher.out_of_fold[:, : len(recipe.targets)]
    calibration = calibrate_targets(out_of_fold, train.targets, train.prompts, distance)
    calibration["share"] = np.array([recipe.tuned.share], np.float32)
    # The tuned encoder's outputs are standardised on captions, like the others.
    sample = choose_evenly(0, len(data.captions), _SCALE_CAPTIONS)
    captions = [data.captions[i] for i in sample]
    base = teacher.model.predict(captions, data.select_states(sample + len(train)))[:, columns]
    logits = compute_logits(tuned, data.tokenizer, captions)
    scale = base.std(axis=0) / logits.std(axis=0)
    calibration["tuned_mean"] = (logits.mean(axis=0) - base.mean(axis=0) / scale).astype(np.float32)
    calibration["tuned_scale"] = scale.astype(np.float32)
    known_words = KnownWords.fit(data.texts, data.tokenizer.get_vocab())
    parts = data.tokenizer, data.encoder, tuned, teacher.model, tuple(recipe.targets)
    predictor = TextEnsemblePredictor(*parts, calibration=calibration, known_words=known_words)
    recipe.record_training(predictor, train)
    predictor.details = recipe.describe_training(train, len(data.captions), "fit", "tuned")
    return predictor


_DEMAND, _DEMAND_COST = -3, 0.1  # the column of `compute_log_demand`, and its added cost
_MAX_PIECES = 96
_MAX_REFERENCES = 6000

Studies = Mapping[str, Study]


class StaticData(TextData):
    """The training data of the static predictor.

    Attributes:
        judged: normalised prompts of the studies.
        others: prompts without scores, for the student.
        texts: the collection (training prompts and captions), then `judged` and `others`.
    """

    recipe: StaticRecipe

    def __init__(self, recipe: StaticRecipe) -> None:
        super().__init__(recipe, StaticPredictor.name, learns_studies=recipe.alignment)
        unscored = read_parti_prompts(recipe.parti) if recipe.parti else []
        pieces = get_word_pieces(self.encoder, self.tokenizer)
        self.tokens = WordPieces(pieces, _MAX_PIECES)
        names = sorted(piece for piece in pieces if piece.isalpha() and len(piece) > 3)
        if recipe.made_up:
            unscored += make_up_prompts(self.captions, names, recipe.made_up, recipe.seed)
        self.others = [normalise_prompt(text) for text in unscored]
        self.studies = drop_studies(self.sources, recipe.without) if recipe.alignment else {}
        self.judged = [normalise_prompt(p) for s in self.studies.values() for p in s.prompts]
        self.texts = [*self.train.prompts, *self.captions, *self.judged, *self.others]
        self.size = len(self.train) + len(self.captions)


class StaticTraining:
    """The training of a static predictor, in steps."""

    def __init__(self, recipe: StaticRecipe, data: StaticData) -> None:
        self.recipe, self.data, self.seed = recipe, data, recipe.seed
        self.token_ids = [data.tokens.encode(text) for text in data.texts]

    @cached_property
    def teacher(self) -> FittedModel:
        """The teacher for PQPP's targets, which is not trained on the studies of `alignment`."""
        data, n = self.data, len(self.data.train)
        # All captions would take much longer and add little.
        members = np.r_[np.arange(n), choose_evenly(n, data.size, self.recipe.collection_captions)]
        tables = WordTables.build(data.texts[: data.size])
        collection = Collection.build(data.select_states(members), n, tables)
        prompts, settings = data.train.prompts, self.recipe.teacher
        return fit_collection_model(collection, prompts, data.goals, settings, self.seed)

    @cached_property
    def teacher_labels(self) -> Floats:
        """The teacher's scores of the texts, averaged with the true values of training prompts."""
        teacher, n, share = self.teacher, len(self.data.train), self.recipe.student.true_share
        train_labels = (1 - share) * teacher.out_of_fold + share * teacher.goals
        states = self.data.select_states(slice(n, None))
        return np.concatenate([train_labels, teacher.model.predict(self.data.texts[n:], states)])

    def label_alignment(self) -> Floats:
        """Return a tuned encoder's scores of `alignment`, NaN for texts that it does not label.

        For prompts of the studies, they are averaged with people's ratings.
        """
        recipe, data, studies = self.recipe, self.data, self.data.studies
        inputs = data.new_model, data.tokenizer, data.train.prompts, data.train.targets
        target_model = tune_on_targets(*inputs, recipe.targets, recipe.tuned_on_targets, self.seed)
        settings = recipe.tuned_on_sources
        study_model = tune_on_sources(target_model, data.tokenizer, studies, settings, self.seed)
        labelled = choose_evenly(0, data.size, recipe.labelled_captions)
        labelled = np.r_[labelled, np.arange(data.size, len(data.texts))]
        goals = np.full(len(data.texts), np.nan)
        with use_number_format(recipe.mixed_precision):
            logits = compute_logits(study_model, data.tokenizer, [data.texts[i] for i in labelled])
        goals[labelled] = to_normal_quantiles(expit(logits[:, 0]))
        indices = {text: index for index, text in enumerate(data.judged, data.size)}
        share = recipe.student.true_share
        for study in studies.values():
            rows = [indices[normalise_prompt(prompt)] for prompt in study.prompts]
            true = to_normal_quantiles(to_ranks(study.scores))
            goals[rows] = share * true + (1 - share) * goals[rows]
        return goals

    def train_network(self) -> StaticNetwork:
        """Train the network on the teachers' scores, then train its further layers."""
        recipe, data, settings = self.recipe, self.data, self.recipe.student
        states = data.encoded[max(recipe.layers)]
        unit_states = states / np.linalg.norm(states, axis=1)[:, None]
        points = project_to_size(unit_states, settings.point_size)
        embeddings = data.encoder.get_input_embeddings().weight.detach().numpy()
        pieces = make_initial_vectors(embeddings, settings.piece_size)

        def distil_rows(rows: Any, extra: Floats, settings: Any, begin: Any = None) -> StaticModule:
            goals = np.column_stack([extra, self.teacher_labels])[rows]
            token_ids = [self.token_ids[index] for index in rows]
            return distil(token_ids, goals, points[rows], pieces, settings, self.seed, begin)

        judged, end = set(data.judged), 1 + len(recipe.targets)
        unjudged = [at for at, text in enumerate(data.texts) if text not in judged]
        student = distil_rows(unjudged, np.full(len(data.texts), np.nan), settings)
        network = student.to_static(slice(1, end))
        if data.studies:
            alignment = self.label_alignment()
            known = ~np.isnan(alignment)
            known[: len(data.train)] = True  # so that the targets are not forgotten
            shorter = replace(settings, epochs=settings.alignment_epochs)
            student = distil_rows(np.flatnonzero(known), alignment, shorter, student)
            network = student.to_static(slice(end))
        labels = self.teacher_labels[:, : len(recipe.targets)]
        network = add_deeper_layer(network, self.token_ids, labels, settings, self.seed)
        retrieval = [at for at, name in enumerate(recipe.targets) if not is_image_score(name)]
        if not retrieval:
            return network
        pairs = PiecePairs.build(self.token_ids[: data.size], len(data.tokens.vocabulary))
        units, epochs = recipe.pairs.units, recipe.pairs.epochs
        settings = replace(settings, deeper_size=units, epochs=epochs)
        labels = labels[:, retrieval[0] :]
        return add_deeper_layer(network, self.token_ids, labels, settings, self.seed, pairs)

    def build_predictor(self) -> StaticPredictor:
        """Train the network, and return the calibrated predictor."""
        recipe, data, targets = self.recipe, self.data, self.recipe.targets
        prompts, tokens, network = data.train.prompts, data.tokens, self.train_network()
        points = network.compute_layers(self.token_ids[: len(prompts)])[1]
        sample = choose_evenly(0, len(points), _MAX_REFERENCES)
        references = np.round(points[sample] * INT8_SCALE).astype(np.int8)
        columns = references.astype(np.float32).T / INT8_SCALE
        distance = measure_distance(points, columns, exclude_self=True)
        out_of_fold = self.teacher.out_of_fold[:, : len(targets)]
        texts = [*data.texts[: data.size], *data.judged]
        names = (*((ALIGNMENT,) if data.studies else ()), *targets)
        predictor = StaticPredictor(
            tokens,
            network,
            references,
            names,
            tables=self.teacher.model.collection.tables,
            calibration=calibrate_targets(out_of_fold, data.train.targets, prompts, distance),
            known_words=KnownWords.fit(texts, tokens.vocabulary),
            no_easier_with_more=tuple(filter(is_image_score, names)),
        )
        recipe.record_training(predictor, data.train)
        groups = ["teacher", "student", "pairs"]
        groups += ["tuned_on_targets", "tuned_on_sources"] if data.studies else []
        facts = recipe.describe_training(data.train, len(data.captions), *groups)
        facts["training"]["unscored_prompts"] = len(data.others)
        predictor.details = facts
        if data.studies:
            rows = fit_alignment(predictor, data.studies, recipe, prompts)
            facts |= {} if recipe.without else {"evaluation": {"studies": rows}}
        else:
            del facts["training"]["student"]["alignment_epochs"]
        return predictor


def compute_study_features(predictor: StaticPredictor, study: Study) -> StudyFeatures:
    """Return the features of a study's prompts, from the network of a predictor.

    They are the features of `compute_features`, `rate_garbled`, and 1 minus `rate_known`.
    """
    texts, known = [normalise_prompt(prompt) for prompt in study.prompts], predictor.known_words
    assert known is not None
    encoded = [predictor.tokens.encode(text) for text in texts]
    scores, _, vectors, _ = predictor.network.compute_layers(encoded)
    blocks = compute_features(texts, vectors, scores, predictor.tables)
    blocks.append(np.column_stack([known.rate_garbled(texts), 1 - known.rate_known(texts)]))
    goals = to_normal_quantiles(to_ranks(study.scores))
    return StudyFeatures(blocks, compute_lengths(texts), goals)


def cross_predict_studies(
    sources: Studies, names: Sequence[str] = ()
) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Predict each study from the others, without the prompts that they share.

    The models use the network of `static-train`, which was trained on no study. Garbled prompts get
    a score one standard deviation below the mean, and prompts in other languages the mean. If there
    is only one study, it is predicted from itself.

    Returns:
        The predictions, and their rank correlations with each study.
    """
    base, predicted, rows = StaticPredictor.from_shipped("static-train"), {}, {}
    features = {name: compute_study_features(base, study) for name, study in sources.items()}
    for name in names or sources:
        others = {}
        for other, study in drop_studies(sources, [name]).items():
            remaining = set(study.prompts)
            indices = [at for at, one in enumerate(sources[other].prompts) if one in remaining]
            others[other] = features[other].select_rows(indices)
        scores = pool_studies(others or features)(features[name].features, features[name].lengths)
        garbled, unknown = features[name].blocks[-1].T
        known = 1 - np.maximum(garbled, unknown)
        values = known * (scores - scores.mean()) - garbled * scores.std()
        with_words = -np.corrcoef(values, score_brevity(sources[name].prompts))[0, 1]
        row = evaluate_study(sources[name], values)
        predicted[name], rows[name] = values, row | {"with words": round(float(with_words), 4)}
    return predicted, rows


def score_left_out_studies(recipe: StaticRecipe) -> dict[str, Any]:
    """Evaluate each study's predictions by a model that was fitted to the other studies."""
    rows = cross_predict_studies(read_studies(recipe.sources_dir), recipe.without)[1]
    interval = bootstrap_interval([row["spearman"] for row in rows.values()], recipe.seed)
    return {"mean_interval": interval, "studies": rows}


def fit_alignment(
    predictor: StaticPredictor, sources: Studies, recipe: StaticRecipe, captions: Sequence[str]
) -> dict[str, Any]:
    """Fit `alignment`, the first target of a predictor, to studies.

    The calibration uses predictions of each study by models fitted to the others. The reference for
    verdicts is also set.

    Returns:
        The correlations of these predictions with people's scores, by study.
    """
    features = {name: compute_study_features(predictor, study) for name, study in sources.items()}
    predictor.judged = pool_studies(features)
    # The studies contain few demanding prompts, so their cost is underestimated.
    predictor.judged.slopes[_DEMAND] -= _DEMAND_COST * predictor.judged.deviation[_DEMAND]
    predictions, rows = cross_predict_studies(sources)
    # Without GenAI-Bench the level is unknown, so the middle of a study is used.
    level = {name: np.full(len(study.prompts), np.nan) for name, study in sources.items()}
    if ANCHOR in sources:
        level[ANCHOR] = read_match_shares(recipe.sources_dir, sources[ANCHOR].prompts)
    else:
        name, study = next(iter(sources.items()))
        level[name] = to_ranks(study.scores)
    units = calibrate_across_sources(
        np.concatenate([predictions[name] for name in sources]),
        np.concatenate([study.scores for study in sources.values()]),
        [name for name, study in sources.items() for _ in study.prompts],
        np.concatenate(list(level.values())),
        np.concatenate([predictor.judged(one.features, one.lengths) for one in features.values()]),
    )
    others = {
        name: array[1 - len(predictor.targets) :] for name, array in predictor.calibration.items()
    }
    predictor.calibration = join_calibrations(units, others)
    for study in sources.values():
        predictor.record_fit(study.prompts)
    if human := {k: sources[k].prompts for k in FREELY_WRITTEN if k in sources}:
        predictor.details[REFERENCE] = make_reference(predictor, captions, human)
    predictor.details["alignment_sources"] = list(sources)
    predictor.details["training"]["judged_prompts"] = {k: len(v.goals) for k, v in features.items()}
    return dict(sorted(rows.items()))


def refit_alignment(recipe: StaticRecipe) -> dict[str, Any]:
    """Refit only `alignment` of the recipe's `network`, save it, and return its evaluation."""
    recipe.check_output_dir(StaticPredictor.name)
    assert recipe.network is not None
    predictor = Predictor.from_pretrained(recipe.network)
    if not isinstance(predictor, StaticPredictor) or ALIGNMENT not in predictor.targets:
        raise PqppError(f"`network` must be a static predictor of alignment; got {predictor.title}")
    sources = read_studies(recipe.sources_dir, recipe.without)
    scores = predictor.details.setdefault("evaluation", {})
    captions = recipe.read_split(recipe.train_split).prompts
    scores["studies"] = fit_alignment(predictor, sources, recipe, captions)
    predictor.save_pretrained(recipe.output_dir, recipe.overwrite)
    return scores
