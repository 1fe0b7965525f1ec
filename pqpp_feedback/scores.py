"""Published scores of an image for its prompt: CLIPScore, SigLIP, PickScore and others.

Each score is computed as by its authors, with their text templates, preprocessing and scale.
Weights are safetensors, or pickles that the user has confirmed.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps

from pqpp_backbones.images import embedding
from pqpp_backbones.pretrained import (
    LoadedModel,
    ModelId,
    fetch_model,
    get_device,
    load_processor,
    move_model,
)
from pqpp_feedback.assess.assessor import Assessor, Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.assess.run import assess_rows
from pqpp_feedback.assess.values import to_unit
from pqpp_feedback.assessors import KNOWN_SCORES, SCORES, ScoreOptions
from pqpp_feedback.errors import FeedbackError, check_prompt_count
from pqpp_feedback.pickled import PICKLED, find_pickle, load_weights, read_pickle


class PublishedScore(Assessor):
    """A published score, computed by a model of text and images.

    CLIPScore is 2.5 times the cosine, at least 0; HPSv2 the cosine; PickScore the cosine times the
    model's learned scale; SigLIP's score the probability that text and image are a pair.
    ImageReward has mean 0 and standard deviation 1 over its authors' images; the aesthetic score is
    from about 1 to 10. There is no verdict, because none of the papers defines a threshold.

    Args:
        name: A key of `KNOWN_SCORES` other than `vqa_score`.
        loaded: The output of `load_scorer`; None to score only stored evidence.

    Example:
        >>> from pathlib import Path
        >>> picture = Picture(Path("a.png"), "a cat")
        >>> PublishedScore("clip_score").score({"value": 0.3}, picture).score
        0.75
    """

    def __init__(self, name: str, loaded: LoadedModel | None = None) -> None:
        self.name = self.routine = name
        self._loaded: Any = loaded
        super().__init__({"scorer": loaded.identity} if loaded else None)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The number format, and the template of the text that the model reads."""
        dtype = self._loaded.dtype if self._loaded else ""
        return {"text": KNOWN_SCORES[self.name]["text"], "dtype": dtype}

    def get_notes(self) -> list[str]:
        """Return a note on how well the score agrees with people, according to its paper."""
        return [f"{self.name}: {KNOWN_SCORES[self.name]['agreement']}"]

    def observe(self, images: Sequence[Any], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
        """Return each image's raw score for its prompt: the cosine or the model's output."""
        texts = [KNOWN_SCORES[self.name]["text"].replace("{}", p.prompt) for p in pictures]
        values = _run_model(self.name, self._loaded, images, texts)
        return [{"value": float(value)} for value in values]

    def score(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the score on its paper's scale."""
        value = float(evidence["value"])
        if self.name == "clip_score":
            return Verdict(None, 2.5 * max(value, 0.0), f"cosine {value:.3f}")
        if self.name == "siglip_score":
            probability = 1 / (1 + math.exp(-value))
            return Verdict(None, probability, f"a pair with probability {probability:.3f}")
        kind = {"pick_score": "scaled cosine", "hps_v2": "cosine"}.get(self.name, "reward")
        return Verdict(None, value, f"{kind} {value:.3f}")


def _run_model(name: str, loaded: LoadedModel, images: Sequence[Any], texts: Sequence[str]) -> Any:
    """Return each image's cosine to its text, or the output of the score's own model."""
    model, processor, batch_size = loaded.model, loaded.processor, loaded.max_batch or 64
    if name == "image_reward":
        rewards = [_get_reward(loaded, *pair) for pair in zip(images, texts, strict=True)]
        return [(reward - _REWARD_MEAN) / _REWARD_DEVIATION for reward in rewards]
    if name == "hps_v2":
        images = [pad_to_square(image, model.config.vision_config.image_size) for image in images]
    clip = model["clip"] if name == "aesthetic" else model
    image_vectors = to_unit(embedding.embed_images(clip, processor, images, batch_size))
    if name == "aesthetic":
        with torch.inference_mode():
            vectors = torch.from_numpy(image_vectors).to(loaded.device, clip.dtype)
            return model["head"](vectors)[:, 0].tolist()
    # One text at a time, because these models would also read padding.
    text_vectors = embedding.embed_prompts(model, processor, texts, 1)
    values = (image_vectors * to_unit(text_vectors)).sum(axis=1)
    if name in ("clip_score", "hps_v2"):
        return values
    bias = getattr(model, "logit_bias", None)
    return values * model.logit_scale.exp().item() + (0.0 if bias is None else bias.item())


def _get_reward(loaded: LoadedModel, image: Any, text: str) -> float:
    model, processor = loaded.model, loaded.processor
    encoded = processor.tokenizer(text, truncation=True, max_length=35, return_tensors="pt")
    tokens = {name: encoded[name].to(loaded.device) for name in ("input_ids", "attention_mask")}
    pixels = embedding.to_pixels(processor, [image])
    pixels = pixels.to(loaded.device, getattr(torch, loaded.dtype))
    with torch.inference_mode():
        states = model["vision_model"](pixels).last_hidden_state
        options = {"encoder_hidden_states": states, "is_decoder": False, "use_cache": False}
        outputs = model["text_encoder"](**tokens, **options).last_hidden_state
        return model["head"](outputs[:, 0]).item()


# ImageReward's mean and standard deviation over its authors' images, to standardise it.
_REWARD_MEAN, _REWARD_DEVIATION = 0.16717362830052426, 1.0333394966054072


def pad_to_square(image: Any, side: int) -> Any:
    """Resize an image to a longer side of `side` pixels, on a black square, as in HPSv2.

    Example:
        >>> pad_to_square(Image.new("RGB", (40, 20), "white"), 20).getpixel((0, 4))
        (0, 0, 0)
    """
    resized = ImageOps.contain(image, (side, side), Image.Resampling.BICUBIC)
    square = Image.new("RGB", (side, side))
    square.paste(resized, [(side - length) // 2 for length in resized.size])
    return square


def score_images(
    images: Sequence[Any],
    prompts: Sequence[str],
    scores: str | Sequence[str] = SCORES[:1],
    batch_size: int = 16,
    **options: Any,
) -> dict[str, Any]:
    """Return published scores of images for their prompts.

    Args:
        images: PIL images, or other arguments of `open_image` except arrays.
        prompts: One per image.
        scores: One or more names of `KNOWN_SCORES`.
        **options: Options of `ScoreOptions`, such as `weights`, `device` and `chat_model`.

    Returns:
        The mean of each score by name, NaN if no image has the score; and `scores`, the values for
        all images by score, with None and a warning for an image without a value.

    Raises:
        FeedbackError: An option is invalid, or the numbers of images and prompts differ.
        ModelError: A model is not available.
    """
    names = [scores] if isinstance(scores, str) else list(scores)
    if not names or not set(names) <= set(SCORES):
        raise FeedbackError(f"`scores` must be some of {', '.join(SCORES)}; got {names}")
    check_prompt_count(images, prompts)
    assessors = ScoreOptions(with_=names, **options).load()
    pairs = enumerate(zip(images, prompts, strict=True))
    pictures = [Picture(Path(), text, f"image {n}", content=image) for n, (image, text) in pairs]
    for assessor in assessors:
        assessor.prepare(pictures)
    rows = list(assess_rows(pictures, assessors, batch_size))
    for row in rows:
        if row["score"] is None:
            warnings.warn(f"{row['image']} has no {row['routine']}: {row['reason']}", stacklevel=2)
    values = {name: [row["score"] for row in rows[n :: len(names)]] for n, name in enumerate(names)}
    known = {n: [value for value in values[n] if value is not None] for n in values}
    means = {n: float(np.mean(known[n])) if known[n] else math.nan for n in known}
    return {**means, "scores": values}


def load_scorer(
    name: str, model: str | None, device: str | None, dtype: str, confirmed: Sequence[str]
) -> LoadedModel:
    """Load the model of a score.

    Args:
        name: A key of `KNOWN_SCORES` other than `vqa_score`.
        model: Folder or OWNER/REPOSITORY of other weights and their processor; for a pickle, the
            file or its folder; default: the authors' weights.
        device: The device; None for the default.
        confirmed: SHA-256 of pickles that may be read.

    Raises:
        ModelError: The model is not available.
    """
    info, device = KNOWN_SCORES[name], device or get_device()
    if name in PICKLED:
        path, base = find_pickle(name, model)
        tensors, digest = read_pickle(path, confirmed)
        network, processor = load_weights(path, base, name, tensors)
        network = move_model(network.to(getattr(torch, dtype)).eval(), device)
        identity = ModelId(path.name, f"sha256:{digest}")
        return LoadedModel(network, processor, identity, device, dtype)
    folder, identity = fetch_model(model or info["model"], name)
    network = embedding.load_backbone(str(folder)).eval().to(getattr(torch, dtype))
    processor = load_processor(str(folder) if model else info.get("processor", str(folder)))
    return LoadedModel(move_model(network, device), processor, identity, device, dtype)
