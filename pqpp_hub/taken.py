"""Whether a name is somebody's on the Hub."""

import threading
import time
from collections.abc import Iterable

_SECONDS = 0.4


def is_taken(names: Iterable[str], kind: str) -> bool:
    """Tell whether the Hub has a repository of one of some names, as far as it answers at once.

    This is asked before a name of this package is used for what it says: within four tenths of a
    second, offline too. A name of which nothing was heard until then counts as free.

    Args:
        names: Repositories, with or without an owner.
        kind: `model`, `dataset` or `space`.

    Example:
        >>> is_taken([], "dataset")
        False
    """
    answers: list[object] = []

    def ask(name: str) -> None:
        from huggingface_hub import HfApi

        try:
            answers.append(HfApi().repo_info(name, repo_type=kind, timeout=_SECONDS))
        except Exception:
            return  # it does not answer, or there is none

    # A name server that does not answer holds a request for longer than any timeout of it.
    threads = [threading.Thread(target=ask, args=(name,), daemon=True) for name in names]
    for thread in threads:
        thread.start()
    end = time.monotonic() + _SECONDS
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
    return bool(answers)
