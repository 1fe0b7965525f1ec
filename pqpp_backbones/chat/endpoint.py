"""Any endpoint that speaks OpenAI's chat completions: vLLM, llama.cpp, hosted ones."""

import base64
import functools
import io
from collections.abc import Sequence
from typing import Any

from pqpp_backbones.chat.chat import MOST_TOLD, Budget, Chat, Reply, Request, chances_of, json_of
from pqpp_backbones.chat.service import NoAnswer, Service

KEY = "PQPP_CHAT_KEY"
"""The environment's variable that holds the key; it is in no log, error or file."""


class Endpoint(Chat):
    """A model behind an endpoint.

    Args:
        url: Up to `/v1`, as `http://localhost:8000/v1`.
        model: The model's name there.
        budget: What may be spent; without a limit by default.
        **patience: `timeout`, `tries`, `wait` and `sleep` of `Service`.

    Raises:
        ChatError: The address is none of http or https, or the key in the environment has
            characters that no key has.

    Example:
        >>> Endpoint("localhost:8000", "qwen")
        Traceback (most recent call last):
        pqpp_backbones.chat.service.ServiceError: 'localhost:8000' is not the address ...
    """

    def __init__(self, url: str, model: str, budget: Budget | None = None, **patience: Any) -> None:
        self._service = Service(url, KEY, **patience)
        self.url, self.name = self._service.url, model
        self.budget = budget or Budget()

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.name!r})"

    def ask(self, request: Request) -> Reply:
        """Return the reply to one question, asked again where the endpoint is busy or cut off."""
        body = _body(self.name, request)
        read = functools.partial(_reply, request.answers)
        admit = functools.partial(self.budget.admit, request)
        reply = self._service.ask("/chat/completions", body, read, admit)
        self.budget.spend(request, reply)
        return reply


def _reply(answers: Sequence[str], text: str) -> Reply | NoAnswer:
    try:
        completion = json_of(text)
        reply = completion["choices"][0]["message"]["content"]
    except (ValueError, TypeError, KeyError, IndexError):
        return NoAnswer("what came is no chat completion")
    if not isinstance(reply, str):
        return NoAnswer("the reply has no text")
    usage = completion.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    asked, said = (n if type(n) is int and n >= 0 else None for n in counts)
    return Reply(reply, asked, said, _chances(completion["choices"][0], answers))


def _chances(choice: dict[str, Any], answers: Sequence[str]) -> dict[str, float] | None:
    """Return the probabilities of answers; None where none are wanted or told."""
    try:
        top = choice["logprobs"]["content"][0]["top_logprobs"] if answers else None
        return top and chances_of([(t["token"], float(t["logprob"])) for t in top], answers)
    except (TypeError, KeyError, IndexError, ValueError, AttributeError):
        return None


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
    if request.answers:
        body |= {"logprobs": True, "top_logprobs": MOST_TOLD}
    if request.schema is not None:
        form = {"name": "reply", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def data_url(image: Any) -> str:
    """Return an image of PIL as an address that holds it, as PNG."""
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
