"""Cards: values are rendered, and escaped so that they cannot change the layout."""

import re
from pathlib import Path

import jinja2
import pytest
import yaml
from markupsafe import Markup

from pqpp_hub import card
from pqpp_hub.card import render_card

HOSTILE = 'a "b": c\n---\n# d | e <f> `g` \x1b[31m\u202e \u2028{{ 1 }} \ud800\uffff'
TEMPLATE = """\
---
license: {{ value | yaml }}
tags:
- {{ value | yaml }}
---
{% macro bold(text) %}**{{ text }}**{% endmacro %}
# {{ value }}

| a | b |
|---|---|
| {{ value }} | `{{ bold(value) }}` |

```
{{ value | block }}
```
{{ rates | listed }}
"""


@pytest.fixture
def load_templates(monkeypatch):
    def load(**texts):
        loader = jinja2.DictLoader({f"{name}.md": text for name, text in texts.items()})
        monkeypatch.setattr(card._make_environment(), "loader", loader)

    return load


def test_values_cannot_change_the_card_layout(load_templates):
    load_templates(one=TEMPLATE)
    text = render_card("one", value=HOSTILE, rates={"seed": 0, "rate": 1e-3})
    _, front, body = text.split("---\n", 2)
    metadata = yaml.safe_load(front)
    assert metadata["license"] == metadata["tags"][0]
    assert metadata["license"].startswith('a "b": c\n---\n# d | e <f> `g` \x1b[31m\u202e')
    line = "a \"b\": c --- # d \\| e &lt;f> 'g' \\x1b[31m\\u202e {{ 1 }} \\ud800\uffff"
    assert body.splitlines()[0] == f"# {line}"
    assert f"| {line} | `**{line}**` |" in body.splitlines()
    assert body.splitlines().count("```") == 2
    assert body.splitlines()[-1] == "seed 0, rate 0.001"
    assert {"\x1b", "\u202e", "\ud800"}.isdisjoint(text)


def test_renders_plain_values_and_markup(load_templates):
    load_templates(one="---\na: {{ a | yaml }}\nb: {{ b | yaml }}\n---\n{{ c }} {{ d }}\n")
    text = render_card("one", a=[1, "two"], b=None, c=Markup("| x |"), d="| y |")
    front, body = text.split("---\n")[1:]
    assert yaml.safe_load(front) == {"a": [1, "two"], "b": None}
    assert body == "| x | \\| y \\|\n"


def test_front_matter_values_use_yaml_filter():
    root = Path(__file__).parents[2] / "hub_cards"
    texts = [path.read_text() for path in root.rglob("*.md")]
    fronts = [text.split("---\n")[1] for text in texts if "---\n" in text]
    fronts.append((root / "feedback/_results.md").read_text())  # included in a front matter
    lines = [line for front in fronts for line in front.splitlines() if "{{" in line]
    assert len(lines) > 40
    pattern = re.compile(r" *(- )?([\w-]+: )?\{\{ [^{}]*(\{[^{}]*\})?[^{}]* \| yaml \}\}")
    assert [line for line in lines if not pattern.fullmatch(line)] == []
