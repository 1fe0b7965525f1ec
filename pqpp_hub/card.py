"""Cards: Markdown templates of `hub_cards/`, filled so that values cannot change the layout."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from pqpp_files.errors import PqppError
from pqpp_files.escape import escape_cell, escape_controls


def render_card(name: str, /, **facts: Any) -> str:
    """Fill the card template `hub_cards/<name>.md` with facts.

    The value of an expression becomes one line whose `|`, `<` and backticks have no effect. In the
    YAML front matter, for a whole value, the filter `yaml` makes it one line of JSON:
    `path: {{ ("data/" ~ split) | yaml }}`; in a fenced block `block` keeps its lines. Pass finished
    Markdown as `markupsafe.Markup`.

    Args:
        name: Kind and name, like `datasets/conqa` or `predictors/static`.
        **facts: What the template's expressions name; the filter `listed` writes a mapping as
            "seed 0, rate 0.001", `figure` a number as "0.500" and None as nothing.

    Raises:
        PqppError: The template names a fact that is not given.

    Example:
        >>> render_card("datasets/sample")
        Traceback (most recent call last):
            ...
        pqpp_files.errors.PqppError: the card datasets/sample cannot be filled in: ...
    """
    import jinja2

    try:
        return _make_environment().get_template(f"{name}.md").render(facts)
    except jinja2.UndefinedError as error:
        raise PqppError(f"the card {name} cannot be filled in: {error.message}") from None


@cache
def _make_environment() -> Any:
    import jinja2

    here = Path(__file__).parent
    environment = jinja2.Environment(
        # At the top of a checkout, or next to this module in an installed package.
        loader=jinja2.FileSystemLoader([here.parent / "hub_cards", here / "cards"]),
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
    return Markup(escape_controls(text).replace("\ufeff", " "))
