"""Generate images at an endpoint with OpenAI's images API, such as LocalAI or vLLM."""

import base64
import re
from typing import Any

from pqpp_backbones.chat.chat import Budget
from pqpp_backbones.errors import ServiceError
from pqpp_engines.errors import EngineError
from pqpp_engines.generate.generators import GeneratedImage, Generator, ImageRequest
from pqpp_files.errors import FileError
from pqpp_files.escape import escape_controls
from pqpp_files.extras import require_extra
from pqpp_files.foreign.images import open_image

#: The environment variable with the API key, which is in no log, error or file.
KEY = "PQPP_IMAGES_KEY"


class EndpointGenerator(Generator):
    """A model behind an endpoint; each image needs one call.

    Each request contains the seed. If the endpoint refuses this parameter, requests are sent
    without it, and the image's JSON file records that the image is not reproducible. A refused
    prompt, or a paid reply without an image, gives no image.

    Args:
        url: Address up to `/v1`, such as `http://localhost:8000/v1`.
        model: The model's name at the endpoint.
        name: The model's name in files; default: the end of `model` after `/`, in lower case.
        height: Height of the images in pixels, together with `width`; default: the endpoint's.
        width: Width of the images in pixels; see `height`.
        budget: The limit on spending; default: no limit.
        **patience: `timeout` (default: 300 seconds) and `tries` for `Service`.

    Raises:
        ServiceError: The address or the key is invalid.
        EngineError: Only `height` or only `width` is set.

    Example:
        >>> EndpointGenerator("localhost:8000", "flux")
        Traceback (most recent call last):
        pqpp_backbones.errors.ServiceError: 'localhost:8000' is not the address ...
    """

    def __init__(
        self,
        url: str,
        model: str,
        name: str = "",
        height: int | None = None,
        width: int | None = None,
        budget: Budget | None = None,
        **patience: Any,
    ) -> None:
        if (height is None) != (width is None):
            raise EngineError("only one of `height` and `width` is set; set both or neither")
        with require_extra("an endpoint", "chat"):
            from pqpp_backbones.chat.service import Service

        self.budget: Budget = budget or Budget()
        self._service = Service(url, KEY, self.budget, **{"timeout": 300.0, **patience})
        self.model, self.name = model, name or model.rpartition("/")[2].casefold()
        self.settings = {"model_id": model, "endpoint": self._service.url}
        self.settings |= {"height": height, "width": width}
        self._body = {"model": model, "n": 1, "response_format": "b64_json"}
        self._body |= {"size": f"{width}x{height}"} if width else {}

    def generate_one(self, request: ImageRequest) -> GeneratedImage:
        """Return an image from one call, or the reason why there is none."""
        body = {**self._body, "prompt": request.prompt, "seed": request.seed % 2**31}
        try:
            answer, call = self._service.post("/images/generations", body, self.budget.price_call)
        except ServiceError as error:
            if error.affects_one_request:
                return GeneratedImage(None, True, {"refused": error.reply})
            raise
        self.budget.ledger.record_cost(call, self.budget.price_call)
        if not isinstance(answer, dict) or "data" not in answer:
            raise ServiceError(f"{self._service.url} returned no image; check the address")
        items = answer["data"] if isinstance(answer["data"], list) else []
        item = items[0] if items and isinstance(items[0], dict) else {}
        image, reason = _read_image(item)
        info = {"seed": None if "seed" in self._service.refused else body["seed"]}
        if isinstance(item.get("revised_prompt"), str):
            info["revised_prompt"] = escape_controls(item["revised_prompt"])
        return GeneratedImage(image, None, info if image else {"refused": reason})


def _read_image(reply: dict[str, Any]) -> tuple[Any, str]:
    """Return the image of a reply, or the reason why there is none."""
    content = reply.get("b64_json") or reply.get("url")
    if not isinstance(content, str):
        return None, "the reply has no image"
    if content.startswith(("http://", "https://")):
        return None, "the reply is a URL instead of the requested b64_json"
    try:
        return open_image(base64.b64decode(re.sub(r"^data:[^,]*,", "", content), validate=True)), ""
    except (ValueError, FileError):
        return None, "the reply is not a complete image"
