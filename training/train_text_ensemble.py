r"""Train the text ensemble: the best predictor that sees prompts only.

    python training/train_text_ensemble.py --recipe training/recipes/text_ensemble.yaml \
        --captions captions.txt

Kernel ridge regression and small networks on a frozen encoder and on a file of captions of the
collection, one a line; for generation also the same encoder, fine-tuned. Trained on the train split
of PQPP; the validation split is scored at the end. With --folds 5 the whole recipe is
cross-validated inside the train split instead, and nothing is saved.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from pqpp_models import TARGETS
from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
from pqpp_models.checkpoint import check_place
from pqpp_models.targets import scale_targets
from pqpp_models.text.calibrated import NEAREST
from pqpp_models.text.collection import Collection, Floats, similarities
from pqpp_models.text.collection_data import (
    Benchmark,
    cached_layer_means,
    load_benchmark,
    read_captions,
    read_geneval,
    spaced,
)
from pqpp_models.text.collection_scope import Postings
from pqpp_models.text.encoder.encoding import pad
from pqpp_models.text.encoder.pretrained import allowed_length, check_layers, load_encoder
from pqpp_models.text.encoder.tokens import encode
from pqpp_models.text.static.evaluation import correlations, evaluate
from pqpp_models.text.static.fitting import OutsideSettings, fit_calibration, outside_of
from pqpp_models.text.text_ensemble.fitting import (
    FitSettings,
    Fitted,
    fit_collection_model,
    warm_up_and_decay,
)
from pqpp_models.text.text_ensemble.predictor import TextEnsemblePredictor, tuned_logits
from pqpp_models.text.words import WordTables
from pqpp_models.training.arguments import read_yaml, require_names
from pqpp_models.training.data import reading
from pqpp_models.training.publish import or_exit

UNLABELLED = 2000
NEEDED = ("model", "config", "output", "layers", "collection_captions", "seed", "fit", "tuned")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the training that the command line asks for."""
    options = parse(arguments)
    recipe = read_yaml(options.recipe)
    require_names(recipe, ["model"], options.recipe)
    recipe["encoder"] = recipe["model"]
    recipe |= {name: value for name, value in vars(options).items() if value is not None}
    require_names(recipe, NEEDED, options.recipe)
    if not recipe["folds"]:
        check_place(recipe["output"], TextEnsemblePredictor.name)
    with reading("pqpp", "check --config and --data-dir"):
        benchmark = load_benchmark(recipe["config"], recipe.get("data_dir"))
    captions = read_captions(recipe["captions"], [*benchmark.train, *benchmark.validation])
    captions = [captions[i] for i in spaced(0, len(captions), recipe["collection_captions"])]
    print(f"{len(benchmark.train)} training prompts, {len(captions)} further captions")
    encoder, tokenizer = load_encoder(recipe["model"])
    check_layers(encoder, recipe["layers"])
    allowed_length(encoder, recipe["tuned"]["max_length"])  # before what takes long
    texts = [*benchmark.train, *captions]
    encoded = cached_layer_means(encoder, tokenizer, texts, recipe["layers"], recipe.get("cache"))
    if recipe["folds"]:
        cross_validate(recipe, benchmark, captions, encoded, encoder, tokenizer)
        return 0
    start = time.perf_counter()
    rows = np.arange(len(benchmark.train))
    predictor = train(recipe, benchmark, rows, captions, encoded, encoder, tokenizer)
    minutes = (time.perf_counter() - start) / 60
    predictor.details |= describe(recipe, benchmark, captions)
    scores = evaluate(predictor, benchmark, recipe)
    predictor.details["evaluation"] = scores
    predictor.save_pretrained(recipe["output"])
    print(json.dumps({"seed": recipe["seed"], "minutes": round(minutes, 1), **scores}))
    print(f"saved to {recipe['output']}")
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; a flag wins over the recipe."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recipe", required=True, help="YAML file with the settings")
    parser.add_argument("--captions", required=True, help="captions of the collection, one a line")
    parser.add_argument(
        "--geneval",
        help="GenEval's evaluation_metadata.jsonl: teaches what is hard in prompts that give "
        "instructions; without it, all are taken for captions",
    )
    parser.add_argument("--config", help="configuration of the benchmark")
    parser.add_argument("--data-dir", help="folder of its files, instead of a download")
    parser.add_argument("--drawbench-dir", help="folder of PQPP v1.1, to score DrawBench")
    parser.add_argument("--gimbrr-dir", help="folder of GIMBRR, to score it")
    parser.add_argument("--model", help="the pretrained encoder: name or folder")
    parser.add_argument("--cache", help="folder that keeps the encoder's states for the next run")
    parser.add_argument("--folds", type=int, default=0, help="cross-validate in so many parts")
    parser.add_argument("--output", help="folder to write the predictor to")
    parser.add_argument("--seed", type=int, help="of everything random")
    options = parser.parse_args(arguments)
    if options.folds < 0 or options.folds == 1:
        parser.error(f"--folds is {options.folds}; give 0, or 2 and more")
    return options


