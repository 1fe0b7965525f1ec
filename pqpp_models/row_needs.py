"""Which columns a predictor needs in a dataset, and which of them are lacking."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pqpp_models.errors import PredictorError
from pqpp_models.prompts import COLUMN

_EMBEDDED = ("similarities", "embeddings", "clip_embeddings", "blip2_embeddings")


def needed_columns(predictor: Any) -> tuple[tuple[str, ...], ...]:
    """Return what a predictor needs: of each group of columns at least one.

    Args:
        predictor: a `Predictor`.

    >>> from pqpp_models import Predictor
    >>> needed_columns(Predictor.from_pretrained("coherence"))
    (('prompt',), ('scores',), ('embeddings',))
    """
    if predictor.inputs == "text":
        return ((COLUMN,),)
    if predictor.inputs == "text+images":
        from pqpp_models.images.pairs import MODELS

        config = getattr(getattr(predictor, "model", None), "config", None)
        models = MODELS[getattr(config, "task", "generation")]
        return ((COLUMN,), (*(f"{model}_images" for model in models), "images"))
    if predictor.name == "correlation_cnn":
        return (_EMBEDDED,)
    from pqpp_models.measures.post_retrieval.predictor import MEASURES

    measure = MEASURES.get(predictor.name)
    return ((COLUMN,), *((name,) for name in (measure.needs if measure else ("scores",))))


def require_columns(predictor: Any, columns: Iterable[str], where: str) -> None:
    """Check that a dataset has the columns that a predictor needs.

    Args:
        predictor: a `Predictor`.
        columns: the dataset's columns.
        where: what the dataset is called.

    Raises:
        PredictorError: a column is missing; the message says how to give it.

    >>> from pqpp_models import Predictor
    >>> require_columns(Predictor.from_pretrained("nqc"), ["prompt"], "mine")
    Traceback (most recent call last):
        ...
    pqpp_models.errors.PredictorError: nqc needs a column scores, which mine does not have; give ...
    """
    there = set(columns)
    for group in needed_columns(predictor):
        if there.isdisjoint(group):
            remedy = "give rows with it to the predictor's predict in Python"
            if {"glide_images", "sdxl_images"} & set(group):
                remedy = "name the folder of PQPP's images by --image-dir"
            raise PredictorError(
                f"{predictor.name} needs a column {' or '.join(group)}, which {where} does not "
                f"have; {remedy}"
            )
