"""A web service that is asked by POST: again where it is busy, cut off where it does not end."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from pqpp_backbones.chat.chat import json_of
from pqpp_backbones.errors import ServiceError
from pqpp_files.extras import needing
from pqpp_files.visible import visible

_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504)
_LONGEST_WAIT = 60.0
_LARGEST_REPLY = 4_000_000  # bytes; a service that does not stop is cut off

Answer = TypeVar("Answer")


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
            # What stands before an @ may be a password.
            raise ServiceError(
                f"{url.rpartition('@')[2]!r} is not the address of an endpoint; write "
                "http://localhost:8000/v1, and a key into the variable " + key_in
            )
        self.url, self.key_in, self.largest = url.rstrip("/"), key_in, largest
        self.timeout, self.tries, self.wait, self.sleep = timeout, tries, wait, sleep
        self._key = os.environ.get(key_in, "").strip()
        if not self._key.isascii() or any(letter <= " " for letter in self._key):
            raise ServiceError(
                f"the variable {key_in} holds blanks or other characters that cannot be in a key"
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
            with (
                # The key is for this address alone.
                httpx.Client(timeout=self.timeout, follow_redirects=False) as client,
                client.stream("POST", self.url + path, json=body, headers=headers) as response,
            ):
                raw = bytearray()
                for chunk in response.iter_bytes():
                    raw += chunk
                    if len(raw) > self.largest:
                        return NoAnswer("its reply does not end")
                    if time.monotonic() > until:
                        raise httpx.ReadTimeout("as a whole")
        except httpx.TimeoutException:
            return NoAnswer(f"no whole reply within {self.timeout:g} s")
        except (httpx.TransportError, httpx.DecodingError) as error:
            return NoAnswer(f"the connection failed, {type(error).__name__}")
        except httpx.InvalidURL:
            raise ServiceError(f"{self.url}: not the address of an endpoint; correct it") from None
        text = self.cleaned(raw.decode("utf-8", "replace"))
        if response.status_code in _AGAIN:
            told = response.headers.get("Retry-After", "").strip()
            seconds = float(told) if told.isdecimal() and len(told) < 10 else None
            return NoAnswer(f"status {response.status_code}", seconds)
        if response.status_code != 200:
            said = self._said(text)
            raise ServiceError(
                f"{self.url}: status {response.status_code}, {said}; check the address, the model "
                f"{body.get('model')!r} and the variable {self.key_in}",
                response.status_code,
                said,
            )
        return read(text)

    def _said(self, text: str) -> str:
        """Return what a service says of a refusal, short, in one line and without the key."""
        try:
            answer = json_of(text)
            error = answer.get("error", answer)
            text = error.get("message", error) if isinstance(error, dict) else error
            code = error.get("code") if isinstance(error, dict) else None
            text = f"{text} ({code})" if isinstance(code, str) and code not in str(text) else text
        except (ValueError, AttributeError):
            pass
        return visible(" ".join(str(text).split()))[:200] or "nothing said"

    def cleaned(self, text: str) -> str:
        """Return what came back, with stars where it repeats the key."""
        if self._key and "\\u" in text:  # letters of the key may be written so
            with contextlib.suppress(ValueError):
                text = json.dumps(json_of(text), ensure_ascii=False)
        return text.replace(self._key, "***") if self._key else text
