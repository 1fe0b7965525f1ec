"""The processor of RAHF: images and prompts in, what the model takes out, and words back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from transformers import BatchFeature, ProcessorMixin

from pqpp_models.clip.pairs import open_image
from pqpp_models.errors import PredictorError
from pqpp_models.rahf.labels import TASKS, VARIANTS
from pqpp_models.rahf.words import SUFFIX, split_words


class RahfProcessor(ProcessorMixin):
    """Prepares images and prompts.

    A prompt is cleaned as the released weights want it, to its words between blanks, and each word
    is tokenized by itself: then the map from tokens to words is known, whatever the tokenizer does.

    Args:
        image_processor: That of the image tower.
        tokenizer: That of the T5.
        variant: As in `RahfConfig`; with `augmented_prompt` each prompt comes once a task.
        max_length: Tokens of a prompt at most; words beyond are not looked at.
        max_target_length: Tokens of a rewritten prompt at most, in training.
        **kwargs: What transformers adds itself.
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
        if variant not in VARIANTS:
            raise PredictorError(f"`variant` is {variant!r}; choose among {', '.join(VARIANTS)}")
        self.variant, self.max_length = variant, max_length
        self.max_target_length = max_target_length
        self._known: dict[str, list[int]] = {}
        self.suffix_ids = self._find_suffix()

    def _find_suffix(self) -> list[int]:
        """Find the tokens that the suffix has behind a word."""
        plain, marked = self._encoded("a"), self._encoded("a" + SUFFIX)
        suffix = marked[len(plain) :] if marked[: len(plain)] == plain else self._encoded(SUFFIX)
        if not suffix or self.tokenizer.unk_token_id in suffix:
            raise PredictorError(
                f"the tokenizer has no token for the suffix {SUFFIX!r}; give one that knows the "
                "underscore and the digit 0"
            )
        return suffix

    def _encoded(self, text: str) -> list[int]:
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def word_ids(self, prompt: str) -> list[list[int]]:
        """Return the tokens of each word; no word is without one.

        Args:
            prompt: The prompt.
        """
        found = []
        for word in split_words(prompt):
            if word.text not in self._known:
                if len(self._known) > 100_000:
                    self._known.clear()
                unknown = self.tokenizer.unk_token_id
                if unknown is None:
                    unknown = self.tokenizer.pad_token_id
                self._known[word.text] = self._encoded(word.text) or [unknown]
            found.append(self._known[word.text])
        return found

    def kept_word_ids(self, prompt: str) -> list[list[int]]:
        """Return the tokens of the words that fit into `max_length`, from the first on."""
        words = self.word_ids(prompt)
        ends = np.cumsum([len(word) for word in words])
        room = self.max_length - 1 - max(len(self._encoded(task)) for task in TASKS)
        return words[: int(np.searchsorted(ends, room, side="right"))]

    def target_ids(self, prompt: str, labels: Sequence[int]) -> list[int]:
        """Return the tokens of the rewritten prompt that the decoder is to write.

        Args:
            prompt: The prompt.
            labels: One a word: 0 misaligned, 1 aligned.

        Raises:
            PredictorError: There are not as many labels as words.
        """
        words = split_words(prompt)
        if len(labels) != len(words):
            raise PredictorError(
                f"{len(labels)} labels for the {len(words)} words of {prompt!r:.80}; give one each"
            )
        tokens: list[int] = []
        for word, label in zip(self.word_ids(prompt), labels, strict=True):
            tokens += word if label else [*word, *self.suffix_ids]
        return [*tokens[: self.max_target_length - 1], self.tokenizer.eos_token_id]

    def input_ids(self, prompt: str, task: int | None = None) -> list[int]:
        """Return the encoder's tokens: the task string if there is one, the words, the end.

        Args:
            prompt: The prompt.
            task: An index of `labels.TASKS`.
        """
        words = [token for word in self.kept_word_ids(prompt) for token in word]
        before = [] if task is None else self._encoded(TASKS[task])
        return [*before, *words, self.tokenizer.eos_token_id]

    def __call__(
        self,
        images: Any = None,
        text: str | Sequence[str] | None = None,
        tasks: Sequence[Sequence[int]] | None = None,
        **kwargs: Any,
    ) -> BatchFeature:
        """Prepare a batch.

        Args:
            images: An image or a list: PIL images, arrays, paths, or mappings with `bytes`/`path`.
            text: A prompt or a list.
            tasks: For the augmented-prompt variant, the tasks of each prompt as indices of
                `labels.TASKS`, as many for each; all seven if left out.
            **kwargs: `return_tensors` is accepted; tensors of torch are always returned.

        Returns:
            `pixel_values`, `input_ids`, `attention_mask`, and `task_ids` where tasks were named.

        Raises:
            PredictorError: The numbers of images and prompts differ, or an option is unknown.
        """
        unknown = set(kwargs) - {"return_tensors"}
        if unknown:
            raise PredictorError(f"the processor has no option {sorted(unknown)[0]!r}")
        found: dict[str, Any] = {}
        if images is not None:
            listed = images if isinstance(images, (list, tuple)) else [images]
            found["pixel_values"] = self.pixels(listed)
        if text is not None:
            prompts = [text] if isinstance(text, str) else list(text)
            if images is not None and len(prompts) != len(listed):
                raise PredictorError(
                    f"{len(listed)} image(s) and {len(prompts)} prompt(s); give one an image"
                )
            found |= self._tokens(prompts, tasks)
        return BatchFeature(found)

    def pixels(self, images: Sequence[Any]) -> Any:
        """Return images, whatever `open_image` takes, as `pixel_values`."""
        opened = [open_image(image) for image in images]
        return self.image_processor(opened, return_tensors="pt")["pixel_values"]

    def _tokens(self, prompts: Sequence[str], tasks: Any) -> dict[str, Any]:
        import torch

        if self.variant == "multi_head":
            return self.padded([self.input_ids(prompt) for prompt in prompts])
        asked = [list(range(len(TASKS)))] * len(prompts) if tasks is None else tasks
        rows = [
            self.input_ids(prompt, task)
            for prompt, some in zip(prompts, asked, strict=True)
            for task in some
        ]
        found = self.padded(rows)
        shape = (len(prompts), len(asked[0]) if len(prompts) else len(TASKS), -1)
        found = {name: tensor.reshape(shape) for name, tensor in found.items()}
        return found if tasks is None else {**found, "task_ids": torch.tensor(asked)}

    def padded(self, rows: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Return rows of tokens as `input_ids` and `attention_mask`, padded at the end."""
        import torch

        length = max((len(row) for row in rows), default=1)
        ids = torch.full((len(rows), length), self.tokenizer.pad_token_id)
        mask = torch.zeros((len(rows), length), dtype=torch.long)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = torch.tensor(row)
            mask[number, : len(row)] = 1
        return {"input_ids": ids, "attention_mask": mask}

    def labels(self, prompts: Sequence[str], labels: Sequence[Sequence[int] | None]) -> Any:
        """Return the decoder's labels of a batch; nothing counts where a prompt has none."""
        import torch

        rows = [
            [] if one is None else self.target_ids(prompt, one)
            for prompt, one in zip(prompts, labels, strict=True)
        ]
        found = torch.full((len(rows), max(1, max(map(len, rows)))), -100)
        for number, row in enumerate(rows):
            found[number, : len(row)] = torch.tensor(row, dtype=torch.long)
        return found

    @property
    def model_input_names(self) -> list[str]:
        """Names of what the model takes."""
        return ["pixel_values", "input_ids", "attention_mask", "task_ids"]
