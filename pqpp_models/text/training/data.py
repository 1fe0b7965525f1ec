"""Training data of the text predictors, and evaluation on held-out data.

All texts (rows, captions and prompts of studies) are encoded once. The held-out data are a
validation split and studies.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_backbones.encoder.encoding import get_layer_means
from pqpp_backbones.encoder.normaliser import normalise_prompt
from pqpp_backbones.encoder.pretrained import check_layers, load_encoder
from pqpp_backbones.training.number_format import use_number_format
from pqpp_files.read_table import read_table
from pqpp_metrics.functional import spearman_qpp
from pqpp_models import registry
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor
from pqpp_models.targets import Z90
from pqpp_models.text.arrays import Floats, Singles
from pqpp_models.text.reading.words import to_words
from pqpp_models.text.training.recipe import TextRecipe
from pqpp_models.text.training.studies import Study, correlate_in_groups, read_studies
from pqpp_models.training.data import Rows, correlate_targets

FEWER_WORDS = "fewer words"


def evaluate_calibrated(
    predictor: Any, prompts: Sequence[str], true: Floats, targets: Sequence[str]
) -> dict[str, Any]:
    """Evaluate a predictor on validation prompts.

    Args:
        predictor: a predictor with ``predict_with_uncertainty``.
        true: true values, shape ``(prompts, targets)``.

    Returns:
        ``validation``: Pearson's and Kendall's coefficients of each target and their means;
        ``validation_near`` and ``validation_far``: the means for the halves nearer to and farther
        from the training prompts; ``coverage_validation``: the share of true values within 1.645
        standard deviations.
    """
    values, deviations, distance, *_ = predictor.predict_with_uncertainty(prompts, targets)
    far = distance > np.median(distance)
    covered = np.abs(true - values) <= Z90 * deviations
    return {
        "validation": list_correlations(values, true, targets),
        "validation_near": list_correlations(values[~far], true[~far], targets)["mean"],
        "validation_far": list_correlations(values[far], true[far], targets)["mean"],
        "coverage_validation": _round(covered.mean()),
    }


def list_correlations(predicted: Floats, true: Floats, targets: Sequence[str]) -> dict[str, list]:
    """Return Pearson's and Kendall's coefficients of each target, and their means as ``mean``."""
    scores = correlate_targets(predicted, true, targets)
    pairs = {name: (f"{name}_pearson", f"{name}_kendall") for name in targets}
    pairs["mean"] = ("pearson", "kendall")
    return {name: [_round(scores[key]) for key in pair] for name, pair in pairs.items()}


def score_brevity(prompts: Sequence[str]) -> Floats:
    """Return minus the number of words of each prompt, as a baseline.

    >>> score_brevity(["a cat", "two cats on a mat"]).tolist()
    [-2.0, -5.0]
    """
    return -np.array([len(to_words(prompt)) for prompt in prompts], dtype=np.float64)


def evaluate_study(study: Study, predicted: Floats) -> dict[str, Any]:
    """Evaluate predictions on a held-out study.

    Args:
        predicted: one prediction per prompt.

    Returns:
        ``prompts``, the number of prompts; ``spearman`` with its 95% ``interval``;
        ``within_tasks``, the mean coefficient over the groups, if there are any; and Spearman's
        coefficient of `score_brevity`. Undefined coefficients are None.
    """
    correlation = spearman_qpp(predicted, study.scores)
    fewer_words = spearman_qpp(score_brevity(study.prompts), study.scores)
    row: dict[str, Any] = {
        "prompts": len(study.prompts),
        "spearman": _round(correlation.statistic),
        "interval": [_round(end) for end in correlation.interval()],
    }
    if study.groups is not None:
        within = correlate_in_groups(predicted, np.array(study.scores), np.array(study.groups))
        row["within_tasks"] = _round(float(np.mean(within))) if within else None
    return row | {FEWER_WORDS: _round(fewer_words.statistic)}


def format_studies(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Format outputs of `evaluate_study` as a table, with the means over the studies.

    >>> row = {"prompts": 9, "spearman": 0.5, "interval": [0.1, 0.8], "a": 0.5}
    >>> print(format_studies({"mine": row}))
         prompts  spearman     a
    mine       9     0.500 0.500
    mean       9     0.500 0.500
    """
    import pandas as pd

    table = pd.DataFrame(rows).T.drop(columns=["interval", "within_tasks"], errors="ignore")
    table = table.astype(float)
    table.loc["mean"] = table.mean(skipna=False)
    return table.to_string(formatters={"prompts": "{:.0f}".format}, float_format="%.3f")


