"""Train the static predictor: label captions by a teacher, distil it, calibrate, score, save.

The teacher sees the train split and a file of captions of the collection. GenEval's prompts, with
the published rates of their six categories, teach what is hard in an instruction; PartiPrompts'
have no scores and only widen what the student reads. The validation split, DrawBench and GIMBRR are
scored at the end. Deterministic for a number of threads; a quarter of an hour on two cores.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pqpp_models.training.script import or_exit, script_imports

with script_imports("train_static"):
    import torch

    from pqpp_files.full_disk import require_room
    from pqpp_models.bench.calibrated import drawbench_and_gimbrr, evaluate_calibrated
    from pqpp_models.encoder.pretrained import check_layers, load_encoder
    from pqpp_models.text.calibration import distance_to_nearest, fit_calibration
    from pqpp_models.text.collection.collection import Collection
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
    from pqpp_models.text.training.collection_model import (
        FitSettings,
        Fitted,
        fit_collection_model,
    )
    from pqpp_models.text.training.instructions import fit_instruction_model
    from pqpp_models.text.training.recipe import TextRecipe
    from pqpp_models.text.training.texts import (
        cached_layer_means,
        made_up_prompts,
        read_captions,
        read_geneval,
        read_parti,
        spaced,
    )
    from pqpp_models.text.words import WordTables
    from pqpp_models.training.arguments import parse_recipe
    from pqpp_models.training.data import Rows
    from pqpp_models.training.options import option

EXAMPLES = """\
  python training/train_static.py --config training/recipes/static.yaml \\
      --captions captions.txt --geneval evaluation_metadata.jsonl --parti PartiPrompts.tsv"""
MAX_PIECES = 96


@dataclass(kw_only=True)
class StaticRecipe(TextRecipe):
    """What the static predictor is trained by."""

    output_dir: str = option("runs/static", "folder to write the predictor to")
    geneval: str | None = option(None, required=True)
    parti: str | None = option(None, "PartiPrompts.tsv, for the student to read", path="file")
    made_up: int = option(12000, "prompts to make up of words and pieces of captions", least=0)
    teacher: FitSettings = option(FitSettings(), "how the teacher is fitted")
    student: DistilSettings = option(DistilSettings(), "how the network is trained")


@dataclass
class Texts:
    """What is read.

    Attributes:
        train: the training prompts, the collection's labelled part.
        captions: further captions of the collection.
        instructions: GenEval's prompts.
        rates: how often images follow each of them.
        others: prompts without any score, which only widen what the student reads.
    """

    train: list[str]
    captions: list[str]
    instructions: list[str]
    rates: np.ndarray
    others: list[str]

    @property
    def all(self) -> list[str]:
        """Return all texts in one list; the collection comes first."""
        return [*self.train, *self.captions, *self.instructions, *self.others]


def fit_teacher(recipe: StaticRecipe, texts: Texts, encoded: dict, goals: np.ndarray) -> Fitted:
    """Fit the teacher to the training prompts and their collection."""
    n, size = len(texts.train), len(texts.train) + len(texts.captions)
    # Evenly spaced captions: the whole collection says little more, and costs as much more time.
    members = np.r_[np.arange(n), spaced(n, size, recipe.collection_captions)]
    known = {layer: array[members] for layer, array in encoded.items()}
    collection = Collection.build(known, n, WordTables.build(texts.all[:size]))
    training = {layer: array[:n] for layer, array in encoded.items()}
    return fit_collection_model(
        collection, texts.train, training, goals, recipe.teacher, recipe.seed
    )


def fit_student(
    recipe: StaticRecipe, texts: Texts, encoded: dict, fitted: Fitted, encoder, tokens: WordPieces
) -> StaticModule:
    """Let the teacher label every text and train the network on them."""
    n, settings = len(texts.train), recipe.student
    rest = {layer: array[n:] for layer, array in encoded.items()}
    honest = (1 - settings.true_share) * fitted.left_out + settings.true_share * fitted.goals
    goals = np.concatenate([honest, fitted.model.predict(texts.all[n:], rest)])
    sentence = encoded[max(recipe.layers)]
    points = first_points(sentence / np.linalg.norm(sentence, axis=1)[:, None], settings.point_size)
    embeddings = encoder.get_input_embeddings().weight.detach().numpy()
    pieces = first_vectors(embeddings, settings.piece_size)
    numbers = [tokens.encode(text) for text in texts.all]
    return distil(numbers, goals, points, pieces, settings, recipe.seed)


def assemble(
    recipe: StaticRecipe,
    texts: Texts,
    fitted: Fitted,
    student: StaticModule,
    tokens: WordPieces,
    train: Rows,
) -> StaticPredictor:
    """Put network, references, instruction model and calibration together."""
    n_targets, tables = len(recipe.targets), fitted.model.collection.tables
    network = student.to_static(n_targets)
    points = network([tokens.encode(text) for text in texts.train])[1]
    references = np.round(points * SCALE).astype(np.int8)
    distance = distance_to_nearest(points, references.astype(np.float32).T / SCALE, own=True)
    instructions = fit_instruction_model(
        texts.train, texts.instructions, texts.rates, tables, recipe.instruction_model
    )
    generation = [target.endswith("hbpp") for target in recipe.targets]
    calibration = fit_calibration(
        fitted.left_out[:, :n_targets], train.targets, distance, texts.rates, generation
    )
    return StaticPredictor(
        tokens, network, references, tables, instructions, calibration, recipe.targets
    )


def describe(
    recipe: StaticRecipe, texts: Texts, train: Rows, predictor: StaticPredictor
) -> dict[str, Any]:
    """Return what the configuration and the card tell of the training."""
    told = recipe.describe(train, len(texts.captions))
    weights = predictor.instruction_model.describe()
    told["training"] |= {
        "instructions": len(texts.instructions),
        "unscored_prompts": len(texts.others),
        "teacher": asdict(recipe.teacher),
        "student": asdict(recipe.student),
        "instruction_model": {**asdict(recipe.instruction_model), **weights},
    }
    return told


def train_static(recipe: StaticRecipe) -> dict[str, Any]:
    """Train the predictor of a recipe, save it, and return its scores."""
    recipe.check_output(StaticPredictor.name)
    torch.use_deterministic_algorithms(True)
    train, validation = recipe.read(recipe.train_split), recipe.read(recipe.validation_split)
    goals = recipe.goals(train)
    scored = drawbench_and_gimbrr(recipe.drawbench_dir, recipe.gimbrr_dir)
    captions = read_captions(recipe.captions, [*train.prompts, *validation.prompts])
    others = read_parti(recipe.parti) if recipe.parti else []
    texts = Texts(train.prompts, captions, *read_geneval(recipe.geneval), others)
    print(f"{len(texts.train)} training prompts, {len(captions)} further captions")
    encoder, tokenizer = load_encoder(recipe.model)
    check_layers(encoder, recipe.layers)
    numbers = tokenizer.get_vocab()
    require_room(recipe.output_dir, len(numbers) * recipe.student.piece_size)
    names = sorted(piece for piece in numbers if piece.isalpha() and len(piece) > 3)
    texts.others += made_up_prompts(captions, names, recipe.made_up, recipe.seed)
    encoded = cached_layer_means(encoder, tokenizer, texts.all, recipe.layers, recipe.cache)
    tokens = WordPieces(sorted(numbers, key=numbers.__getitem__), MAX_PIECES)
    fitted = fit_teacher(recipe, texts, encoded, goals)
    student = fit_student(recipe, texts, encoded, fitted, encoder, tokens)
    predictor = assemble(recipe, texts, fitted, student, tokens, train)
    predictor.details |= describe(recipe, texts, train, predictor)
    saved = StaticPredictor.from_pretrained(predictor.save_pretrained(recipe.output_dir))
    scores = evaluate_calibrated(saved, validation.prompts, validation.targets, scored)
    predictor.details["evaluation"] = scores
    predictor.save_pretrained(recipe.output_dir)
    return scores


def main(arguments: list[str] | None = None) -> None:
    """Train what the flags and the recipe ask for."""
    recipe = parse_recipe(StaticRecipe, __doc__, EXAMPLES, arguments)
    print(json.dumps(train_static(recipe), indent=1))
    print(f"saved to {recipe.output_dir}")


if __name__ == "__main__":
    or_exit(main)
