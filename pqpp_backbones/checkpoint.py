"""Checkpoints of predictors: folders with ``config.json``, ``model.safetensors`` and ``README.md``.

The configuration contains the hash of the weights, so that the weights of another checkpoint are
rejected. Nothing is unpickled.
"""

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.errors import ModelError
from pqpp_backbones.foreign import check_foreign_folder, read_foreign_json, read_text_field
from pqpp_files.atomic_write import atomic_folder
from pqpp_files.errors import reraise
from pqpp_files.foreign.arrays import load_tensors
from pqpp_files.hashes import hash_parts
from pqpp_files.paths import check_output_folder, expand

FORMAT_VERSION = 1
CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
FITTED_ROWS = "fitted_rows.safetensors"
"""Hashes of the rows that a predictor was fitted to."""
FILE_HASH_KEYS = ("weights_sha256", "fitted_rows")
"""Keys of file hashes, which are no longer valid if transformers saves the configuration again."""
EXTRA_FILES = (
    FITTED_ROWS,
    "added_tokens.json",
    "merges.txt",
    "preprocessor_config.json",
    "processor_config.json",
    "sentencepiece.bpe.model",
    "special_tokens_map.json",
    "spiece.model",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
)
"""Files of tokenizers and image processors in a checkpoint; no code, no pickles."""
FILES = (CONFIG, WEIGHTS, CARD, *EXTRA_FILES)
"""The only files that are downloaded, pushed or removed."""
Tensors = dict[str, NDArray[Any]]
_REMEDY = "save or download the predictor again"


def read_config(folder: Path) -> dict[str, Any]:
    """Read the configuration of a checkpoint.

    Raises:
        ModelError: the file is missing or not a JSON object, it has no ``predictor_type``, or its
            ``format_version`` is not supported.
    """
    path = folder / CONFIG
    check_foreign_folder(folder)
    config = read_foreign_json(path)
    if not isinstance(config, dict) or not isinstance(config.get("predictor_type"), str):
        raise ModelError(f"{path} has no 'predictor_type'; use a folder written by save_pretrained")
    check_version(path, config.get("format_version"))
    return config


def check_version(path: Any, version: Any) -> None:
    """Check that the format of a configuration is supported.

    Raises:
        ModelError: the format is not supported.

    >>> check_version("x/config.json", 99)
    Traceback (most recent call last):
        ...
    pqpp_backbones.errors.ModelError: x/config.json: format_version 99 is not supported ...
    """
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        raise ModelError(
            f"{path}: format_version {version!r:.40} is not supported (newest: {FORMAT_VERSION}); "
            "upgrade pqpp, or save the predictor again"
        )


def read_tensors(folder: Path, config: Mapping[str, Any]) -> Tensors:
    """Read the weights of a checkpoint, and check them against the hash in its configuration.

    Returns:
        The arrays by name; empty if the configuration has no ``weights_sha256``.

    Raises:
        ModelError: the file is missing, does not match the hash, or contains an empty array,
            NaN or infinity.
    """
    expected = config.get("weights_sha256")
    if expected is None:
        return {}
    path = folder / WEIGHTS
    with reraise(f"{path} cannot be read", "use a folder written by save_pretrained", ModelError):
        content = path.read_bytes()
    if hash_parts([content]) != expected:
        raise ModelError(f"{path} does not match the SHA-256 in {CONFIG}; {_REMEDY}")
    tensors = load_tensors(content, str(path), ModelError)
    for name, array in tensors.items():
        # An empty array can have a billion rows, which products of it would have, too.
        if not array.size or not np.isfinite(array).all():
            raise ModelError(f"{path}: {name!r} is empty or contains NaN or infinity; {_REMEDY}")
    return tensors


def write_checkpoint(
    folder: str | os.PathLike[str],
    config: Mapping[str, Any],
    tensors: Tensors,
    card: str,
    files: Mapping[str, bytes] | None = None,
    overwrite: bool = True,
) -> Path:
    """Write a checkpoint atomically: a crash leaves either the old folder or the new one.

    Args:
        folder: a new or empty folder, or one with a checkpoint of the same type.
        config: the configuration without ``format_version`` and ``weights_sha256``.
        tensors: the weights; if there are none, no file is written.
        card: the model card in Markdown.
        files: further files by name, all of them in ``EXTRA_FILES``.
        overwrite: whether to replace an existing checkpoint; if not, the folder must be new or
            empty.

    Returns:
        The folder.

    Raises:
        OSError: the disk is full.
        ModelError: a weight is NaN or infinite, or the folder contains another model.
    """
    path = expand(folder).absolute()
    broken = [name for name, array in tensors.items() if not np.isfinite(array).all()]
    if broken:
        raise ModelError(
            f"{path}: the weights {broken[0]!r} contain NaN or infinity; train again with a "
            "lower learning rate"
        )
    check = partial(check_checkpoint_folder, predictor_type=config["predictor_type"])
    with atomic_folder(path, None if overwrite else (), check) as temp_folder:
        full_config: dict[str, Any] = {"format_version": FORMAT_VERSION, **config}
        contents = {**(files or {}), CARD: card.encode()}
        if tensors:
            from safetensors.numpy import save

            contents[WEIGHTS] = save({n: np.asarray(a, order="C") for n, a in tensors.items()})
            full_config["weights_sha256"] = hash_parts([contents[WEIGHTS]])
        with reraise(f"{CONFIG} cannot be written", "correct the predictor's details", ModelError):
            text = json.dumps(full_config, indent=2, sort_keys=True, allow_nan=False)
        contents[CONFIG] = f"{text}\n".encode()
        for name, content in contents.items():
            (temp_folder / name).write_bytes(content)
    return path


def check_checkpoint_folder(folder: str | os.PathLike[str], predictor_type: str) -> None:
    """Check that a checkpoint can be written to a folder without replacing other files.

    Raises:
        FileError: the folder is a file, cannot be written to, or contains other files.
        ModelError: it contains a checkpoint of another type.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> check_checkpoint_folder(folder, "ridge")
    >>> _ = (folder / CONFIG).write_text('{"predictor_type": "static"}')
    >>> check_checkpoint_folder(folder, "ridge")
    Traceback (most recent call last):
        ...
    pqpp_backbones.errors.ModelError: ... contains a 'static' model; choose an empty folder
    """
    path = expand(folder)
    check_output_folder(path, FILES)
    is_filled = path.exists() and any(path.iterdir())
    existing = read_text_field(path / CONFIG, "predictor_type") if is_filled else predictor_type
    if existing != predictor_type:
        what = "other files" if existing is None else f"a {existing!r} model"
        raise ModelError(f"{path} contains {what}; choose an empty folder")
