"""Generate images in a job that can be resumed; seeds are the same on every machine."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pqpp_engines.errors import EngineError
from pqpp_engines.generate.generators import GeneratedImage, Generator, ImageRequest
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.hashes import hash_parts
from pqpp_files.names import is_folder_name, pluralize
from pqpp_files.shards import ERROR, ShardStore, get_ids, get_texts

if TYPE_CHECKING:
    import pyarrow as pa

IMAGES, METADATA = "images", "images/metadata.jsonl"
_METADATA_KEYS = ("prompt_id", "prompt", "model", "seed", "sha256")
_TRIED = 8  # a run ends if the first prompts all fail, as a shard does
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass
class GenerationSummary:
    """The counts of a generation run.

    Attributes:
        made: Number of new images.
        skipped: Number of images that existed and were not generated again.
        blank: Number of prompts without text, which get no image.
        flagged: Number of images that a safety checker flagged; they are written, and marked.
        refused: Number of images that were refused; the next run requests them again.
        last_refusal: The reason for the last refusal; empty if there was none.
    """

    made: int = 0
    skipped: int = 0
    blank: int = 0
    flagged: int = 0
    refused: int = 0
    last_refusal: str = ""


def derive_seed(prompt_id: str, model: str, index: int) -> int:
    """Return the seed of an image: the first 63 bits of a hash of prompt id, model and index.

    Example:
        >>> derive_seed("mscoco-1", "sdxl", 0) == derive_seed("mscoco-1", "sdxl", 0)
        True
        >>> derive_seed("mscoco-1", "sdxl", 0) == derive_seed("mscoco-1", "sdxl", 1)
        False
    """
    text = json.dumps([prompt_id, model, index], ensure_ascii=False)
    return int(hash_parts([text])[:16], 16) >> 1


def generate(
    generator: Generator,
    prompts: Sequence[Mapping[str, Any]],
    output: str | os.PathLike[str],
    images_per_prompt: int = 2,
    batch_size: int = 1,
    progress: bool = False,
) -> GenerationSummary:
    """Generate images as `images/{prompt_id}/{model}_{i}.png`, with one JSON file each.

    Existing images are skipped, so a killed job can be continued. An image is written after its
    JSON file, and `metadata.jsonl` with all images at the end of a run. `pqpp assess` and `pqpp
    build` read the folder.

    Args:
        prompts: Rows with `prompt` and `prompt_id`.
        output: The folder; images of other models in it are kept.
        images_per_prompt: Number of images per prompt.
        batch_size: Images per batch; with 1, images are bit-identical in every job.
        progress: Whether to show a progress bar.

    Raises:
        EngineError: An id or the model's name is not a valid file name, an id is duplicate, the
            folder contains images by this model with other settings, or the first eight prompts
            are refused, or all of fewer.
        ServiceError: The images would exceed the budget; nothing was requested.
    """
    from tqdm import tqdm

    store = ShardStore(output)
    store.check()
    for prompt_id, count in Counter(str(row["prompt_id"]) for row in prompts).items():
        if not is_folder_name(prompt_id):
            raise EngineError(f"{prompt_id!r:.80} is not a valid folder name; change the prompt_id")
        if count > 1:
            raise EngineError(f"duplicate prompt_id {prompt_id!r:.80}; use each id once")
    nonblank = [row for row in prompts if row["prompt"].strip()]
    summary = GenerationSummary(blank=len(prompts) - len(nonblank))
    tried = min(len(nonblank), _TRIED)
    images = make_images(generator, nonblank, store, images_per_prompt, batch_size)
    total = len(nonblank) * images_per_prompt
    for image in tqdm(images, total=total, unit="image", disable=not progress):
        if image.is_old:
            summary.skipped += 1
        elif image.refusal is None:
            summary.made += 1
            summary.flagged += bool(image.info["flagged"])
        else:
            summary.refused += 1
            summary.last_refusal = image.refusal
            has_images = summary.made or summary.skipped
            if not has_images and summary.refused == tried * images_per_prompt:
                raise EngineError(f"no image for {pluralize(tried, 'prompt')} ({image.refusal})")
    write_metadata(store)
    return summary


@dataclass(frozen=True)
class ImageResult:
    """The result of an image request: existing, generated or refused.

    Attributes:
        request: The requested image.
        info: The content of the image's JSON file; empty if the image was refused.
        is_old: Whether the image existed.
        refusal: The reason why there is no image; empty if there is one.
    """

    request: ImageRequest
    info: Mapping[str, Any]
    is_old: bool = False
    refusal: str | None = None


def make_images(
    generator: Generator,
    prompts: Iterable[Mapping[str, Any]],
    store: ShardStore,
    images_per_prompt: int,
    batch_size: int,
) -> Iterator[ImageResult]:
    """Generate the missing images of prompts; yield each result, existing images first.

    Args:
        prompts: Rows with a valid `prompt_id` and a `prompt` that is not blank.
        store: The output folder, which contains `images`.

    Raises:
        EngineError: The model's name is invalid, an existing image was made with other settings,
            the folder has another program's list of images, or the generator cannot continue.
        ServiceError: The images would exceed the budget; nothing was requested.
    """
    if not _NAME.fullmatch(generator.name):
        remedy = "use up to 100 letters, digits, dots, _ and -, a letter or digit first"
        raise EngineError(f"model name {generator.name!r:.120} is not valid; {remedy}")
    if store.exists(METADATA) and not re.match(rb'.*"sha256": "|\Z', store.read(METADATA)):
        raise EngineError(f"{store}/{METADATA} is from another program; choose another folder")
    existing: list[ImageRequest] = []
    missing: list[ImageRequest] = []
    for row in prompts:
        for index in range(images_per_prompt):
            seed = derive_seed(str(row["prompt_id"]), generator.name, index)
            image = ImageRequest(str(row["prompt_id"]), row["prompt"], index, seed)
            is_old = store.exists(get_image_path(generator, image))
            (existing if is_old else missing).append(image)
    if generator.budget is not None:
        generator.budget.check_calls([generator.budget.price_call] * len(missing))
    for image in existing:
        yield ImageResult(image, _reuse_image(store, generator, image), is_old=True)
    for start in range(0, len(missing), batch_size):
        batch = missing[start : start + batch_size]
        for image, generated in zip(batch, _generate(generator, batch), strict=True):
            if generated.image is None:
                reason = generated.info.get("refused", "no reason given")
                yield ImageResult(image, {}, refusal=reason)
            else:
                yield _write_image(store, generator, image, generated)


def _generate(generator: Generator, batch: Sequence[ImageRequest]) -> list[GeneratedImage]:
    try:
        return generator.generate(batch)
    except EngineError as error:
        if not error.refuses_image:
            raise
        if len(batch) == 1:
            return [GeneratedImage(None, None, {"refused": str(error)})]
        return [result for image in batch for result in _generate(generator, [image])]


def get_image_path(generator: Generator, request: ImageRequest) -> str:
    """Return the path of an image in the output folder."""
    return f"{IMAGES}/{request.prompt_id}/{generator.name}_{request.index}.png"


def _get_metadata_path(name: str) -> str:
    return f"{name.removesuffix('.png')}.json"


def _read_image_metadata(store: ShardStore, name: str) -> Mapping[str, Any]:
    """Read an existing image's metadata; raise an error for a file that pqpp did not write."""
    try:
        metadata = dict(parse_json(store.read(_get_metadata_path(name))))
    except (OSError, TypeError, ValueError):
        raise EngineError(f"the JSON file of {store}/{name} is damaged; remove both") from None
    if missing := set(_METADATA_KEYS) - set(metadata):
        problem = f"the JSON file of {store}/{name} has no {min(missing)!r}"
        raise EngineError(f"{problem}; move images of other programs to another folder")
    return metadata


