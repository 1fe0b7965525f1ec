"""The processor of RAHF: from images and prompts to the model's input, and back to words."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from transformers import BatchFeature, PreTrainedTokenizerFast, ProcessorMixin

from pqpp_feedback.errors import FeedbackError, check_prompt_count
from pqpp_feedback.rahf.outputs import TASK_STRINGS
from pqpp_feedback.rahf.words import SUFFIX, split_into_words
from pqpp_files.foreign.images import open_image


class RahfProcessor(ProcessorMixin):
    """The processor that turns images and prompts into the model's input.

    A prompt is split at spaces and punctuation, as the released weights require. Each word is
    tokenized separately, so that each token belongs to a known word.

    Args:
        image_processor: The image tower's processor.
        tokenizer: T5's tokenizer.
        variant: As in `RahfConfig`; with `augmented_prompt`, each prompt is encoded once per task.
        max_length: Maximum number of prompt tokens; further words are ignored.
        max_target_length: Maximum number of tokens of a rewritten prompt in training.
        **kwargs: Further arguments from transformers.
    """

    def __init__(
        self,
        image_processor: Any = None,
        tokenizer: Any = None,
        variant: str = "multi_head",
        max_length: int = 128,
        max_target_length: int = 64,
        **kwargs: Any,
    ) -> None:
        super().__init__(image_processor, tokenizer, **kwargs)
        self.variant, self.max_length = variant, max_length
        self.max_target_length = max_target_length
        # Tokens for the longest task string and the end token.
        self._num_reserved = 1 + max(len(self._encode(task)) for task in TASK_STRINGS)
        # The tokens of the suffix after a word.
        word, marked = self._encode("a"), self._encode("a" + SUFFIX)
        suffix = marked[len(word) :] if marked[: len(word)] == word else self._encode(SUFFIX)
        if not suffix or self.tokenizer.unk_token_id in suffix:
            remedy = "use a tokenizer with tokens for the underscore and the digit 0"
            raise FeedbackError(f"the tokenizer cannot encode the suffix {SUFFIX!r}; {remedy}")
        self.suffix_ids = suffix

    def _encode(self, text: Any) -> list[Any]:
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def encode_words(self, prompt: str) -> list[list[int]]:
        """Return the tokens of each word; every word has at least one."""
        words = [word.text for word in split_into_words(prompt)]
        unknown = self.tokenizer.unk_token_id
        unknown = self.tokenizer.pad_token_id if unknown is None else unknown
        return [tokens or [unknown] for tokens in (self._encode(words) if words else [])]

    def encode_fitting_words(self, prompt: str, max_length: int | None = None) -> list[list[int]]:
        """Return the tokens of as many of the first words as fit into `max_length` tokens."""
        words = self.encode_words(prompt)
        ends = np.cumsum([len(word) for word in words])
        available = (self.max_length if max_length is None else max_length) - self._num_reserved
        return words[: int(np.searchsorted(ends, available, side="right"))]

    def encode_target(self, prompt: str, labels: Sequence[int]) -> list[int]:
        """Return the decoder's target tokens; a label is 0 if a word is misaligned.

        Raises:
            FeedbackError: The numbers of labels and words differ.
        """
        words = self.encode_words(prompt)
        if len(labels) != len(words):
            expected = f"expected one label for each word of {prompt!r:.80} ({len(words)})"
            raise FeedbackError(f"{expected}; got {len(labels)}")
        tokens: list[int] = []
        for word, label in zip(words, labels, strict=True):
            tokens += word if label else [*word, *self.suffix_ids]
        return [*tokens[: self.max_target_length - 1], self.tokenizer.eos_token_id]

    def encode_input(
        self, prompt: str, task: int | None = None, max_length: int | None = None
    ) -> list[int]:
        """Return the encoder's tokens: a task string by index, the words, and the end token."""
        words = [token for word in self.encode_fitting_words(prompt, max_length) for token in word]
        task_tokens = [] if task is None else self._encode(TASK_STRINGS[task])
        return [*task_tokens, *words, self.tokenizer.eos_token_id]

    def __call__(
        self,
        images: Any = None,
        text: str | Sequence[str] | None = None,
        tasks: Sequence[Sequence[int]] | None = None,
        return_tensors: str = "pt",
        padding: str | bool = True,
        truncation: bool = True,
        max_length: int | None = None,
    ) -> BatchFeature:
        """Convert images and prompts to a batch of model inputs.

        Args:
            images: An image or a list: PIL images, arrays, paths, or mappings with `bytes`/`path`.
            text: A prompt or a list.
            tasks: For the augmented-prompt variant, the tasks of each prompt as indices of
                `outputs.TASK_STRINGS`, the same number for each prompt; default: all seven.
            return_tensors: `pt` or `np`.
            padding: `True` or `longest`, or `max_length`.
            truncation: Ignored, since prompts are always truncated, after a whole word.
            max_length: Maximum number of tokens per prompt.

        Returns:
            `pixel_values`, `input_ids`, `attention_mask`, and `task_ids` if tasks are named.

        Raises:
            FeedbackError: The numbers of images and prompts, or of tasks, differ.
        """
        features: dict[str, Any] = {}
        if images is not None:
            images = images if isinstance(images, (list, tuple)) else [images]
            opened = [open_image(image) for image in images]
            pixels = self.image_processor(opened, return_tensors="pt")["pixel_values"]
            features["pixel_values"] = pixels
        if text is not None:
            prompts = [text] if isinstance(text, str) else list(text)
            check_prompt_count(prompts if images is None else images, prompts)
            features |= self._encode_batch(prompts, tasks, max_length, padding)
        if return_tensors == "np":
            features = {name: tensor.numpy() for name, tensor in features.items()}
        return BatchFeature(features)

    def _encode_batch(
        self, prompts: Sequence[str], tasks: Any, max_length: int | None, padding: Any
    ) -> dict[str, Any]:
        limit = self.max_length if max_length is None else max_length
        length = limit if padding == "max_length" else None
        if self.variant == "multi_head":
            return self.pad([self.encode_input(prompt, None, limit) for prompt in prompts], length)
        rows = [list(range(len(TASK_STRINGS)))] * len(prompts) if tasks is None else tasks
        rows = rows.tolist() if hasattr(rows, "tolist") else rows  # of a tensor or an array
        if len(rows) != len(prompts) or len(set(map(len, rows))) > 1:
            raise FeedbackError(f"`tasks` must have equally long rows, one per prompt; got {rows}")
        pairs = [(prompt, task) for prompt, row in zip(prompts, rows, strict=True) for task in row]
        padded = self.pad([self.encode_input(*pair, limit) for pair in pairs], length)
        shape = (len(prompts), len(rows[0]) if prompts else len(TASK_STRINGS), -1)
        tensors = {name: tensor.reshape(shape) for name, tensor in padded.items()}
        return tensors if tasks is None else {**tensors, "task_ids": torch.tensor(rows)}

    def pad(self, rows: Sequence[Sequence[int]], length: int | None = None) -> dict[str, Any]:
        """Return rows as `input_ids` and `attention_mask`, padded to at least `length` tokens."""
        ids = _pad_rows(rows, self.tokenizer.pad_token_id, length)
        mask = _pad_rows([[1] * len(row) for row in rows], 0, length)
        return {"input_ids": ids, "attention_mask": mask}

    def encode_labels(self, prompts: Sequence[str], labels: Sequence[Sequence[int] | None]) -> Any:
        """Return the decoder's labels of a batch; a prompt without labels has no loss."""
        pairs = zip(prompts, labels, strict=True)
        rows = [[] if row is None else self.encode_target(text, row) for text, row in pairs]
        return _pad_rows(rows, -100)


def _pad_rows(rows: Sequence[Sequence[int]], value: int, length: int | None = None) -> Any:
    """Return rows as an integer tensor, padded at the end with a value."""
    tensor = torch.full((len(rows), max([length or 1, *map(len, rows)])), value)
    for number, row in enumerate(rows):
        tensor[number, : len(row)] = torch.tensor(row, dtype=torch.long)
    return tensor


def train_tokenizer(prompts: Iterable[str], vocab_size: int = 512) -> Any:
    """Train a byte-level BPE tokenizer, which can encode any text, on prompts.

    Args:
        prompts: The training texts.
        vocab_size: Maximum number of tokens, including the 256 bytes and three special tokens.

    Returns:
        A fast tokenizer with `<pad>` (0), `</s>` (1) and `<unk>` (2), as in T5.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(prompts, trainer)
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
