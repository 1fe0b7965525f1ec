r"""Train the static predictor: label captions by a teacher, distil it, calibrate, score, save.

    python training/train_static.py --recipe training/recipes/static.yaml \
        --captions captions.txt --geneval evaluation_metadata.jsonl --parti PartiPrompts.tsv

The teacher sees the train split of PQPP and a file of MS COCO captions, one a line. GenEval's
prompts, with the published rates of its six categories, teach what is hard in an instruction;
PartiPrompts' have no scores and only widen what the student reads. The validation split, DrawBench
and GIMBRR are scored at the end. Deterministic for a number of threads; a quarter of an hour
on two cores.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pqpp_models import TARGETS, PredictorError
from pqpp_models.checkpoint import check_place
from pqpp_models.text.calibrated import NEAREST
from pqpp_models.text.collection import Collection, Floats, similarities
from pqpp_models.text.collection_data import (
    Benchmark,
    cached_layer_means,
    load_benchmark,
    made_up_prompts,
    read_captions,
    read_geneval,
    read_lines,
    spaced,
)
from pqpp_models.text.encoder.pretrained import check_layers, load_encoder
from pqpp_models.text.static.evaluation import evaluate
from pqpp_models.text.static.fitting import (
    DistilSettings,
    OutsideSettings,
    StaticModule,
    describe_outside,
    distil,
    first_points,
    first_vectors,
    fit_calibration,
    outside_of,
)
from pqpp_models.text.static.network import SCALE
from pqpp_models.text.static.predictor import StaticPredictor
from pqpp_models.text.static.tokens import WordPieces
from pqpp_models.text.text_ensemble.fitting import FitSettings, Fitted, fit_collection_model
from pqpp_models.text.words import WordTables
from pqpp_models.training.arguments import read_yaml, require_names
from pqpp_models.training.data import reading
from pqpp_models.training.publish import or_exit

MAX_PIECES = 96
NEEDED = (
    *("model", "config", "output", "layers", "collection_captions", "made_up", "seed"),
    *("teacher", "student", "outside"),
)


@dataclass
class Texts:
    """What is read.

    Attributes:
        train: PQPP's training prompts, the collection's labelled part.
        captions: further captions of the collection.
        instructions: GenEval's prompts.
        rates: how often images follow each of them.
        others: prompts without any score, which only widen what the student reads.
    """

    train: list[str]
    captions: list[str]
    instructions: list[str]
    rates: NDArray[np.float64]
    others: list[str]

    @property
    def all(self) -> list[str]:
        """Return all texts in one list; the collection comes first."""
        return [*self.train, *self.captions, *self.instructions, *self.others]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the training that the command line asks for."""
    options = parse(arguments)
    recipe = read_yaml(options.recipe)
    require_names(recipe, ["model"], options.recipe)
    recipe["encoder"] = recipe["model"]
    recipe |= {name: value for name, value in vars(options).items() if value is not None}
    require_names(recipe, NEEDED, options.recipe)
    check_place(recipe["output"], StaticPredictor.name)
    torch.use_deterministic_algorithms(True)
    with reading("pqpp", "check --config and --data-dir"):
        benchmark = load_benchmark(recipe["config"], recipe.get("data_dir"))
    texts = read_texts(recipe, benchmark)
    print(f"{len(texts.train)} training prompts, {len(texts.captions)} further captions")

    encoder, tokenizer = load_encoder(recipe["model"])
    check_layers(encoder, recipe["layers"])
    names = [piece for piece in tokenizer.get_vocab() if piece.isalpha() and len(piece) > 3]
    texts.others += made_up_prompts(
        texts.captions, sorted(names), recipe["made_up"], recipe["seed"]
    )
    encoded = cached_layer_means(
        encoder, tokenizer, texts.all, recipe["layers"], recipe.get("cache")
    )
    fitted = fit_teacher(recipe, texts, encoded, benchmark)
    student = fit_student(recipe, texts, encoded, fitted, encoder, tokenizer)
    predictor = assemble(recipe, texts, fitted, student, tokenizer, benchmark)
    predictor.details |= describe(recipe, texts, predictor)
    predictor.save_pretrained(recipe["output"])
    saved = StaticPredictor.from_pretrained(recipe["output"])
    predictor.details["evaluation"] = evaluate(saved, benchmark, recipe)
    predictor.save_pretrained(recipe["output"])
    print(json.dumps(predictor.details["evaluation"], indent=1))
    print(f"saved to {recipe['output']}")
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; a flag wins over the recipe."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recipe", required=True, help="YAML file with the settings")
    parser.add_argument("--captions", required=True, help="captions of the collection, one a line")
    parser.add_argument("--geneval", required=True, help="GenEval's evaluation_metadata.jsonl")
    parser.add_argument("--parti", help="PartiPrompts.tsv, for the student to read")
    parser.add_argument("--config", help="configuration of the benchmark")
    parser.add_argument("--data-dir", help="folder of its files, instead of a download")
    parser.add_argument("--drawbench-dir", help="folder of PQPP v1.1, to score DrawBench")
    parser.add_argument("--gimbrr-dir", help="folder of GIMBRR, to score it")
    parser.add_argument("--model", help="the pretrained encoder: name or folder")
    parser.add_argument("--cache", help="folder that keeps the encoder's states for the next run")
    parser.add_argument("--output", help="folder to write the predictor to")
    parser.add_argument("--seed", type=int, help="of everything random")
    return parser.parse_args(arguments)


