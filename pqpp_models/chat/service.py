"""A web service that is asked by POST: again where it is busy, cut off where it does not end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from pqpp_files.errors import PqppError
from pqpp_files.extras import needing
from pqpp_files.visible import visible
from pqpp_models.chat.chat import json_of

_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504)
_LONGEST_WAIT = 60.0
_LARGEST_REPLY = 4_000_000  # bytes; a service that does not stop is cut off

Answer = TypeVar("Answer")


class ServiceError(PqppError):
    """A service refuses what it is asked, or does not answer.

    Args:
        said: The message.
        status: Of the refusal; 0 where there was no usable answer after all tries.
    """

    def __init__(self, said: str, status: int = 0) -> None:
        super().__init__(said)
        self.status = status


class NoAnswer(NamedTuple):
    """Why something is worth another try, and how many seconds to wait if that was told."""

    why: str
    wait: float | None = None


class Service:
    """An address and the key for it.

    Args:
        url: Up to `/v1`, as `http://localhost:8000/v1`.
        key_in: The environment's variable that holds the key; it is in no log, error or file.
        timeout: Seconds that an answer may take as a whole.
        tries: How often something is asked that has no answer.
        wait: Seconds before the second try; doubled for each further one.
        sleep: How to wait.
        largest: Of an answer, in bytes.

    Raises:
        ServiceError: The address is none of http or https, or the key in the environment has
            characters that no key has.
    """

    def __init__(
        self,
        url: str,
        key_in: str,
        timeout: float = 120.0,
        tries: int = 4,
        wait: float = 1.0,
        sleep: Callable[[float], Any] = time.sleep,
        largest: int = _LARGEST_REPLY,
    ) -> None:
        if not url.startswith(("http://", "https://")) or "@" in url:
            raise ServiceError(
                f"{_without_login(url)!r} is no address of an endpoint; write "
                "http://localhost:8000/v1, and a key into the variable " + key_in
            )
        self.url, self.key_in, self.largest = url.rstrip("/"), key_in, largest
        self.timeout, self.tries, self.wait, self.sleep = timeout, tries, wait, sleep
        self._key = os.environ.get(key_in, "").strip()
        if not self._key.isascii() or any(letter <= " " for letter in self._key):
            raise ServiceError(
                f"the variable {key_in} holds blanks or other characters that no key has"
            )

    def ask(
        self,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[str], Answer | NoAnswer],
        admit: Callable[[], Any],
    ) -> Answer:
        """Return what `read` makes of an answer; ask again where there is none.

        Args:
            path: Below the address, as `/chat/completions`.
            body: What is sent, as JSON.
            read: Takes the text of an answer with status 200.
            admit: Called before each try; raises where no more is allowed.

        Raises:
            ServiceError: It is refused, with its status, or there is no answer after all tries.
        """
        why = ""
        for attempt in range(self.tries):
            admit()
            answer = self._post(path, body, read)
            if not isinstance(answer, NoAnswer):
                return answer
            why = answer.why
            if attempt + 1 < self.tries:
                self.sleep(min(answer.wait or self.wait * 2**attempt, _LONGEST_WAIT))
        raise ServiceError(
            f"{self.url}: no reply after {self.tries} tries ({why}); try again later"
        )

    def _post(
        self, path: str, body: Mapping[str, Any], read: Callable[[str], Answer | NoAnswer]
    ) -> Answer | NoAnswer:
        with needing("an endpoint", "assess"):
            import httpx
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        until = time.monotonic() + self.timeout
        try:
            with httpx.stream(
                "POST",
                self.url + path,
                json=body,
                headers=headers,
                timeout=self.timeout,
                follow_redirects=False,  # the key is for this address alone
            ) as response:
                raw = bytearray()
                for chunk in response.iter_bytes():
                    raw += chunk
                    if len(raw) > self.largest:
                        return NoAnswer("its reply does not end")
                    if time.monotonic() > until:
                        return NoAnswer(f"no whole reply within {self.timeout:g} s")
        except httpx.TimeoutException:
            return NoAnswer(f"no reply within {self.timeout:g} s")
        except (httpx.TransportError, httpx.DecodingError) as error:
            return NoAnswer(f"the connection failed, {type(error).__name__}")
        except httpx.InvalidURL:
            raise ServiceError(f"{self.url}: no address of an endpoint; correct it") from None
        text = raw.decode("utf-8", "replace")
        if response.status_code in _AGAIN:
            told = _seconds(response.headers.get("Retry-After"))
            return NoAnswer(f"status {response.status_code}", told)
        if response.status_code != 200:
            raise ServiceError(self._said(text), response.status_code)
        return read(text)

    def _said(self, text: str) -> str:
        """Return what a service says of a refusal, short, in one line and without the key."""
        try:
            found = json_of(text)
            error = found.get("error", found)
            text = error.get("message", error) if isinstance(error, dict) else error
        except (ValueError, AttributeError):
            pass
        line = visible(" ".join(str(text).split()))
        line = line.replace(self._key, "***") if self._key else line
        return line[:200] or "nothing said"


def _seconds(text: str | None) -> float | None:
    try:
        found = float(text or "")
    except (TypeError, ValueError):
        return None
    return found if 0 <= found < 1e9 else None


def _without_login(url: str) -> str:
    """Return an address without what stands before an @, which may be a password."""
    return url.rpartition("@")[2]
