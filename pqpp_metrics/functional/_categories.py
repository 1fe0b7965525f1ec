"""Labels of any kind as category numbers."""

import numpy as np

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional._inputs import as_array, to_numpy

# Integer labels in a range this wide are counted directly; wider ones are sorted first.
_COMPACT = 4096


def category_codes(*arrays):
    """Number the categories of several arrays of labels, all of text or all of numbers, together.

    Returns:
        The arrays as integer codes, 0 to the number of categories less 1 (some may not occur),
        and the category of each code, in rising order.
    """
    if all(array.dtype.kind in "iub" for array in arrays):
        low = min(int(array.min()) for array in arrays)
        high = max(int(array.max()) for array in arrays)
        if high - low < _COMPACT:
            # Small numbers already: no need to sort them to tell them apart.
            wide = np.int64 if high < 2**63 else np.uint64  # in its own type low may wrap around
            codes = [(array.astype(wide) - wide(low)).astype(np.intp) for array in arrays]
            return codes, np.arange(low, high + 1)
    whole = np.concatenate([array.ravel() for array in arrays])
    categories, flat = np.unique(whole, return_inverse=True)
    ends = np.cumsum([array.size for array in arrays])[:-1]
    parts = np.split(flat.reshape(-1), ends)
    codes = [part.reshape(array.shape) for part, array in zip(parts, arrays, strict=True)]
    return codes, categories


def as_labels(name, values, ndim):
    """Return labels as a non-empty numpy array of text, integers, booleans or finite numbers.

    Raises:
        MetricInputError: wrong dimensions, empty, missing labels (None, NaN), mixed kinds.
    """
    array = to_numpy(as_array(name, values))
    if array.dtype == object:
        kinds = {type(label) for label in array.flat}
        if not all(issubclass(kind, str) for kind in kinds):
            found = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise MetricInputError(f"`{name}` holds {found}; give all text or all numbers")
        array = array.astype(str)
    elif array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        _refuse_mixed(name, values)
    if array.ndim != ndim:
        raise MetricInputError(
            f"`{name}` has shape {array.shape}; it must have {ndim} dimension(s)"
        )
    if array.size == 0:
        raise MetricInputError(f"`{name}` is empty (shape {array.shape}); nothing to score")
    if array.dtype.kind not in "iubfU":
        raise MetricInputError(f"`{name}` holds {array.dtype}; give text or numbers as labels")
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise MetricInputError(f"`{name}` holds NaN or infinite labels; drop those items first")
        with np.errstate(invalid="ignore"):  # beyond 64 bits, and so not the same below
            whole = array.astype(np.int64)
        array = whole if (whole == array).all() else array
    return array


def _refuse_mixed(name, values):
    """Raise where a list holds text beside numbers: numpy would turn the numbers into text."""
    flat = values
    while flat and isinstance(flat[0], (list, tuple)):
        flat = [item for row in flat for item in row]
    kinds = {type(label) for label in flat}
    if not all(issubclass(kind, str) for kind in kinds):
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise MetricInputError(f"`{name}` holds {found}; give all text or all numbers")
