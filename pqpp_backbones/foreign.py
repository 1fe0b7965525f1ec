"""Checks of untrusted model folders before a library reads them.

Files must be regular files within the folder, and no configuration may refer to code. A small
configuration could describe a model of terabytes, so a model is rejected if it is larger than its
weights.
"""

import contextlib
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pqpp_backbones.errors import ModelError
from pqpp_files.errors import FileError, reraise
from pqpp_files.escape import escape_controls
from pqpp_files.foreign.json_values import parse_json, read_bounded
from pqpp_files.paths import join_inside

_AGAIN = "save or download the model again"
# Keys by which libraries read another file: weights, even a pickle, settings of MeCab, and a font
# that is downloaded when images are read.
_OTHER_FILES = ("transformers_weights", "mecab_option", "is_vqa", "sudachi_resource_dir")
# These keys name a class of transformers; others would read a data set, or weights from a pickle.
_CLASS_KEY = re.compile(r"(tokenizer|processor)_class|(processor|extractor)_type")
_CLASS = re.compile(r".*((Tokenizer|Processor|Extractor)(Fast|Pil|WithLM|Legacy)?|Backend)")
# The types of pqpp's predictors.
_OURS = ("prompt_performance", "bert_predictor", "clip_predictor", "correlation_cnn")
# Keys by which a configuration names code.
_CODE_KEYS = ("auto_map", "custom_pipelines", "custom_pipeline", "custom_generate")
# In these files, a text may be the path of a file; in all but those of tokenizers, which contain
# any words, also a repository.
_SETTINGS = re.compile(r".*(config|_maps?|model_index)(\..*)?\.json")
_CONFIGS = re.compile(r"((generation_|(pre)?processor_)?config)(\..*)?\.json")
# Kernels of torch and transformers; others are compiled or downloaded when the model runs.
_KERNELS = ("eager", "sdpa", "grouped_mm", "batched_mm")
# No file is read by these keys.
_TEXTS = ["_name_or_path", "name_or_path", "tokenizer_name_or_path", "chat_template", "labels"]
_TEXTS += ["hf_hub_id", "origin_url", "url", "uri", "dataset", "train_dataset", "model_type"]
# A repository (of kernels, too), an address, a path or code.
_AWAY = re.compile(r"([\w-]+:)?[\w.-]+/[\w.-]+([@:].*)?|.*(dir:|hub:|://).*|[~/.].*/.*|.*\.(py|so)")
# LoRA's settings, whose texts are regular expressions: names alone, no count of iterations, and no
# module that peft would import.
_LORA, _NO_LORA = "lora_adapter_metadata", r'(?!.*(niter|megatron_config"\s*:\s*[^n\s]))'
_IS_LORA = re.compile(rf'(?s){_NO_LORA}([^"\\]|"[\w/.^$ -]*")*')
# Of a tokenizer with half a million words, and of a file of weights with 200,000 tensors.
_MOST_BYTES, _MOST_VALUES = 64_000_000, 3_000_000
# A tensor is registered when a model is built and again when it is loaded, tied ones once more, and
# some blocks load a model twice; a part that a file lacks is found out later.
_TIMES, _MORE, _A_TENSOR = 6, 100, 100_000
_COUNTS = re.compile(r"(^|_)(layers?|depths?|blocks|stages|experts)$")


def check_foreign_folder(folder: Path) -> None:
    """Check that a model folder has no unsafe or oversized files.

    All files in the folder are checked, and those in the subfolders of a pipeline.

    Raises:
        FileError: A file is a link to a file outside the folder.
        ModelError: A file is a pipe or a device; a JSON file or the header of a weights file is too
            large; or a configuration refers to code.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "config.json").write_text('{"auto_map": {"AutoModel": "me/mine--x.X"}}')
        >>> check_foreign_folder(folder)
        Traceback (most recent call last):
        ...
        pqpp_backbones.errors.ModelError: ...config.json needs custom code ...
    """
    for path in _list_files(folder):
        where = escape_controls(str(path))
        join_inside(folder, path.relative_to(folder))
        if path.exists() and not path.is_file() and not path.is_dir():
            raise ModelError(f"{where} is a pipe or a device, not a file; {_AGAIN}")
        # A pipeline within another may read pickles, or what its card names.
        if path.parent != folder and (path.suffix == ".py" or path.name == "model_index.json"):
            raise ModelError(f"{where} is code or a nested pipeline; use another pipeline")
        if path.name == "adapter_config.json":
            raise ModelError(f"{where} belongs to an adapter; merge the adapter with its model")
        if path.suffix == ".safetensors" and path.is_file():
            read_safetensors_size(path)
        if path.suffix == ".json" and path.is_file():
            _check_json(path, folder)