def read_texts(recipe: dict[str, Any], benchmark: Benchmark) -> Texts:
    """Read all texts, and make up prompts that are no captions."""
    known = [*benchmark.train, *benchmark.validation]
    captions = read_captions(recipe["captions"], known)
    instructions, rates = read_geneval(recipe["geneval"])
    others = read_parti(recipe["parti"]) if recipe.get("parti") else []
    return Texts(benchmark.train, captions, instructions, rates, others)


def read_parti(path: str) -> list[str]:
    """Read PartiPrompts' prompts."""
    rows = csv.DictReader(read_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE)
    if "Prompt" not in (rows.fieldnames or ()):
        raise PredictorError(f"{path} has no column 'Prompt'; give PartiPrompts.tsv")
    return [row["Prompt"] for row in rows if row["Prompt"]]


def fit_teacher(
    recipe: dict[str, Any], texts: Texts, encoded: dict[int, Floats], benchmark: Benchmark
) -> Fitted:
    """Fit the teacher to the nine targets and to the log number of relevant images."""
    n, size = len(texts.train), len(texts.train) + len(texts.captions)
    # Evenly spaced captions: the whole collection says little more, and costs as much more time.
    members = np.r_[np.arange(n), spaced(n, size, recipe["collection_captions"])]
    known = {layer: array[members] for layer, array in encoded.items()}
    centred = sorted(recipe["layers"])[:-1]
    collection = Collection.build(known, labelled=n, centred=centred)
    tables = WordTables.build(texts.all[:size])
    settings = teacher_settings(recipe)
    training = {layer: array[:n] for layer, array in encoded.items()}
    return fit_collection_model(
        collection, tables, texts.train, training, benchmark.goals, settings, recipe["seed"]
    )


def teacher_settings(recipe: dict[str, Any]) -> FitSettings:
    """Return the teacher's part of the recipe."""
    given = recipe["teacher"]
    return FitSettings(**{**given, "kernel_layers": tuple(given["kernel_layers"])})


def fit_student(
    recipe: dict[str, Any],
    texts: Texts,
    encoded: dict[int, Floats],
    fitted: Fitted,
    encoder: Any,
    tokenizer: Any,
) -> StaticModule:
    """Let the teacher label every text and train the network on them."""
    n, settings = len(texts.train), DistilSettings(**recipe["student"])
    rest = {layer: array[n:] for layer, array in encoded.items()}
    honest = (1 - settings.true_share) * fitted.left_out + settings.true_share * fitted.goals
    goals = np.concatenate([honest, fitted.model.predict(texts.all[n:], rest)])
    sentence = encoded[max(recipe["layers"])]
    points = first_points(sentence / np.linalg.norm(sentence, axis=1)[:, None], settings.point_size)
    embeddings = encoder.get_input_embeddings().weight.detach().numpy()
    pieces = first_vectors(embeddings, settings.piece_size)
    tokens = word_pieces(tokenizer)
    numbers = [tokens.encode(text) for text in texts.all]
    return distil(numbers, goals, points, pieces, settings, recipe["seed"])


def word_pieces(tokenizer: Any) -> WordPieces:
    """Return the tokenizer's vocabulary in our own splitter."""
    numbers = tokenizer.get_vocab()
    return WordPieces(sorted(numbers, key=numbers.__getitem__), MAX_PIECES)


def assemble(
    recipe: dict[str, Any],
    texts: Texts,
    fitted: Fitted,
    student: StaticModule,
    tokenizer: Any,
    benchmark: Benchmark,
) -> StaticPredictor:
    """Put network, references, outside model and calibration together."""
    tokens, tables = word_pieces(tokenizer), fitted.model.tables
    network = student.to_static(len(TARGETS))
    points = network([tokens.encode(text) for text in texts.train])[1]
    references = np.round(points * SCALE).astype(np.int8)
    known = references.astype(np.float32) / SCALE
    distance = distances(points, known)
    settings = OutsideSettings(**recipe["outside"])
    outside = outside_of(texts.train, texts.instructions, texts.rates, tables, settings)
    generation = [target.endswith("hbpp") for target in TARGETS]
    left_out = fitted.left_out[:, : len(TARGETS)]
    calibration = fit_calibration(
        left_out, benchmark.train_targets, distance, texts.rates, generation
    )
    return StaticPredictor(tokens, network, references, tables, outside, calibration)


def distances(points: Floats, known: Floats) -> Floats:
    """Return how far points are from the nearest known ones, themselves left out."""
    near = np.partition(similarities(points, known), -NEAREST, axis=1)[:, -NEAREST:]
    return 1 - near.mean(axis=1)


def describe(recipe: dict[str, Any], texts: Texts, predictor: StaticPredictor) -> dict[str, Any]:
    """Return what the configuration and the card tell of the training."""
    import transformers

    return {
        "data": f"{recipe['config']}, split train",
        "training": {
            "prompts": len(texts.train),
            "captions": len(texts.captions),
            "instructions": len(texts.instructions),
            "unscored_prompts": len(texts.others),
            "seed": recipe["seed"],
            "encoder": recipe["encoder"],
            "teacher": asdict(teacher_settings(recipe)),
            "student": asdict(DistilSettings(**recipe["student"])),
            "outside": {**recipe["outside"], **describe_outside(predictor.outside)},
            "versions": {
                "numpy": np.__version__,
                "torch": torch.__version__.split("+")[0],
                "transformers": transformers.__version__,
            },
        },
    }


if __name__ == "__main__":
    sys.exit(or_exit(main))
