"""BLIP-2's two ways to compare a text and an image, by `Blip2ForImageTextRetrieval`.

Contrasted (ITC), text and image have vectors of their own, an image 32 of them, and the best of
their cosines counts. Matched (ITM), the Q-Former looks at image and text together. Retrieval takes
candidates by the first and ranks them by the second.

Source: Li, Li, Savarese and Hoi, "BLIP-2: Bootstrapping Language-Image Pre-training with Frozen
Image Encoders and Large Language Models", 2023.
"""

from collections.abc import Sequence
from typing import Any

import torch

from pqpp_backbones.pretrained import check_ids

CLASS = "Blip2ForImageTextRetrieval"
"""The class in transformers of a model whose configuration says `blip-2`."""


def text_tokens(model: Any, processor: Any, texts: Sequence[str]) -> dict[str, torch.Tensor]:
    """Return the tokens of texts, on the model's device."""
    tokenizer = processor.tokenizer
    most = model.config.qformer_config.max_position_embeddings
    encoded = tokenizer(
        list(texts),
        padding=True,
        truncation=True,
        max_length=min(most, tokenizer.model_max_length),
        return_tensors="pt",
    )
    check_ids(encoded["input_ids"], model)
    names = ("input_ids", "attention_mask")
    return {name: encoded[name].to(model.device) for name in names}


def text_features(
    model: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor
) -> torch.Tensor:
    """Return the contrasted vector of each text, (texts, size)."""
    states = model.qformer(
        query_embeds=model.embeddings(input_ids=input_ids),
        query_length=0,
        attention_mask=attention_mask,
    ).last_hidden_state
    return model.text_projection(states[:, 0, :])


def image_states(model: Any, pixel_values: torch.Tensor) -> torch.Tensor:
    """Return what the Q-Former sees of each image, (images, patches, size)."""
    return model.vision_model(pixel_values=pixel_values).last_hidden_state


def image_features(model: Any, states: torch.Tensor) -> torch.Tensor:
    """Return the contrasted vectors of each image, (images, vectors of each, size)."""
    hidden = model.qformer(
        query_embeds=model.query_tokens.expand(len(states), -1, -1),
        encoder_hidden_states=states,
        encoder_attention_mask=_ones(states),
    ).last_hidden_state
    return model.vision_projection(hidden)


def match_odds(model: Any, states: torch.Tensor, tokens: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return the log-odds that each text matches an image, (texts,).

    Args:
        model: The model.
        states: Of one image, from `image_states`.
        tokens: Of the texts, from `text_tokens`.
    """
    count = len(tokens["input_ids"])
    queries = model.query_tokens.expand(count, -1, -1)
    seen = states.expand(count, -1, -1)
    hidden = model.qformer(
        query_embeds=model.embeddings(input_ids=tokens["input_ids"], query_embeds=queries),
        query_length=queries.shape[1],
        attention_mask=torch.cat([_ones(queries), tokens["attention_mask"]], dim=1),
        encoder_hidden_states=seen,
        encoder_attention_mask=_ones(seen),
    ).last_hidden_state
    logits = model.itm_head(hidden[:, : queries.shape[1], :]).mean(dim=1)
    return logits[:, 1] - logits[:, 0]


def _ones(states: torch.Tensor) -> torch.Tensor:
    return torch.ones(states.shape[:-1], dtype=torch.long, device=states.device)
