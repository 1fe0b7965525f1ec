"""A ledger of calls that cost money: written before and after each call, and read on resume."""

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from typing import Any

from pqpp_backbones.errors import ServiceError
from pqpp_files.atomic_write import explain_full_disk, lock_folder
from pqpp_files.foreign.json_values import parse_json, refuse_constant
from pqpp_files.paths import expand

_BEGINS = b'{"call": '  # of each line


class Ledger:
    """Calls and their costs; a call without a recorded cost counts with its maximum.

    Lines are only appended to its file: one before each call with the maximum cost, one after it
    with the actual cost. Threads and processes may share the file.

    Args:
        path: The file; None keeps the calls in memory alone.

    Attributes:
        lines: The record of each call.
        replies: The replies, by the key of their call.
        spent: The total cost; a call without a recorded cost counts with its maximum.

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
        self._at = self._read = 0  # bytes and lines of the file that are known
        self._threads = threading.RLock()

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Lock out other threads and processes, and read what they have written; not reentrant.

        Raises:
            ServiceError: The file is not a ledger.
        """
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        alone = lock_folder(self.path.parent) if self.path else contextlib.nullcontext()
        with self._threads, alone:
            if self.path and self.path.exists():
                with self.path.open("rb") as file:
                    file.seek(self._at)
                    new = file.read()
                whole = new[: new.rfind(b"\n") + 1]
                for line in whole.splitlines():
                    self._read += 1
                    try:
                        self._apply_line(parse_json(line, "a line", parse_constant=refuse_constant))
                    except (ValueError, TypeError, LookupError, AttributeError):
                        fault = f"{self.path}, line {self._read}: not a ledger entry"
                        raise ServiceError(f"{fault}; name another file") from None
                if cut := new[len(whole) :]:  # an incomplete line of a killed process
                    if not self.lines and not cut.startswith(_BEGINS[: len(cut)]):
                        raise ServiceError(f"{self.path} is not a ledger; name another file")
                    os.truncate(self.path, self._at + len(whole))
                self._at += len(whole)
            yield

    def record_call(self, max_cost: float, **fields: Any) -> int:
        """Record a call before it is made, with its maximum cost; return its number.

        Call it within `lock`, so that an earlier check there is still valid.
        """
        self._write({"call": len(self.lines), "most": max_cost, **fields})
        return len(self.lines) - 1

    def record_cost(self, call: int, paid: float, **fields: Any) -> None:
        """Record a call's cost."""
        with self.lock():
            self._write({"call": call, "paid": paid, **fields})

    def _write(self, line: dict[str, Any]) -> None:
        self._apply_line(line)
        if self.path:
            data = json.dumps(line, allow_nan=False).encode() + b"\n"
            with explain_full_disk(self.path), self.path.open("ab") as file:
                file.write(data)
            self._at, self._read = self._at + len(data), self._read + 1

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
