"""Render cards from the Markdown templates in `hub_cards/`; values cannot change the layout."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from pqpp_files.escape import escape_cell, escape_controls


def render_card(name: str, /, **facts: Any) -> str:
    """Return the card template `hub_cards/<name>.md` filled with facts.

    Each value becomes one line in which marks are escaped and backticks become apostrophes;
    `markupsafe.Markup` is not changed. The templates have these filters:

    - `yaml`: JSON on one line, for a value of the front matter
    - `block`: text with its line breaks, for a fenced block
    - `listed`: a mapping as "seed 0, rate 0.001"
    - `figure`: a number as "0.500", None as an empty string

    Args:
        name: The template's path without `.md`, like `datasets/conqa`.
        **facts: The template's variables; a missing one is an error.
    """
    return _make_environment().get_template(f"{name}.md").render(facts)


@cache
def _make_environment() -> Any:
    import jinja2

    folder = Path(__file__).parent
    environment = jinja2.Environment(
        # At the top of a checkout, or next to this module in an installed package.
        loader=jinja2.FileSystemLoader([folder.parent / "hub_cards", folder / "cards"]),
        undefined=jinja2.StrictUndefined,
        autoescape=True,  # the output of a macro is marked as safe
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_to_one_line,
    )
    environment.filters |= {"yaml": _to_yaml, "listed": _to_text}
    environment.filters["figure"] = lambda value: "" if value is None else f"{value:.3f}"
    environment.filters["block"] = lambda value: Markup(
        escape_controls(str(value), "\n\t").replace("```", "'''")
    )
    return environment


def _to_text(values: Mapping[str, Any]) -> str:
    numbers = {k: f"{v:g}" if isinstance(v, float) else v for k, v in values.items()}
    return ", ".join(f"{name} {value}" for name, value in numbers.items())


def _to_one_line(value: Any) -> Markup:
    if isinstance(value, Markup):
        return value
    text = re.sub(r"\s+", " ", str(value)).replace("<", "&lt;").replace("`", "'")
    return Markup(escape_cell(text))


def _to_yaml(value: Any) -> Markup:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return Markup(re.sub("[\ufeff\ufffe\uffff]", " ", escape_controls(text)))  # YAML refuses them
