"""RAHF, the model of rich human feedback: scores, heatmaps and misaligned words of an image.

Liang et al., "Rich Human Feedback for Text-to-Image Generation", CVPR 2024. Importing this package
imports neither torch nor transformers.
"""

import importlib
from typing import Any

from pqpp_files.extras import require_extra

_HOMES = {
    "Feedback": "feedback",
    "FeedbackModel": "feedback",
    "RahfConfig": "configuration_rahf",
    "RahfForRichFeedback": "modeling_rahf",
    "RahfProcessor": "processing_rahf",
}
__all__ = ["Feedback", "FeedbackModel", "RahfConfig", "RahfForRichFeedback", "RahfProcessor"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with require_extra("RAHF", "models"):
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
