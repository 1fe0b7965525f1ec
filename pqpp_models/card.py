"""What the cards of the predictors that run on numpy have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_YAML = """\
---
license: apache-2.0
language: en
library_name: pqpp
tags:
- query-performance-prediction
- prompt-performance-prediction
- text-to-image
---
"""

PQPP = """\
Trained on PQPP (Poesina, Costache, Chifu, Mothe and Ionescu, "PQPP: A Joint Benchmark for
Text-to-Image Prompt and Query Performance Prediction", CVPR 2025)"""


def head(name: str, about: str, targets: Sequence[str]) -> str:
    """Return a card's YAML header, its title, and what the predictor does.

    Args:
        name: the predictor's name.
        about: Markdown with a place for ``{targets}``.
        targets: what it predicts.

    >>> head("static", "Predicts {targets}.", ["mean_rr"]).splitlines()[-2:]
    ['# static', 'Predicts `mean_rr`.']
    """
    named = ", ".join(f"`{target}`" for target in targets)
    return f"{_YAML}# {name}\n{about.format(targets=named)}"


def card(
    parts: Sequence[str], details: Mapping[str, Any], training: Callable[[], str], sources: str
) -> str:
    r"""Put a card together.

    Args:
        parts: head, scores and limits.
        details: what the configuration tells: without ``training``, nothing is told of it, and
            the sources are told where ``data`` is PQPP's.
        training: writes the section on the training.
        sources: the section on sources and licences.

    >>> card(["head", "scores"], {"data": "pqpp-v1.0"}, str, "sources")
    'head\nscores\nsources'
    """
    first, *rest = parts
    told = [training()] if details.get("training") else []
    last = [sources] if "pqpp-v1" in str(details.get("data", "")) else []
    return "\n".join([first, *told, *rest, *last])


def listed(values: Mapping[str, Any], number: Callable[[float], str] = str) -> str:
    """Return names and values in one line.

    Args:
        values: value by name.
        number: how a float is written.

    >>> listed({"seed": 0, "rate": 1e-3}, "{:g}".format)
    'seed 0, rate 0.001'
    """
    return ", ".join(
        f"{name} {number(value) if isinstance(value, float) else value}"
        for name, value in values.items()
    )
