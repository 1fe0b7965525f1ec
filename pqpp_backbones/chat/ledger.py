"""A ledger of calls that cost money, from which a stopped run continues."""

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from typing import Any

from pqpp_backbones.errors import ServiceError
from pqpp_files.atomic_write import convert_write_errors, lock_folder
from pqpp_files.foreign.json_values import parse_json, refuse_constant
from pqpp_files.paths import expand

_LINE_START = b'{"call": '  # the start of every line


class Ledger:
    """A record of calls and their costs, in a file or in memory.

    A line with the maximum cost is appended before each call, and one with the actual cost after
    it. Threads and processes may share the file.

    Args:
        path: The file; None for memory.

    Attributes:
        lines: One entry per call.
        replies: The replies, by the key of the request.
        spent: The total cost; for a call without a recorded cost, its maximum cost is added.

    Example:
        >>> ledger = Ledger()
        >>> with ledger.lock():
        ...     first, second = ledger.record_call(1.0), ledger.record_call(1.0)
        >>> ledger.record_cost(first, 0.25)
        >>> len(ledger.lines), ledger.spent
        (2, 1.25)
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else expand(path)
        self.lines: list[dict[str, Any]] = []
        self.replies: dict[str, Any] = {}
        self.spent = 0.0
        self._offset = self._line_count = 0  # bytes and lines that were read
        self._threads = threading.RLock()

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the ledger, and read the entries that other processes have added.

        Raises:
            ServiceError: The file is not a ledger.
        """
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        file_lock = lock_folder(self.path.parent) if self.path else contextlib.nullcontext()
        with self._threads, file_lock:
            if self.path and self.path.exists():
                with self.path.open("rb") as file:
                    file.seek(self._offset)
                    new = file.read()
                complete = new[: new.rfind(b"\n") + 1]
                for line in complete.splitlines():
                    self._line_count += 1
                    try:
                        self._apply_line(parse_json(line, "a line", parse_constant=refuse_constant))
                    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
                        fault = f"{self.path}, line {self._line_count}: not an entry of a ledger"
                        raise ServiceError(f"{fault}; choose another `ledger`") from None
                if partial := new[len(complete) :]:  # an incomplete line of a killed process
                    if not self.lines and not partial.startswith(_LINE_START[: len(partial)]):
                        raise ServiceError(f"{self.path} is not a ledger; choose another `ledger`")
                    os.truncate(self.path, self._offset + len(complete))
                self._offset += len(complete)
            yield

    def record_call(self, max_cost: float, **fields: Any) -> int:
        """Record a call before it is made, and return its index in `lines`.

        The caller must have locked the ledger with `lock`.
        """
        self._write({"call": len(self.lines), "most": max_cost, **fields})
        return len(self.lines) - 1

    def record_cost(self, call: int, paid: float, **fields: Any) -> None:
        """Record the actual cost of a call."""
        with self.lock():
            self._write({"call": call, "paid": paid, **fields})

    def _write(self, line: dict[str, Any]) -> None:
        self._apply_line(line)
        if self.path:
            data = json.dumps(line, allow_nan=False).encode() + b"\n"
            with convert_write_errors(self.path), self.path.open("ab") as file:
                file.write(data)
            self._offset, self._line_count = self._offset + len(data), self._line_count + 1

    def _apply_line(self, line: dict[str, Any]) -> None:
        if line["call"] == len(self.lines):
            self.spent += float(line["most"])
            self.lines.append(dict(line))
        else:
            entry = self.lines[line["call"]]
            self.spent += line["paid"] - entry.get("paid", entry["most"])
            entry.update(line)
            if "reply" in entry and "key" in entry:
                self.replies[entry["key"]] = entry["reply"]