def _list_files(folder: Path) -> list[Path]:
    """List the files that libraries read, including the subfolders of a pipeline."""
    if (folder / "model_index.json").exists():
        return sorted(folder.rglob("*"))
    patterns = ("*_templates/*", "*tokenizer*/*", "*tokenizer*/*_templates/*")
    own = (path for path in folder.glob("*") if not path.is_dir())
    return sorted([*own, *(path for pattern in patterns for path in folder.glob(pattern))])


def _check_json(path: Path, folder: Path) -> None:
    """Check that a JSON file refers to no code, repository, path or address."""
    where = escape_controls(str(path))
    mappings = list(iterate_mappings(path))
    theirs: set[int] = set()
    for mapping in mappings:
        # Our own files have a reader that knows their other keys, but not those of others' models.
        kind = mapping.get("model_type") if path == folder / "config.json" else ""
        is_ours = kind in _OURS or (kind is None and "predictor_type" in mappings[0])
        is_ours = is_ours and id(mapping) not in theirs
        if not is_ours:
            theirs.update(map(id, mapping.values()))
        for key, value in mapping.items():
            # In a vocabulary, the key is a word, and the value a number.
            if key in _CODE_KEYS and value and not isinstance(value, int):
                raise ModelError(
                    f"{where} needs custom code ({key!r}), which pqpp never runs; use another model"
                )
            texts = [key, *(value if isinstance(value, list) else [value])]
            # Libraries log configurations as they are.
            if _CONFIGS.fullmatch(path.name) and any(map(_has_controls, texts)):
                raise ModelError(f"{where}: {key!r:.60} contains control characters; {_AGAIN}")
            if "_implementation" in key and not key.startswith("cache_"):
                kernels = value.values() if isinstance(value, dict) else [value]
                if not all(item in _KERNELS or isinstance(item, int | None) for item in kernels):
                    problem = f"{where}: {key!r} is {value!r:.60}, which may be downloaded code"
                    raise ModelError(f"{problem}; set it to 'eager' or 'sdpa'")
            elif _leads_elsewhere(key, value, path, folder, is_ours):
                raise ModelError(
                    f"{where}: {key!r} is {value!r:.60}, which is not in its folder; remove {key!r}"
                )
        shards = mapping.values() if path.name.endswith(".index.json") else ()
        if any(isinstance(name, str) and Path(name).name != name for name in shards):
            raise ModelError(f"{where} refers to another folder; use another model")


def _has_controls(value: Any) -> bool:
    return isinstance(value, str) and escape_controls(value, "\n\r\t") != value


def _leads_elsewhere(key: str, value: Any, path: Path, folder: Path, is_ours: bool) -> bool:
    """Return whether a setting names a file outside its folder, a repository or an address."""
    items = value if isinstance(value, list) else [value]
    texts = [item for item in items if isinstance(item, str)]
    is_other_class = _CLASS_KEY.search(key) and not all(map(_CLASS.fullmatch, texts))
    if (is_other_class or (key in _OTHER_FILES and value)) and _SETTINGS.fullmatch(path.name):
        return True
    # The keys of `id2label` are numbers.
    if is_ours or key in _TEXTS or key.isdecimal() or not _SETTINGS.fullmatch(path.name):
        return False
    is_away = _CONFIGS.fullmatch(path.name) and any(map(_AWAY.fullmatch, texts))
    # A path may be a folder, from which a library reads a file.
    if is_away or (key.endswith("_path") and any(texts)):
        return True
    names = [*texts, key] if "/" in key else texts
    files = (place / name for name in names for place in (Path(), path.parent))
    return any(_is_file_outside(file, folder) for file in files)


def _is_file_outside(path: Path, folder: Path) -> bool:
    with contextlib.suppress(FileError):
        if os.path.exists(path) and not path.is_dir():  # noqa: PTH110
            join_inside(folder, path.absolute())
        return False
    return True


