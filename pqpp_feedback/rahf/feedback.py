"""Judging images: scores, heatmaps and misaligned words, from a folder, a repository or a model."""

from __future__ import annotations

import numbers
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.rahf.outputs import HEATMAPS, SCORES
from pqpp_feedback.rahf.words import Word, prompt_words
from pqpp_files.extras import needing
from pqpp_files.write_beside import whole_folder
from pqpp_models.checkpoint import CARD
from pqpp_models.errors import CheckpointError, PredictorError

if TYPE_CHECKING:
    import os

    from pqpp_feedback.rahf.modeling_rahf import RahfForRichFeedback
    from pqpp_feedback.rahf.processing_rahf import RahfProcessor

FILES = (
    *("config.json", "generation_config.json", "model.safetensors", CARD),
    *("processor_config.json", "preprocessor_config.json", "tokenizer_config.json"),
    *("tokenizer.json", "spiece.model", "special_tokens_map.json", "added_tokens.json"),
    *("model.safetensors.index.json", "model-*.safetensors"),
)
"""What a folder holds and what is pushed: no code, no pickle."""


@dataclass(frozen=True)
class Feedback:
    """What the model says about an image and its prompt.

    Attributes:
        prompt: The prompt.
        scores: Plausibility, alignment, aesthetics and overall, each in 0 .. 1.
        heatmaps: Implausibility and misalignment, each `(side, side)` in 0 .. 1.
        words: The words of the prompt.
        probabilities: Of each word, that it is misaligned; NaN for words that were not looked at.
        threshold: From which probability on a word counts as misaligned.
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

    @property
    def misaligned_words(self) -> list[Word]:
        """The words that are misaligned."""
        pairs = zip(self.words, self.misaligned, strict=True)
        return [word for word, is_misaligned in pairs if is_misaligned]


class FeedbackModel:
    """A model with its processor.

    Args:
        model: It stays on its device if none is named.
        processor: That of the model.
        device: Where it shall run.
        threshold: From which probability on a word counts as misaligned.
    """

    def __init__(
        self,
        model: RahfForRichFeedback,
        processor: RahfProcessor,
        device: Any = None,
        threshold: float = 0.5,
    ) -> None:
        check_threshold(threshold)
        self.model = model.eval() if device is None else model.eval().to(device)
        self.processor, self.threshold = processor, threshold

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | os.PathLike[str],
        device: Any = None,
        threshold: float = 0.5,
        revision: str | None = None,
        cache_dir: str | None = None,
        token: str | bool | None = None,
    ) -> Self:
        """Load a model and its processor.

        Args:
            name_or_path: A folder, or `OWNER/REPOSITORY` on the Hub.
            device: Where it shall run; a GPU if there is one.
            threshold: From which probability on a word counts as misaligned.
            revision: A branch, tag or commit of the repository; the main branch if left out.
            cache_dir: Where downloads are kept; the Hub client's own place if left out.
            token: An access token for a private repository, or `True` for the stored one.

        Raises:
            PredictorError: The threshold is not from 0 to 1.
            CheckpointError: There is no usable model; the token is never in the message.
            MissingExtraError: torch or transformers is not installed.
        """
        check_threshold(threshold)
        with needing("RAHF", "models"):
            import torch
            import transformers  # noqa: F401
        folder = Path(name_or_path).expanduser()
        if not folder.is_dir():
            folder = _fetched(str(name_or_path), revision, cache_dir, token)
        model, processor = _loaded(folder, name_or_path)
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        return cls(model, processor, device, threshold)

    def save_pretrained(self, folder: str | os.PathLike[str], card: str | None = None) -> Path:
        """Write model, processor and card to a folder, which is replaced whole or not at all.

        Args:
            folder: A new one, or one with an older model.
            card: Its text; that of the older model stays if left out.

        Raises:
            FileError: The folder holds other things.
        """
        folder = Path(folder).expanduser()
        with whole_folder(folder, FILES) as beside:
            self.model.save_pretrained(beside)
            self.processor.save_pretrained(beside)
            if card is not None:
                (beside / CARD).write_text(card, encoding="utf-8")
            elif (folder / CARD).is_file():
                shutil.copyfile(folder / CARD, beside / CARD)
        return folder

    def judge(
        self, images: Sequence[Any], prompts: Sequence[str], batch_size: int = 16
    ) -> list[Feedback]:
        """Judge images, arrays, paths, or mappings with `bytes` or `path`, one a prompt."""
        return [
            one
            for some in self._batches(images, prompts, batch_size)
            for one in self._judge_batch(*some)
        ]

    def rewrite(
        self, images: Sequence[Any], prompts: Sequence[str], batch_size: int = 16
    ) -> list[str]:
        """Return prompts as the decoder rewrites them freely, with `_0` behind misaligned words.

        This is the paper's way. The text may lose or change words; `words.read_rewritten` aligns it
        with the prompt. `judge` holds the decoder to the prompt's words instead.
        """
        import torch

        from pqpp_feedback.rahf.decoding import rewrite_freely

        texts: list[str] = []
        for some in self._batches(images, prompts, batch_size):
            with torch.inference_mode():
                found = self.model(**self._prepared(*some))
                states, mask = found.encoder_states, found.encoder_mask
                limit = self.processor.max_target_length
                tokens = rewrite_freely(self.model, states, mask, limit)
            texts += self.processor.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return [text.strip() for text in texts]

    @staticmethod
    def _batches(
        images: Sequence[Any], prompts: Sequence[str], batch_size: int
    ) -> list[tuple[Sequence[Any], Sequence[str]]]:
        if len(images) != len(prompts):
            raise PredictorError(
                f"{len(images)} image(s) and {len(prompts)} prompt(s); give one an image"
            )
        check_batch_size(batch_size)
        slices = [slice(n, n + batch_size) for n in range(0, len(images), batch_size)]
        return [(images[some], prompts[some]) for some in slices]

    def _prepared(self, images: Sequence[Any], prompts: Sequence[str]) -> Any:
        return self.processor(images=list(images), text=list(prompts)).to(self.model.device)

    def _judge_batch(self, images: Sequence[Any], prompts: Sequence[str]) -> Iterable[Feedback]:
        import torch

        from pqpp_feedback.rahf.decoding import mark_words

        with torch.inference_mode():
            found = self.model(**self._prepared(images, prompts))
            marked = mark_words(
                self.model,
                found.encoder_states,
                found.encoder_mask,
                [self.processor.kept_word_ids(prompt) for prompt in prompts],
                self.processor.suffix_ids,
                self.threshold,
            )
        heatmaps = found.heatmaps.float().cpu().numpy()
        scores = found.scores.double().cpu().numpy()
        for row, prompt in enumerate(prompts):
            words = prompt_words(prompt)
            unseen = [float("nan")] * (len(words) - len(marked[row]))
            yield Feedback(
                prompt=prompt,
                scores=dict(zip(SCORES, scores[row].tolist(), strict=True)),
                heatmaps=dict(zip(HEATMAPS, heatmaps[row], strict=True)),
                words=words,
                probabilities=[*marked[row], *unseen],
                threshold=self.threshold,
            )


def checked_files(folder: Path) -> tuple[str, ...]:
    """Load a folder's model, to be sure that it can be, and return what may be pushed of it."""
    FeedbackModel.from_pretrained(folder, device="cpu")
    return FILES


