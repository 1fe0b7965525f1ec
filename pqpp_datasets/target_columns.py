"""The target columns of benchmarks, and their descriptions in datasets.

A target is a column `<model>_<measure>`, or `mean_<measure>` for the mean over models; only
`alignment` has no model. The measure follows from the name. The model's full name and the range of
ratings are stored in the `id` of the column's feature, which `datasets` preserves in Parquet files,
`save_to_disk`, pushes, maps and selections.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pqpp_datasets.errors import BenchmarkError
from pqpp_files.foreign.json_values import parse_json, read_json

if TYPE_CHECKING:
    import pyarrow as pa

PQPP_TARGETS = (
    *("glide_hbpp", "sdxl_hbpp", "mean_hbpp"),
    *("clip_p10", "blip2_p10", "mean_p10"),
    *("clip_rr", "blip2_rr", "mean_rr"),
)
"""The targets of PQPP, in the order of its columns."""
_MODEL_TITLES = {"glide": "GLIDE", "sdxl": "SDXL", "clip": "CLIP", "blip2": "BLIP-2"}
"""Usual spelling of PQPP's models, by name in columns."""
ALIGNMENT = "alignment"
MEAN = "mean"
_KEY = "target"
_MEAN_DECIMALS = 12


@dataclass(frozen=True)
class TargetMeasure:
    """A measure of targets.

    Attributes:
        name: The ending of targets' names.
        title: The heading in tables.
        about: A description for cards.
        limits: Lowest and highest value; None if they depend on the dataset, whose observed range
            then scales values in training.
        higher_is: Whether prompts with higher values are `easier` or `harder`.
        task: `generation` or `retrieval`.
        words: A short explanation for people who do not know the measure.
    """

    name: str
    title: str
    about: str
    limits: tuple[float, float] | None = (0.0, 1.0)
    higher_is: str = "easier"
    task: str = "generation"
    words: str = ""


_PRECISION = re.compile(r"p([1-9][0-9]*)")


def as_tuple(value: Any) -> Any:
    """Convert a list to a tuple; return any other value unchanged."""
    return tuple(value) if isinstance(value, list) else value


MEASURES = {
    entry["name"]: TargetMeasure(**{key: as_tuple(value) for key, value in entry.items()})
    for entry in read_json(Path(__file__).with_name("measures.json"))
}
"""Measures by name, in the order of tables; `p10` is the template of `p<k>` for any k."""


@functools.lru_cache(maxsize=256)
def get_measure(name: str) -> TargetMeasure | None:
    """Return the measure that a target's name ends in; None if there is none.

    Example:
        >>> get_measure("flux_hbpp").limits, get_measure("mean_p5").title, get_measure("n_words")
        ((-1.0, 2.0), 'P@5 (retrieval)', None)
        >>> get_measure("alignment").name, get_measure("flux_alignment")
        ('alignment', None)
    """
    ending = name.rsplit("_", 1)[-1]
    if ending == ALIGNMENT and name != ALIGNMENT:
        return None
    if ending in MEASURES or not (match := _PRECISION.fullmatch(ending)):
        return MEASURES.get(ending)
    p10 = MEASURES["p10"]
    title, about, words = (t.replace("10", match[1]) for t in (p10.title, p10.about, p10.words))
    return replace(p10, name=ending, title=title, about=about, words=words)


def is_target(name: str) -> bool:
    """Return whether a name is `<model>_<measure>`, `mean_<measure>` or `alignment`.

    Example:
        >>> [name for name in ("mini-dalle_hbpp", "alignment", "rating", "n_words")
        ...  if is_target(name)]
        ['mini-dalle_hbpp', 'alignment']
    """
    return get_measure(name) is not None and (name == ALIGNMENT or name.find("_") > 0)


def is_image_score(name: str) -> bool:
    """Return whether a target is a score of generated images, higher for easier prompts.

    Example:
        >>> [is_image_score(name) for name in ("alignment", "flux_hbpp", "mean_p10", "n_words")]
        [True, True, False, False]
    """
    measure = get_measure(name)
    return measure is not None and (measure.task, measure.higher_is) == ("generation", "easier")


def is_mean(name: str) -> bool:
    """Return whether a target is the mean over models.

    Example:
        >>> is_mean("mean_hbpp"), is_mean("flux_hbpp"), is_mean("alignment")
        (True, False, False)
    """
    return name.rpartition("_")[0] == MEAN


def sort_targets(names: Iterable[str]) -> tuple[str, ...]:
    """Sort targets by measure; within a measure, keep their order and put the mean last.

    Example:
        >>> sort_targets(["mean_hbpp", "flux_p5", "flux_hbpp", "alignment"])
        ('alignment', 'flux_hbpp', 'mean_hbpp', 'flux_p5')
    """
    order = [*MEASURES]

    def sort_key(name: str) -> tuple[int, bool]:
        measure = get_measure(name)
        base_name = measure and ("p10" if _PRECISION.fullmatch(measure.name) else measure.name)
        return order.index(base_name) if base_name else len(order), is_mean(name)

    return tuple(sorted(names, key=sort_key))


