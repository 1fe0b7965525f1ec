"""One thread for linear algebra."""

import contextlib
import sys
import threading
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_LOCK = threading.Lock()
_WITHIN: list[Any] = []  # an entry for each that is within; the first is what ends the limit


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Restrict BLAS to one thread; also a decorator.

    Matrices of prompts are small: threads wait for one another, for several times the processor's
    time. Those of torch are left as they are.

    Example:
        >>> import numpy as np
        >>> with one_blas_thread():
        ...     int(np.ones(3) @ np.ones(3))
        3
    """
    with _LOCK:
        _WITHIN.append(bool(_WITHIN) or _loaded(len(sys.modules)).limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _LOCK:
            if len(_WITHIN) == 1:
                _WITHIN[0].restore_original_limits()
            _WITHIN.pop()


@lru_cache(1)
def _loaded(modules: int) -> Any:
    """Return the libraries that are loaded; a module that came since may have brought one."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
