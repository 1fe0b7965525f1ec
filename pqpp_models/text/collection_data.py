"""The texts that collection predictors are trained on, and the benchmark with its splits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_files.write_beside import write_beside
from pqpp_models.errors import PredictorError
from pqpp_models.targets import TARGETS
from pqpp_models.text.collection import Floats
from pqpp_models.text.words import words_of

GENEVAL_RATES = {
    "single_object": 0.98,
    "two_object": 0.74,
    "counting": 0.39,
    "colors": 0.85,
    "position": 0.15,
    "color_attr": 0.23,
}
"""How often SDXL follows a prompt of each category: the GenEval paper's table of results."""


@dataclass
class Benchmark:
    """PQPP, as far as training and scoring need it.

    Attributes:
        train: prompts of the train split.
        train_targets: their targets.
        validation: prompts of the validation split.
        validation_targets: their targets.
        relevant: number of relevant images of each training prompt.
    """

    train: list[str]
    train_targets: NDArray[np.float64]
    validation: list[str]
    validation_targets: NDArray[np.float64]
    relevant: NDArray[np.int64]

    @property
    def goals(self) -> NDArray[np.float64]:
        """Return the training prompts' targets and the log number of their relevant images."""
        return np.column_stack([self.train_targets, np.log(np.maximum(self.relevant, 1))])


def load_benchmark(config: str, data_dir: str | None) -> Benchmark:
    """Load the train and the validation split, and the sizes of the relevant sets."""
    from datasets import load_dataset

    import pqpp_datasets.registration

    pqpp_datasets.registration.register()
    splits = load_dataset("pqpp", config, data_dir=data_dir, split=["train", "validation"])
    columns = [np.column_stack([split[name] for name in TARGETS]) for split in splits]
    prompts = [list(split["prompt"]) for split in splits]
    relevance = load_dataset("pqpp", "pqpp-relevance", data_dir=data_dir, split="train")
    sizes = {row["prompt_id"]: len(row["image_ids"]) for row in relevance}
    relevant = np.array([sizes.get(one, 1) for one in splits[0]["prompt_id"]])
    return Benchmark(prompts[0], columns[0], prompts[1], columns[1], relevant)


def read_captions(path: str, known: Iterable[str]) -> list[str]:
    """Read distinct captions, one a line, without those that say what a known prompt says.

    Args:
        path: a text file.
        known: prompts that are left out.

    Raises:
        PredictorError: the file cannot be read, or holds no caption.
    """
    said = {tuple(words_of(prompt)) for prompt in known}
    captions: dict[tuple[str, ...], str] = {}
    for line in read_lines(path):
        key = tuple(words_of(line))
        if key and key not in said:
            captions.setdefault(key, line)
    if not captions:
        raise PredictorError(f"{path} holds no caption; give a text file with one a line")
    return list(captions.values())


def read_lines(path: str) -> list[str]:
    """Read the lines of a text file.

    Raises:
        PredictorError: the file cannot be read, or is no UTF-8.
    """
    try:
        return Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise PredictorError(f"{path} cannot be read ({reason}); give a UTF-8 text file") from None


def read_geneval(path: str) -> tuple[list[str], NDArray[np.float64]]:
    """Read GenEval's prompts, and how often images follow a prompt of their category.

    Args:
        path: GenEval's ``evaluation_metadata.jsonl``.

    Raises:
        PredictorError: the file cannot be read, or is another.
    """
    try:
        rows = [json.loads(line) for line in read_lines(path) if line]
        rates = np.array([GENEVAL_RATES[row["tag"]] for row in rows])
        return [row["prompt"] for row in rows], rates
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise PredictorError(
            f"{path} is not GenEval's file ({type(error).__name__}: {error}); give its "
            "evaluation_metadata.jsonl, one object with 'tag' and 'prompt' a line"
        ) from None


def made_up_prompts(
    captions: Sequence[str], names: Sequence[str], count: int, seed: int
) -> list[str]:
    """Return prompts that are no captions, for a student to see what a teacher makes of them.

    A third are pieces of captions, a third captions with words put in place of theirs, a third
    words beside each other; most of them in small letters and without a full stop.

    Args:
        captions: where pieces and words are taken from.
        names: further words.
        count: how many.
        seed: of what is drawn.

    >>> made_up_prompts(["A red cat on a mat."], ["robot"], 3, seed=0)
    ['mat', 'robot red cat on a mat', 'robot']
    """
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        words = words_of(captions[random.integers(len(captions))]) or list(names[:1])
        if number % 3 == 0:
            start = random.integers(len(words))
            words = words[start : start + random.integers(1, 7)]
        elif number % 3 == 1:
            for place in random.integers(len(words), size=random.integers(1, 5)):
                words[place] = names[random.integers(len(names))]
        else:
            own = [word for word in words if len(word) > 2] or words
            sources = [
                own if random.random() < 0.5 else names for _ in range(random.integers(1, 5))
            ]
            drawn = [source[random.integers(len(source))] for source in sources]
            words = " and ".join(drawn).split() if random.random() < 0.5 else drawn
        text = " ".join(words)
        made.append(f"{text.capitalize()}." if random.random() < 0.2 else text)
    return made


def spaced(start: int, stop: int, most: int) -> NDArray[np.int64]:
    """Return at most so many evenly spaced numbers of a range.

    >>> spaced(10, 20, 3).tolist()
    [10, 14, 19]
    """
    return np.linspace(start, stop - 1, min(most, stop - start)).astype(int)


def cached_layer_means(
    model: Any,
    tokenizer: Any,
    texts: Sequence[str],
    layers: Sequence[int],
    folder: str | None = None,
) -> dict[int, Floats]:
    """Return the encoder's states of some texts, from a file if an earlier run left them there.

    Args:
        model: an encoder of `AutoModel`, in evaluation mode.
        tokenizer: its tokenizer.
        texts: the texts.
        layers: numbers of layers.
        folder: where the states are kept; ``None`` for nowhere.
    """
    from pqpp_models.text.encoder.encoding import layer_means

    if folder is None:
        return layer_means(model, tokenizer, texts, layers, progress=True)
    name = Path(model.config.name_or_path).name
    digest = hashlib.sha256("\n".join([name, *map(str, layers), *texts]).encode()).hexdigest()
    path = Path(folder) / f"encoded-{digest[:16]}.npz"
    if not path.exists():
        encoded = layer_means(model, tokenizer, texts, layers, progress=True)
        with write_beside(path) as beside:
            np.savez(beside, **{str(layer): array for layer, array in encoded.items()})
    with np.load(path, allow_pickle=False) as stored:
        return {layer: stored[str(layer)] for layer in layers}