def train(
    recipe: dict[str, Any],
    benchmark: Benchmark,
    rows: NDArray[np.int64],
    captions: list[str],
    encoded: dict[int, Floats],
    encoder: Any,
    tokenizer: Any,
) -> TextEnsemblePredictor:
    """Train everything on some rows of the train split and put it together."""
    prompts = [benchmark.train[i] for i in rows]
    targets = benchmark.train_targets[rows]
    n, size = len(benchmark.train), len(benchmark.train) + len(captions)
    members = np.r_[rows, np.arange(n, size)]
    known = {layer: array[members] for layer, array in encoded.items()}
    centred = sorted(recipe["layers"])[:-1]
    collection = Collection.build(known, labelled=len(rows), centred=centred)
    tables = WordTables.build([*prompts, *captions])
    postings = Postings.build([*prompts, *captions])
    settings = FitSettings(
        **{**recipe["fit"], "kernel_layers": tuple(recipe["fit"]["kernel_layers"])}
    )
    training = {layer: array[rows] for layer, array in encoded.items()}
    goals, seed = benchmark.goals[rows], recipe["seed"]
    fitted = fit_collection_model(
        collection, tables, prompts, training, goals, settings, seed, postings
    )
    print("kernel ridge and networks are fitted", flush=True)
    tuned = fine_tune(recipe, prompts, targets, tokenizer)
    unlabelled = spaced(n, size, UNLABELLED)
    some = {layer: array[unlabelled] for layer, array in encoded.items()}
    texts = [captions[i - n] for i in unlabelled]
    outside, rates = None, np.array([0.5])
    if recipe.get("geneval"):
        instructions, rates = read_geneval(recipe["geneval"])
        outside_settings = OutsideSettings(**recipe["outside"])
        outside = outside_of(prompts, instructions, rates, tables, outside_settings)
    calibration = calibrate(recipe, fitted, targets, tuned, tokenizer, texts, some, rates)
    return TextEnsemblePredictor(
        tokenizer, encoder, tuned, fitted.model, calibration, outside=outside
    )


def fine_tune(
    recipe: dict[str, Any], prompts: list[str], targets: NDArray[np.float64], tokenizer: Any
) -> BertForPerformancePrediction:
    """Fine-tune the encoder on the targets that it will have a share in."""
    settings = recipe["tuned"]
    torch.manual_seed(recipe["seed"])
    columns = [TARGETS.index(target) for target in settings["targets"]]
    labels = scale_targets(targets[:, columns], settings["targets"]).astype(np.float32)
    variance = labels.var(axis=0)
    model = BertForPerformancePrediction.from_backbone(
        recipe["model"],
        targets=settings["targets"],
        target_weights=(variance.mean() / variance).tolist(),
        pooling="mean",
        max_length=settings["max_length"],
    ).train()
    optimizer = torch.optim.AdamW(
        [
            {"params": model.backbone.parameters(), "lr": settings["learning_rate"]},
            {"params": model.head.parameters(), "lr": settings["head_learning_rate"]},
        ],
        weight_decay=settings["weight_decay"],
    )
    numbers = encode(tokenizer, prompts, settings["max_length"])
    lengths = np.array([len(row) for row in numbers])
    random = np.random.default_rng(recipe["seed"])
    steps = settings["epochs"] * -(-len(prompts) // settings["batch_size"])
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warm_up_and_decay(steps))
    for epoch in range(settings["epochs"]):
        total = 0.0
        batches = like_length(lengths, settings["batch_size"], random)
        for batch in batches:
            inputs = pad([numbers[i] for i in batch], tokenizer.pad_token_id or 0)
            loss = model(**inputs, labels=torch.from_numpy(labels[batch])).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / len(batches):.5f}", flush=True)
    return model.eval()


