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
        """Return each prompt's values by target; None if it is blank or not plain English."""
        inputs, targets = data["inputs"], (data.get("parameters") or {}).get("targets")
        prompts = [inputs] if isinstance(inputs, str) else inputs
        records = self.predictor.predict_records(prompts, targets)
        # JSON has no NaN; only NaN differs from itself.
        return [{name: v if v == v else None for name, v in one.items()} for one in records]