def _reuse_image(store: ShardStore, generator: Generator, image: ImageRequest) -> Mapping[str, Any]:
    """Read an existing image's metadata; raise an error if it was made with other settings."""
    name = get_image_path(generator, image)
    metadata = _read_image_metadata(store, name)
    for key, value in {**generator.settings, "prompt": image.prompt}.items():
        if metadata.get(key) != value:
            change = f"made with {key} {metadata.get(key)!r:.80}, not {value!r:.80}"
            raise EngineError(f"{store}/{name} was {change}; choose another folder or `model_name`")
    return metadata


def _write_image(
    store: ShardStore, generator: Generator, request: ImageRequest, generated: GeneratedImage
) -> ImageResult:
    """Write the metadata of an image, then the image."""
    assert generated.image is not None
    buffer = io.BytesIO()
    generated.image.save(buffer, "PNG")
    content = buffer.getvalue()
    metadata = {
        "prompt_id": request.prompt_id,
        "prompt": request.prompt,
        "model": generator.name,
        "index": request.index,
        "seed": request.seed,
        **generator.settings,
        "flagged": generated.flagged,
        **generated.info,
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    name = get_image_path(generator, request)
    text = (json.dumps(metadata, indent=1, ensure_ascii=False) + "\n").encode()
    with store.lock():
        # A killed run, or one that is still running, may have written the metadata already.
        if store.exists(_get_metadata_path(name)):
            _reuse_image(store, generator, request)
        store.write(_get_metadata_path(name), text)
        store.write(name, content)
    return ImageResult(request, metadata)


def write_metadata(store: ShardStore) -> None:
    """Write the imagefolder metadata: one line per existing image."""
    names, lines = set(store.find(IMAGES)), []
    pattern = re.compile(rf"{IMAGES}/[^/]*/[^/.][^/]*\.png")
    for name in sorted(name for name in names if pattern.fullmatch(name)):
        if _get_metadata_path(name) in names:
            metadata = _read_image_metadata(store, name)
            line = {"file_name": name.removeprefix(f"{IMAGES}/")}
            line |= {key: metadata[key] for key in _METADATA_KEYS}
            lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    store.write(METADATA, "".join(lines).encode())


@dataclass
class GenerationJob:
    """A job of `pqpp_files.shards` that generates images for prompts, and returns a row per image.

    It writes the same files as `generate`. Existing images are skipped, so that a killed job loses
    one batch, not a shard.

    Args:
        open_generator: A function that loads the generator; it is called before the first shard.
        output: The folder; images are `images/{prompt_id}/{model}_{i}.png`.
        images_per_prompt: Number of images per prompt.
        column: The prompt column; the ids are in `prompt_id`.

    Returns:
        The columns `file_name` (relative to `images`), `prompt_id`, `prompt`, `model`, `index`,
        `seed`, `flagged`, `sha256` and `error`, the reason why a prompt has no image: it is not
        text, or the generator refuses it but not other prompts.

    Example:
        >>> import pyarrow as pa, tempfile
        >>> from PIL import Image
        >>> from pqpp_engines.generate import Generator, GeneratedImage
        >>> class Grey(Generator):
        ...     name, settings = "grey", {}
        ...     def generate(self, requests):
        ...         return [GeneratedImage(Image.new("L", (8, 8), 128)) for _ in requests]
        >>> job = GenerationJob(Grey, tempfile.mkdtemp(), images_per_prompt=1)
        >>> images = job(pa.table({"prompt_id": ["a", "b"], "prompt": ["a cat", None]}))
        >>> images["file_name"].to_pylist(), images["error"].to_pylist()[1]
        (['a/grey_0.png', None], 'the prompt is missing')
    """

    open_generator: Callable[[], Generator]
    output: str
    images_per_prompt: int = 2
    batch_size: int = 1
    column: str = "prompt"

    @cached_property
    def generator(self) -> Generator:
        """The loaded generator."""
        return self.open_generator()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that rows depend on besides the prompts."""
        return {
            "job": "generate",
            "column": self.column,
            "images_per_prompt": self.images_per_prompt,
            "model": self.generator.name,
            **self.generator.settings,
        }

    def __call__(self, table: pa.Table) -> pa.Table:
        """Generate the images, and return their metadata."""
        import pyarrow as pa

        texts, faults = get_texts(table, self.column, "prompt", "set `column` to the prompt column")
        ids, id_faults = get_ids(table, "prompt_id")
        faults = [id_fault or fault for id_fault, fault in zip(id_faults, faults, strict=True)]
        prompts = [{"prompt_id": key, "prompt": text} for key, text in zip(ids, texts, strict=True)]
        valid = [prompt for prompt, fault in zip(prompts, faults, strict=True) if fault is None]
        rows_by_id: dict[str, list[dict[str, Any]]] = defaultdict(list)
        store, size = ShardStore(self.output), (self.images_per_prompt, self.batch_size)
        images = make_images(self.generator, valid, store, *size)
        results = sorted(images, key=lambda image: image.request.index)
        if len(valid) > 1 and all(image.refusal for image in results):
            raise EngineError(f"no image for {len(valid)} prompts ({results[0].refusal})")
        for image in results:
            request = image.request
            name = None if image.refusal else get_image_path(self.generator, request)
            row = {
                "file_name": name and name.removeprefix(f"{IMAGES}/"),
                **{key: image.info.get(key) for key in ("seed", "flagged", "sha256")},
                "index": request.index,
                ERROR: image.refusal,
            }
            rows_by_id[request.prompt_id].append(row)
        rows: list[dict[str, Any]] = []
        for prompt, fault in zip(prompts, faults, strict=True):
            own_rows = [{ERROR: fault}] if fault else rows_by_id[prompt["prompt_id"]]
            rows += [{**prompt, "model": self.generator.name, **row} for row in own_rows]
        names = ("prompt_id", "prompt", "model", "index", "file_name", "seed", "flagged", "sha256")
        types = {"index": pa.int64(), "seed": pa.int64(), "flagged": pa.bool_()}
        schema = pa.schema([(name, types.get(name, pa.string())) for name in (*names, ERROR)])
        return pa.Table.from_pylist(rows, schema)
