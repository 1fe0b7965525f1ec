"""Train the text ensemble: the best predictor that sees prompts only.

Kernel ridge regression and small networks on a frozen encoder and on a file of captions of the
collection; for generation also the same encoder, fine-tuned. The validation split is scored at the
end. With --folds 5 the whole recipe is cross-validated inside the train split instead, and nothing
is saved.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from pqpp_models.training.script import or_exit, script_imports

with script_imports("train_text_ensemble"):
    import torch

    from pqpp_datasets.target_columns import measure_of
    from pqpp_files.full_disk import require_room
    from pqpp_models.alignment.leave_one_out import study_row
    from pqpp_models.alignment.sources import read_sources
    from pqpp_models.bench.calibrated import evaluate_calibrated, score_table
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
    from pqpp_models.encoder.normaliser import CURRENT, normalise
    from pqpp_models.encoder.pretrained import allowed_length, check_layers, load_encoder
    from pqpp_models.targets import scale_targets
    from pqpp_models.text.calibration import distance_to_nearest
    from pqpp_models.text.collection.collection import Collection
    from pqpp_models.text.collection.postings import Postings
    from pqpp_models.text.conformal import calibrate_targets
    from pqpp_models.text.known_words import KnownWords
    from pqpp_models.text.text_ensemble.predictor import TextEnsemblePredictor, tuned_logits
    from pqpp_models.text.training.collection_model import (
        FitSettings,
        Fitted,
        fit_collection_model,
    )
    from pqpp_models.text.training.recipe import TextRecipe
    from pqpp_models.text.training.texts import (
        cached_layer_means,
        read_captions,
        spaced,
    )
    from pqpp_models.text.training.tuning import TuneSettings
    from pqpp_models.text.training.tuning import fine_tune as tune_encoder
    from pqpp_models.text.words import WordTables
    from pqpp_models.training.arguments import parse_recipe
    from pqpp_models.training.data import Rows
    from pqpp_models.training.options import RecipeError, option

EXAMPLES = """\
  python training/train_text_ensemble.py --config training/recipes/text_ensemble.yaml \\
      --captions captions.txt"""
UNLABELLED = 2000


@dataclass(frozen=True)
class TunedSettings(TuneSettings):
    """How the encoder is fine-tuned.

    Attributes:
        targets: the targets that it has a share in; those of generation if left out.
        share: its share in them.
    """

    targets: list[str] = field(default_factory=list)
    share: float = 0.35


@dataclass(kw_only=True)
class EnsembleRecipe(TextRecipe):
    """What the text ensemble is trained by."""

    output_dir: str = option("runs/text_ensemble", "folder to write the predictor to")
    collection_captions: int = option(42000)
    folds: int = option(0, "cross-validate in so many parts", least=0, decides=False)
    fit: FitSettings = option(FitSettings(networks=8), "how kernel ridge and networks are fitted")
    tuned: TunedSettings = option(TunedSettings(), "how the encoder is fine-tuned")

    def __post_init__(self) -> None:
        """Check the number of parts, and that the fine-tuned targets are among the others."""
        super().__post_init__()
        if self.folds == 1:
            raise RecipeError("`folds` is 1; give 0, or 2 and more")
        layer = next((one for one in self.fit.kernel_layers if one not in self.layers), None)
        if layer is not None:
            raise RecipeError(f"`fit.kernel_layers` has {layer}, which is not in `layers`")
        other = [target for target in self.tuned.targets if target not in self.targets]
        if self.targets and other:
            raise RecipeError(f"`tuned.targets` has {other[0]}, which is not in `targets`")

    @property
    def tuned_targets(self) -> list[str]:
        """The targets that the fine-tuned encoder has a share in."""
        generation = [one for one in self.targets if measure_of(one).task == "generation"]
        return self.tuned.targets or generation or self.targets


@dataclass
class Read:
    """What is read: the training prompts, the captions, and the encoder with both's states.

    `goals` are what is fitted to, for each training prompt.
    """

    train: Rows
    goals: np.ndarray
    captions: list[str]
    encoder: Any
    tokenizer: Any
    encoded: dict[int, np.ndarray]


def train_ensemble(recipe: EnsembleRecipe, read: Read, rows: np.ndarray) -> TextEnsemblePredictor:
    """Train everything on some rows of the train split and put it together."""
    prompts = [read.train.prompts[i] for i in rows]
    targets = read.train.targets[rows]
    n, size = len(read.train), len(read.train) + len(read.captions)
    members = np.r_[rows, np.arange(n, size)]
    known = {layer: array[members] for layer, array in read.encoded.items()}
    texts = [*prompts, *read.captions]
    tables = WordTables.build(texts)
    collection = Collection.build(known, len(rows), tables, Postings.build(texts))
    training = {layer: array[rows] for layer, array in read.encoded.items()}
    goals = read.goals[rows]
    fitted = fit_collection_model(collection, prompts, training, goals, recipe.fit, recipe.seed)
    print("kernel ridge and networks are fitted", flush=True)
    tuned = fine_tune(recipe, prompts, targets, read.tokenizer, read.train.limits)
    calibration = calibrate(recipe, read, fitted, prompts, targets, tuned)
    predictor = TextEnsemblePredictor(
        read.tokenizer,
        read.encoder,
        tuned,
        fitted.model,
        calibration,
        recipe.targets,
        normaliser=CURRENT,
        known_words=KnownWords.fit(texts, read.tokenizer.get_vocab()),
    )
    recipe.record(predictor, read.train.select(rows))
    return predictor


def fine_tune(
    recipe: EnsembleRecipe,
    prompts: list[str],
    targets: np.ndarray,
    tokenizer: Any,
    limits: dict[str, tuple[float, float]],
) -> BertForPerformancePrediction:
    """Fine-tune the encoder on the targets that it will have a share in."""
    settings = recipe.tuned
    torch.manual_seed(recipe.seed)
    columns = [recipe.targets.index(target) for target in recipe.tuned_targets]
    labels = scale_targets(targets[:, columns], recipe.tuned_targets, limits).astype(np.float32)
    variance = labels.var(axis=0)
    model = BertForPerformancePrediction.from_backbone(
        recipe.model,
        targets=recipe.tuned_targets,
        limits=limits or None,
        target_weights=(variance.mean() / variance).tolist(),
        pooling="mean",
        max_length=settings.max_length,
    )
    return tune_encoder(model, tokenizer, prompts, labels, settings, recipe.seed)


def calibrate(
    recipe: EnsembleRecipe,
    read: Read,
    fitted: Fitted,
    prompts: list[str],
    targets: np.ndarray,
    tuned: BertForPerformancePrediction,
) -> dict[str, np.ndarray]:
    """Fit the shares' scales on unlabelled captions, and units and deviations on left-out rows."""
    some = spaced(0, len(read.captions), UNLABELLED)
    captions = [read.captions[i] for i in some]
    encoded = {layer: array[some + len(read.train)] for layer, array in read.encoded.items()}
    columns = [recipe.targets.index(target) for target in recipe.tuned_targets]
    base = fitted.model.predict(captions, encoded)[:, columns]
    logits = tuned_logits(tuned, read.tokenizer, captions)
    scale = base.std(axis=0) / logits.std(axis=0)
    mean = logits.mean(axis=0) - base.mean(axis=0) / scale
    known = fitted.model.collection.references
    distance = distance_to_nearest(known.T, known, own=True)
    left_out = fitted.left_out[:, : len(recipe.targets)]
    return {
        **calibrate_targets(left_out, targets, prompts, distance),
        "share": np.array([recipe.tuned.share], np.float32),
        "tuned_mean": mean.astype(np.float32),
        "tuned_scale": scale.astype(np.float32),
    }


