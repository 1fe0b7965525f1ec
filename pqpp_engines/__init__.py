"""Images for prompts: which model a prompt goes to, and what its answers cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pqpp_engines.ray_data import ray_predict

__all__ = ["ray_predict"]


def __getattr__(name: str) -> Any:
    """Import at first use, so that the package costs nothing."""
    if name != "ray_predict":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pqpp_engines.ray_data import ray_predict

    return ray_predict
