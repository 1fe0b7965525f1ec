"""Cards: Markdown templates of `hub_cards/`, filled so that no value can break out of its place."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pqpp_files.errors import PqppError

_FRONT_MATTER = re.compile(r"---\n.*?\n---\n", re.DOTALL)
_PLACE = re.compile("\0(\\d+)\0")
_WHOLE_VALUE = re.compile("(?<=[:-] )\0\\d+\0(?=\n)")
_PLAIN = (type(None), bool, int, float, list, dict)  # JSON writes them as YAML has them
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def render_card(name: str, /, **facts: Any) -> str:
    """Fill the card template `hub_cards/<name>.md` with facts.

    A value becomes one line of JSON in the YAML front matter, is kept line by line in a fenced
    block, and elsewhere is one line whose `|`, `<` and backticks mean nothing. In the front matter
    an expression stands for a whole value: `path: {{ "data/" ~ split }}`. Markdown that a caller
    made himself passes as `markupsafe.Markup`.

    Args:
        name: Kind and name, like `datasets/conqa` or `predictors/static`.
        **facts: What the template's expressions name; the filter `listed` writes a mapping as
            "seed 0, rate 0.001", `figure` a number as "0.500" and None as nothing.

    Raises:
        PqppError: There is no such template, or it names a fact that is not given.

    Example:
        >>> render_card("datasets/sample")
        Traceback (most recent call last):
            ...
        pqpp_files.errors.PqppError: the card datasets/sample needs a fact: ...
    """
    import jinja2
    from markupsafe import Markup

    values: list[Any] = []

    def kept_for_later(value: Any) -> Any:
        if isinstance(value, Markup):
            return value
        values.append(value if isinstance(value, _PLAIN) else str(value))
        return Markup(f"\0{len(values) - 1}\0")

    environment = _environment().overlay(finalize=kept_for_later)
    try:
        text = environment.get_template(f"{name}.md").render(facts)
    except jinja2.TemplateNotFound as error:
        known = ", ".join(card_names())
        raise PqppError(f"there is no card template {error.name}; there are {known}") from None
    except jinja2.UndefinedError as error:
        raise PqppError(f"the card {name} needs a fact: {error.message}") from None
    return _filled(name, text, values)


def card_names() -> list[str]:
    """Return the names of all templates; partial ones begin with `_` and are left out.

    Example:
        >>> "datasets/sample" in card_names()
        True
    """
    names = (file.removesuffix(".md") for file in _environment().list_templates(["md"]))
    return sorted(name for name in names if "/_" not in f"/{name}")


def template_text(name: str) -> str:
    """Return the text of a template as it is written.

    Example:
        >>> "sample" in template_text("datasets/sample")
        True
    """
    environment = _environment()
    return environment.loader.get_source(environment, f"{name}.md")[0]


@cache
def _environment() -> Any:
    import jinja2

    here = Path(__file__).parent
    environment = jinja2.Environment(
        # At the top of a checkout, beside this module in an installed package.
        loader=jinja2.FileSystemLoader([here.parent / "hub_cards", here / "cards"]),
        undefined=jinja2.StrictUndefined,
        autoescape=True,  # what a macro returns is marked as finished
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["listed"] = _listed
    environment.filters["figure"] = _figure
    return environment


def _listed(values: Mapping[str, Any]) -> str:
    numbers = {k: f"{v:g}" if isinstance(v, float) else v for k, v in values.items()}
    return ", ".join(f"{name} {value}" for name, value in numbers.items())


def _figure(value: float | None) -> str:
    """Return a figure with three decimals, nothing for one that is not known."""
    return "" if value is None else f"{value:.3f}"


def _filled(name: str, text: str, values: list[Any]) -> str:
    """Put the values into their places, each in the way of what it stands in."""
    front_matter = _FRONT_MATTER.match(text)
    front, body = (front_matter[0], text[front_matter.end() :]) if front_matter else ("", text)
    if len(_PLACE.findall(front)) != len(_WHOLE_VALUE.findall(front)):
        raise PqppError(f"the card {name} puts a fact into a part of a value of its YAML")
    # A fence begins and ends a line, so the odd parts are the blocks.
    parts = re.split(r"(^```.*?^```$)", body, flags=re.DOTALL | re.MULTILINE)
    filled = [_PLACE.sub(lambda place: _yaml(values[int(place[1])]), front)]
    for number, part in enumerate(parts):
        write = _in_block if number % 2 else _in_line
        filled.append(_PLACE.sub(lambda place, w=write: w(str(values[int(place[1])])), part))
    return "".join(filled)


def _yaml(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return re.sub(r"[\u2028\u2029\ufeff]", " ", _INVISIBLE.sub("", text))


def _in_block(text: str) -> str:
    return _INVISIBLE.sub("", text).replace("```", "'''")


def _in_line(text: str) -> str:
    text = _INVISIBLE.sub("", re.sub(r"\s+", " ", text))
    return text.replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
