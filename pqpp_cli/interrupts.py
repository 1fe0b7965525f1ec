"""Ctrl-C at any moment: one line, and what is half-written goes away.

While Python and we import, and while the interpreter ends, nothing is half-written: the process
leaves at once. In between an interrupt is an error, so that work is tidied.
"""

import _signal  # signal itself imports enum, a third of the time that would be unguarded
import os

LINE_OF_INTERRUPT = "pqpp: interrupted\n"
STATUS_OF_INTERRUPT = 130
_NUMBER = _signal.SIGINT


def arm() -> None:
    """Let Ctrl-C end this process in a line, where Python would raise an error.

    Example:
        >>> before = _signal.getsignal(_signal.SIGINT)
        >>> arm()
        >>> _ = _signal.signal(_signal.SIGINT, before)
    """
    if _signal.getsignal(_NUMBER) is _signal.default_int_handler:
        _signal.signal(_NUMBER, _leave)


class AtWork:
    """A block in which Ctrl-C is a KeyboardInterrupt; what it was comes back behind it.

    Nothing changes outside the main thread, or where somebody else minds the signal.

    Attributes:
        is_interrupted: Whether Ctrl-C came; imports of libraries make other errors of it.

    Example:
        >>> with AtWork() as work:
        ...     work.is_interrupted
        False
    """

    def __init__(self) -> None:
        self.is_interrupted = False
        self._before: object = None

    def __enter__(self) -> "AtWork":
        before = _signal.getsignal(_NUMBER)
        if before in (_leave, _signal.default_int_handler):
            try:
                _signal.signal(_NUMBER, self._raise)
                self._before = before
            except ValueError:  # not the main thread
                pass
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            _signal.signal(_NUMBER, self._before)

    def _raise(self, *_: object) -> None:
        self.is_interrupted = True
        raise KeyboardInterrupt


def _leave(*_: object) -> None:
    try:
        os.write(2, LINE_OF_INTERRUPT.encode())
    finally:
        os._exit(STATUS_OF_INTERRUPT)
