"""`pqpp generate`: images for prompts, one seed an image."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Set
from pathlib import Path
from typing import TYPE_CHECKING

from pqpp_cli.errors import CommandError
from pqpp_cli.options import add_retired, require_above_zero
from pqpp_cli.output import OutputFolder
from pqpp_cli.shards import add_shards, refuse_with_shards, wants_shards, work_on_shards

if TYPE_CHECKING:
    from pqpp_engines.generate.generators import Generator

_EPILOG = """examples:
  pqpp generate --model SDXL --file prompts.csv --images-per-prompt 2 --output study
  pqpp generate --model OWNER/PIPELINE --file prompts.csv --dtype float16 --offload model \\
      --output study
  pqpp generate --command "python glide.py --prompt {prompt} --seed {seed} --to {output}" \\
      --name glide --file prompts.csv --output study
  accelerate launch -m pqpp generate --model SDXL --file prompts.csv --output study
  pqpp generate --images-url https://api.example.com/v1 --images-model NAME --file prompts.csv \
      --most-money 5 --price-per-image 0.04 --output study
  pqpp generate --image-dir made --pattern "{prompt_id}/image_[45].png" --name sdxl \
      --file prompts.csv --output study

Images lie as images/PROMPT_ID/MODEL_I.png, each with a JSON file (seed, steps, guidance, revision,
sha256), and images/metadata.jsonl lists them: pqpp assess, pqpp annotate and pqpp build read them.
The seed of an image is a hash of its prompt's id, the model's name and I, so that it depends on no
other image. What is there is not made again: run the line again after a kill.

A file without a column prompt_id gets the numbers of its rows as ids.

A key for an endpoint stands in the variable PQPP_IMAGES_KEY. What its rules refuse has no image and
is asked for again in the next run. Images of --image-dir are copied, as PNG, with their hashes; the
first file of a prompt, by the numbers in the names, is its image 0.

Shard by shard, --file is Parquet or CSV of any size, and made/MODEL holds a table of what was made
and what could not be. images/metadata.jsonl is written by a run without --shard: write the line
once more without it at the end. Limits of calls and money count for each task by itself.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "generate",
        help="make images for prompts",
        description="Make images with a pipeline of diffusers, an endpoint or a command of your "
        "own, or take those that are there already.",
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
    which.add_argument(
        "--images-url", metavar="URL", help="of an endpoint that speaks OpenAI's images, up to /v1"
    )
    which.add_argument("--image-dir", metavar="DIR", help="a folder of images already made")
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
    _add_others(parser)
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
    add_shards(parser, 100)


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


def _add_others(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("with --images-url; it takes --height and --width too")
    group.add_argument("--images-model", metavar="NAME", help="which of its models")
    group.add_argument("--most-calls", type=int, metavar="N", help="how many calls are allowed")
    group.add_argument(
        "--most-money", type=float, metavar="SUM", help="how much money, with --price-per-image"
    )
    group.add_argument("--price-per-image", type=float, metavar="SUM", help="what an image costs")
    group = parser.add_argument_group("with --image-dir")
    group.add_argument(
        "--pattern",
        metavar="PATTERN",
        help="of the files' paths, with {prompt_id} and * (default: {prompt_id}/*, {prompt_id}_* "
        "or {prompt_id}.*)",
    )
    group.add_argument("--link", action="store_true", help="hard links in place of copies, for PNG")


def run(options: argparse.Namespace) -> None:
    """Make the images that are not there."""
    from pqpp_engines.generate import generate
    from pqpp_files.shards import launched_share, parts_of_share

    _check_options(options)
    if wants_shards(options):
        _generate_shards(options)
        return
    prompts = _prompts(options)
    share = parts_of_share(launched_share(os.environ))
    generator = open_generator(options, {one["prompt_id"] for one in prompts})
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
    if summary.refused:
        said += f"; {summary.refused} could not be had, as {summary.last_refusal}"
    print(f"pqpp: {said}", file=sys.stderr)
    if generator.budget:
        print(f"pqpp: {generator.budget.line()}", file=sys.stderr)


def _generate_shards(options: argparse.Namespace) -> None:
    """Make images from shard to shard."""
    from functools import partial

    from pqpp_engines.generate.run import list_images
    from pqpp_engines.generate.shards import GenerateShard
    from pqpp_files.shards import launched_share

    refuse_with_shards(options, "image_dir")
    many = (options.workers or 1) > 1
    if many and (options.most_calls or options.most_money):
        raise CommandError("--workers: each would spend --most-calls or --most-money; leave it out")

    def begin() -> tuple[GenerateShard, dict, Path]:
        opened = partial(open_generator, options)
        counts = options.images_per_prompt, options.batch_size
        job = GenerateShard(opened, options.output, *counts, options.column)
        settings, place = job.settings, Path(options.output, "made", job.generator.name)
        if many:
            del job.generator  # each worker has its own
        return job, settings, place

    work_on_shards(options, begin, ("prompt_id",))
    if not (options.shard or launched_share(os.environ)):
        list_images(Path(options.output).expanduser())


_OF = {
    "images_url": ("images_model", "most_calls", "most_money", "price_per_image"),
    "image_dir": ("pattern", "link"),
}


def _check_options(options: argparse.Namespace) -> None:
    """Refuse what belongs to another way, and numbers that cannot be."""
    for way, names in _OF.items():
        for name in names:
            if getattr(options, name) and not getattr(options, way):
                belongs = way.replace("_", "-")
                raise CommandError(f"--{name.replace('_', '-')}: it is about --{belongs}")
    for way, name in (("outside", "name"), ("image_dir", "name"), ("images_url", "images_model")):
        if getattr(options, way) and not getattr(options, name):
            option = "command" if way == "outside" else way.replace("_", "-")
            raise CommandError(
                f"--{option}: say by --{name.replace('_', '-')} what the model is called"
            )
    require_above_zero(options, "most_calls", "most_money", "price_per_image")
    if options.most_money is not None and options.price_per_image is None:
        raise CommandError("--most-money: say by --price-per-image what an image costs")


def open_generator(options: argparse.Namespace, prompt_ids: Set[str] = frozenset()) -> Generator:
    """Open what makes the images, or where they are taken from."""
    from pqpp_engines import generate

    if options.outside:
        return generate.CommandGenerator(options.outside, options.name)
    if options.image_dir:
        return generate.FolderGenerator(
            options.image_dir, options.name, prompt_ids, options.pattern, options.link
        )
    if options.images_url:
        from pqpp_models.chat.chat import Budget

        price = options.price_per_image or 0.0
        budget = Budget(options.most_calls, options.most_money, price_call=price)
        size = (options.height, options.width)
        return generate.EndpointGenerator(
            options.images_url, options.images_model, options.name or "", *size, budget
        )
    return generate.DiffusersGenerator(
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


def _prompts(options: argparse.Namespace) -> list[dict[str, str]]:
    from pqpp_files.read_table import read_table

    table = read_table(options.file, plain=options.column, remedy="name it with --column")
    texts = table.texts(options.column)
    ids = table["prompt_id"] if "prompt_id" in table else range(len(texts))
    return [{"prompt_id": str(one), "prompt": text} for one, text in zip(ids, texts, strict=True)]


def _device_of_launcher() -> str | None:
    local = os.environ.get("LOCAL_RANK")
    if local is None:
        return None
    import torch

    return f"cuda:{local}" if torch.cuda.is_available() else None
