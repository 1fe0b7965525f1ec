"""Filling the template of an HTML page, so that no value can break out of its place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_files.names import how_many

if TYPE_CHECKING:
    from jinja2 import Environment

PARTS = Path(__file__).with_name("page_parts")
"""What all reports share: their base, macros and style."""


def page_templates(*folders: Path) -> Environment:
    """Return the templates of folders: every value is escaped, a missing one is an error of ours.

    A float is written in a template by the filter `figure`: three digits, or "-" for none; how many
    there are of a thing by `how_many`. A report extends `report_base.html`.

    Args:
        folders: A template's name is looked up in each in turn, last in `PARTS`.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "page.html").write_text("<b>{{ name }}</b>")
        >>> page_templates(folder).get_template("page.html").render(name="<i>")
        '<b>&lt;i&gt;</b>'
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([*folders, PARTS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"figure": _figure, "how_many": how_many}
    return environment


def render_page(template: Path, /, **facts: Any) -> str:
    """Return an HTML page, filled as `page_templates` fill.

    Args:
        template: The template's file, with Jinja2's marks.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "page.html"
        >>> _ = path.write_text("<b>{{ name }}</b> {{ score | figure }}")
        >>> render_page(path, name="<i>", score=0.5)
        '<b>&lt;i&gt;</b> 0.500'
    """
    return page_templates(template.parent).get_template(template.name).render(facts)


def _figure(value: float | None) -> str:
    return "-" if value is None or value != value else f"{value:.3f}"
