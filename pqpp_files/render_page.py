"""Fill the template of an HTML page, with all values escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_files.escape import escape_controls
from pqpp_files.names import how_many

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

PARTS = Path(__file__).with_name("page_parts")
"""What all reports share: their base, macros and style."""


def load_templates(*folders: Path) -> Environment:
    """Return templates from folders; values are escaped, missing ones raise an error of pqpp.

    The filter `figure` writes a float with three digits, or "-" if it is missing; `how_many` writes
    a number with its noun. A report extends `report_base.html`.

    Args:
        folders: Folders to search in order, before `PARTS`.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "page.html").write_text("<b>{{ name }}</b>")
        >>> load_templates(folder).get_template("page.html").render(name="<i>")
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
    environment.filters["how_many"] = how_many
    environment.filters["figure"] = lambda x: "-" if x is None or x != x else f"{x:.3f}"
    return environment


def render_page(template: Path, /, **facts: Any) -> str:
    """Render an HTML page with `load_templates`; control characters are made visible.

    Args:
        template: The template's file, with Jinja2's marks.

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
    """A number in a `render_table`.

    Attributes:
        text: The text next to the bar.
        value: The sort key.
        start: Start of the bar, in percent of its width.
        stop: End of the bar; None for no bar.
    """

    text: str
    value: float | None = None
    start: float = 0.0
    stop: float | None = None

    @classmethod
    def make(
        cls, value: float | None, limits: tuple[float, float] | None, pattern: str = "{:.2f}"
    ) -> BarCell:
        """Return the cell of a number, with a bar from 0 or from the scale's lower end.

        Args:
            value: The number, None or NaN for none.
            limits: The ends of the scale; without it, there is no bar.
            pattern: The format of the number.

        Example:
            >>> BarCell.make(0.25, (-1.0, 1.0))
            BarCell(text='0.25', value=0.25, start=50.0, stop=62.5)
            >>> BarCell.make(None, (0.0, 1.0)).text
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
    headings: Sequence[str],
    rows: Iterable[Sequence[Any]],
    caption: str = "",
    sortable: bool = False,
) -> Markup:
    """Return an HTML table that needs no style sheet, for notebooks and pages.

    Args:
        headings: Headings of the columns.
        rows: Texts and numbers of each row; the first one names the row.
        caption: Text above the table.
        sortable: Whether headings are buttons, for a sorting script.

    Example:
        >>> "<b>" in render_table(["prompt", "rank"], [["<b>", BarCell.make(30.0, (0.0, 100.0))]])
        False
    """
    from markupsafe import Markup

    facts = {"headings": headings, "rows": rows, "caption": caption, "sortable": sortable}
    return Markup(render_page(PARTS / "bar_table.html", **facts))
