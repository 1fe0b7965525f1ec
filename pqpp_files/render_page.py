"""Filling the template of an HTML page, so that no value can break out of its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def render_page(template: Path, /, **facts: Any) -> str:
    """Return an HTML page: every value is escaped, a missing one is an error of ours.

    A float is written in the template by the filter `figure`: three digits, or "-" for none.

    Args:
        template: The template's file, with Jinja2's marks.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "page.html"
        >>> _ = path.write_text("<b>{{ name }}</b> {{ score | figure }}")
        >>> render_page(path, name="<i>", score=0.5)
        '<b>&lt;i&gt;</b> 0.500'
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["figure"] = _figure
    return environment.from_string(template.read_text("utf-8")).render(facts)


def _figure(value: float | None) -> str:
    return "-" if value is None or value != value else f"{value:.3f}"
