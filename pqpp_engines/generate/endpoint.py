"""Images from any endpoint that speaks OpenAI's images: LocalAI, vLLM, hosted ones."""

import base64
import binascii
from typing import Any

from pqpp_backbones.chat.chat import Budget, json_of
from pqpp_backbones.chat.service import NoAnswer, Service
from pqpp_backbones.errors import ServiceError
from pqpp_engines.errors import EngineError
from pqpp_engines.generate.generators import Generator, Made, Wanted
from pqpp_files.errors import FileError
from pqpp_files.foreign.images import image_header, open_image
from pqpp_files.visible import visible

KEY = "PQPP_IMAGES_KEY"
"""The environment's variable that holds the key; it is in no log, error or file."""

_LARGEST = 60_000_000  # bytes of an answer; an image of 4096 x 4096 as base64 is smaller
_MOST_PIXELS = 8192 * 8192
# What servers leave out of OpenAI's words, or the hosted ones refuse: sent until it is refused.
_OPTIONAL = ("seed", "response_format")


class EndpointGenerator(Generator):
    """A model behind an endpoint; each image is one call.

    The seed is sent. An endpoint that refuses it by name is asked without, and the image's JSON
    says so: such an image cannot be made again. A prompt that its rules refuse has no image.

    Args:
        url: Up to `/v1`, as `http://localhost:8000/v1`.
        model: The model's name there.
        name: What the model is called in files; its name there if left out.
        height: Of the images, in pixels, with `width`; the endpoint's own if left out.
        width: See `height`.
        budget: What may be spent; without a limit by default.
        timeout: Seconds that an image may take.
        **patience: `tries`, `wait` and `sleep` of `Service`.

    Raises:
        ServiceError: The address or the key cannot be one.
        EngineError: One of height and width is missing.

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
        timeout: float = 300.0,
        **patience: Any,
    ) -> None:
        if (height is None) != (width is None):
            raise EngineError("an endpoint needs both height and width, or neither; give both")
        self._service = Service(url, KEY, timeout, largest=_LARGEST, **patience)
        self.model, self.name = model, name or model.rpartition("/")[2].casefold()
        self.budget: Budget = budget or Budget()
        self.settings = {"model_id": model, "endpoint": self._service.url}
        self.settings |= {"height": height, "width": width}
        self._body = {"model": model, "n": 1, "response_format": "b64_json"}
        self._body |= {"size": f"{width}x{height}"} if width else {}
        self._unknown: set[str] = set()

    def make_one(self, wanted: Wanted) -> Made:
        """See `Generator.make_one`; one call an image."""
        asked = {**self._body, "prompt": wanted.prompt, "seed": wanted.seed % 2**31}

        def read_paid(text: str) -> tuple[Any, dict[str, Any]] | NoAnswer:
            self.budget.spend()  # whatever is in it
            return _read(text)

        while True:
            body = {name: value for name, value in asked.items() if name not in self._unknown}
            try:
                image, facts = self._service.ask(
                    "/images/generations", body, read_paid, self.budget.admit
                )
            except ServiceError as error:
                if error.status in (400, 422):  # it may say what it does not know
                    named = {name for name in _OPTIONAL if name in error.said} - self._unknown
                    self._unknown |= named
                    if named:
                        continue
                if error.refuses_content:
                    return Made(None, True, {"refused": error.said})
                raise
            facts["seed"] = body.get("seed")
            return Made(image, None, facts)


def _read(text: str) -> tuple[Any, dict[str, Any]] | NoAnswer:
    """Return the image of an answer, and the prompt where the endpoint has changed it."""
    try:
        answer = json_of(text)["data"][0]
        raw = base64.b64decode(answer["b64_json"], validate=True)
    except (ValueError, TypeError, KeyError, IndexError, binascii.Error):
        return NoAnswer("what came is no image as b64_json")
    try:
        header = image_header(raw)
        if header.width * header.height > _MOST_PIXELS:
            return NoAnswer(f"the image has {header.width} x {header.height} pixels")
        opened = open_image(raw)
    except FileError:
        return NoAnswer("what came is no whole image")
    revised = answer.get("revised_prompt")
    return opened, {"revised_prompt": visible(revised)} if isinstance(revised, str) else {}
