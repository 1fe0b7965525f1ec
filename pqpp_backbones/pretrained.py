"""Safe loading with transformers and diffusers: no code, no pickles, no missing weights."""

import contextlib
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqpp_backbones import DTYPES
from pqpp_backbones.checkpoint import CONFIG, WEIGHTS, check_version
from pqpp_backbones.errors import ModelError
from pqpp_backbones.foreign import check_foreign_folder, limit_model_size
from pqpp_files.errors import MissingExtraError, PqppError, describe, is_out_of_memory, reraise
from pqpp_files.extras import require_extra
from pqpp_files.hashes import hash_file, hash_parts
from pqpp_files.paths import expand, walk_files
from pqpp_hub import is_repository_id
from pqpp_hub.pull import pull_files, use_cache_if_unreachable, work_offline
from pqpp_hub.reasons import find_hub_reason

TEXTS = ("*.json", "*.txt", "*.model", "*.jinja", "*.spm", "*.codes")
"""Files of a repository that tokenizers and processors read."""
WHOLE = (*TEXTS, WEIGHTS, "model-*.safetensors")
"""Files of a repository that models read."""
_AGAIN = "save or download the model again"
_ACCESS = ("cache_dir", "force_download", "local_files_only", "revision", "token")
_LACKS = re.compile(
    r"requires the (\w+) library but it was not found|classes: (torchvision):|"
    r"Package `(\w+)` is required"
)
"""The messages of transformers for missing packages that it requires itself."""


@contextlib.contextmanager
def safe_load(
    what: str, fix: str, *names: str, files: Sequence[str] = WHOLE, **access: Any
) -> Iterator[None]:
    """Check model files before a block, and convert its loading errors to `ModelError`.

    Files of models on the Hub are downloaded first.

    Args:
        what: The start of the error message, like "x has no usable pipeline".
        fix: The remedy in the message.
        *names: The folders or repositories of the models.
        files: Patterns of the files to download; empty for no download.
        **access: Further arguments of `snapshot_download`, such as `revision`.

    Raises:
        ModelError: Loading fails, a configuration refers to code, or a model is larger than its
            weights.
        MissingExtraError: A package is not installed, such as torchvision for video processors.

    Example:
        >>> with safe_load("mine has no usable tokenizer", "save it again"):
        ...     raise MemoryError  # the folder may be sound
        Traceback (most recent call last):
        MemoryError
    """
    try:
        with use_cache_if_unreachable(*names), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # a library's own call
            folders: list[Path] = []
            for name in names:
                if expand(name).is_dir():  # it has priority over a repository
                    folders.append(expand(name))
                elif files and is_repository_id(name):
                    from huggingface_hub import snapshot_download

                    path = snapshot_download(name, allow_patterns=list(files), **access)
                    folders.append(Path(path))
            for folder in folders:
                check_foreign_folder(folder)
            # A configuration may name other repositories, which libraries would download.
            with limit_model_size(*folders), work_offline(bool(folders)):
                yield
    except Exception as error:
        lacking = None if isinstance(error, PqppError) else _LACKS.search(str(error))
        if lacking:
            package = lacking[lacking.lastindex].lower()
            line = f"{' or '.join(names)} needs {package}; run: pip install {package}"
            raise MissingExtraError(line) from None
        if is_out_of_memory(error) or str(error).startswith(what):
            raise
        reason = explain_failure(error, *names)
        is_remedied = isinstance(error, PqppError) and "; " in reason
        raise ModelError(f"{what} ({reason})" + f"; {fix}" * (not is_remedied)) from None


def explain_failure(error: Exception, *names: str) -> str:
    """Return the reason why models could not be loaded, without access tokens.

    Args:
        *names: The folders or repositories of the models.
    """
    away = [name for name in names if not expand(name).is_dir()]
    reason = find_hub_reason(error)
    if not away and reason:
        return "a configuration names another repository"
    if not away or isinstance(error, PqppError):  # errors of pqpp contain no headers
        return describe(error, named=False)
    which = " or ".join(away)
    if reason is None and "trust_remote_code" in str(error):
        return f"{which} needs custom code, which pqpp never runs"
    if reason is None:
        return f"{which} is incomplete, or a model of another type: {type(error).__name__}"
    return f"{which} {reason}"


def load_tokenizer(name_or_path: str) -> Any:
    """Load the tokenizer of a model in a folder or on the Hub.

    Raises:
        ModelError: The tokenizer cannot be loaded.

    Example:
        >>> import tempfile
        >>> load_tokenizer(tempfile.mkdtemp())
        Traceback (most recent call last):
            ...
        pqpp_backbones.errors.ModelError: ... has no usable tokenizer (...); use ...
    """
    return _load_auto("AutoTokenizer", "tokenizer", name_or_path)


