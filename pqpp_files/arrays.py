"""Reading arrays of numbers from `.npy` files that anybody may have made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pqpp_files.errors import FileError, in_a_line

if TYPE_CHECKING:
    import numpy as np


def load_array(path: str | os.PathLike[str]) -> np.ndarray:
    """Map an array of a `.npy` file into memory; nothing in it is unpickled.

    Raises:
        FileError: It is no such file, or damaged.

    Example:
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.npy"
        >>> np.save(path, [1.5, 2])
        >>> load_array(path).tolist()
        [1.5, 2.0]
    """
    import numpy as np

    try:
        found = np.load(path, allow_pickle=False, mmap_mode="r")
    except Exception as error:  # a header is parsed as Python: a damaged one ends in anything
        reason = in_a_line(error, named=False)
        raise FileError(f"{path}: no .npy file of numbers ({reason}); write one again") from None
    if not isinstance(found, np.ndarray):
        raise FileError(f"{path}: no .npy file of numbers (several arrays); write one alone")
    return found