def drop_single_means(names: Iterable[str]) -> tuple[str, ...]:
    """Sort targets as `sort_targets` does, without means over a single model.

    Example:
        >>> drop_single_means(["mean_rating", "flux_rating", "mean_rr", "clip_rr", "blip2_rr"])
        ('clip_rr', 'blip2_rr', 'mean_rr', 'flux_rating')
    """
    targets = sort_targets(names)
    models = Counter(name.rpartition("_")[2] for name in targets if not is_mean(name))
    return tuple(t for t in targets if not (is_mean(t) and models[t.rpartition("_")[2]] == 1))


def average_columns(columns: Sequence[Any]) -> Any:
    """Return the row means of columns, rounded to 12 digits; NaN if a cell is NaN.

    Rounding makes equal means ties: sums of decimal fractions depend on the order of terms in their
    last bit. PQPP's published mean P@10 has 26 distinct values, but only 21 different means.

    Example:
        >>> average_columns([np.array([0.2, 0.3]), np.array([0.4, 0.3])]).tolist()
        [0.3, 0.3]
    """
    return np.round(np.mean(columns, axis=0), _MEAN_DECIMALS)


def make_model_slug(model: str) -> str:
    """Convert a model's name to the form used in column names.

    Example:
        >>> make_model_slug("mini-dalle"), make_model_slug("SD 1.5")
        ('mini-dalle', 'sd-1.5')
    """
    return re.sub(r"[^a-z0-9._]+", "-", model.lower()).strip("-") or "model"


@dataclass(frozen=True)
class Target:
    """A target column of a dataset.

    Attributes:
        model: The model's full name; None for a mean and for `alignment`.
        limits: Lowest and highest value; None if unknown.
    """

    name: str
    model: str | None = None
    limits: tuple[float, float] | None = None

    @property
    def measure(self) -> TargetMeasure:
        """The measure in the target's name; the measure `score` if there is none."""
        return get_measure(self.name) or MEASURES["score"]

    @property
    def about(self) -> str:
        """A description in words: measure, limits and model.

        Example:
            >>> make_target("mean_hbpp").about
            'human-based prompt performance, -1 to 2, mean over the models'
        """
        limits = "{:g} to {:g}".format(*self.limits) if self.limits else ""
        model = f"of {self.model}" if self.model else ""
        mean = "mean over the models" if is_mean(self.name) else ""
        return ", ".join(filter(None, (self.measure.about, limits, model or mean)))

    def as_dict(self) -> dict[str, Any]:
        """Return the known facts as plain values, for cards and features."""
        limits = list(self.limits) if self.limits else None
        values = {"name": self.name, "model": self.model, "measure": self.measure.name}
        return {k: value for k, value in (values | {"limits": limits}).items() if value is not None}


def make_target(name: str, description: Mapping[str, Any] | None = None) -> Target:
    """Return the target of a column.

    Args:
        description: The dataset's `model` and `limits`; missing or invalid ones are derived from
            name.

    Example:
        >>> make_target("flux_hbpp")
        Target(name='flux_hbpp', model='flux', limits=(-1.0, 2.0))
        >>> make_target("sd-1.5_rating", {"model": "SD 1.5", "limits": [1, 5]})
        Target(name='sd-1.5_rating', model='SD 1.5', limits=(1.0, 5.0))
    """
    description = description or {}
    measure = get_measure(name)
    prefix, separator, _ = name.rpartition("_")
    model = description.get("model") if isinstance(description.get("model"), str) else None
    if model is None and measure and separator and prefix != MEAN:
        model = prefix
    limits = measure.limits if measure else None
    with contextlib.suppress(TypeError, ValueError):
        low, high = map(float, description.get("limits", ()))
        if math.isfinite(low) and math.isfinite(high) and low < high:
            limits = low, high
    return Target(name, model, limits)


def get_model_name(name: str, target: Target | None = None) -> str:
    """Return the full name of a target's model; `mean` for a mean over models.

    Args:
        target: The dataset's description; default: derived from the name.

    Example:
        >>> [get_model_name(name) for name in ("blip2_rr", "flux_rating", "mean_p5", "price")]
        ['BLIP-2', 'flux', 'mean', 'price']
    """
    if is_mean(name):
        return MEAN
    model = (target or make_target(name)).model
    return _MODEL_TITLES.get(model, model) if model else name.replace("_", " ")