def load_processor(name_or_path: str) -> Any:
    """Load the processor of a CLIP-like model; see `load_tokenizer`."""
    return _load_auto("AutoProcessor", "processor", name_or_path)


def _load_auto(auto_class: str, kind: str, name_or_path: str) -> Any:
    import transformers

    remedy = f"use a folder or OWNER/REPOSITORY with a {kind}"
    with safe_load(f"{name_or_path} has no usable {kind}", remedy, name_or_path, files=TEXTS):
        loader = getattr(transformers, auto_class)
        return loader.from_pretrained(name_or_path, trust_remote_code=False)


@dataclass(frozen=True)
class ModelId:
    """The name and revision of a model.

    Attributes:
        name: A folder's name, or `OWNER/REPOSITORY`.
        revision: The commit, or the hash of a folder's files; empty if unknown.
    """

    name: str
    revision: str = ""


@dataclass(frozen=True)
class LoadedModel:
    """A loaded model with its processor.

    Attributes:
        model: The model in evaluation mode, on its device.
        processor: The model's processor.
        identity: The model's name and revision.
        device: The model's device.
        dtype: The number format.
    """

    model: Any
    processor: Any
    identity: ModelId
    device: str
    dtype: str

    @property
    def max_batch(self) -> int | None:
        """The maximum number of images per batch: 1 on a CPU, None (no limit) on other devices.

        On a CPU, batches are not faster, and their size changes the last digits of results.
        """
        return 1 if self.device == "cpu" else None


def fetch_model(
    name: str, what: str = "model", revision: str | None = None, **access: Any
) -> tuple[Path, ModelId]:
    """Return a model's local folder, downloaded if needed, and the model's identity.

    Args:
        name: A folder, or `OWNER/REPOSITORY`, or `OWNER/REPOSITORY@REVISION`.
        what: A name for the model in errors, like "detector".
        revision: A branch, tag or commit; one in the name has priority.
        **access: `cache_dir` and `token` of `pull_files`.

    Raises:
        ModelError: The folder or repository does not exist, or cannot be downloaded.

    Example:
        >>> fetch_model("no-such-folder", "detector")
        Traceback (most recent call last):
        ...
        pqpp_backbones.errors.ModelError: detector: no-such-folder is neither ...
    """
    folder = expand(name)
    if folder.is_dir():
        check_foreign_folder(folder)
        return folder, ModelId(str(name), hash_files(folder, WHOLE))
    repository, _, at = name.partition("@")
    if not is_repository_id(repository):
        raise ModelError(f"{what}: {name} is neither a folder nor OWNER/REPOSITORY; check the name")
    folder = pull_files(repository, WHOLE, at or revision, error=ModelError, **access)
    return folder, ModelId(repository, folder.name)


def hash_files(folder: Path, patterns: Sequence[str] = ()) -> str:
    """Return a hash of the names and contents of a folder's files, except hidden ones.

    Args:
        patterns: Patterns of the files; default: all.

    Example:
        >>> import tempfile
        >>> hash_files(Path(tempfile.mkdtemp()))[:15]
        'sha256:e3b0c442'
    """
    matched = {path for pattern in patterns for path in folder.glob(pattern)}
    found = filter(Path.is_file, matched if patterns else walk_files(folder))
    names = {path.relative_to(folder).as_posix(): path for path in found}
    shown = sorted((name, path) for name, path in names.items() if not name.startswith("."))
    return "sha256:" + hash_parts([f"{name} {hash_file(path)}\n" for name, path in shown])


def load_model(
    name: str,
    model_class: str | Callable[[Any], str],
    what: str,
    device: str | None = None,
    dtype: str = "float32",
    revision: str | None = None,
) -> LoadedModel:
    """Load a transformers model and its processor from safetensors, without running code.

    Args:
        name: The model's folder or repository, as in `fetch_model`.
        model_class: A class of transformers, like `AutoModelForObjectDetection`, or a function that
            returns its name for a configuration.
        what: A name for the model in errors, like "text classifier".
        dtype: One of `DTYPES`.
        revision: The revision, as in `fetch_model`.

    Raises:
        ModelError: The model is unavailable, incomplete or of another type, or `dtype` is invalid.
        MissingExtraError: torch or transformers is not installed.

    Example:
        >>> load_model("no-such-folder", "AutoModel", "CLIP", dtype="int8")
        Traceback (most recent call last):
        ...
        pqpp_backbones.errors.ModelError: `dtype` must be one of float32, ...
    """
    with require_extra(what, "models"):
        import torch
        import transformers

    if dtype not in DTYPES:
        raise ModelError(f"`dtype` must be one of {', '.join(DTYPES)}; got {dtype!r}")
    folder, source = fetch_model(name, what, revision)
    fault, remedy = f"{what}: {name} cannot be loaded", "use another folder or OWNER/REPOSITORY"
    with safe_load(fault, remedy, str(folder), files=()):
        if callable(model_class):
            config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
            model_class = model_class(config)
        model, report = getattr(transformers, model_class).from_pretrained(
            folder,
            use_safetensors=True,
            output_loading_info=True,
            dtype=getattr(torch, dtype),
            trust_remote_code=False,
        )
        processor = transformers.AutoProcessor.from_pretrained(folder, trust_remote_code=False)
        if report["missing_keys"]:  # they would be random
            raise ModelError(f"its weights have no {min(report['missing_keys'])!r}")
    device = get_device() if device is None else device
    return LoadedModel(move_model(model.eval(), device), processor, source, device, dtype)


