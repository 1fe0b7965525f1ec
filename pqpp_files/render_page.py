"""Fill the template of an HTML page, with all values escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pqpp_files.escape import escape_controls
from pqpp_files.names import pluralize

PARTS = Path(__file__).with_name("page_parts")
"""The folder of the base template, macros and style sheet of all reports."""


def load_templates(*folders: Path) -> Environment:
    """Return a Jinja environment that escapes values, and raises an error for missing ones.

    The filter `figure` formats a float with three decimals, or as "-" if it is missing; the filter
    `pluralize` formats a number with its noun.

    Args:
        *folders: Folders of templates, which precede `PARTS`.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "page.html").write_text("<b>{{ name }}</b>")
        >>> load_templates(folder).get_template("page.html").render(name="<i>")
        '<b>&lt;i&gt;</b>'
    """
    environment = Environment(loader=FileSystemLoader([*folders, PARTS]), autoescape=True)
    environment.undefined = StrictUndefined
    environment.trim_blocks = environment.lstrip_blocks = True
    environment.filters["pluralize"] = pluralize
    environment.filters["figure"] = lambda x: "-" if x is None or x != x else f"{x:.3f}"
    return environment


def render_page(template: Path, /, **facts: Any) -> str:
    """Return an HTML page from a Jinja template, with values and control characters escaped.

    Args:
        template: The template's file; it may use the templates next to it and those of `PARTS`.
        **facts: The template's variables.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "page.html"
        >>> _ = path.write_text("<b>{{ name }}</b> {{ score | figure }}")
        >>> render_page(path, name="<i>", score=0.5)
        '<b>&lt;i&gt;</b> 0.500'
    """
    templates = load_templates(template.parent)
    templates.finalize = lambda x: escape_controls(x, "\n\t") if type(x) is str else x
    return templates.get_template(template.name).render(facts)


@dataclass(frozen=True)
class BarCell:
    """A cell of `render_table` with a number and a bar.

    Attributes:
        text: The text next to the bar.
        value: The sort key.
        start: Start of the bar, in percent of the scale.
        stop: End of the bar, in percent of the scale; None for no bar.
    """

    text: str
    value: float | None = None
    start: float = 0.0
    stop: float | None = None

    @classmethod
    def make(cls, value: float | None, limits: tuple[float, float] | None, pattern: str) -> BarCell:
        """Return the cell of a number, with a bar from 0 to the number within the scale.

        Args:
            value: The number, None or NaN for none.
            limits: The ends of the scale; None for no bar.
            pattern: The format of the text.

        Example:
            >>> BarCell.make(0.25, (-1.0, 1.0), "{:.2f}")
            BarCell(text='0.25', value=0.25, start=50.0, stop=62.5)
            >>> BarCell.make(None, (0.0, 1.0), "").text
            '–'
        """
        if value is None or value != value:
            return cls("–")
        if limits is None:
            return cls(pattern.format(value), value)
        low, high = limits
        ends = sorted(100 * (min(max(end, low), high) - low) / (high - low) for end in (value, 0.0))
        return cls(pattern.format(value), value, *(round(end, 2) for end in ends))


def render_table(
    headings: Sequence[str], rows: Iterable[Sequence], caption: str = "", sortable: bool = False
) -> Markup:
    """Return an HTML table that needs no style sheet.

    Args:
        rows: Texts or `BarCell`s of each row; the first one is the row's heading.
        caption: Text above the table.
        sortable: Whether headings are buttons, for a sorting script.

    Example:
        >>> "<b>" in render_table(["prompt", "rank"], [["<b>", BarCell.make(30.0, (0.0, 9.0), "")]])
        False
    """
    facts = {"headings": headings, "rows": rows, "caption": caption, "sortable": sortable}
    return Markup(render_page(PARTS / "bar_table.html", **facts))
