"""Load and publish RAHF models, and predict scores, heatmaps and misaligned words of images."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.checkpoint import CARD
from pqpp_backbones.hub import push_model, require_model_folder
from pqpp_backbones.pretrained import ModelId, fetch_model, get_device, move_model, safe_load
from pqpp_feedback.errors import check_prompt_count
from pqpp_feedback.rahf.outputs import HEATMAPS, SCORES
from pqpp_feedback.rahf.words import Word, split_into_words
from pqpp_files.atomic_write import atomic_folder
from pqpp_files.extras import require_extra
from pqpp_files.paths import expand
from pqpp_hub import PushReport, render_card

if TYPE_CHECKING:
    import os

    import torch

    from pqpp_feedback.rahf.modeling_rahf import RahfForRichFeedback
    from pqpp_feedback.rahf.processing_rahf import RahfProcessor

# The files of a model's folder and repository: no code, no pickle.
RAHF_FILES = (
    *("config.json", "generation_config.json", "model.safetensors", CARD),
    *("processor_config.json", "preprocessor_config.json", "tokenizer_config.json"),
    *("tokenizer.json", "spiece.model", "special_tokens_map.json", "added_tokens.json"),
    *("model.safetensors.index.json", "model-*.safetensors"),
)


@dataclass(frozen=True)
class Feedback:
    """The model's feedback on an image and its prompt.

    Attributes:
        scores: Plausibility, alignment, aesthetics and overall, each in 0 .. 1.
        heatmaps: Implausibility and misalignment, each `(side, side)` in 0 .. 1.
        words: The words of the prompt.
        probabilities: The probability that each word is misaligned; NaN for words after the maximum
            number of tokens.
        threshold: Probability from which a word counts as misaligned.
    """

    prompt: str
    scores: dict[str, float]
    heatmaps: dict[str, NDArray[np.float32]]
    words: list[Word]
    probabilities: list[float]
    threshold: float

    @property
    def misaligned(self) -> list[bool]:
        """Whether each word is misaligned."""
        return [probability >= self.threshold for probability in self.probabilities]


class FeedbackModel:
    """A RAHF model with its processor.

    Args:
        model: The model.
        device: The device to move the model to; None to leave it where it is.
    """

    def __init__(
        self,
        model: RahfForRichFeedback,
        processor: RahfProcessor,
        device: str | int | torch.device | None = None,
    ) -> None:
        self.model = model.eval() if device is None else move_model(model.eval(), device)
        self.processor, self.source = processor, ModelId("in memory")

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | os.PathLike[str],
        device: str | int | torch.device | None = None,
        revision: str | None = None,
        cache_dir: str | None = None,
        token: str | bool | None = None,
    ) -> Self:
        """Load a model and its processor.

        Args:
            name_or_path: A folder, or `OWNER/REPOSITORY` on the Hub.
            device: The device; default: a GPU if available.
            revision: A branch, tag or commit of the repository; default: the main branch.
            cache_dir: Folder of downloads; default: the Hub client's cache.
            token: An access token for a private repository, or `True` for the stored one.

        Raises:
            ModelError: There is no usable model; the token is never in the message.
            MissingExtraError: torch or transformers is not installed.
        """
        with require_extra("RAHF", "models"):
            from pqpp_feedback.rahf.modeling_rahf import RahfForRichFeedback
            from pqpp_feedback.rahf.processing_rahf import RahfProcessor
        name, access = str(name_or_path), {"cache_dir": cache_dir, "token": token}
        folder, source = fetch_model(name, "RAHF model", revision, **access)
        remedy = "use a folder or OWNER/REPOSITORY written by pqpp train rahf"
        with safe_load(f"{name} has no usable RAHF model", remedy, str(folder)):
            options = {"local_files_only": True, "trust_remote_code": False}
            model = RahfForRichFeedback.from_pretrained(folder, **options)
            processor = RahfProcessor.from_pretrained(folder, **options)
            # Valid settings may still not work together, so try the model once.
            cls(model, processor).predict([np.zeros((8, 8, 3), np.uint8)], ["a cat"])
        feedback = cls(model, processor, device or get_device())
        feedback.source = source
        return feedback

    def save_pretrained(
        self, folder: str | os.PathLike[str], details: Mapping[str, Any] | None = None
    ) -> Path:
        """Write model, processor and card to a folder, replacing it atomically.

        Args:
            folder: A new folder, or one with an older model.
            details: The training, for the card; default: keep the card of an older model, or
                write one without training.

        Raises:
            FileError: The folder contains other files.
        """
        folder = expand(folder)
        with atomic_folder(folder, RAHF_FILES) as temp_folder:
            self.model.save_pretrained(temp_folder)
            self.processor.save_pretrained(temp_folder)
            if details is None and (folder / CARD).is_file():
                shutil.copyfile(folder / CARD, temp_folder / CARD)
            else:
                parts = self.model.named_children()
                weights = {name: sum(w.numel() for w in part.parameters()) for name, part in parts}
                facts = {"variant": self.model.config.variant, "details": details}
                card = render_card("feedback/rahf", weights=weights, **facts)
                (temp_folder / CARD).write_text(card, "utf-8")
        return folder

    def predict(
        self,
        images: Sequence[Any],
        prompts: Sequence[str],
        batch_size: int = 16,
        threshold: float = 0.5,
    ) -> list[Feedback]:
        """Predict feedback on images, with one prompt per image.

        Args:
            images: PIL images, arrays, paths, or mappings with `bytes` or `path`.
            threshold: Probability from which a word counts as misaligned.
        """
        import torch

        check_prompt_count(images, prompts)
        feedback = []
        for start in range(0, len(images), batch_size):
            batch_prompts = prompts[start : start + batch_size]
            batch_images = list(images[start : start + batch_size])
            inputs = self.processor(images=batch_images, text=list(batch_prompts))
            with torch.inference_mode():
                outputs = self.model(**inputs.to(self.model.device))
            tokens = [self.processor.encode_fitting_words(prompt) for prompt in batch_prompts]

            probabilities = self.model.compute_word_probabilities(
                outputs, tokens, self.processor.suffix_ids, threshold
            )
            assert outputs.heatmaps is not None and outputs.scores is not None
            heatmaps = outputs.heatmaps.float().cpu().numpy()
            scores = outputs.scores.double().cpu().numpy()
            for row, prompt in enumerate(batch_prompts):
                words = split_into_words(prompt)
                missing = [float("nan")] * (len(words) - len(probabilities[row]))
                rated = [*probabilities[row], *missing]
                by_name = dict(zip(SCORES, scores[row].tolist(), strict=True))
                maps = dict(zip(HEATMAPS, heatmaps[row], strict=True))
                feedback.append(Feedback(prompt, by_name, maps, words, rated, threshold))
        return feedback


def push_feedback_model(
    folder: str | os.PathLike[str], repo_id: str, commit_message: str | None = None, **options: Any
) -> PushReport:
    """Publish a RAHF model's folder in one commit, after loading it.

    Args:
        folder: A folder written by `FeedbackModel.save_pretrained` or `pqpp train rahf`.
        repo_id: `OWNER/REPOSITORY`.
        **options: `private`, `revision`, `dry_run` and `token` of `pqpp_hub.push_files`.

    Raises:
        ModelError: The folder has no usable model.
        HubError: The Hub cannot be reached, or refuses the files.
    """
    model_folder = require_model_folder(folder)
    FeedbackModel.from_pretrained(model_folder, device="cpu")
    return push_model(model_folder, RAHF_FILES, repo_id, commit_message, **options)
