"""Reading published pickles without executing code in them.

A pickle can call any function while it is read. This unpickler allows only containers, numbers and
texts, and refuses all other names before importing them. numpy's own classes are unsafe with forged
data, so pqpp's classes replace them: an array becomes a list, built from its bytes and a type such
as `i8`.
"""

import io
import pickle
import pickletools
import re
from pathlib import Path
from typing import Any

import numpy as np

from pqpp_datasets.tables import file_error, require_file
from pqpp_files.errors import describe

_ALLOWED = {("builtins", name) for name in ("set", "frozenset", "list", "dict", "tuple")}
_ALLOWED |= {("collections", "OrderedDict"), ("collections", "defaultdict")}


class _Dtype:
    """A substitute for a pickled numpy dtype."""

    def __init__(self, text, *flags):
        text = text.decode("latin1") if isinstance(text, bytes) else text
        if not isinstance(text, str) or not re.fullmatch(r"[biuf][1248]", text):
            raise pickle.UnpicklingError(f"arrays of {text!r:.40} are not allowed")
        self.text, self.order = text, "="

    def __setstate__(self, state):
        if not (isinstance(state, tuple) and len(state) > 1 and state[1] in ("<", ">", "|", "=")):
            raise pickle.UnpicklingError("it contains an invalid number type")
        self.order = state[1]

    def read(self, content, shape) -> list:
        """Return the numbers in a buffer as nested lists of a shape."""
        if not isinstance(self, _Dtype):
            raise pickle.UnpicklingError("it contains an array without a number type")
        numbers = np.frombuffer(content, np.dtype(self.order + self.text))
        return numbers.reshape(shape).tolist()


class _Array(list):
    """A list that replaces a pickled numpy array, whose data can be forged."""

    def __setstate__(self, state):
        _, shape, dtype, fortran, content = state
        if fortran and len(shape) > 1:
            raise pickle.UnpicklingError("arrays in Fortran order are not supported")
        self[:] = _Dtype.read(dtype, content, shape)


def _restrict_type(kind: type):
    """Return a function that creates a value of a type from numbers and texts only."""
    # Other arguments could expand to unlimited memory.

    def create_value(*values):
        if not all(isinstance(value, int | float | str) for value in values):
            raise pickle.UnpicklingError(f"it calls {kind.__name__} on a container")
        return kind(*values)

    return create_value


def _encode_latin1(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"the encoding {encoding!r} is not allowed")
    return text.encode("latin1")


_SUBSTITUTES = {
    **{("builtins", kind.__name__): _restrict_type(kind) for kind in (int, float, str)},
    # Protocols 0 to 2 store an array's bytes in this encoding only.
    ("_codecs", "encode"): _encode_latin1,
    ("numpy", "ndarray"): None,  # pickles name it but do not call it
    ("numpy", "dtype"): _Dtype,
    ("numpy._core.multiarray", "_reconstruct"): lambda *_: _Array(),
    ("numpy._core.multiarray", "scalar"): lambda dtype, content: _Dtype.read(dtype, content, ()),
    ("numpy._core.numeric", "_frombuffer"): (
        lambda content, dtype, shape, order: _Dtype.read(dtype, bytes(content), shape)
    ),
}


class _RestrictedUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str):
        module = "builtins" if module == "__builtin__" else module  # the name in protocols 0 to 2
        key = module.replace("numpy.core", "numpy._core"), name  # the name before numpy 2
        if key in _SUBSTITUTES:
            return _SUBSTITUTES[key]
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it calls {module}.{name}, which is not allowed")
        return super().find_class(module, name)

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("it refers to objects outside the file")


def read_pickle(path: Path) -> object:
    """Read a pickle of plain containers, numbers, texts and numeric arrays (as lists).

    Raises:
        BenchmarkError: The file is missing, damaged or contains anything else.

    Example:
        >>> import pathlib, pickle, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "ids.pickle"
        >>> _ = path.write_bytes(pickle.dumps([[9, 25], [30]]))
        >>> read_pickle(path)
        [[9, 25], [30]]
    """
    require_file(path)
    content = path.read_bytes()
    file = io.BytesIO(content)
    argument: Any
    try:
        # A short pickle can declare a text of gigabytes, which `genops` refuses, or a memo index
        # of a billion, for which the unpickler would allocate memory.
        for operation, argument, _ in pickletools.genops(content):
            is_memo_index = operation.name in ("PUT", "BINPUT", "LONG_BINPUT")
            if is_memo_index and not 0 <= argument <= len(content):
                raise pickle.UnpicklingError("it needs more memory than the file has bytes")
        return _RestrictedUnpickler(file).load()
    except Exception as error:  # a damaged pickle can raise nearly anything
        reason = f"not a readable pickle of plain values ({describe(error, named=False)})"
        raise file_error(f"{path}, byte {file.tell()}", reason) from None