def bootstrap_interval(coefficients: Sequence[float], seed: int) -> list[float]:
    """Return a 95% bootstrap interval of the mean coefficient, resampling studies.

    >>> bootstrap_interval([0.25, 0.25], seed=0)
    [0.25, 0.25]
    """
    samples = np.random.default_rng(seed).choice(coefficients, (10_000, len(coefficients)))
    return [round(float(end), 4) for end in np.quantile(samples.mean(axis=1), [0.025, 0.975])]


def _round(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


class TextData:
    """The training and validation data of a recipe.

    Args:
        learns_studies: whether the studies of `alignment` are needed even if the recipe names no
            folder of them.

    Attributes:
        train, validation: rows that have all targets, with normalised prompts.
        goals: the values to fit, one row per row of ``train``.
        captions: further captions of the collection, normalised.
        sources: the studies of `alignment`.
        new_model: the encoder with a new head.
        texts: all texts to encode; set by a subclass.
    """

    texts: list[str]

    def __init__(
        self, recipe: TextRecipe, predictor_type: str, learns_studies: bool = False
    ) -> None:
        splits = recipe.train_split, recipe.validation_split
        self.train, self.validation = (recipe.read_split(split) for split in splits)
        self.scores_on_train = recipe.read_evaluation(predictor_type, self.train, self.validation)
        self.goals = read_training_values(recipe, self.train)
        known = [*self.train.prompts, *self.validation.prompts]
        self.captions = [normalise_prompt(text) for text in read_captions(recipe.captions, known)]
        has_studies = learns_studies or recipe.sources_dir is not None
        self.sources = read_studies(recipe.sources_dir) if has_studies else {}
        self.encoder, self.tokenizer = load_encoder(recipe.model)
        check_layers(self.encoder, recipe.layers)
        model_class = registry.get_predictor_class("bert").get_model_class()
        self.new_model = partial(model_class.from_backbone, recipe.model)
        self.recipe = recipe

    @cached_property
    def encoded(self) -> dict[int, Singles]:
        """The encoder's states of all texts, by layer."""
        with use_number_format(self.recipe.mixed_precision):
            return get_layer_means(
                self.encoder, self.tokenizer, self.texts, self.recipe.layers, progress=True
            )

    def select_states(self, rows: Any) -> dict[int, Singles]:
        """Return the encoder's states of some texts, by layer."""
        return {layer: states[rows] for layer, states in self.encoded.items()}

    def evaluate(
        self, predictor: Predictor, studies: Mapping[str, Study], target: str = "alignment"
    ) -> dict[str, Any]:
        """Evaluate a predictor on the validation split and on held-out studies.

        If the predictor already has results on studies, these are returned for the studies.
        """
        validation = self.validation
        assert predictor.record.rows is not None
        n_fitted = int(predictor.record.rows.contains(validation.as_table).sum())
        if n_fitted < len(validation):  # a study may share rows
            scores = evaluate_calibrated(
                predictor, validation.prompts, validation.targets, self.recipe.targets
            )
        else:
            scores = self.scores_on_train
        scores = scores | ({"fitted_rows": n_fitted} if n_fitted else {})
        rows = {
            name: evaluate_study(study, predictor.predict(study.prompts, target)[:, 0])
            for name, study in studies.items()
        }
        rows = predictor.details.get("evaluation", {}).get("studies", rows)
        return {**scores, **({"studies": rows} if rows else {})}


def read_training_values(recipe: TextRecipe, train: Rows) -> Floats:
    """Return the values to fit: the targets and, for PQPP, the log count of relevant images."""
    from datasets import load_dataset

    is_pqpp = recipe.dataset == "pqpp" and recipe.subset in (None, "pqpp", "pqpp-v1.0")
    if not is_pqpp or "prompt_id" not in train.table.column_names:
        return train.targets
    split = re.sub(r"\[[^]]*\]", "", recipe.train_split)  # its slices are found by their ids
    relevance = load_dataset("pqpp", "pqpp-relevance", data_dir=recipe.data_dir, split=split)
    sizes = {row["prompt_id"]: len(row["image_ids"]) for row in relevance}
    counts = [max(sizes.get(prompt_id, 1), 1) for prompt_id in train.table["prompt_id"]]
    return np.column_stack([train.targets, np.log(counts)])


def read_captions(path: str, skip: Iterable[str]) -> list[str]:
    """Read the distinct captions in a file, leaving out those equal to given prompts.

    Args:
        path: a text file with one caption per line, or a table with a column ``caption``.
        skip: the prompts to leave out; captions are compared with them by lower-case words.
    """
    return drop_duplicates(read_table(path, ["caption"], plain="caption").texts("caption"), skip)


def drop_duplicates(captions: Iterable[str], skip: Iterable[str] = ()) -> list[str]:
    """Return the distinct captions in order, without empty ones and those in `skip`.

    Captions are compared by their words, in lower case.

    Raises:
        PredictorError: no caption is left.

    >>> drop_duplicates(["A cat.", "", "a cat", "Two dogs", "a bird"], skip=["A bird!"])
    ['A cat.', 'Two dogs']
    """
    skipped = {tuple(to_words(text)) for text in skip}
    distinct: dict[tuple[str, ...], str] = {}
    for caption in captions:
        words = tuple(to_words(caption))
        if words and words not in skipped:
            distinct.setdefault(words, caption)
    if not distinct:
        raise PredictorError("every caption is blank or a training prompt; use other captions")
    return list(distinct.values())


def read_parti_prompts(path: str) -> list[str]:
    """Read the prompts in ``PartiPrompts.tsv``.

    Raises:
        PredictorError: the file is not PartiPrompts.
    """
    text = Path(path).read_text("utf-8", errors="replace")
    first, *prompts = [line.partition("\t")[0] for line in text.split("\n")]
    if first != "Prompt":
        raise PredictorError(f"{path} is not PartiPrompts; use the file PartiPrompts.tsv")
    return [prompt for prompt in prompts if prompt]


def make_up_prompts(
    captions: Sequence[str], names: Sequence[str], count: int, seed: int
) -> list[str]:
    """Generate prompts that are not captions, for a teacher to label.

    A third are pieces of captions, a third captions with words replaced by names, a third sequences
    of words and names; most are in lower case and without a full stop.

    Raises:
        PredictorError: ``names`` is empty.

    >>> make_up_prompts(["A red cat on a mat."], ["robot"], 3, seed=0)
    ['mat', 'robot red cat on a mat', 'robot']
    """
    if not names:
        fault = "the encoder's vocabulary has no word of 4 or more letters"
        raise PredictorError(f"{fault}; use another encoder, or set `made_up` to 0")
    random = np.random.default_rng(seed)
    prompts = []
    for number in range(count):
        words = to_words(captions[int(random.integers(len(captions)))]) or list(names[:1])
        if number % 3 == 0:
            start = random.integers(len(words))
            words = words[start : start + random.integers(1, 7)]
        elif number % 3 == 1:
            for place in random.integers(len(words), size=random.integers(1, 5)):
                words[place] = names[int(random.integers(len(names)))]
        else:
            long = [word for word in words if len(word) > 2] or words
            n_words = int(random.integers(1, 5))
            sources = [long if random.random() < 0.5 else names for _ in range(n_words)]
            sample = [source[int(random.integers(len(source)))] for source in sources]
            words = " and ".join(sample).split() if random.random() < 0.5 else sample
        text = " ".join(words)
        prompts.append(f"{text.capitalize()}." if random.random() < 0.2 else text)
    return prompts
