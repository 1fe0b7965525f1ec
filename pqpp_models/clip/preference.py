"""Off-the-shelf scorers of how well an image fits a prompt, as predictors after generation.

Each is a CLIP-like model that transformers loads; a prompt's value is the mean over its images.

* CLIPScore: 2.5 times the cosine of text and image features, not below 0, the text behind "A photo
  depicts" (Hessel et al., "CLIPScore", EMNLP 2021, section 3).
* PickScore: the cosine times the model's learned scale (Kirstain et al., "Pick-a-Pic", NeurIPS
  2023, section 3); weights `yuvalkirstain/PickScore_v1`.
* HPSv2: the cosine times 100, the model's scale (Wu et al., "Human Preference Score v2", 2023,
  section 4). Its authors publish the weights in OpenCLIP's form: give a folder with their
  conversion to transformers' CLIPModel.

ImageReward is not among them: its weights are no model of transformers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.checkpoint import Tensors
from pqpp_backbones.errors import ModelError
from pqpp_backbones.pretrained import TEXTS, loading
from pqpp_files.extras import needing
from pqpp_hub.card import render_card
from pqpp_models.errors import PredictorError
from pqpp_models.images.pairs import IMAGE_COLUMNS, read_mappings
from pqpp_models.predictor import Predictor
from pqpp_models.torch_predictor import parameter_count


@dataclass(frozen=True)
class Scorer:
    """How a scorer turns a cosine into a score.

    Attributes:
        weights: Where its weights are on the Hub; empty where they cannot be loaded from there.
        scale: What the cosine is multiplied by; the model's own scale if None.
        lowest: Lower scores become this one.
    """

    weights: str
    processor: str
    prefix: str = ""
    scale: float | None = None
    lowest: float = -np.inf


SCORERS = {
    "clip_score": Scorer(
        "openai/clip-vit-base-patch32",
        "openai/clip-vit-base-patch32",
        prefix="A photo depicts ",
        scale=2.5,
        lowest=0.0,
    ),
    "pick_score": Scorer("yuvalkirstain/PickScore_v1", "laion/CLIP-ViT-H-14-laion2B-s32B-b79K"),
    "hps_v2": Scorer("", "laion/CLIP-ViT-H-14-laion2B-s32B-b79K", scale=100.0),
}


class PreferencePredictor(Predictor):
    """Predicts HBPP by the mean score of a prompt's images; only the order means something.

    Rows hold `prompt` and images, as for `ClipPredictor`. `glide_hbpp` takes GLIDE's images,
    `sdxl_hbpp` SDXL's, `mean_hbpp` the mean of the two; images under `images` count for each.

    Args:
        name: one of `SCORERS`.
        model: a CLIP-like model of transformers.
        batch_size: images at once.
    """

    targets = ("glide_hbpp", "sdxl_hbpp", "mean_hbpp")
    inputs = "text+images"
    required_columns = IMAGE_COLUMNS
    supervised = False
    chunk_size = 64

    def __init__(self, name: str, model: Any, processor: Any, batch_size: int = 32) -> None:
        self.name, self.scorer = name, SCORERS[name]
        self.model, self.processor, self.batch_size = model.eval(), processor, batch_size

    @property
    def size(self) -> str:
        """How many parameters the model has, in words."""
        return parameter_count(self.model)

    @classmethod
    def from_folder(cls, name: str, model: str, processor: str | None = None) -> Self:
        """Load a scorer from any folder or repository with a CLIP-like model.

        Args:
            name: one of `SCORERS`.
            model: folder or repository with the model.
            processor: folder or repository with the processor; that of the model if left out.

        Raises:
            PredictorError: no scorer has this name.
            ModelError: the model or the processor cannot be loaded.
            MissingExtraError: transformers or torch is not installed.
        """
        if name not in SCORERS:
            raise PredictorError(f"no scorer is called {name!r}; known: {', '.join(SCORERS)}")
        with needing(f"the scorer {name!r}", "models"):
            from transformers import AutoModel, AutoProcessor

            from pqpp_backbones.images.embedding import try_embedding
        what = f"the scorer {name!r} could not be loaded from {model}"
        remedy = "connect to the Hub, or give a folder to PreferencePredictor.from_folder"
        source = processor or model
        with loading(what, remedy, model), loading(what, remedy, source, files=TEXTS):
            loaded = AutoModel.from_pretrained(model, use_safetensors=True, trust_remote_code=False)
            loaded_processor = AutoProcessor.from_pretrained(source, trust_remote_code=False)
            try_embedding(loaded, loaded_processor)
            return cls(name, loaded, loaded_processor)

    @classmethod
    def from_shipped(cls, name: str) -> Self:
        """Load a scorer's published weights from the Hub."""
        scorer = SCORERS[name]
        if not scorer.weights:
            raise ModelError(
                f"the weights of {name!r} are not published in transformers' form; convert them "
                f"and load the folder by PreferencePredictor.from_folder({name!r}, FOLDER)"
            )
        return cls.from_folder(name, scorer.weights, scorer.processor)

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Refuse: a scorer is loaded by its name, it has no checkpoint of its own."""
        raise ModelError(
            f"{folder} names a scorer, which is loaded by its name or by "
            "PreferencePredictor.from_folder"
        )

    read_rows = staticmethod(read_mappings)

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        from pqpp_models.images.pairs import mean_over_images, read_pairs

        pairs = read_pairs(rows, "generation", first_k=0)
        return mean_over_images(self._scores(pairs), pairs, targets)

    def _scores(self, pairs: Any) -> NDArray[np.float64]:
        from pqpp_backbones.images.embedding import embed_images, embed_prompts

        prompts = [self.scorer.prefix + prompt for prompt in pairs.prompts]
        text = _unit(embed_prompts(self.model, self.processor, prompts, self.batch_size))
        images = _unit(embed_images(self.model, self.processor, pairs.images, self.batch_size))
        scale = self.scorer.scale
        if scale is None:
            scale = self.model.logit_scale.detach().exp().item()
        cosines = (text[pairs.row] * images).sum(axis=1)
        return np.maximum(self.scorer.lowest, scale * cosines)

    def _state(self) -> tuple[dict[str, Any], Tensors]:
        raise PredictorError(
            f"{self.name!r} is loaded by its name; save its model by transformers if you need to"
        )

    def _card(self) -> str:
        return render_card("predictors/preference", name=self.name, weights=self.scorer.weights)


def _unit(features: NDArray[np.float32]) -> NDArray[np.float64]:
    vectors = features.astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)