def format_target(name: str, target: Target | None = None) -> str:
    """Return a target's readable name, for use in sentences.

    Args:
        target: The dataset's description; default: derived from the name.

    Example:
        >>> [format_target(name) for name in ("glide_hbpp", "mean_p5", "sd-1.5_rating", "price")]
        ['HBPP of GLIDE', 'mean P@5', 'rating of sd-1.5', 'price']
    """
    measure, model = get_measure(name), get_model_name(name, target)
    if measure is None or not is_target(name) or name == ALIGNMENT:
        return model
    short, bracket, _ = measure.title.partition(" (")
    noun = short if bracket else measure.name
    return f"{MEAN} {noun}" if is_mean(name) else f"{noun} of {model}"


def explain_target(name: str) -> str:
    """Explain a target for people who do not know its measure.

    Example:
        >>> explain_target("mean_p10")
        'share of relevant images in the top 10, mean over models'
        >>> explain_target("glide_hbpp")
        'human rating (-1 to 2) of images by GLIDE'
    """
    measure, model = get_measure(name), get_model_name(name)
    if measure is None or not is_target(name):
        return model
    words = measure.words or measure.about
    if name == ALIGNMENT:
        return words
    preposition = "with" if measure.task == "retrieval" else "by"
    return f"{words}, mean over models" if model == MEAN else f"{words} {preposition} {model}"


def to_targets(
    models: Iterable[str], measure: str, limits: tuple[float, float] | None = None
) -> list[Target]:
    """Return a target for each model, then one for their mean.

    Args:
        models: Full names of the models.
        measure: The measure's name, such as `hbpp` or `p5`.
        limits: Lowest and highest value, if the measure does not define them.

    Raises:
        BenchmarkError: Two models, or a model and the mean, have the same column name.

    Example:
        >>> [target.name for target in to_targets(["flux", "mini-dalle"], "hbpp")]
        ['flux_hbpp', 'mini-dalle_hbpp', 'mean_hbpp']
        >>> to_targets(["SD 1.5", "sd 1.5"], "hbpp")
        Traceback (most recent call last):
            ...
        pqpp_datasets.errors.BenchmarkError: model 'sd 1.5' and model 'SD 1.5' have the same ...
    """
    owners = {MEAN: "the mean over models"}
    targets = []
    for model in models:
        slug = make_model_slug(model)
        if slug in owners:
            problem = f"model {model!r:.60} and {owners[slug]:.70}"
            raise BenchmarkError(f"{problem} have the same column {slug}_{measure}; rename a model")
        owners[slug] = f"model {model!r}"
        targets.append(make_target(f"{slug}_{measure}", {"model": model, "limits": limits}))
    return [*targets, make_target(f"{MEAN}_{measure}", {"limits": limits})]


def describe_targets(
    table: pa.Table, targets: Sequence[Target], splits: Mapping[str, Any] | None = None
) -> pa.Table:
    """Store descriptions of targets in a table's schema, in the form that `datasets` reads.

    Args:
        table: A table of texts and numbers, with one column per target.
        splits: Settings of the splits, stored as JSON under the key `pqpp`.
    """
    ids = {target.name: {"id": format_description(target)} for target in targets}
    features = {}  # written by hand, as importing `datasets` takes a second
    for name, arrow_type in zip(table.schema.names, map(str, table.schema.types), strict=True):
        dtype = "float64" if arrow_type == "double" else arrow_type
        features[name] = {"dtype": dtype, **ids.get(name, {}), "_type": "Value"}
    info = json.dumps({"info": {"features": features}}).encode()
    metadata = {**(table.schema.metadata or {}), b"huggingface": info}
    if splits is not None:
        metadata[b"pqpp"] = json.dumps({"splits": splits}).encode()
    return table.replace_schema_metadata(metadata)


def get_targets(features: Mapping[str, Any]) -> dict[str, Target]:
    """Return the targets of a dataset by column, in the order of columns.

    Args:
        features: A dataset's `features`. If they describe no targets, numeric columns with names of
            targets are returned.

    Example:
        >>> from datasets import Features, Value
        >>> number = Value("float64")
        >>> list(get_targets(Features({"prompt": Value("string"), "flux_hbpp": number})))
        ['flux_hbpp']
    """
    descriptions = {name: _read_description(feature) for name, feature in features.items()}
    if any(descriptions.values()):
        return {name: make_target(name, value) for name, value in descriptions.items() if value}
    return {n: make_target(n) for n, f in features.items() if is_number(f) and is_target(n)}


def is_number(feature: Any) -> bool:
    """Return whether a feature is a number."""
    return str(getattr(feature, "dtype", "")).startswith(("float", "int", "uint"))


def format_description(target: Target) -> str:
    """Return the description of a target, which the feature of its column stores as its `id`."""
    return json.dumps({_KEY: target.as_dict()}, sort_keys=True)


def _read_description(feature: Any) -> Mapping[str, Any] | None:
    text = getattr(feature, "id", None)
    if not isinstance(text, str) or not is_number(feature):
        return None
    with contextlib.suppress(ValueError):  # an id of another tool
        content = parse_json(text)
        if isinstance(content, dict) and isinstance(content.get(_KEY), dict):
            return content[_KEY]
    return None
