"""Handle Ctrl-C and SIGTERM at any moment: remove unfinished files, and print one line.

During imports and at exit, there are no unfinished files, and the process ends at once. In between,
an interrupt is an exception, so that unfinished files are removed.
"""

import _signal  # faster to import than signal
import os

INTERRUPT_LINE = "pqpp: interrupted\n"
INTERRUPT_STATUS = 130
_NUMBER = _signal.SIGINT


def handle_interrupts() -> None:
    """Make Ctrl-C end this process with one line instead of a traceback.

    Example:
        >>> before = _signal.getsignal(_signal.SIGINT)
        >>> handle_interrupts()
        >>> _ = _signal.signal(_signal.SIGINT, before)
    """
    if _signal.getsignal(_NUMBER) is _signal.default_int_handler:
        _signal.signal(_NUMBER, _exit_at_once)


class InterruptGuard:
    """A block in which Ctrl-C and SIGTERM are exceptions, so that unfinished files are removed.

    Earlier handlers are restored afterwards. Nothing changes outside the main thread, or if another
    program handles the signals.

    Attributes:
        is_interrupted: Whether Ctrl-C was pressed; imports of libraries turn it into other errors.

    Example:
        >>> with InterruptGuard() as work:
        ...     work.is_interrupted
        False
    """

    def __init__(self) -> None:
        self.is_interrupted = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> "InterruptGuard":
        for number, raised in ((_NUMBER, self._interrupt), (_signal.SIGTERM, self._terminate)):
            before = _signal.getsignal(number)
            if before in (_exit_at_once, _signal.default_int_handler, _signal.SIG_DFL):
                try:
                    _signal.signal(number, raised)
                    self._before[number] = before
                except ValueError:  # not the main thread
                    pass
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            _signal.signal(number, before)

    def _interrupt(self, *_: object) -> None:
        self.is_interrupted = True
        raise KeyboardInterrupt

    def _terminate(self, number: int, _: object) -> None:
        raise SystemExit(128 + number)  # a shell's status for a process ended by a signal


def _exit_at_once(*_: object) -> None:
    try:
        os.write(2, INTERRUPT_LINE.encode())
    finally:
        os._exit(INTERRUPT_STATUS)
