"""Requests to a web service with OpenAI's client, recorded in a ledger."""

import contextlib
import math
import os
import re
import threading
import time
import warnings
from collections.abc import Mapping
from typing import Any

import httpx2
import openai
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from pqpp_backbones.chat.chat import Budget, parse_json_reply
from pqpp_backbones.errors import ServiceError
from pqpp_files.escape import escape_controls

_MAX_REPLY_BYTES = 60_000_000  # bytes, like an image of 4096 x 4096 in base64
# Requests with these statuses are not billed. After a gateway timeout (504, 524), they may be.
UNBILLED = {*range(300, 500), 503, 529} - {408}
FEWER_LOGPROBS = 5
"""The number of likeliest tokens from services that refuse more."""
_TOO_MANY = f"top_logprobs above {FEWER_LOGPROBS}"
# Parameters that some services refuse.
_OPTIONAL = ("max_tokens", "temperature", "seed", "logprobs", "top_logprobs", "response_format")


class Service:
    """A web service, with its key and the budget of its calls.

    Args:
        url: The address up to `/v1`, like `http://localhost:8000/v1`.
        key_env: The environment variable of the key, which is never logged, shown or saved.
        budget: The limit on spending.
        timeout: The time limit for a reply, in seconds.
        tries: The maximum number of tries per request.

    Attributes:
        refused: Names of parameters that the service refuses; they are no longer sent.

    Raises:
        ServiceError: The address is not an HTTP address, or the key contains invalid characters.
    """

    def __init__(
        self, url: str, key_env: str, budget: Budget, timeout: float = 120.0, tries: int = 4
    ) -> None:
        # The text before an @ may be a password.
        address = f"{url.rpartition('@')[2]!r} is not the address of an endpoint; write one like "
        address += f"http://localhost:8000/v1, and put the key in the variable {key_env}"
        if not url.startswith(("http://", "https://")) or "@" in url:
            raise ServiceError(address)
        self.url, self.key_env, self.budget = url.rstrip("/"), key_env, budget
        self.timeout, self.tries, self.refused = timeout, tries, set[str]()
        self._key = os.environ.get(key_env, "").strip()
        if not self._key.isascii() or any(letter <= " " for letter in self._key):
            raise ServiceError(
                f"the key in {key_env} contains spaces or non-ASCII characters; correct the key"
            )
        self._http = _LedgerClient(budget, timeout)
        # OpenAI's own environment variables must not be sent to other addresses.
        unset: Any = dict.fromkeys(("OpenAI-Organization", "OpenAI-Project"), openai.Omit())
        try:
            self.client = openai.OpenAI(
                api_key=self._key or "none",
                base_url=self.url,
                max_retries=tries - 1,
                timeout=timeout,
                http_client=self._http,
                default_headers=unset,
            )
        except httpx2.InvalidURL:
            raise ServiceError(address) from None
        auth: Any = f"Bearer {self._key}" if self._key else openai.Omit()
        self._options: Any = {"headers": {"Authorization": auth}}

    def post(
        self, path: str, body: Mapping[str, Any], max_cost: float, **fields: str
    ) -> tuple[Any, int]:
        """Send a request, and return the JSON reply and the call's index in the ledger.

        If the service refuses a parameter by name, the request is sent again without it. The caller
        must record the actual cost.

        Args:
            path: The path below the address, like `/chat/completions`.
            body: The JSON body.
            max_cost: The maximum cost of each try.
            fields: Further fields of the entries in the ledger, such as the key of the reply.

        Raises:
            ServiceError: The service refuses the request, all tries fail, or the budget is
                exceeded.
        """
        while True:
            payload = self.drop_refused_parameters(body)
            self._http.current.most, self._http.current.fields = max_cost, fields
            try:
                answer = self.client.post(
                    path, cast_to=httpx2.Response, body=payload, options=self._options
                )
                break
            except openai.APIError as error:
                refusal = self.make_error(error, body.get("model"))
                names_parameter = refusal.status in (400, 422) and not refusal.affects_one_request
                if not (names_parameter and self._record_refused(payload, refusal.reply)):
                    raise refusal from None
        text = self.hide_key(answer.text)
        try:
            if not text.startswith(("data:", "event:", ":")):
                return parse_json_reply(text), self._http.current.call
            events = httpx2.Response(200, text=text)
            chunks = openai.Stream(cast_to=ChatCompletionChunk, response=events, client=self.client)
            state = ChatCompletionStreamState()
            for chunk in chunks:
                state.handle_chunk(chunk)
            return state.current_completion_snapshot.to_dict(), self._http.current.call
        except AssertionError:  # the stream had no chunk
            return {"choices": []}, self._http.current.call
        except openai.APIError as error:
            why = escape_controls(str(error))
            raise ServiceError(f"{self.url}: {why}; correct the request, or try later") from None
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
            raise ServiceError(f"{self.url}: the reply is not JSON; check the address") from None

    def drop_refused_parameters(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body without the parameters in `refused`."""
        payload = {name: value for name, value in body.items() if name not in self.refused}
        if "max_tokens" in self.refused and "max_tokens" in body:
            payload["max_completion_tokens"] = body["max_tokens"]
        if "logprobs" in self.refused:
            payload.pop("top_logprobs", None)
        if _TOO_MANY in self.refused and "top_logprobs" in payload:
            payload["top_logprobs"] = FEWER_LOGPROBS
        return payload

    def _record_refused(self, payload: Mapping[str, Any], reply: str) -> bool:
        """Record the parameters that a reply refuses; return whether there are any."""
        names = {name for name in _OPTIONAL if name in payload and re.search(rf"\b{name}\b", reply)}
        if "top_logprobs" in names and payload["top_logprobs"] > FEWER_LOGPROBS:
            names = names - {"top_logprobs", "logprobs"} | {_TOO_MANY}
        for name in sorted(names - self.refused):
            warnings.warn(f"{self.url} refuses {name}; retrying without {name}", stacklevel=4)
        self.refused |= names
        return bool(names)

    def make_error(self, error: openai.APIError, model: Any = None) -> ServiceError:
        """Convert an error of the client to a `ServiceError`."""
        if isinstance(error, openai.APIStatusError):
            status, message = error.status_code, error.message.partition(" - ")[2]
            parts = map(str, filter(None, (message or error.body, error.code, error.param)))
            reply = escape_controls(self.hide_key(" ".join(" ".join(parts).split())))[:200]
            line = f"{self.url}: status {status}, {reply}; check the address, the model "
            return ServiceError(f"{line}{model!r} and the variable {self.key_env}", status, reply)
        cause = error.__cause__
        why = f"{type(cause).__name__}: {escape_controls(str(cause))}"[:200]
        tries = f"{self.tries} tries of up to {self.timeout:g} s"
        return ServiceError(f"{self.url}: no reply in {tries} ({why}); try again later")

    def hide_key(self, text: str) -> str:
        """Replace the key by asterisks in text."""
        return text.replace(self._key, "***") if self._key else text


class BoundedClient(httpx2.Client):
    """An HTTP client that limits the size and the duration of replies."""

    def __init__(self, timeout: float, max_bytes: int, max_seconds: float = math.inf) -> None:
        headers = {"accept-encoding": "identity"}  # a compressed reply could expand to any size
        super().__init__(timeout=timeout, follow_redirects=False, headers=headers)
        self._max_bytes, self._max_seconds = max_bytes, max_seconds

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request, and read the whole response."""
        deadline, content = time.monotonic() + self._max_seconds, bytearray()
        with contextlib.closing(super().send(request, **{**options, "stream": True})) as response:
            for chunk in response.iter_raw():
                content += chunk
                if len(content) > self._max_bytes:
                    raise httpx2.ReadError("the reply is too large")
                if time.monotonic() > deadline:
                    raise httpx2.ReadTimeout("the reply took too long")
        omitted = (b"content-encoding", b"content-length", b"transfer-encoding")
        headers = [pair for pair in response.headers.raw if pair[0].lower() not in omitted]
        fields: dict[str, Any] = {"headers": headers, "content": bytes(content), "request": request}
        copy = httpx2.Response(response.status_code, **fields)
        copy.encoding = "utf-8"  # else the service could choose any of Python's codecs
        return copy


class _LedgerClient(BoundedClient):
    """A client that records each try in the ledger before sending it."""

    def __init__(self, budget: Budget, timeout: float) -> None:
        super().__init__(timeout, _MAX_REPLY_BYTES, timeout)
        self.budget, self.current = budget, threading.local()

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        call = self.current.call = self.budget.record_call(self.current.most, **self.current.fields)
        try:
            response = super().send(request, **options)
        except httpx2.ConnectError:
            self.budget.ledger.record_cost(call, 0.0)
            raise
        if response.status_code in UNBILLED:
            self.budget.ledger.record_cost(call, 0.0)
        if b"insufficient_quota" in response.content:
            response.headers["x-should-retry"] = "false"
        return response
