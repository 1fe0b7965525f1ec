"""One thread for linear algebra."""

import contextlib
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

_LOCK = threading.Lock()
_WITHIN: list[Any] = []  # an entry for each that is within; the first is what ends the limit


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS compute on one thread; also a decorator.

    Matrices of prompts are small: threads wait for one another, for several times the processor's
    time. Those of torch are left as they are. Without threadpoolctl nothing changes.

    Example:
        >>> import numpy as np
        >>> with one_blas_thread():
        ...     int(np.ones(3) @ np.ones(3))
        3
    """
    libraries = _libraries()
    with _LOCK:
        is_first = libraries is not None and not _WITHIN
        _WITHIN.append(libraries.limit(limits=1, user_api="blas") if is_first else None)
    try:
        yield
    finally:
        with _LOCK:
            if len(_WITHIN) == 1 and _WITHIN[0] is not None:
                _WITHIN[0].restore_original_limits()
            _WITHIN.pop()


@cache
def _libraries() -> Any:
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
