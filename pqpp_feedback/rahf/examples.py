"""RichHF's rows as training examples and as ground truth for evaluation."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_datasets.benchmarks import BENCHMARKS
from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.rahf.outputs import HEATMAPS, JOINT_OUTPUTS, KEYWORD_TASK, SCORES
from pqpp_feedback.rahf.words import split_into_words
from pqpp_files.foreign.images import open_image
from pqpp_files.hashes import hash_file, hash_parts
from pqpp_files.paths import expand

_MAPS = tuple(f"{name}_map" for name in HEATMAPS)


def load_split(
    split: str,
    data_dir: str | None,
    pickapic_dir: str | None,
    dataset: str = "pqpp",
    subset: str | None = "richhf",
    limit: int | None = None,
) -> Any:
    """Load a split of RichHF with prompts and images; rows without prompt or image are left out.

    Args:
        split: `train`, `validation` or `test`.
        data_dir: Folder of the TFRecord files; default: download.
        pickapic_dir: Folder of a copy of Pick-a-Pic v1.
        dataset: `pqpp`, or a dataset with the same columns, including prompts and images.
        subset: The configuration of the dataset.
        limit: Use only this many rows.

    Raises:
        FeedbackError: Prompts or images cannot be found.
        BenchmarkError: The files are missing or damaged.
    """
    import datasets

    from pqpp_backbones.training.reading import explain_load_errors
    from pqpp_datasets.load import load_benchmark
    from pqpp_datasets.own_benchmark.images import refuse_outside_images

    options = {"data_dir": None if data_dir is None else str(expand(data_dir))}
    if pickapic_dir is not None:
        options["pickapic_dir"] = str(pickapic_dir)
    remedy = f"check the dataset, its subset {subset} and the split {split}"
    with explain_load_errors(dataset, remedy):
        table = load_benchmark(dataset, subset, split, **options)
    required = ("prompt", "image", "token_labels", *SCORES, *_MAPS)
    if missing := [name for name in required if name not in table.column_names]:
        remedy = "add the column, or for RichHF set `pickapic_dir` to a copy of Pick-a-Pic v1"
        raise FeedbackError(f"{dataset} ({split}) has no column {missing[0]!r}; {remedy}")
    for name in ("image", *_MAPS):
        table = table.cast_column(name, datasets.Image(decode=False))
    if dataset not in BENCHMARKS and (folder := expand(dataset)).is_dir():
        refuse_outside_images(table, folder)  # the cast may have turned texts into paths
    pairs = zip(table["prompt"][:], table["image"][:], strict=True)
    complete = [row for row, pair in enumerate(pairs) if None not in pair]
    if not complete:
        raise FeedbackError(f"no row of {split} has a prompt and an image; check `pickapic_dir`")
    return table.select(complete[:limit])


def is_published(split: str, data_dir: str | Path | None) -> bool:
    """Return whether a split of RichHF is read from the unchanged published files.

    Args:
        split: The split, as for `load_dataset`.
        data_dir: The folder of the TFRecord files; None for `PQPP_DATA_DIR` or a download.

    Raises:
        BenchmarkError: A folder is missing.

    Example:
        >>> import tempfile
        >>> is_published("test", tempfile.mkdtemp())
        False
    """
    from pqpp_datasets.location import find_local_folder
    from pqpp_datasets.sources import get_release

    benchmark = BENCHMARKS["richhf"]
    folder = find_local_folder(benchmark, None if data_dir is None else str(data_dir))
    if folder is None:  # downloads are verified
        return True
    published = get_release(benchmark.folders[0])
    names = [part.split("[")[0].strip() for part in split.split("+")]  # "train[:10%] + test"
    sources = {p: published.find_file(p) for name in names for p in benchmark.files(folder, name)}
    return all(
        source and (folder / path).is_file() and hash_file(folder / path) == source.sha256
        for path, source in sources.items()
    )


def format_image_count(images: int, published: bool) -> str:
    """Return the number of images as text, with a note if they are not from the published files.

    Example:
        >>> format_image_count(300, published=False)
        '300 images, not the published files'
    """
    text = f"{images} image{'' if images == 1 else 's'}"
    return text if published else f"{text}, not the published files"


@dataclass(eq=False)
class Examples:
    """RichHF's rows as training examples, with seeded augmentations that differ by epoch.

    Args:
        table: The output of `load_split`.
        processor: A `RahfProcessor`.
        heatmap_size: Pixels along a side of the model's heatmaps.
        seed: Seed of augmentations and task choices.
        blind: For ablations: `image` replaces images by grey ones; `prompt` replaces each word by
            the unknown token, in encoder and decoder, so that only the number of words is known.
        in_memory: Whether to cache decoded images and maps; for small data sets only.
        prompt_dropout: Share of examples whose prompt is hidden from the encoder, so that the
            decoder writes it from the image alone. This replaces the paper's pretraining on
            captions (section 4.1.1). In these examples, outputs that depend on the prompt have no
            label.
        joint_first: Number of initial epochs in which only the outputs that need both image and
            prompt (misalignment, alignment and the rewritten prompt) have labels.
    """

    table: Any
    processor: Any
    heatmap_size: int
    augmented: bool = False
    seed: int = 0
    blind: str = "none"
    in_memory: bool = False
    prompt_dropout: float = 0.0
    joint_first: int = 0

    def __post_init__(self) -> None:
        table, tokenizer = self.table, self.processor.tokenizer
        self.prompts = table["prompt"][:]
        if self.blind == "prompt":  # keep only the number of words
            unknown = [tokenizer.unk_token or tokenizer.pad_token]
            self.prompts = [" ".join(unknown * len(split_into_words(p))) for p in self.prompts]
        self.labels = [
            labels if len(labels) == len(split_into_words(prompt)) else None
            for labels, prompt in zip(table["token_labels"][:], table["prompt"][:], strict=True)
        ]
        columns = [table[name][:] for name in SCORES]
        self.scores = np.array(columns, dtype=np.float32).T.reshape(-1, len(SCORES))
        self.epoch = 0
        self._cache: dict[int, tuple[Any, ...]] | None = {} if self.in_memory else None

    def __len__(self) -> int:
        return len(self.prompts)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the augmentations."""
        self.epoch = epoch

    def count_words(self) -> list[int]:
        """Return the number of words of each prompt."""
        return [len(split_into_words(prompt)) for prompt in self.prompts]

    def get_images(self, index: int) -> tuple[Any, ...]:
        """Return the image and both maps of a row as PIL images."""
        if self._cache is not None and index in self._cache:
            return self._cache[index]
        row = self.table[index]
        image = open_image(row["image"])
        if self.blind == "image":
            image.paste((128, 128, 128), (0, 0, *image.size))
        maps = [open_image(row[name]).convert("L") for name in _MAPS]
        if self._cache is None:
            return (image, *maps)
        # Maps are cached at twice the model's size, so that a crop loses no detail.
        maps = [_resize(heatmap, 2 * self.heatmap_size) for heatmap in maps]
        return self._cache.setdefault(index, (image, *maps))

    def __getitem__(self, index: int) -> dict[str, Any]:
        image, *maps = self.get_images(index)
        # The seed depends on the row's index, not on the process or the step.
        random = np.random.default_rng([self.seed, self.epoch, index])
        if self.augmented:
            image, (*maps,) = augment(random, image, maps)
        heatmaps = np.stack([make_heatmap(heatmap, self.heatmap_size) for heatmap in maps])
        scores, prompt = self.scores[index].copy(), self.prompts[index]
        # Without dropout, no random number is used, so that a seed's augmentations stay the same.
        is_hidden = bool(self.prompt_dropout) and random.random() < self.prompt_dropout
        if is_hidden:
            heatmaps[HEATMAPS.index("misalignment")] = np.nan
            scores[[SCORES.index("alignment"), SCORES.index("overall")]] = np.nan
        if self.epoch < self.joint_first:
            heatmaps[[name not in JOINT_OUTPUTS for name in HEATMAPS]] = np.nan
            scores[[name not in JOINT_OUTPUTS for name in SCORES]] = np.nan
        return {
            "image": image,
            "heatmaps": heatmaps,
            "scores": scores,
            "prompt": prompt,
            "shown": "" if is_hidden else prompt,
            "labels": self.labels[index],
            # One task per shared head: a heatmap, a score and the keywords.
            "tasks": [int(random.integers(2)), int(random.integers(2, 6)), KEYWORD_TASK],
        }

    def collate(self, examples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return a batch of examples as model input."""
        import torch

        columns = {name: [example[name] for example in examples] for name in examples[0]}
        tasks = None if self.processor.variant == "multi_head" else columns["tasks"]
        batch = self.processor(images=columns["image"], text=columns["shown"], tasks=tasks)
        batch["labels"] = self.processor.encode_labels(columns["prompt"], columns["labels"])
        for output in ("heatmap", "score"):
            batch[f"{output}_labels"] = torch.from_numpy(np.stack(columns[f"{output}s"]))
        return dict(batch)

    def hash_examples(self) -> str:
        """Return the SHA-256 of prompts, scores and labels, in order."""
        texts = (f"{p}\0{label}\0" for p, label in zip(self.prompts, self.labels, strict=True))
        return hash_parts([*texts, np.ascontiguousarray(self.scores, dtype="<f4").tobytes()])


def describe_data(recipe: Any, examples: Examples, held_out: Examples) -> dict[str, Any]:
    """Return a card's entries about the training data.

    Args:
        recipe: The recipe, which names the dataset and the folder of its files.
        examples: The training data.
        held_out: The validation data, by which the best epoch was chosen.

    Returns:
        The entries `data`, and as text, `images` and `dataset_name`.
    """
    # Only RichHF has published files; other datasets are described by their names.
    is_richhf = (recipe.dataset, recipe.subset) == ("pqpp", "richhf")
    published = not is_richhf or is_published(recipe.validation_split, recipe.data_dir)
    own_name = Path(recipe.dataset).name if Path(recipe.dataset).exists() else recipe.dataset
    return {
        "data": {
            "training": len(examples),
            "training SHA-256": examples.hash_examples(),
            "validation": len(held_out),
            "validation SHA-256": held_out.hash_examples(),
        },
        "images": format_image_count(len(held_out), published),
        "dataset_name": own_name if published else f"{own_name} (not the published files)",
    }


def make_heatmap(image: Any, size: int) -> NDArray[np.float32]:
    """Convert a greyscale image to a heatmap in 0 .. 1 of a given size."""
    return np.asarray(_resize(image, size), dtype=np.float32) / np.float32(255)


def _resize(image: Any, size: int) -> Any:
    from PIL import Image

    return image if image.size == (size, size) else image.resize((size,) * 2, Image.Resampling.BOX)


CROP_CHANCE, COLOUR_CHANCE, GREY_CHANCE = 0.5, 0.1, 0.1
SMALLEST_CROP = 0.8
BRIGHTNESS, HUE = 0.05, 0.025
CONTRAST = SATURATION = (0.8, 1.0)
JPEG_QUALITY = (70, 100)


def augment(random: np.random.Generator, image: Any, maps: Sequence[Any]) -> tuple[Any, tuple]:
    """Apply the same random augmentations to an image and its heatmaps.

    Args:
        image: An RGB image (PIL).
        maps: Greyscale images (PIL) of any size.

    Returns:
        The image and the maps; they are smaller if they were cropped.
    """
    # Always draw all three, so that one augmentation does not change the others' random numbers.
    do_crop, do_recolour, do_grey = random.random(3) < (CROP_CHANCE, COLOUR_CHANCE, GREY_CHANCE)
    if do_crop:
        width, height = random.uniform(SMALLEST_CROP, 1, 2)
        left, top = random.uniform(0, 1 - width), random.uniform(0, 1 - height)
        box = (left, top, left + width, top + height)  # as fractions of the sides
        image, *maps = (crop(layer, box) for layer in (image, *maps))
    if do_recolour:
        image = recolour(random, image)
    if do_grey:
        image = image.convert("L").convert("RGB")
    return image, tuple(maps)


def crop(image: Any, box: tuple[float, float, float, float]) -> Any:
    """Crop an image to a box given as fractions of its sides."""
    width, height = image.size
    left, top, right, bottom = box
    # Keep at least one pixel.
    edges = (round(left * width), round(top * height), round(right * width), round(bottom * height))
    return image.crop((*edges[:2], max(edges[2], edges[0] + 1), max(edges[3], edges[1] + 1)))


def recolour(random: np.random.Generator, image: Any) -> Any:
    """Randomly change brightness, contrast, hue, saturation and JPEG quality of an image."""
    from PIL import Image

    brightness, hue = random.uniform(-BRIGHTNESS, BRIGHTNESS), random.uniform(-HUE, HUE)
    contrast, saturation = random.uniform(*CONTRAST), random.uniform(*SATURATION)
    quality = int(random.integers(JPEG_QUALITY[0], JPEG_QUALITY[1] + 1))
    pixels = np.asarray(image, dtype=np.float64) / 255 + brightness
    mean = pixels.mean(axis=(0, 1))
    pixels = ((pixels - mean) * contrast + mean).clip(0, 1)
    coloured = Image.fromarray((255 * pixels).round().astype(np.uint8))
    hsv = np.asarray(coloured.convert("HSV")).astype(np.int64)
    hsv[..., 0] = (hsv[..., 0] + round(hue * 256)) % 256
    hsv[..., 1] = (hsv[..., 1] * saturation).round()
    picture = Image.fromarray(hsv.astype(np.uint8), "HSV").convert("RGB")
    buffer = io.BytesIO()
    picture.save(buffer, "jpeg", quality=quality)
    return open_image(buffer.getvalue())
