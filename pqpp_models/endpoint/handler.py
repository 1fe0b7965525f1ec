"""Serve a predictor on a Hugging Face Inference Endpoint.

This file is part of the predictor's repository. The endpoint's toolkit installs `requirements.txt`,
creates one `EndpointHandler` from the folder, and calls it with each request.
"""

from typing import Any

from pqpp_models import Predictor


class EndpointHandler:
    """A handler of `{"inputs": PROMPT or PROMPTS, "parameters": {"targets": NAMES}}`.

    Args:
        path: The folder of the repository.

    Example:
        >>> import tempfile
        >>> folder = Predictor.from_pretrained("n_words").save_pretrained(tempfile.mkdtemp())
        >>> EndpointHandler(str(folder))({"inputs": ["a red cat", " "]})
        [{'score': 3.0}, {'score': None}]
    """

    def __init__(self, path: str = "") -> None:
        self.predictor = Predictor.from_pretrained(path)

    def __call__(self, data: dict[str, Any]) -> list[dict[str, float | None]]:
        """Return each prompt's values by target, which are None for a blank prompt."""
        inputs, targets = data["inputs"], (data.get("parameters") or {}).get("targets")
        prompts = [inputs] if isinstance(inputs, str) else inputs
        names = self.predictor.list_columns(targets)
        values = self.predictor.predict(prompts, targets).tolist()
        # JSON has no NaN; only NaN differs from itself.
        rows = ([value if value == value else None for value in row] for row in values)
        return [dict(zip(names, row, strict=True)) for row in rows]
