"""One training step of the full-size RAHF on a GPU: images a second and memory.

    python benchmarks/rahf_gpu.py --batch_size 32 --output rahf_gpu.md

ViT-B/16 and T5 v1.1 base with random weights, bf16, AdamW, both variants; without a GPU it says so
and ends.
"""

import argparse
import platform
import sys
import time
from pathlib import Path

import torch

from pqpp_feedback.rahf import RahfConfig, RahfForRichFeedback
from pqpp_files.write_beside import write_whole


def batch_of(config, n, length=32, target=40):
    """Return a random batch on the GPU."""
    size, side = config.vision_config.image_size, config.heatmap_size
    shape = (n, 7, length) if config.variant == "augmented_prompt" else (n, length)
    return {
        "pixel_values": torch.randn(n, 3, size, size, device="cuda"),
        "input_ids": torch.randint(2, config.text_config.vocab_size, shape, device="cuda"),
        "heatmap_labels": torch.rand(n, 2, side, side, device="cuda"),
        "score_labels": torch.rand(n, 4, device="cuda"),
        "labels": torch.randint(2, config.text_config.vocab_size, (n, target), device="cuda"),
    }


def measure(variant, batch_size, steps=10):
    """Return the seconds of a step, its images a second and the most memory in GiB."""
    torch.manual_seed(0)
    config = RahfConfig(variant=variant)
    model = RahfForRichFeedback(config).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    batch = batch_of(config, batch_size)
    torch.cuda.reset_peak_memory_stats()
    for step in range(steps + 3):
        if step == 3:  # the first steps choose kernels
            torch.cuda.synchronize()
            began = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - began) / steps
    weights = sum(one.numel() for one in model.parameters())
    memory = torch.cuda.max_memory_allocated() / 2**30
    return weights, seconds, batch_size / seconds, memory


def main():
    """Measure both variants and print or write a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--output", help="also write the table to this file")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no GPU is here: nothing was measured")
    name = torch.cuda.get_device_name()
    lines = [
        f"{name}, torch {torch.__version__}, Python {platform.python_version()}, bf16, batches of "
        f"{options.batch_size}",
        "",
        "| variant | weights | s/step | images/s | GiB |",
        "|---|---|---|---|---|",
    ]
    for variant in ("multi_head", "augmented_prompt"):
        weights, seconds, speed, memory = measure(variant, options.batch_size)
        lines.append(
            f"| {variant} | {weights / 1e6:.0f} M | {seconds:.3f} | {speed:.0f} | {memory:.1f} |"
        )
    text = "\n".join(lines) + "\n"
    print(text)
    if options.output:
        write_whole(Path(options.output), text)


if __name__ == "__main__":
    main()
