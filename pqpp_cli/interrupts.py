"""Handle Ctrl-C and SIGTERM: remove unfinished files, and print one line instead of a traceback.

During imports and at exit, when there are no unfinished files, Ctrl-C ends the process at once.
During the work, signals raise exceptions, so that unfinished files are removed.
"""

import _signal  # faster to import than signal
import _thread
import os
import sys

INTERRUPT_LINE = "pqpp: interrupted\n"
INTERRUPT_STATUS = 130
_NUMBER = _signal.SIGINT


def handle_interrupts() -> None:
    """Let Ctrl-C end this process at once with one line, unless the signal is already handled.

    Example:
        >>> before = _signal.getsignal(_signal.SIGINT)
        >>> handle_interrupts()
        >>> _ = _signal.signal(_signal.SIGINT, before)
    """
    if _signal.getsignal(_NUMBER) is _signal.default_int_handler:
        _signal.signal(_NUMBER, _exit_at_once)


def repeat_signal(ignored: "sys.UnraisableHookArgs") -> None:
    """Send a signal again whose exception Python ignored, as in `__del__` or a hook of a fork.

    Other ignored exceptions are hidden: they come from libraries' clean-up, as on a full disk.

    Example:
        >>> sys.unraisablehook = repeat_signal  # doctest: +SKIP
    """
    if ignored.exc_type in (KeyboardInterrupt, SystemExit):
        number = _NUMBER if ignored.exc_type is KeyboardInterrupt else _signal.SIGTERM
        _thread.start_new_thread(os.kill, (os.getpid(), number))


class InterruptGuard:
    """A context manager in which Ctrl-C and SIGTERM raise exceptions.

    It restores the earlier handlers afterwards. It has no effect outside the main thread, or on
    signals that another program handles.

    Attributes:
        status: The exit status after a signal, even if a library then raised another error; else 0.

    Example:
        >>> with InterruptGuard() as work:
        ...     work.status
        0
    """

    def __init__(self) -> None:
        self.status = 0
        self._old_handlers: dict[int, object] = {}

    def __enter__(self) -> "InterruptGuard":
        for number in (_NUMBER, _signal.SIGTERM):
            old_handler = _signal.getsignal(number)
            if old_handler in (_exit_at_once, _signal.default_int_handler, _signal.SIG_DFL):
                try:
                    _signal.signal(number, self._stop)
                    self._old_handlers[number] = old_handler
                except ValueError:  # not the main thread
                    pass
        return self

    def __exit__(self, *_: object) -> None:
        for number, old_handler in self._old_handlers.items():
            _signal.signal(number, old_handler)

    def _stop(self, number: int, _: object) -> None:
        self.status = 128 + number  # a shell's status for a process ended by a signal
        raise KeyboardInterrupt if number == _NUMBER else SystemExit(self.status)


def _exit_at_once(*_: object) -> None:
    try:
        os.write(2, INTERRUPT_LINE.encode())
    finally:
        os._exit(INTERRUPT_STATUS)