def read_foreign_json(path: Path) -> Any:
    """Read a JSON file of limited size and depth.

    Raises:
        ModelError: The file cannot be read, is not JSON, or is too large.
    """
    content = _check_size(path, read_bounded(path, _MOST_BYTES, ModelError, _AGAIN))
    # A processor with NaN makes each pixel NaN.
    is_processor = path.name.endswith("processor_config.json")
    return parse_json(content, str(path), ModelError, _AGAIN, allow_nan=not is_processor)


def _check_size(path: Path, content: bytes) -> bytes:
    if len(content) > _MOST_BYTES or sum(map(content.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise ModelError(f"{path} is too large; {_AGAIN}")
    return content


def read_text_field(path: Path, name: str) -> str | None:
    """Read a text field of a JSON file; None if it is missing or unreadable."""
    with contextlib.suppress(ModelError, AttributeError):  # it may not be a mapping
        value = read_foreign_json(path).get(name)
        return value if isinstance(value, str) else None
    return None


def iterate_mappings(path: Path) -> Iterator[dict[str, Any]]:
    """Yield each mapping of a JSON file.

    Raises:
        ModelError: The file cannot be read, is not JSON, or is too large.
    """
    left: list[Any] = [[read_foreign_json(path)]]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield value
            value = list(value.values())
        left += [inner for inner in value if isinstance(inner, dict | list)]


def read_safetensors_size(path: Path) -> tuple[int, int]:
    """Return the number of tensors in a safetensors file, and the file's size in bytes.

    Raises:
        ModelError: The header is damaged or too large, or its LoRA settings contain patterns or a
            module.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        content = _check_size(path, file.read(min(length, _MOST_BYTES + 1)))
    # A header that is let pass unread would keep its settings: safetensors allows deeper nesting.
    with reraise(f"{path} is damaged", _AGAIN, ModelError):
        header = parse_json(content, str(path), ModelError, _AGAIN)
        if any(map(_has_controls, header)):
            raise ValueError("a name contains control characters")
        lora = (header.get("__metadata__") or {}).get(_LORA, "")
        if not _IS_LORA.fullmatch(lora):
            raise ModelError(f"{path}: {_LORA!r} contains patterns or a module; remove {_LORA!r}")
        return len(header), path.stat().st_size


@contextlib.contextmanager
def limit_model_size(*folders: Path) -> Iterator[None]:
    """Within a block, raise an error if a model is built that is larger than its weights.

    The weights are the safetensors files in the folders; if there are none, there is no limit.

    Raises:
        ModelError: A configuration has more layers than the weights have tensors, or describes a
            model that is larger than the weights.
    """
    files = [path for folder in folders for path in _list_files(folder) if path.is_file()]
    headers = [read_safetensors_size(path) for path in files if path.suffix == ".safetensors"]
    if not headers:
        yield
        return
    tensors, size = (sum(column) for column in zip(*headers, strict=True))
    # Reading a count of layers may create a text for each, before anything is built.
    for path in (path for path in files if re.fullmatch(r".*config.*\.json", path.name)):
        for key, value in (item for mapping in iterate_mappings(path) for item in mapping.items()):
            numbers = value if isinstance(value, list) else [value]
            # NaN would make later comparisons false.
            most = max((n for n in numbers if isinstance(n, int | float) and n == n), default=0)
            if _COUNTS.search(key) and most > _TIMES * tensors + _MORE:
                raise ModelError(
                    f"{path}: {key!r} is {most:.3g}, but the weights have {tensors} tensors; "
                    f"{_AGAIN}"
                )
    import torch.nn.modules.module as torch_module

    thread = threading.get_ident()
    left = 8 * size + _A_TENSOR * (_TIMES * tensors + _MORE)  # a byte may contain eight numbers

    def count(module: Any, name: str, tensor: Any) -> None:
        nonlocal left
        if threading.get_ident() == thread and tensor is not None:
            left -= _A_TENSOR + tensor.numel()
            if left < 0:
                raise ModelError(
                    f"{folders[0]}: config.json describes a model that is larger than its weights; "
                    f"{_AGAIN}"
                )

    with (
        torch_module.register_module_parameter_registration_hook(count),
        torch_module.register_module_buffer_registration_hook(count),
    ):
        yield
