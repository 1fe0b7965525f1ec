"""`pqpp generate`: images for prompts, one seed an image."""

import argparse
import os
import sys

from pqpp_cli.errors import CommandError
from pqpp_cli.options import add_retired
from pqpp_cli.output import OutputFolder

_EPILOG = """examples:
  pqpp generate --model SDXL --file prompts.csv --images-per-prompt 2 --output study
  pqpp generate --model OWNER/PIPELINE --file prompts.csv --dtype float16 --offload model \\
      --output study
  pqpp generate --command "python glide.py --prompt {prompt} --seed {seed} --to {output}" \\
      --name glide --file prompts.csv --output study
  accelerate launch -m pqpp generate --model SDXL --file prompts.csv --output study

Images lie as images/PROMPT_ID/MODEL_I.png, each with a JSON file (seed, steps, guidance, revision,
sha256), and images/metadata.jsonl lists them: pqpp assess, pqpp annotate and pqpp build read them.
The seed of an image is a hash of its prompt's id, the model's name and I, so that it depends on no
other image. What is there is not made again: run the line again after a kill.

A file without a column prompt_id gets the numbers of its rows as ids.
"""


def add_parser(subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "generate",
        help="make images for prompts",
        description="Make images with a pipeline of diffusers, or with a command of your own.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--model", metavar="NAME_OR_PATH", help="SDXL, SD1.5, OWNER/REPOSITORY or a folder"
    )
    which.add_argument(
        "--command",
        dest="outside",
        metavar="WORDS",
        help="an outside command with {prompt}, {seed} and {output}, run for each image",
    )
    parser.add_argument("--name", help="what the model is called in files (default: from --model)")
    parser.add_argument(
        "--file", metavar="FILE", required=True, help="prompts: a table or a text file"
    )
    parser.add_argument(
        "--column", default="prompt", help="its column of prompts (default: %(default)s)"
    )
    parser.add_argument(
        "--output", type=OutputFolder, metavar="DIR", required=True, help="the folder to write in"
    )
    add_retired(parser, "--out", "--output")
    _add_job(parser)
    _add_pipeline(parser)
    parser.set_defaults(run=run)


def _add_job(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--images-per-prompt", type=int, default=2, metavar="N", help="(default: %(default)s)"
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        default=1,
        metavar="N",
        help="images at a time; with 1 they are the same to the bit in any job (default: 1)",
    )
    parser.add_argument(
        "--shard",
        metavar="I/N",
        help="only this share of the prompts, I from 0 to N - 1: one of N machines or tasks",
    )


def _add_pipeline(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the pipeline; what is left out is its own choice")
    group.add_argument("--steps", type=int, metavar="N", help="denoising steps")
    group.add_argument("--guidance", type=float, metavar="X", help="guidance scale")
    group.add_argument("--height", type=int, metavar="PIXELS", help="of the images")
    group.add_argument("--width", type=int, metavar="PIXELS", help="of the images")
    group.add_argument("--revision", help="branch, tag or commit of a repository")
    group.add_argument("--variant", help="of the weights, like fp16")
    group.add_argument(
        "--dtype", default="float32", help="float32, bfloat16 or float16 (default: %(default)s)"
    )
    group.add_argument("--device", help="like cuda:1 or cpu (default: a GPU if there is one)")
    group.add_argument("--offload", metavar="HOW", help="to the CPU: model or sequential")
    group.add_argument("--attention-slicing", action="store_true", help="less memory, slower")
    group.add_argument("--vae-tiling", action="store_true", help="less memory for large images")


def run(options: argparse.Namespace) -> None:
    """Make the images that are not there."""
    from pqpp_engines.generate import CommandGenerator, DiffusersGenerator, generate
    from pqpp_files.shards import parts_of_share

    prompts = _prompts(options)
    share = parts_of_share(options.shard or _of_launcher())
    if options.outside:
        if not options.name:
            raise CommandError("--command: say by --name what the model is called")
        generator = CommandGenerator(options.outside, options.name)
    else:
        generator = DiffusersGenerator(
            options.model,
            options.name or "",
            options.steps,
            options.guidance,
            options.height,
            options.width,
            options.revision,
            options.variant,
            options.dtype,
            options.device or _device_of_launcher(),
            options.offload,
            options.attention_slicing,
            options.vae_tiling,
        )
    summary = generate(
        generator,
        prompts,
        options.output,
        options.images_per_prompt,
        options.batch_size,
        share,
        progress=sys.stderr.isatty(),
    )
    said = f"{summary.made} images made in {options.output}/images, {summary.skipped} were there"
    said += f"; {summary.blank} blank prompts have none" if summary.blank else ""
    said += f"; {summary.flagged} were flagged by the safety checker" if summary.flagged else ""
    print(f"pqpp: {said}", file=sys.stderr)


def _prompts(options: argparse.Namespace) -> list[dict[str, str]]:
    from pqpp_files.read_table import read_table

    table = read_table(options.file, plain=options.column, remedy="name it with --column")
    texts = table.texts(options.column)
    ids = table["prompt_id"] if "prompt_id" in table else range(len(texts))
    return [{"prompt_id": str(one), "prompt": text} for one, text in zip(ids, texts, strict=True)]


def _of_launcher() -> str | None:
    """Return the share of this process where `accelerate launch` has started several."""
    rank, size = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    return f"{rank}/{size}" if rank and size else None


def _device_of_launcher() -> str | None:
    local = os.environ.get("LOCAL_RANK")
    if local is None:
        return None
    import torch

    return f"cuda:{local}" if torch.cuda.is_available() else None
