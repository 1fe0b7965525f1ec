"""`pqpp generate`: make images for prompts."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pqpp_backbones import DTYPES
from pqpp_cli.command import LIBRARY, Command, Group
from pqpp_cli.groups import ColumnOptions, ShardOptions, parse_json_or_text
from pqpp_files.errors import PqppError
from pqpp_files.names import pluralize
from pqpp_files.options.option import NEEDED, option

if TYPE_CHECKING:
    from pqpp_engines.generate.generators import Generator
    from pqpp_engines.generate.run import GenerationJob
    from pqpp_files.shards import Shard

_SHARD_ENDINGS = (".parquet", ".csv", ".tsv", ".gz")


class PipelineOptions(Group):
    """Options of a diffusers pipeline."""

    TITLE = "diffusers pipeline (defaults: the pipeline's)"
    num_inference_steps: int | None = option(LIBRARY, goes_with="model")
    guidance_scale: float | None = option(LIBRARY, goes_with="model")
    negative_prompt: str | None = option(LIBRARY, goes_with="model")
    height: int | None
    width: int | None
    scheduler: str | None = option(LIBRARY, metavar="CLASS", goes_with="model")
    lora: str | None = option(LIBRARY, path="name", goes_with="model")
    lora_scale: float = option(LIBRARY, goes_with="lora")
    dropped: tuple[str, ...] = option(LIBRARY, metavar="NAME[,...]", goes_with="model")
    set: dict[str, str] = option(LIBRARY, metavar="KEY=VALUE", library="more", goes_with="model")
    revision: str | None = option(LIBRARY, goes_with="model")
    variant: str | None = option(LIBRARY, goes_with="model")
    dtype: str = option(LIBRARY, choices=DTYPES, goes_with="model")
    device: str | None = option(LIBRARY, goes_with="model")
    offload: str | None = option(LIBRARY, choices=("model", "sequential"), goes_with="model")
    vae_tiling: bool = option(LIBRARY, goes_with="model")


class ImagesEndpointOptions(Group):
    """Options of an endpoint that generates images.

    Attributes:
        max_cost: Maximum cost of the calls; needs --price-per-image.
        ledger: File of calls; a rerun counts them against the limits.
    """

    TITLE = "with --images-url (--height and --width apply too)"
    images_model: str | None = option(None, "model name at the endpoint", goes_with="images_url")
    max_calls: int | None = option(None, "maximum number of calls", gt=0, goes_with="images_url")
    max_cost: float | None = option(None, gt=0, goes_with="images_url")
    ledger: str | None = option(None, metavar="FILE", goes_with="images_url")
    price_per_image: float | None = option(None, "price of an image", gt=0, goes_with="images_url")


class Generate(
    ColumnOptions,
    ShardOptions,
    PipelineOptions,
    ImagesEndpointOptions,
    Command,
    takes=("pqpp_engines.generate.pipeline:DiffusersGenerator",),
):
    r"""Generate images with a diffusers pipeline, an API or your own command.

    examples:
      pqpp generate --model SDXL --file prompts.csv --images-per-prompt 2 --output study
      pqpp generate --model OWNER/PIPELINE --file prompts.csv --dtype float16 --offload model \
          --output study
      pqpp generate --command "python glide.py --prompt {prompt} --seed {seed} --to {output}" \
          --model-name glide --file prompts.csv --output study
      pqpp generate --model OWNER/SD3 --dropped text_encoder_3,tokenizer_3 \
          --negative-prompt blurry --scheduler FlowMatchHeunDiscreteScheduler \
          --set pipeline.max_sequence_length=128 --file prompts.csv --output study
      accelerate launch -m pqpp generate --model SDXL --file prompts.csv --output study
      pqpp generate --images-url https://api.example.com/v1 --images-model NAME --file prompts.csv \
          --max-cost 5 --price-per-image 0.04 --output study

    Images are written to images/PROMPT_ID/MODEL_I.png, each with a JSON file (seed,
    num_inference_steps, guidance_scale, scheduler, revision, sha256 ...). images/metadata.jsonl
    lists them for pqpp assess, annotate and build. The seed of an image is a hash of prompt id,
    model name and I, so it does not depend on other images. Existing images are kept: if a job is
    killed, run the command again. Without a column prompt_id, row numbers are the ids.

    The endpoint's key is read from PQPP_IMAGES_KEY. If the command fails, a prompt is refused, or
    its image has a single colour (because of NaN), nothing is stored, and the next run tries again.
    If the first eight prompts all fail, the run ends.

    With shards, --file is Parquet or CSV of any size, and made/MODEL contains a table of images and
    errors. accelerate launch divides the shards among processes. After all runs with --shard, run
    the command once without it, to write images/metadata.jsonl. Limits apply to each task.

    Attributes:
        command: Command with {prompt}, {seed} and {output}, run once per image.
        model_name: Name of the model in files (default: from --model).
    """

    SHARD_SIZE = 8  # small, so that all processes have work
    model: str | None = option(None, "SDXL, SD1.5, OWNER/REPOSITORY or a folder", path="name")
    command: str | None = option(None, metavar="WORDS")
    images_url: str | None = option(None, "URL of an endpoint with OpenAI's images API, up to /v1")
    model_name: str | None = option(None, library="name")
    file: str = option(NEEDED, "prompts: a table, or a text file with one per line", path="file")
    output: str = option(NEEDED, "folder or fsspec URL, such as s3://BUCKET/NAME", path="output")
    images_per_prompt: int = option(2, "images per prompt", ge=1)
    batch_size: int = option(1, "images at once; with 1, images do not depend on the batch", ge=1)
    shard_size: int | None = option(None, "rows per shard (default: 8)")

    def __post_init__(self) -> None:
        """Require exactly one source of images, and the options that it needs."""
        super().__post_init__()
        self.require_one_of("model", "command", "images_url")
        for source, name in (("command", "model_name"), ("images_url", "images_model")):
            if getattr(self, source) and not getattr(self, name):
                raise PqppError(f"`{source}` needs the name of the model; add `{name}`")
        if self.max_cost is not None and self.price_per_image is None:
            raise PqppError("`max_cost` needs the price of an image; add `price_per_image`")
        if self.has_many_workers and (self.max_calls or self.max_cost):
            limits = "`max_calls` and `max_cost` cannot limit several workers"
            raise PqppError(f"{limits}; remove the limits, or `workers` and `engine`")

    def get_path_role(self, option: str) -> str | None:
        """Return the role of an option's path, or None for an output in an object store."""
        from pqpp_files.shards import is_local

        is_elsewhere = option == "output" and not is_local(str(self.output))
        return None if is_elsewhere else super().get_path_role(option)

    def run(self) -> None:
        """Generate the missing images."""
        from pqpp_engines.generate.run import generate, write_metadata
        from pqpp_files.shards import ShardStore, get_process_share
        from pqpp_models.prompt_file import read_prompts_and_ids

        if self.in_shards or get_process_share(os.environ):
            is_cut = self.in_shards or Path(self.file).suffix.lower() in _SHARD_ENDINGS
            cut_prompts = None if is_cut else self._cut_prompts
            self.run_in_shards(self.file, self.output, self.make_job, ("prompt_id",), cut_prompts)
            if not self.shard:
                write_metadata(ShardStore(self.output))
            return
        prompts, ids = read_prompts_and_ids(self.file, self.column)
        generator = self.open_generator()
        summary = generate(
            generator,
            [{"prompt_id": id_, "prompt": text} for id_, text in zip(ids, prompts, strict=True)],
            self.output,
            self.images_per_prompt,
            self.batch_size,
            progress=sys.stderr.isatty(),
        )
        text = f"generated {pluralize(summary.made, 'image')} in {self.output}/images"
        text += f"; {summary.skipped} already existed" if summary.skipped else ""
        text += f"; skipped {pluralize(summary.blank, 'blank prompt')}" if summary.blank else ""
        text += f"; the safety checker flagged {summary.flagged}" if summary.flagged else ""
        if summary.refused:
            text += f"; {summary.refused} were refused ({summary.last_refusal})"
        print(f"pqpp: {text}", file=sys.stderr)
        if generator.budget:
            print(f"pqpp: {generator.budget.describe_spending()}", file=sys.stderr)

    def _cut_prompts(self, size: int) -> list[Shard]:
        """Return shards of up to `size` prompts from a file that must be read as a whole."""
        import pyarrow as pa

        from pqpp_files.shards import cut_table
        from pqpp_models.prompt_file import read_prompts_and_ids

        prompts, ids = read_prompts_and_ids(self.file, self.column)
        return cut_table(pa.table({"prompt_id": ids, self.column: prompts}), size)

    def make_job(self) -> tuple[GenerationJob, dict, str]:
        """Return the job, the settings that its output depends on, and the output folder."""
        from pqpp_engines.generate.run import GenerationJob

        size = self.images_per_prompt, self.batch_size
        job = GenerationJob(partial(Generate.open_generator, self), self.output, *size, self.column)
        return job, job.settings, f"{self.output}/made/{job.generator.name}"

    def open_generator(self) -> Generator:
        """Return the generator that the options choose."""
        from pqpp_engines import generate

        name = self.model_name or ""
        if self.command:
            return generate.CommandGenerator(self.command, name)
        if self.images_url:
            from pqpp_backbones.chat.chat import Budget
            from pqpp_backbones.chat.ledger import Ledger

            price, ledger = self.price_per_image or 0.0, Ledger(self.ledger)
            budget = Budget(self.max_calls, self.max_cost, price_call=price, ledger=ledger)
            size = (self.height, self.width)
            model = self.images_model or ""
            return generate.EndpointGenerator(self.images_url, model, name, *size, budget)
        arguments = self.get_arguments(generate.DiffusersGenerator) | {"name": name}
        arguments["more"] = {name: parse_json_or_text(text) for name, text in self.set.items()}
        if self.device is None and "LOCAL_RANK" in os.environ:  # one of a launcher's processes
            from pqpp_backbones.pretrained import get_device

            arguments["device"] = get_device()
        return generate.DiffusersGenerator(**arguments)
