"""Arrays of numbers: files of numpy, of safetensors, and indexes of faiss."""

from __future__ import annotations

import mmap
import os
import re
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_files.errors import FileError, PqppError, reraise

if TYPE_CHECKING:
    import numpy as np

_FAISS_LOCK = threading.Lock()
_FAISS_PARTS = ("base_index", "refine_index", "index", "quantizer", "storage")
_FAISS_TYPES = re.compile(
    "Index(Refine|PreTransform|Flat(IP|L2)?|PQ|ScalarQuantizer"
    "|IVF(Flat|PQ|ScalarQuantizer)|HNSW(Flat|PQ|SQ))"
)


def load_array(
    path: str | os.PathLike[str],
    error: type[PqppError] = FileError,
    fault: str = "not a .npy file of numbers",
) -> np.ndarray:
    """Return the numeric array of a `.npy` file, memory-mapped; nothing is unpickled.

    Args:
        error: The error class to raise.
        fault: The fault that the error names.

    Raises:
        PqppError: The file does not exist, is damaged, or is not one array of numbers.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> path = Path(tempfile.mkdtemp()) / "a.npy"
        >>> np.save(path, [1.5, 2])
        >>> load_array(path).tolist()
        [1.5, 2.0]
    """
    import numpy as np

    remedy = "write one array of numbers with numpy.save"
    with reraise(f"{path}: {fault}", remedy, error), warnings.catch_warnings(action="ignore"):
        # numpy may warn about syntax in a damaged header, which it parses as Python
        array = np.lib.format.open_memmap(_require_regular_file(path), mode="r")
        if array.dtype.kind not in "biufc":
            raise ValueError(f"its dtype is {array.dtype}")
        return array


def load_tensors(
    source: str | os.PathLike[str] | bytes,
    name: str = "",
    error: type[PqppError] = FileError,
    framework: str = "numpy",
) -> dict[str, Any]:
    """Return the tensors of a safetensors file by name.

    Args:
        source: The file or its content.
        name: The file's name in the error; default: `source`.
        error: The error class to raise.
        framework: `numpy` or `torch`.

    Raises:
        PqppError: The file is damaged or not a safetensors file.

    Example:
        >>> load_tensors(b"...", "weights")
        Traceback (most recent call last):
        pqpp_files.errors.FileError: weights: not a readable safetensors file (...); save or ...
    """
    from importlib import import_module

    reader = import_module(f"safetensors.{framework}")
    remedy = "save or download the file again"
    with reraise(f"{name or source!s}: not a readable safetensors file", remedy, error):
        if isinstance(source, bytes):
            return reader.load(source)
        return reader.load_file(_require_regular_file(source))


def load_faiss(path: str | os.PathLike[str], in_memory: bool = False) -> Any:
    """Return a faiss index; above 64 MiB, it is memory-mapped by default.

    faiss trusts the files that it maps, so check the hash first.

    Args:
        in_memory: Whether to read the vectors into memory, so that more can be added.

    Raises:
        FileError: The file does not exist, is damaged, or is not an index.

    Example:
        >>> load_faiss("none.faiss")  # doctest: +SKIP
        Traceback (most recent call last):
        pqpp_files.errors.FileError: none.faiss: not a readable faiss index (no such file); ...
    """
    import faiss

    with reraise(f"{path}: not a readable faiss index", "build the index again"):
        with _require_regular_file(path).open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        # faiss reads and writes whatever file is named after these bytes, two numbers and a size.
        if re.search(rb"(?s)ilod.{21}\0{3}", content):
            raise ValueError("its vectors are in another file")
        # A damaged file that is mapped crashes the process.
        flags = 0 if in_memory or len(content) < 2**26 else faiss.IO_FLAG_MMAP_IFC
        with _FAISS_LOCK:  # faiss reserves the memory that a header asks for, up to this limit
            limit = faiss.get_deserialization_vector_byte_limit()
            faiss.set_deserialization_vector_byte_limit(len(content))
            try:
                index = faiss.read_index(str(path), flags)
            finally:
                faiss.set_deserialization_vector_byte_limit(limit)
        check_faiss_types(index)
        return index


def check_faiss_types(index: Any) -> None:
    """Check that an index and its parts are of known types; damaged ones of others crash faiss.

    Also limit the nodes of a graph that a search visits to all nodes, as faiss reserves memory for
    as many as the file says.

    Raises:
        ValueError: A part is of another type.
    """
    import faiss

    parts = [index]
    while parts:
        part = faiss.downcast_index(parts.pop())
        kind = type(part).__name__
        if not _FAISS_TYPES.fullmatch(kind):
            raise ValueError(f"indexes of type {kind} are not supported")
        if hasattr(part, "hnsw"):
            part.hnsw.efSearch = min(part.hnsw.efSearch, part.ntotal)
        inner = (getattr(part, name, None) for name in _FAISS_PARTS)
        parts += [one for one in inner if one is not None]


def _require_regular_file(path: str | os.PathLike[str]) -> Path:
    """Return a path if it is a regular file, since reading a pipe would block."""
    if not Path(path).is_file():
        raise FileNotFoundError("no such regular file")
    return Path(path)
