"""GIMBRR as an assessor: CLIP decides whether objects are shown, and a detector counts them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.pretrained import load_model
from pqpp_feedback.assess.assessor import Assessor, Verdict
from pqpp_feedback.assess.pictures import Picture
from pqpp_feedback.assess.values import to_unit
from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.gimbrr.conditions import ASKED_COLUMNS, ROLES, make_conditions, parse_task
from pqpp_feedback.gimbrr.published import VOCABULARY, WAY, Evidence, PublishedRoutine


class GimbrrAssessor(Assessor):
    """An assessor for images of GIMBRR's prompts, or of prompts with the same columns.

    Args:
        routine: The rules that turn evidence into verdicts.
        clip: A `ClipScorer`; None to score only stored evidence.
        detector: A `pqpp_feedback.assess.detector.Detector`; None to score only stored evidence.

    Example:
        >>> from pathlib import Path
        >>> cat = {"label": "cat", "score": 0.9}
        >>> evidence = {"detector": {"labels": {"cat": "cat"}, "boxes": [cat, cat]}}
        >>> about = {"task": "Counting", "representations": ["cat"], "task_specific_label": "3"}
        >>> picture = Picture(Path("a.png"), "3 cats", about=about)
        >>> GimbrrAssessor(PublishedRoutine()).score(evidence, picture).reason
        '3 cat requested, 2 found above 0.5'
    """

    name = "gimbrr"
    columns = ASKED_COLUMNS

    def __init__(self, routine: PublishedRoutine, clip: Any = None, detector: Any = None) -> None:
        models = {"clip": clip, "detector": detector}
        self._models = {role: model for role, model in models.items() if model is not None}
        super().__init__({role: model.identity for role, model in self._models.items()})
        self._routine, self.routine = routine, routine.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the routine and the models."""
        models = {role: model.settings for role, model in self._models.items()}
        return {"routine": self._routine.settings, **models}

    def observe(self, images: Sequence[Any], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
        """Return the outputs of the models that each prompt's task needs."""
        evidence: list[dict[str, Any]] = [{} for _ in images]
        parsed = [make_conditions(parse_task(picture.about)) for picture in pictures]
        usable = {n: found for n, found in enumerate(parsed) if not isinstance(found, str)}
        for role, model in self._models.items():
            names: dict[int, list[str]] = {}
            for number, conditions in usable.items():
                checked = [c for c in conditions if ROLES[c.kind] == role]
                if checked:
                    names[number] = sorted({name for c in checked for name in (c.name, *c.others)})
            if names:
                outputs = model.observe([images[number] for number in names], list(names.values()))
                for number, output in zip(names, outputs, strict=True):
                    evidence[number][role] = output
        return evidence

    def score(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return the routine's verdict; if it is undecided, it is None with the reason."""
        task, outputs = parse_task(picture.about), Evidence(evidence)
        conditions = make_conditions(task)
        if isinstance(conditions, str):
            return Verdict(None, None, conditions)
        if missing := outputs.explain_missing(conditions):
            return Verdict(None, None, missing)
        return self._routine.assess(outputs, conditions, picture.image_id, task.task)


class ClipScorer:
    """A CLIP-like model that compares images with the object names in `VOCABULARY` and the prompt.

    Args:
        name: Name or path of the model, for `pqpp_backbones.pretrained.fetch_model`.
        device: The device; None for the default.
    """

    def __init__(self, name: str, device: str | None = None, dtype: str = "float32") -> None:
        self._loaded = load_model(name, "AutoModel", "CLIP", device, dtype)
        if not hasattr(self._loaded.model, "get_image_features"):
            raise FeedbackError(f"{name} has no image features; choose a model such as CLIP")
        self.identity = self._loaded.identity
        self.settings = {"dtype": dtype}
        self._texts: dict[str, NDArray[np.float64]] = {}

    def observe(self, images: Sequence[Any], names: Sequence[list[str]]) -> list[dict[str, Any]]:
        """Return each image's similarities to the `VOCABULARY` and to the names in its prompt."""
        from pqpp_backbones.images.embedding import embed_images

        model, processor = self._loaded.model, self._loaded.processor
        scale = getattr(model, "logit_scale", None)
        scale = math.exp(scale.item()) if scale is not None else 100.0
        features = embed_images(model, processor, images, self._loaded.max_batch or len(images))
        evidence = []
        for image, object_names in zip(to_unit(features), names, strict=True):
            cosines = zip(object_names, self._embed(object_names) @ image, strict=True)
            own = {name: {WAY: cosine} for name, cosine in cosines}
            evidence.append({WAY: self._embed(VOCABULARY) @ image, "own": own, "scale": scale})
        return evidence

    def _embed(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the cached text features of names."""
        from pqpp_backbones.images.embedding import embed_prompts

        for name in names:  # one at a time, so that features do not depend on the other names
            if name not in self._texts:
                features = embed_prompts(self._loaded.model, self._loaded.processor, [name], 1)
                self._texts[name] = to_unit(features[0])
        return np.stack([self._texts[name] for name in names])