def like_length(
    lengths: NDArray[np.int64], size: int, random: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Cut shuffled rows into batches of like length, in random order."""
    shuffled = random.permutation(len(lengths))
    batches = []
    for start in range(0, len(shuffled), size * 20):
        part = shuffled[start : start + size * 20]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches += [part[i : i + size] for i in range(0, len(part), size)]
    return [batches[i] for i in random.permutation(len(batches))]


def calibrate(
    recipe: dict[str, Any],
    fitted: Fitted,
    targets: NDArray[np.float64],
    tuned: BertForPerformancePrediction,
    tokenizer: Any,
    captions: list[str],
    encoded: dict[int, Floats],
    rates: NDArray[np.float64],
) -> dict[str, NDArray[np.float32]]:
    """Fit the shares' scales on unlabelled captions, and units and deviations on left-out rows."""
    columns = [TARGETS.index(target) for target in recipe["tuned"]["targets"]]
    base = fitted.model.predict(captions, encoded)[:, columns]
    logits = tuned_logits(tuned, tokenizer, captions)
    scale = base.std(axis=0) / logits.std(axis=0)
    mean = logits.mean(axis=0) - base.mean(axis=0) / scale
    known = fitted.model.collection.vectors[max(recipe["layers"])][: len(targets)]
    near = np.partition(similarities(known, known), -NEAREST, axis=1)[:, -NEAREST:]
    left_out = fitted.left_out[:, : len(TARGETS)]
    generation = [bool(recipe.get("geneval")) and one.endswith("hbpp") for one in TARGETS]
    distance = 1 - near.mean(axis=1)
    return {
        **fit_calibration(left_out, targets, distance, rates, generation),
        "share": np.array([recipe["tuned"]["share"]], np.float32),
        "tuned_mean": mean.astype(np.float32),
        "tuned_scale": scale.astype(np.float32),
    }


def cross_validate(
    recipe: dict[str, Any],
    benchmark: Benchmark,
    captions: list[str],
    encoded: dict[int, Floats],
    encoder: Any,
    tokenizer: Any,
) -> None:
    """Train without each part of the train split and print what that predicts of the part."""
    rows = np.random.default_rng(recipe["seed"]).permutation(len(benchmark.train))
    for part in np.array_split(rows, recipe["folds"]):
        others = np.setdiff1d(rows, part)
        predictor = train(recipe, benchmark, others, captions, encoded, encoder, tokenizer)
        predicted = predictor.predict([benchmark.train[i] for i in part])
        print(json.dumps(correlations(predicted, benchmark.train_targets[part])), flush=True)


def describe(recipe: dict[str, Any], benchmark: Benchmark, captions: list[str]) -> dict[str, Any]:
    """Return what the configuration and the card tell of the training."""
    return {
        "data": f"{recipe['config']}, split train",
        "training": {
            "prompts": len(benchmark.train),
            "captions": len(captions),
            "seed": recipe["seed"],
            "encoder_name": recipe["encoder"],
            "fit": recipe["fit"],
            "tuned": recipe["tuned"],
            "outside": recipe["outside"] if recipe.get("geneval") else None,
            "versions": {
                "numpy": np.__version__,
                "torch": torch.__version__.split("+")[0],
                "transformers": transformers.__version__,
            },
        },
    }


if __name__ == "__main__":
    sys.exit(or_exit(main))
