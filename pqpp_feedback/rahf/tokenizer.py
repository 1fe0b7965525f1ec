"""A small tokenizer of one's own, for models that are trained from nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def new_tokenizer(prompts: Iterable[str], vocab_size: int = 512) -> Any:
    """Train a byte-level BPE tokenizer on prompts; any text can be written with its tokens.

    Args:
        prompts: Texts to learn pieces from.
        vocab_size: Tokens at most; the 256 bytes and three special tokens are always there.

    Returns:
        A fast tokenizer of transformers with `<pad>` (0), `</s>` (1) and `<unk>` (2), as T5 has.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    plain.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    plain.train_from_iterator(prompts, trainer)
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=plain, **names)
