"""Choosing training images by predicted scores (RichHF paper, section 5), for fine-tuning."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqpp_feedback.assess.pictures import METADATA
from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.rahf.feedback import FeedbackModel
from pqpp_files.foreign.images import open_image
from pqpp_files.write_beside import whole_folder


@dataclass(frozen=True)
class Selected:
    """The best image of a prompt, as it came, among how many candidates."""

    prompt: str
    image: Any
    scores: dict[str, float]
    candidates: int


def generate_candidates(
    pipe: Any, prompts: Iterable[str], n: int, seed: int = 0, **options: Any
) -> Iterator[tuple[str, list[Any]]]:
    """Generate `n` images of each prompt, one after the other.

    Args:
        pipe: Any text-to-image pipeline of diffusers.
        prompts: One after the other.
        n: Images a prompt; the i-th one of each uses the seed `seed + i`.
        seed: Of the first images.
        **options: For the pipeline, like `num_inference_steps`.
    """
    import torch

    for prompt in prompts:
        generators = [torch.Generator().manual_seed(seed + i) for i in range(n)]
        yield prompt, [pipe(prompt, generator=g, **options).images[0] for g in generators]


def select_best(
    feedback: FeedbackModel,
    candidates: Iterable[tuple[str, Sequence[Any]]],
    score: str = "plausibility",
    threshold: float = 0.8,
) -> Iterator[Selected]:
    """Keep the best image of each prompt, if it is good enough.

    Args:
        feedback: The judge.
        candidates: Prompts with their images, of any form that `open_image` takes.
        score: The score that chooses.
        threshold: An image is kept from this score on.
    """
    for prompt, images in candidates:
        judged = feedback.judge(list(images), [prompt] * len(images))
        best = max(range(len(images)), key=lambda n: judged[n].scores[score])
        if judged[best].scores[score] >= threshold:
            yield Selected(prompt, images[best], judged[best].scores, len(images))


def write_finetuning_set(selected: Iterable[Selected], folder: str | Path) -> Path:
    """Write selected images as a folder that `load_dataset("imagefolder", data_dir=...)` reads.

    It has a PNG file an image and `metadata.jsonl` (`file_name`, `prompt`, scores), and appears
    when it is complete.

    Raises:
        FeedbackError: The folder exists, nothing was selected, or an image cannot be read.
    """
    folder = Path(folder)
    if folder.exists():
        raise FeedbackError(f"{folder} exists; name a new folder")
    with whole_folder(folder, ()) as beside:
        lines = []
        for number, chosen in enumerate(selected):
            name = f"{number:06d}.png"
            # Whatever form it came in, and in RGB: PNG knows no CMYK.
            open_image(chosen.image).save(beside / name)
            lines.append(json.dumps({"file_name": name, "prompt": chosen.prompt, **chosen.scores}))
        if not lines:
            raise FeedbackError("no image reaches the threshold; lower it, or generate more")
        (beside / METADATA[0]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
