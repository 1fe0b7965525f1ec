"""Any endpoint that speaks OpenAI's chat completions: vLLM, llama.cpp, hosted ones."""

from __future__ import annotations

import base64
import io
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from pqpp_files.extras import needing
from pqpp_files.visible import visible
from pqpp_models.chat.chat import Budget, Chat, ChatError, Reply, Request, json_of

KEY = "PQPP_CHAT_KEY"
"""The environment's variable that holds the key; it is in no log, error or file."""
_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504)
_LONGEST_WAIT = 60.0
_LARGEST_REPLY = 4_000_000  # bytes; an endpoint that does not stop is cut off


class Endpoint(Chat):
    """A model behind an endpoint.

    Args:
        url: Up to `/v1`, as `http://localhost:8000/v1`.
        model: The model's name there.
        budget: What may be spent; without a limit by default.
        timeout: Seconds that a reply may take as a whole.
        tries: How often a question is asked that has no reply.
        wait: Seconds before the second try; doubled for each further one.
        sleep: How to wait.

    Raises:
        ChatError: The address is none of http or https, or the key in the environment has
            characters that no key has.

    Example:
        >>> Endpoint("localhost:8000", "qwen")
        Traceback (most recent call last):
        pqpp_models.chat.chat.ChatError: 'localhost:8000' is no address of an endpoint; ...
    """

    def __init__(
        self,
        url: str,
        model: str,
        budget: Budget | None = None,
        timeout: float = 120.0,
        tries: int = 4,
        wait: float = 1.0,
        sleep: Callable[[float], Any] = time.sleep,
    ) -> None:
        if not url.startswith(("http://", "https://")) or "@" in url:
            raise ChatError(
                f"{_without_login(url)!r} is no address of an endpoint; write "
                "http://localhost:8000/v1, and a key into the variable " + KEY
            )
        self.url, self.name = url.rstrip("/"), model
        self.budget = budget or Budget()
        self.timeout, self.tries, self.wait, self.sleep = timeout, tries, wait, sleep
        self._key = os.environ.get(KEY, "").strip()
        if not self._key.isascii() or any(letter <= " " for letter in self._key):
            raise ChatError(f"the variable {KEY} holds blanks or other characters that no key has")

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.name!r})"

    def ask(self, request: Request) -> Reply:
        """Return the reply to one question, asked again where the endpoint is busy or cut off."""
        why = ""
        for attempt in range(self.tries):
            self.budget.admit(request)
            answer = self._post(_body(self.name, request))
            if isinstance(answer, Reply):
                self.budget.spend(request, answer)
                return answer
            why, pause = answer
            if attempt + 1 < self.tries:
                self.sleep(min(pause or self.wait * 2**attempt, _LONGEST_WAIT))
        raise ChatError(f"{self.url}: no reply after {self.tries} tries ({why}); try again later")

    def _post(self, body: Mapping[str, Any]) -> Reply | tuple[str, float | None]:
        """Return the reply, or why it is worth another try and how long to wait."""
        with needing("a chat endpoint", "assess"):
            import httpx
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        until = time.monotonic() + self.timeout
        try:
            with httpx.stream(
                "POST",
                f"{self.url}/chat/completions",
                json=body,
                headers=headers,
                timeout=self.timeout,
                follow_redirects=False,  # the key is for this address alone
            ) as response:
                raw = bytearray()
                for chunk in response.iter_bytes():
                    raw += chunk
                    if len(raw) > _LARGEST_REPLY:
                        return "its reply does not end", None
                    if time.monotonic() > until:
                        return f"no whole reply within {self.timeout:g} s", None
        except httpx.TimeoutException:
            return f"no reply within {self.timeout:g} s", None
        except (httpx.TransportError, httpx.DecodingError) as error:
            return f"the connection failed, {type(error).__name__}", None
        except httpx.InvalidURL:
            raise ChatError(f"{self.url}: no address of an endpoint; correct it") from None
        if response.status_code in _AGAIN:
            return f"status {response.status_code}", _seconds(response.headers.get("Retry-After"))
        text = raw.decode("utf-8", "replace")
        if response.status_code != 200:
            raise ChatError(
                f"{self.url}: status {response.status_code}, {self._said(text)}; check the "
                f"address, the model {self.name!r} and the variable {KEY}"
            )
        return _reply(text)

    def _said(self, text: str) -> str:
        """Return what an endpoint says of a refusal, short, in one line and without the key."""
        try:
            found = json_of(text)
            error = found.get("error", found)
            text = error.get("message", error) if isinstance(error, dict) else error
        except (ValueError, AttributeError):
            pass
        line = visible(" ".join(str(text).split()))
        line = line.replace(self._key, "***") if self._key else line
        return line[:200] or "nothing said"


def _reply(text: str) -> Reply | tuple[str, None]:
    try:
        found = json_of(text)
        said = found["choices"][0]["message"]["content"]
    except (ValueError, TypeError, KeyError, IndexError):
        return "what came is no chat completion", None
    if not isinstance(said, str):
        return "the reply has no text", None
    usage = found.get("usage")
    told = usage if isinstance(usage, dict) else {}
    counts = [told.get(name) for name in ("prompt_tokens", "completion_tokens")]
    return Reply(said, *(one if type(one) is int and one >= 0 else None for one in counts))


def _body(model: str, request: Request) -> dict[str, Any]:
    content: Any = request.text
    if request.image is not None:
        content = [
            {"type": "image_url", "image_url": {"url": data_url(request.image)}},
            {"type": "text", "text": request.text},
        ]
    messages = [{"role": "system", "content": request.system}] if request.system else []
    body = {
        "model": model,
        "messages": [*messages, {"role": "user", "content": content}],
        "seed": request.seed,
        "temperature": request.temperature,
        "max_tokens": request.most_tokens,
    }
    if request.schema is not None:
        form = {"name": "reply", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def data_url(image: Any) -> str:
    """Return an image of PIL as an address that holds it, as PNG."""
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def _seconds(text: str | None) -> float | None:
    try:
        found = float(text)
    except (TypeError, ValueError):
        return None
    return found if 0 <= found < 1e9 else None


def _without_login(url: str) -> str:
    """Return an address without what stands before an @, which may be a password."""
    return url.rpartition("@")[2]
