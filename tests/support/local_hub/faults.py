"""What goes wrong on a Hub, when a test wants it to."""

import re
import threading
from dataclasses import dataclass


@dataclass
class Fault:
    """One thing that goes wrong.

    Attributes:
        kind: `status` answers with `status`; `expired` rejects the token as expired; `drop`
            closes the connection after reading the request, without doing or answering anything;
            `lost` does what is asked and closes without an answer; `cut` sends half of the body
            and closes; `cut_request` reads half of the request's body and closes; `altered` takes
            the request's body with one byte changed; `slow` waits `seconds` before it answers as
            always.
        on: A pattern that is searched for in "METHOD /path?query".
        times: How many requests it hits; None for all.
        status: For `status`.
        retry_after: For `status`: after how many seconds the client may come back.
        seconds: For `slow`.
    """

    kind: str
    on: str = ""
    times: int | None = 1
    status: int = 500
    retry_after: int | None = None
    seconds: float = 0.0


class Faults:
    """The faults to come, asked for by the server at each request.

    >>> faults = Faults()
    >>> faults.add("status", on="GET .*/tree/", status=503)
    >>> faults.take("GET /api/models/a/b/tree/main").status
    503
    >>> faults.take("GET /api/models/a/b/tree/main") is None
    True
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._waiting: list[Fault] = []

    def add(self, kind: str, **details) -> None:
        """Let something go wrong; the arguments are those of `Fault`."""
        with self._lock:
            self._waiting.append(Fault(kind, **details))

    def clear(self) -> None:
        """Let all go well again."""
        with self._lock:
            self._waiting.clear()

    def take(self, request: str) -> Fault | None:
        """Return the first fault that hits a request, using it up."""
        with self._lock:
            for fault in self._waiting:
                if fault.times == 0 or not re.search(fault.on, request):
                    continue
                if fault.times is not None:
                    fault.times -= 1
                return fault
            return None
