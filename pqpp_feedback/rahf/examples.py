"""RichHF's rows as examples for training, and as truth for evaluation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.rahf.augmentation import augment
from pqpp_feedback.rahf.outputs import HEATMAPS, KEYWORD_TASK, SCORES
from pqpp_feedback.rahf.provenance import split_names
from pqpp_feedback.rahf.words import split_words
from pqpp_models.errors import PredictorError
from pqpp_models.images.pairs import open_image
from pqpp_models.pretrained import why_not_loaded

BLINDS = ("none", "image", "prompt")
_MAPS = tuple(f"{name}_map" for name in HEATMAPS)


def load_split(
    split: str,
    data_dir: str | None,
    pickapic_dir: str | None,
    dataset: str = "pqpp",
    config: str | None = "richhf",
) -> Any:
    """Load a split of RichHF with prompts and images; rows without either are left out.

    Args:
        split: `train`, `validation` or `test`.
        data_dir: Folder of the TFRecord files; downloaded if left out.
        pickapic_dir: Folder of a copy of Pick-a-Pic v1.
        dataset: `pqpp`, or a dataset with the same columns, prompts and images included.
        config: Its configuration.

    Raises:
        PredictorError: There is no such split, or there are no prompts or images to be had.
        BenchmarkError: Its files are missing or damaged.
    """
    import datasets

    options = {"data_dir": None if data_dir is None else str(Path(data_dir).expanduser())}
    if pickapic_dir is not None:
        options["pickapic_dir"] = str(pickapic_dir)
    table = _loaded(split, dataset, config, options)
    needed = ("prompt", "image", "token_labels", *SCORES, *_MAPS)
    missing = [name for name in needed if name not in table.column_names]
    if missing:
        raise PredictorError(
            f"{dataset} ({split}) has no column {', '.join(missing)}; RichHF's records hold no "
            "prompts and no images: give a copy of Pick-a-Pic v1 as pickapic_dir"
        )
    for name in ("image", *_MAPS):
        table = table.cast_column(name, datasets.Image(decode=False))
    whole = np.array([prompt is not None for prompt in table["prompt"][:]], dtype=bool)
    whole &= np.array([image is not None for image in table["image"][:]], dtype=bool)
    if not whole.any():
        raise PredictorError(f"no row of {split} has a prompt and an image; check pickapic_dir")
    return table if whole.all() else table.select(np.flatnonzero(whole))


def _loaded(split: str, dataset: str, config: str | None, options: Mapping[str, Any]) -> Any:
    """Return what `load_dataset` does; what goes wrong is told in one line, without a token."""
    import datasets

    import pqpp_datasets.registration
    from pqpp_datasets.errors import BenchmarkError
    from pqpp_datasets.richhf.richhf import SPLITS

    pqpp_datasets.registration.register()
    wrong = [name for name in split_names(split) if name not in SPLITS]
    if wrong and (dataset, config) == ("pqpp", "richhf"):
        raise PredictorError(f"richhf has no split {wrong[0]!r}; use {', '.join(SPLITS)}")
    try:
        return datasets.load_dataset(dataset, config, split=split, **options)
    except BenchmarkError:
        raise
    except Exception as error:
        why = why_not_loaded(error, dataset)
        raise PredictorError(
            f"{dataset} (configuration {config}, split {split}) cannot be loaded ({why}); check "
            "the names"
        ) from None


class Examples:
    """Prepared rows by index, augmented anew in each epoch; the same seed gives the same.

    Args:
        table: From `load_split`.
        processor: A `RahfProcessor`.
        heatmap_size: Pixels along a side of the model's heatmaps.
        augmented: Whether to augment.
        seed: Of the augmentations and of the tasks drawn.
        blind: For ablations: `image` shows a grey image, `prompt` hides each word behind the
            unknown token, from encoder and decoder, so that only their number is known.
        in_memory: Keep decoded images and maps: for small sets only.
        prompt_dropout: Share of the examples whose prompt the encoder is not shown, so that the
            decoder writes it from the image alone. It stands for the captioning task that the
            paper trains on before (section 4.1.1); what depends on the prompt has no label then.
    """

    def __init__(
        self,
        table: Any,
        processor: Any,
        heatmap_size: int,
        augmented: bool = False,
        seed: int = 0,
        blind: str = "none",
        in_memory: bool = False,
        prompt_dropout: float = 0.0,
    ) -> None:
        if blind not in BLINDS:
            raise PredictorError(f"`blind` is {blind!r}; choose among {', '.join(BLINDS)}")
        self.table, self.processor, self.heatmap_size = table, processor, heatmap_size
        self.augmented, self.seed, self.blind = augmented, seed, blind
        self.prompt_dropout = prompt_dropout
        self.prompts = [shown_prompt(prompt, blind, processor) for prompt in table["prompt"][:]]
        self.labels = [
            labels if len(labels) == len(split_words(prompt)) else None
            for labels, prompt in zip(table["token_labels"][:], table["prompt"][:], strict=True)
        ]
        columns = [table[name][:] for name in SCORES]
        self.scores = np.array(columns, dtype=np.float32).T.reshape(-1, len(SCORES))
        self.epoch = 0
        self._kept: dict[int, tuple[Any, ...]] | None = {} if in_memory else None

    def __len__(self) -> int:
        return len(self.prompts)

    def set_epoch(self, epoch: int) -> None:
        """Tell which epoch's augmentations are wanted."""
        self.epoch = epoch

    def lengths(self) -> list[int]:
        """Return the number of words of each prompt."""
        return [len(split_words(prompt)) for prompt in self.prompts]

    def decoded(self, index: int) -> tuple[Any, ...]:
        """Return the image and the two maps of a row as PIL images."""
        if self._kept is not None and index in self._kept:
            return self._kept[index]
        row = self.table[index]
        image = open_image(row["image"])
        if self.blind == "image":
            image.paste((128, 128, 128), (0, 0, *image.size))
        maps = tuple(open_image(row[name]).convert("L") for name in _MAPS)
        if self._kept is not None:
            # As large as two of the model's maps, so that a crop loses nothing.
            size = (2 * self.heatmap_size,) * 2
            maps = tuple(one.resize(size, _box()) for one in maps)
            self._kept[index] = (image, *maps)
        return (image, *maps)

    def __getitem__(self, index: int) -> dict[str, Any]:
        image, *maps = self.decoded(index)
        # The place in the data decides, not the process or the step at which it is used.
        random = np.random.default_rng([self.seed, self.epoch, index])
        if self.augmented:
            image, maps = augment(random, image, maps)
        heatmaps = np.stack([map_array(one, self.heatmap_size) for one in maps])
        scores = self.scores[index].copy()
        # Nothing is drawn where nothing is dropped, which keeps a seed's augmentations.
        hidden = bool(self.prompt_dropout) and random.random() < self.prompt_dropout
        if hidden:
            heatmaps[HEATMAPS.index("misalignment")] = np.nan
            scores[[SCORES.index("alignment"), SCORES.index("overall")]] = np.nan
        return {
            "image": image,
            "heatmaps": heatmaps,
            "scores": scores,
            "prompt": self.prompts[index],
            "shown": "" if hidden else self.prompts[index],
            "labels": self.labels[index],
            # One of each kind of output: each shared head sees each example once.
            "tasks": [int(random.integers(2)), int(random.integers(2, 6)), KEYWORD_TASK],
        }

    def collate(self, examples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return some examples as what the model takes."""
        import torch

        prompts = [one["prompt"] for one in examples]
        tasks = [one["tasks"] for one in examples]
        single = self.processor.variant == "multi_head"
        batch = self.processor(
            images=[one["image"] for one in examples],
            text=[one["shown"] for one in examples],
            tasks=None if single else tasks,
        )
        batch["labels"] = self.processor.labels(prompts, [one["labels"] for one in examples])
        batch["heatmap_labels"] = torch.from_numpy(np.stack([o["heatmaps"] for o in examples]))
        batch["score_labels"] = torch.from_numpy(np.stack([one["scores"] for one in examples]))
        return dict(batch)


def shown_prompt(prompt: str, blind: str, processor: Any) -> str:
    """Return the prompt, or, for a model that is not to see it, as many unknown words."""
    if blind != "prompt":
        return prompt
    unknown = processor.tokenizer.unk_token or processor.tokenizer.pad_token
    return " ".join([unknown] * len(split_words(prompt)))


def map_array(image: Any, size: int) -> NDArray[np.float32]:
    """Return a grey image as a heatmap in 0 .. 1 of a size."""
    if image.size != (size, size):
        image = image.resize((size, size), _box())
    return np.asarray(image, dtype=np.float32) / 255


def _box() -> Any:
    from PIL import Image

    return Image.Resampling.BOX


def fingerprint(examples: Examples) -> str:
    """Return the SHA-256 of prompts, scores and labels, in order."""
    digest = hashlib.sha256()
    for prompt, labels in zip(examples.prompts, examples.labels, strict=True):
        digest.update(f"{prompt}\0{labels}\0".encode("utf-8", "surrogatepass"))
    digest.update(np.ascontiguousarray(examples.scores, dtype="<f4").tobytes())
    return digest.hexdigest()
