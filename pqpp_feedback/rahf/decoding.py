"""Decoding the rewritten prompt: which words does the image not show?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from transformers.modeling_outputs import BaseModelOutput

from pqpp_feedback.rahf.words import MarkedPath

if TYPE_CHECKING:
    from pqpp_feedback.rahf.modeling_rahf import RahfForRichFeedback


@torch.no_grad()
def mark_words(
    model: RahfForRichFeedback,
    states: torch.Tensor,
    mask: torch.Tensor,
    words: Sequence[Sequence[Sequence[int]]],
    suffix: Sequence[int],
    threshold: float = 0.5,
) -> list[list[float]]:
    """Return, for each word of each prompt, the probability that it is misaligned.

    Greedy decoding that is held to the prompts' words: it costs what free decoding costs, and no
    word can be lost, doubled or taken for another.

    Args:
        model: Has encoded the images and prompts.
        states: `encoder_states` of its output.
        mask: `encoder_mask` of its output.
        words: The tokens of each word of each prompt, from the processor.
        suffix: The tokens of the suffix, from the processor.
        threshold: From which probability on a word counts as misaligned for those behind it.
    """
    end = model.config.text_config.eos_token_id
    paths = [MarkedPath(one, suffix, end, threshold) for one in words]
    tokens = torch.full(
        (len(paths), 1), model.config.text_config.decoder_start_token_id, device=states.device
    )
    encoded = BaseModelOutput(last_hidden_state=states)
    cache: Any = None
    while not all(path.is_done for path in paths):
        found = model.text_model(
            encoder_outputs=encoded,
            attention_mask=mask,
            decoder_input_ids=tokens,
            past_key_values=cache,
            use_cache=True,
        )
        cache = found.past_key_values
        logits = found.logits[:, -1].float().cpu().numpy()
        following = [path.step(row) for path, row in zip(paths, logits, strict=True)]
        tokens = torch.tensor(following, device=states.device)[:, None]
    return [path.probabilities for path in paths]


@torch.no_grad()
def rewrite_freely(
    model: RahfForRichFeedback, states: torch.Tensor, mask: torch.Tensor, max_length: int = 64
) -> torch.Tensor:
    """Return the tokens of the rewritten prompts as the decoder writes them, unconstrained.

    This is the paper's way, with 64 tokens at most; `words.read_rewritten` finds the marked words
    in the text. States and mask are those of the model's output.
    """
    return model.text_model.generate(
        encoder_outputs=BaseModelOutput(last_hidden_state=states),
        attention_mask=mask,
        max_new_tokens=max_length,
        do_sample=False,
        num_beams=1,
    )
