"""The texts that the text predictors are trained on, beside a benchmark's prompts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_files.full_disk import require_room
from pqpp_files.hashes import sha256_of_parts
from pqpp_files.read_table import read_table
from pqpp_files.write_beside import write_beside
from pqpp_models.encoder.encoding import layer_means
from pqpp_models.errors import PredictorError
from pqpp_models.text.collection.encoded import distinct
from pqpp_models.text.collection.neighbours import Floats
from pqpp_models.text.words import words_of
from pqpp_models.training.number_format import number_format


def with_relevant_counts(
    targets: NDArray[np.float64], table: Any, data_dir: str | None, split: str = "train"
) -> NDArray[np.float64]:
    """Return PQPP's targets with one more column: the log number of a prompt's relevant images."""
    from datasets import load_dataset

    whole = re.sub(r"\[[^]]*\]", "", split)  # its slices are found by their ids
    relevance = load_dataset("pqpp", "pqpp-relevance", data_dir=data_dir, split=whole)
    sizes = {row["prompt_id"]: len(row["image_ids"]) for row in relevance}
    counts = [max(sizes.get(prompt_id, 1), 1) for prompt_id in table["prompt_id"]]
    return np.column_stack([targets, np.log(counts)])


def read_captions(path: str, known: Iterable[str]) -> list[str]:
    """Read distinct captions, without those that say what a known prompt says.

    Args:
        path: a text file with one on each line, or any table with a column ``caption``.
        known: prompts that are left out.
    """
    return distinct(read_table(path, ["caption"], plain="caption").texts("caption"), known)


def read_parti(path: str) -> list[str]:
    """Read the prompts of ``PartiPrompts.tsv``, in which quotes stand for themselves.

    Raises:
        PredictorError: the file cannot be read, or is another.
    """
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise PredictorError(f"{path} cannot be read ({reason}); give PartiPrompts.tsv") from None
    rows = [line.split("\t") for line in text.split("\n")]
    if not rows or rows[0][0] != "Prompt":
        raise PredictorError(f"{path} does not begin with 'Prompt'; give PartiPrompts.tsv")
    return [row[0] for row in rows[1:] if row[0]]


def made_up_prompts(
    captions: Sequence[str], names: Sequence[str], count: int, seed: int
) -> list[str]:
    """Return prompts that are no captions, for a student to see what a teacher makes of them.

    A third are pieces of captions, a third captions with names put in place of their words, a third
    words and names beside each other; most in small letters and without a full stop.

    >>> made_up_prompts(["A red cat on a mat."], ["robot"], 3, seed=0)
    ['mat', 'robot red cat on a mat', 'robot']
    """
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        words = words_of(captions[int(random.integers(len(captions)))]) or list(names[:1])
        if number % 3 == 0:
            start = random.integers(len(words))
            words = words[start : start + random.integers(1, 7)]
        elif number % 3 == 1:
            for place in random.integers(len(words), size=random.integers(1, 5)):
                words[place] = names[int(random.integers(len(names)))]
        else:
            own = [word for word in words if len(word) > 2] or words
            sources = [
                own if random.random() < 0.5 else names for _ in range(random.integers(1, 5))
            ]
            drawn = [source[int(random.integers(len(source)))] for source in sources]
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
    mixed_precision: str = "no",
) -> dict[int, Floats]:
    """Return `layer_means` of some texts, from a file in a folder if an earlier run left it."""

    def encoded() -> dict[int, Floats]:
        with number_format(mixed_precision):
            return layer_means(model, tokenizer, texts, layers, progress=True)

    if folder is None:
        return encoded()
    told = [Path(model.config.name_or_path).name, *map(str, layers)]
    told += [] if mixed_precision == "no" else [mixed_precision]
    digest = sha256_of_parts(["\n".join([*told, *texts])])
    path = Path(folder) / f"encoded-{digest[:16]}.npz"
    if not path.exists():
        require_room(path, len(texts) * len(layers) * model.config.hidden_size * 4)
        found = encoded()
        with write_beside(path) as beside, beside.open("wb") as file:
            arrays: dict[str, Any] = {str(layer): array for layer, array in found.items()}
            np.savez(file, **arrays)
    with np.load(path, allow_pickle=False) as stored:
        return {layer: stored[str(layer)] for layer in layers}
