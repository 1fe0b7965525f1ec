"""Limit linear algebra to one thread."""

import contextlib
import sys
import threading
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_LOCK = threading.Lock()
_LIMITS: list[Any] = []  # an entry for each block in progress; the first one can end the limit


@contextlib.contextmanager
def limit_blas_threads() -> Iterator[None]:
    """Restrict BLAS to one thread in a block or a decorated function; torch is not limited.

    The matrices are small, so several threads would mostly wait for one another.

    Example:
        >>> import numpy as np
        >>> with limit_blas_threads():
        ...     int(np.ones(3) @ np.ones(3))
        3
    """
    with _LOCK:
        limit = bool(_LIMITS) or _find_blas(len(sys.modules)).limit(limits=1, user_api="blas")
        _LIMITS.append(limit)
    try:
        yield
    finally:
        with _LOCK:
            if len(_LIMITS) == 1:
                _LIMITS[0].restore_original_limits()
            _LIMITS.pop()


@lru_cache(1)
def _find_blas(modules: int) -> Any:
    """Return a controller of the loaded BLAS libraries, cached by the number of modules."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
