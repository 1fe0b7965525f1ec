"""Reading a published pickle without executing anything that stands in it.

A pickle may name any function to be called while it is read. This unpickler knows containers,
numbers, texts and numpy arrays of numbers by name and refuses every other name before it is looked
up, so that a foreign file can at most be wrong, never dangerous.
"""

import io
import pickle
from pathlib import Path

from pqpp_datasets.errors import DataFileError, MissingFileError

_NUMPY_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")
_ALLOWED = {
    ("builtins", "set"),
    ("builtins", "frozenset"),
    ("builtins", "list"),
    ("builtins", "dict"),
    ("builtins", "tuple"),
    ("builtins", "int"),
    ("builtins", "float"),
    ("builtins", "str"),
    ("collections", "OrderedDict"),
    ("collections", "defaultdict"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    *((module, name) for module in _NUMPY_MODULES for name in ("_reconstruct", "scalar")),
    *((module, "_frombuffer") for module in ("numpy.core.numeric", "numpy._core.numeric")),
}


class _RestrictedUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str):
        module = "builtins" if module == "__builtin__" else module  # as protocols 0 to 2 say it
        if (module, name) == ("_codecs", "encode"):  # how these protocols carry an array's bytes
            return _encode_latin1
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it wants to call {module}.{name}, which is not allowed")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("it refers to objects outside the file")


def _encode_latin1(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"it wants to encode by {encoding!r}, which is not allowed")
    return text.encode("latin1")


def read_pickle(path: Path) -> object:
    """Read a pickle of plain containers, numbers, texts and numeric arrays.

    Args:
        path: The file.

    Raises:
        MissingFileError: If there is no such file.
        DataFileError: If the file is damaged or holds anything else; nothing of it was executed.

    Example:
        >>> import pathlib, pickle, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "ids.pickle"
        >>> _ = path.write_bytes(pickle.dumps([[9, 25], [30]]))
        >>> read_pickle(path)
        [[9, 25], [30]]
    """
    if not path.is_file():
        raise MissingFileError(f"{path}: there is no such file; give the published folder")
    file = io.BytesIO(path.read_bytes())
    try:
        return _RestrictedUnpickler(file).load()
    except Exception as error:  # a damaged pickle can raise nearly anything
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise DataFileError(
            f"{path}, byte {file.tell()}: not a readable pickle of lists, numbers and texts "
            f"({reason}); restore the file as published, and do not open it by other means"
        ) from None
