"""Chat models at an endpoint or in this process, and the options that choose one."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from pqpp_backbones.chat.chat import (
    MAX_TOP_LOGPROBS,
    Budget,
    Chat,
    Reply,
    Request,
    read_completion,
    strip_thinking,
    sum_probs,
    to_data_url,
)
from pqpp_backbones.chat.ledger import Ledger
from pqpp_backbones.errors import ModelError, ServiceError
from pqpp_files.errors import PqppError, reraise
from pqpp_files.escape import escape_controls
from pqpp_files.extras import require_extra
from pqpp_files.options.option import Options, get_fields, option
from pqpp_files.options.recipe import build_recipe

KEY = "PQPP_CHAT_KEY"
"""The environment variable of the key, which is never logged, shown or saved."""


class Endpoint(Chat):
    """A chat model at an endpoint.

    Args:
        url: The address up to `/v1`, like `http://localhost:8000/v1`.
        model: The model's name at the endpoint.
        budget: The limit on spending; default: no limit.
        batch: Whether `prepare` fetches all replies as a batch, at half the price; the ledger must
            be a file.
        **patience: `timeout` and `tries` of `Service`.

    Raises:
        ServiceError: The address is not an HTTP address, or the key contains invalid characters.

    Example:
        >>> Endpoint("localhost:8000", "qwen")
        Traceback (most recent call last):
        pqpp_backbones.errors.ServiceError: 'localhost:8000' is not the address ...
    """

    def __init__(
        self,
        url: str,
        model: str,
        budget: Budget | None = None,
        *,
        batch: bool = False,
        **patience: Any,
    ) -> None:
        with require_extra("an endpoint", "chat"):
            from pqpp_backbones.chat.service import Service

        self.name, self.budget = model, budget or Budget()
        self.service = Service(url, KEY, self.budget, **patience)
        self.url, self.max_parallel, self.batch = self.service.url, 8, batch

    def prepare(self, requests: Iterable[Request]) -> None:
        """Check the budget, and fetch the replies if `batch` is set."""
        if not self.batch:
            return super().prepare(requests)
        from pqpp_backbones.chat.batch import fetch_replies

        fetch_replies(self, requests)

    def _send(self, request: Request, fields: dict[str, str]) -> Reply:
        body, most = request.to_body(self.name), self.budget.get_max_cost(request, self.name)
        completion, call = self.service.post("/chat/completions", body, most, **fields)
        try:
            reply = read_completion(request.answers, completion)
        except (TypeError, KeyError, AttributeError):
            excerpt = escape_controls(str(completion))[:200]
            line = f"{self.url}: the reply is not a chat completion ({excerpt}); check the address"
            raise ServiceError(line) from None
        self.budget.record_cost(call, request, reply, self.name)
        return reply


_VISION_CLASS = "AutoModelForImageTextToText"


class LocalChat(Chat):
    """A chat model in this process.

    Args:
        model: A transformers model in evaluation mode, on its device.
        processor: The model's processor, or its tokenizer if the model does not accept images.
        name: The model's name in results.
        budget: The limit on spending; default: no limit.
    """

    def __init__(self, model: Any, processor: Any, name: str, budget: Budget | None = None) -> None:
        self.model, self.processor, self.name = model, processor, name
        self.budget = budget or Budget()

    def _send(self, request: Request, fields: dict[str, str]) -> Reply:
        if getattr(self.processor, "chat_template", None) is None:
            raise ServiceError(f"{self.name} has no chat template; use a chat model")
        images = hasattr(self.processor, "image_processor")
        if request.image is not None and not images:
            raise ServiceError(f"{self.name} does not accept images; use a vision-language model")
        call = self.budget.record_call(self.budget.get_max_cost(request, self.name), **fields)
        with reraise(f"{self.name} failed", "use another chat model", ModelError):
            reply = self._reply(request, images)
        self.budget.record_cost(call, request, reply, self.name)
        return reply

    def _reply(self, request: Request, images: bool) -> Reply:
        import torch

        messages: list[dict[str, Any]] = [
            {"role": role, "content": [{"type": "text", "text": text}] if images else text}
            for role, text in (("system", request.system), ("user", request.text))
            if text
        ]
        if request.image is not None:
            # As text, since a template may call the methods of an image, which can write files.
            messages[-1]["content"].insert(0, {"type": "image", "url": to_data_url(request.image)})
        form = {"tokenize": True, "return_dict": True, "return_tensors": "pt"}
        inputs = self.processor.apply_chat_template(messages, add_generation_prompt=True, **form)
        model = self.model
        model_inputs = {
            name: value.to(model.device, model.dtype if value.is_floating_point() else None)
            for name, value in inputs.items()
        }
        # The model's settings may ask to compile it.
        options: dict[str, Any] = {"max_new_tokens": request.max_tokens, "disable_compile": True}
        options |= {"return_dict_in_generate": True, "output_logits": bool(request.answers)}
        options["do_sample"] = request.temperature > 0
        if request.temperature > 0:
            options["temperature"] = request.temperature
        devices = [model.device] if model.device.type == "cuda" else []
        with torch.inference_mode(), torch.random.fork_rng(devices):
            torch.manual_seed(request.seed)
            generated = model.generate(**model_inputs, **options)
        n_input, tokens = model_inputs["input_ids"].shape[1], generated.sequences[0]
        text = self.processor.decode(tokens[n_input:], skip_special_tokens=True)
        probs = None
        if request.answers:
            log_probs = generated.logits[0][0].float().log_softmax(-1)
            top = log_probs.topk(min(MAX_TOP_LOGPROBS, len(log_probs)))
            texts = map(self.processor.decode, top.indices.unsqueeze(-1))
            probs = sum_probs(zip(texts, top.values.tolist(), strict=True), request.answers)
        return Reply(strip_thinking(text), n_input, len(tokens) - n_input, probs)


def load_local_chat(
    name: str,
    budget: Budget | None = None,
    device: str | None = None,
    dtype: str = "float32",
    images: bool = False,
) -> LocalChat:
    """Load a chat model from a folder or the Hub.

    Args:
        name: A folder, `OWNER/REPOSITORY` or `OWNER/REPOSITORY@REVISION`; only safetensors are
            read, and no code is run.
        budget: The limit on spending; default: no limit.
        dtype: The number format.
        images: Whether the model must accept images.

    Raises:
        ModelError: The model is not available or is of another type.

    Example:
        >>> load_local_chat("no-such-folder")
        Traceback (most recent call last):
        pqpp_backbones.errors.ModelError: chat model: no-such-folder is ...
    """
    from pqpp_backbones.pretrained import load_model

    what = "vision-language model" if images else "chat model"
    loaded = load_model(name, _VISION_CLASS if images else _choose_auto_class, what, device, dtype)
    revision = f"{loaded.identity.name}@{loaded.identity.revision}"
    return LocalChat(loaded.model, loaded.processor, revision, budget)


def _choose_auto_class(config: Any) -> str:
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING

    images = type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    return _VISION_CLASS if images else "AutoModelForCausalLM"


@dataclass(frozen=True, kw_only=True)
class ChatOptions(Options):
    """Options of the chat model and the budget of its calls.

    Example:
        >>> ChatOptions(chat_model="m", max_calls=3).make_budget().max_calls
        3

    Attributes:
        chat_url: URL of an endpoint with OpenAI's chat completions API, up to /v1; set its key in
            PQPP_CHAT_KEY (default: run the model locally).
        chat_model: Language model: a name at --chat-url, or a folder or OWNER/REPOSITORY.
        max_cost: Maximum cost of the calls; needs --prices.
        prices: Price of a million input and output tokens; MODEL= sets it for one model.
        ledger: File of calls and replies; a rerun reuses the replies and counts them against
            the limits.
        batch: Send the questions as a batch: half the price, replies within a day. If it is
            stopped, the same command with the same ledger continues.
    """

    chat_url: str | None = option(None, metavar="URL", goes_with="chat_model")
    chat_model: str | None = option(None, metavar="NAME")
    max_calls: int | None = option(None, "maximum number of calls", gt=0, goes_with="chat_model")
    max_cost: float | None = option(None, metavar="SUM", gt=0, goes_with="chat_model")
    prices: list[str] = option([], metavar="[MODEL=]IN,OUT", commas=False)
    ledger: str | None = option(None, metavar="FILE", goes_with="chat_model")
    batch: bool = option(False, goes_with="ledger")

    @classmethod
    def from_environment(cls, chat_model: str) -> Self:
        """Read the options from environment variables like PQPP_CHAT_URL.

        Args:
            chat_model: The model if PQPP_CHAT_MODEL is not set.
        """
        values = {f.name: os.environ.get(f"PQPP_{f.name.upper()}") for f in get_fields(cls)}
        options: dict[str, Any] = {name: text for name, text in values.items() if text}
        if "batch" in options:
            options["batch"] = options["batch"] not in ("0", "false")
        return build_recipe(cls, {"chat_model": chat_model, **options})

    def __post_init__(self) -> None:
        """Check the options, including the prices."""
        super().__post_init__()
        if self.batch and not (self.chat_url and self.ledger):
            raise PqppError("`batch` needs `chat_url` and `ledger`; set both")
        self.make_budget()

    def make_budget(self) -> Budget:
        """Return the budget that the options describe."""
        prices = {}
        for text in self.prices:
            match = re.fullmatch(r"(?:(.+)=)?(\d{0,9}\.?\d+),(\d{0,9}\.?\d+)", text, re.ASCII)
            if not match:
                raise PqppError(f"`prices` must be [MODEL=]IN,OUT, like 0.15,0.6; got {text!r:.60}")
            prices[match[1] or ""] = float(match[2]), float(match[3])
        if self.max_cost is not None and not prices:
            raise PqppError("`max_cost` needs token prices; set `prices`")
        return Budget(self.max_calls, self.max_cost, prices, ledger=Ledger(self.ledger))

    def open_chat(self, name: str, budget: Budget, *device: Any, **options: Any) -> Chat:
        """Return the model at the endpoint, or a local model if no endpoint is set.

        Args:
            budget: The limit on spending.
            *device: The device and number format of a local model.
            **options: `images` of `load_local_chat`.

        Raises:
            ServiceError: The address of the endpoint is invalid.
            ModelError: The local model cannot be loaded.
        """
        if self.chat_url:
            return Endpoint(self.chat_url, name, budget, batch=self.batch)
        return load_local_chat(name, budget, *device, **options)
