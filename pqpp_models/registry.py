"""The registry of predictors, which imports a predictor at first use."""

import importlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pqpp_backbones.checkpoint import CONFIG, FILES, read_config, read_tensors
from pqpp_backbones.errors import ModelError
from pqpp_files.errors import MissingExtraError, PqppError, describe
from pqpp_files.foreign.json_values import read_json
from pqpp_files.names import did_you_mean, is_repository_id, split_names
from pqpp_models.errors import MissingEvidenceError, PredictorError
from pqpp_models.record.record import KEYS, TrainingRecord
from pqpp_models.registration import NUMPY

DEFAULT_PREDICTOR = "static"
"""The predictor that is used if none is named."""

SHIPPED = Path(__file__).with_name("weights")
"""The weights that are part of the package, one folder per name."""

PREDICTORS: dict[str, str] = {}
"""``"module:Class"`` by name of a predictor, which is also the type of its checkpoints."""

UNSHIPPED: set[str] = set()
"""The names without shipped weights, which are only types of checkpoints."""

GROUPS: dict[str, tuple[str, ...]] = {}
"""Predictors by name of their group."""

NOTES: dict[str, tuple[str, str]] = {}
"""One-line description and input besides a prompt, by name of a predictor."""


def register_predictor(
    name: str,
    target: str,
    about: str = "",
    needs: str = "",
    shipped: bool = True,
    group: str | None = None,
) -> None:
    """Register a predictor under a name.

    Args:
        name: the name, which is also the ``predictor_type`` of checkpoints.
        target: ``"module:Class"`` of a subclass of ``Predictor``.
        about: a description in one line.
        needs: a description of the input besides prompts.
        shipped: whether the name loads a shipped predictor, or is only a type of checkpoints.
        group: a group of predictors to add it to.

    Raises:
        PredictorError: the name is already registered.

    >>> register_predictor("static", "elsewhere:Other")
    Traceback (most recent call last):
        ...
    pqpp_models.errors.PredictorError: the name 'static' is already registered; choose ...
    """
    if name in PREDICTORS or name in GROUPS:
        raise PredictorError(f"the name {name!r} is already registered; choose another name")
    PREDICTORS[name], NOTES[name] = target, (about, needs)
    if not shipped:
        UNSHIPPED.add(name)
    if group is not None:
        GROUPS[group] = (*GROUPS.get(group, ()), name)


def get_predictor_class(name: str) -> Any:
    """Return the class of a registered predictor.

    Raises:
        PredictorError: no predictor has this name.

    >>> get_predictor_class("n_words").__name__
    'MeasurePredictor'
    """
    if name not in PREDICTORS:
        raise unknown_predictor_error(name)
    module, _, attribute = PREDICTORS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def list_predictors() -> list[str]:
    """Return the names of the shipped predictors and measures, with the default one first.

    >>> list_predictors()[:2]
    ['static', 'static-train']
    """
    shipped = (name for name in PREDICTORS if name not in UNSHIPPED)
    # The default predictor, then its builds.
    default = DEFAULT_PREDICTOR
    return sorted(shipped, key=lambda name: (name.split("-")[0] != default, name != default))


def expand_group_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """Replace the names of groups with those of their members, without duplicates.

    Other names are unchanged, since they may be folders or repositories.

    Args:
        names: names, or one string with names separated by commas.

    Raises:
        PredictorError: no name is given.

    >>> expand_group_names("static, linguistic")[:3]
    ('static', 'n_synsets', 'n_words')
    """
    parts = split_names(names) if isinstance(names, str) else list(names)
    stripped = [part.strip() for part in parts if part.strip()]
    if not stripped:
        raise PredictorError("no predictor is given; `pqpp models list` lists all")
    members = (member for name in stripped for member in GROUPS.get(name, (name,)))
    return tuple(dict.fromkeys(members))


def unknown_predictor_error(name: str) -> PredictorError:
    """Return the error for an unknown predictor name."""
    hint = did_you_mean(name, list_predictors(), "`pqpp models list` lists all")
    if name in GROUPS:
        known = " or ".join(GROUPS[name][:3])
        return PredictorError(f"{name!r} is a group of predictors; choose one, such as {known}")
    return PredictorError(f"no predictor, folder or Hub repository {name!r}; {hint}")


def pull_predictor_folder(
    name: str, folder: Path, revision: str | None, cache_dir: str | None, token: str | bool | None
) -> Path:
    """Download the folder of a predictor from the Hub.

    Raises:
        ModelError: The name is a file or a missing folder, or the download fails.
        PredictorError: The name is unknown.
    """
    if folder.is_file():
        raise ModelError(f"{folder} is a file; use the folder that contains {CONFIG}")
    if is_repository_id(name):
        from pqpp_hub.pull import pull_files

        return pull_files(name, FILES, revision, cache_dir, token, ModelError)
    if "/" in name or os.sep in name:
        raise ModelError(f"the folder {folder} does not exist; check the path")
    raise unknown_predictor_error(name)


def load_predictor_folder(folder: Path) -> Any:
    """Load the predictor in a folder.

    Raises:
        ModelError: The predictor cannot be loaded.
    """
    config = read_config(folder)
    predictor_type = config["predictor_type"]
    if predictor_type not in PREDICTORS:
        raise ModelError(
            f"{folder / CONFIG}: the type {predictor_type!r:.60} is not registered; upgrade pqpp, "
            "or register the type"
        )
    try:
        tensors = read_tensors(folder, config)
        record = TrainingRecord.read(folder, config)
        config = {key: value for key, value in config.items() if key not in KEYS}
        if config.get("model_type") == NUMPY:  # only for transformers
            del config["model_type"]
        predictor = get_predictor_class(predictor_type).from_checkpoint(folder, config, tensors)
        predictor.record = record
        predictor.run_smoke_test()
    except Exception as error:  # an untrusted folder may cause any error
        names_folder = isinstance(error, PqppError) and str(folder) in str(error)
        if names_folder or isinstance(error, MissingExtraError | MissingEvidenceError):
            raise
        raise ModelError(
            f"{folder}: the {predictor_type} predictor cannot be loaded ({describe(error)}); "
            "save or download it again"
        ) from error
    return predictor


for _name, _entry in read_json(Path(__file__).with_name("predictors.json")).items():
    register_predictor(_name, **_entry)
FAMILIES = ("linguistic", "ego_network", "post_retrieval", "pre_retrieval")
"""Groups of measures, each a module of that name in `pqpp_models.measures`."""
_MEASURE = f"{__package__}.measures.predictor:MeasurePredictor"
for _family in FAMILIES:
    _module = importlib.import_module(f"{__package__}.measures.{_family}")
    for _name, _estimate in _module.MEASURES.items():
        register_predictor(_name, _MEASURE, _estimate.about, _estimate.needs, group=_family)