def check_threshold(threshold: float) -> None:
    """Refuse what is no probability.

    Example:
        >>> check_threshold(5)
        Traceback (most recent call last):
        pqpp_models.errors.PredictorError: `threshold` is 5; it must be from 0 to 1
    """
    if not isinstance(threshold, numbers.Real) or not 0 <= threshold <= 1:
        raise PredictorError(f"`threshold` is {threshold!r}; it must be from 0 to 1")


def check_batch_size(batch_size: int) -> None:
    """Refuse what is no number of images.

    Example:
        >>> check_batch_size(0)
        Traceback (most recent call last):
        pqpp_models.errors.PredictorError: `batch_size` is 0; it must be 1 or more
    """
    if not isinstance(batch_size, numbers.Integral) or batch_size < 1:
        raise PredictorError(f"`batch_size` is {batch_size!r}; it must be 1 or more")


def _fetched(
    name: str, revision: str | None, cache_dir: str | None, token: str | bool | None
) -> Path:
    """Return the folder of what is downloaded, each file checked, or found in the cache."""
    from pqpp_hub import is_repository_id
    from pqpp_hub.pull import pull_files

    if not is_repository_id(name):
        raise CheckpointError(
            f"there is no folder {name}, and it is no OWNER/REPOSITORY; check the name"
        )
    return pull_files(name, FILES, revision, cache_dir, token, CheckpointError)


def _loaded(folder: Path, name: str | os.PathLike[str]) -> tuple[Any, Any]:
    """Return the model and the processor of a folder; nobody is asked for what is not in it."""
    from pqpp_feedback.rahf.modeling_rahf import RahfForRichFeedback
    from pqpp_feedback.rahf.processing_rahf import RahfProcessor
    from pqpp_models.pretrained import loading

    remedy = "give a folder or OWNER/REPOSITORY written by training/train_rahf.py"
    with loading(f"{name} holds no usable RAHF model", remedy, str(folder)):
        options = {"local_files_only": True, "trust_remote_code": False}
        model = RahfForRichFeedback.from_pretrained(folder, **options)
        processor = RahfProcessor.from_pretrained(folder, **options)
        # What their settings say may be nothing that can be done.
        FeedbackModel(model, processor).judge([np.zeros((8, 8, 3), np.uint8)], ["a cat"])
        return model, processor