def cross_validate(recipe: EnsembleRecipe, read: Read) -> None:
    """Train without each part of the train split and print what that predicts of the part."""
    rows = np.random.default_rng(recipe.seed).permutation(len(read.train))
    for part in np.array_split(rows, recipe.folds):
        predictor = train_ensemble(recipe, read, np.setdiff1d(rows, part))
        predicted = predictor.predict([read.train.prompts[i] for i in part])
        scores = score_table(predicted, read.train.targets[part], recipe.targets)
        print(json.dumps(scores), flush=True)


def describe(recipe: EnsembleRecipe, read: Read) -> dict[str, Any]:
    """Return what the configuration and the card tell of the training."""
    told = recipe.describe(read.train, len(read.captions))
    told["training"] |= {
        "fit": asdict(recipe.fit),
        "tuned": asdict(recipe.tuned),
        "normaliser": CURRENT,
    }
    return told


def main(arguments: list[str] | None = None) -> None:
    """Train, or cross-validate, what the flags and the recipe ask for."""
    recipe = parse_recipe(EnsembleRecipe, __doc__, EXAMPLES, arguments)
    if not recipe.folds:
        recipe.check_output(TextEnsemblePredictor.name)
    train, validation = recipe.read(recipe.train_split), recipe.read(recipe.validation_split)
    held_out = recipe.held_out(TextEnsemblePredictor.name, train, validation)
    goals = recipe.goals(train)
    studies = read_sources(recipe.sources_dir) if recipe.sources_dir else {}
    captions = read_captions(recipe.captions, [*train.prompts, *validation.prompts])
    captions = [captions[i] for i in spaced(0, len(captions), recipe.collection_captions)]
    captions = [normalise(caption) for caption in captions]
    print(f"{len(train)} training prompts, {len(captions)} further captions")
    encoder, tokenizer = load_encoder(recipe.model)
    check_layers(encoder, recipe.layers)
    allowed_length(encoder, recipe.tuned.max_length)  # before what takes long
    if not recipe.folds:  # the encoder is saved as it is and fine-tuned, a weight in two bytes
        require_room(recipe.output_dir, 4 * encoder.num_parameters())
    texts = [*train.prompts, *captions]
    encoded = cached_layer_means(
        *(encoder, tokenizer, texts, recipe.layers, recipe.cache, recipe.mixed_precision)
    )
    read = Read(train, goals, captions, encoder, tokenizer, encoded)
    if recipe.folds:
        return cross_validate(recipe, read)
    predictor = train_ensemble(recipe, read, np.arange(len(train)))
    predictor.details |= describe(recipe, read)
    true, targets = validation.targets, recipe.targets
    scores = held_out.scores(
        lambda: evaluate_calibrated(predictor, validation.prompts, true, targets)
    )
    target = next((one for one in targets if one == "mean_hbpp"), targets[0])
    rows = {name: study_row(one, predictor, {}, target) for name, one in studies.items()}
    scores |= {"studies": rows} if rows else {}
    predictor.details["evaluation"] = scores
    predictor.save_pretrained(recipe.output_dir)
    print(json.dumps({"seed": recipe.seed, **scores}))
    print(f"saved to {recipe.output_dir}")


if __name__ == "__main__":
    or_exit(main)