def move_model(model: Any, device: Any) -> Any:
    """Move a model to a device, and return it.

    Raises:
        ModelError: The device does not exist, or its memory is full.

    Example:
        >>> import torch
        >>> move_model(torch.nn.Linear(1, 1), "gpu")
        Traceback (most recent call last):
        ...
        pqpp_backbones.errors.ModelError: `device` is 'gpu' (...); set `device` to cpu, ...
    """
    import torch

    with reraise(f"`device` is {device!r}", "set `device` to cpu, cuda or cuda:NUMBER", ModelError):
        return model.to(torch.device(device))


def get_device() -> str:
    """Return the name of this process's GPU, or "cpu" if there is no GPU.

    Example:
        >>> get_device().partition(":")[0] in ("cpu", "cuda")
        True
    """
    import torch

    return f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if torch.cuda.is_available() else "cpu"


def check_token_ids(ids: Any, model: Any) -> None:
    """Check that token ids are in a model's vocabulary.

    Raises:
        ModelError: An id is not in the vocabulary, because the tokenizer is another model's.

    Example:
        >>> from types import SimpleNamespace as Made
        >>> import numpy as np
        >>> model = Made(get_input_embeddings=lambda: Made(num_embeddings=3))
        >>> check_token_ids(np.array([[2, 3]]), model)
        Traceback (most recent call last):
        ...
        pqpp_backbones.errors.ModelError: the tokenizer returned id 3, but ...
    """
    try:
        known = model.get_input_embeddings().num_embeddings
    except (AttributeError, NotImplementedError):  # the model has no such method
        return
    if (highest := int(ids.max())) >= known:
        raise ModelError(
            f"the tokenizer returned id {highest}, but the model's last id is {known - 1}; use the "
            "model's own tokenizer"
        )


def has_finite_weights(model: Any) -> bool:
    """Return whether all weights of a model are finite."""
    import torch

    # Of a sharded model, each process checks its own part.
    held = (
        parameter.to_local() if hasattr(parameter, "to_local") else parameter
        for parameter in model.parameters()
    )
    return all(torch.isfinite(one.detach()).all() for one in held if one.is_floating_point())


class StrictLoading:
    """A mixin for `PreTrainedModel` whose `from_pretrained` rejects incomplete weights."""

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        """Load a model as transformers does, but only from complete safetensors.

        `ignore_mismatched_sizes=True` accepts weights of other shapes.

        Raises:
            ModelError: The weights are not safetensors, are incomplete or do not match the
                configuration, or this version of pqpp does not support the format.
        """
        where = str(pretrained_model_name_or_path)
        wanted = kwargs.pop("output_loading_info", False)
        kwargs["use_safetensors"] = True
        access = {key: kwargs[key] for key in _ACCESS if key in kwargs}
        kwargs.pop("force_download", None)  # it is an error in offline mode
        with safe_load(f"{where} is not usable", _AGAIN, where, **access):
            check_format(where, kwargs.get("config"))
            try:
                model, report = super().from_pretrained(
                    pretrained_model_name_or_path, *args, output_loading_info=True, **kwargs
                )
            except RuntimeError as error:
                if "mismatch" not in str(error):
                    raise
                line = f"{WEIGHTS} does not fit {CONFIG}: some weights have other shapes"
                raise ModelError(line) from None
            check_format(where, model.config)
            if missing := report["missing_keys"]:
                raise ModelError(f"{WEIGHTS} does not fit {CONFIG}: it has no {min(missing)!r}")
            if not has_finite_weights(model):
                raise ModelError(f"{WEIGHTS} contains NaN or infinity")
        return (model, report) if wanted else model


def check_format(where: Any, config: Any) -> None:
    """Check that the `format_version` of a configuration, if there is one, is supported."""
    check_version(f"{where}: {CONFIG}", getattr(config, "format_version", 1))
