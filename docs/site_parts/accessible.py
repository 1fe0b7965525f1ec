"""What the theme and tables of notebooks lack for a reader who cannot see them."""

import re

_EMPTY_HEAD = re.compile(r"<th(?: [^>]*)?>(?:\s*<p>\s*</p>)?\s*</th>")


def mend(app, pagename, templatename, context, doctree):
    """Take headings without a level out of the menu, and heads without text out of tables."""
    if "furo_navigation_tree" in context:
        menu = context["furo_navigation_tree"].replace('"caption" role="heading"', '"caption"')
        context["furo_navigation_tree"] = menu
    if "body" in context:
        context["body"] = _EMPTY_HEAD.sub("<td></td>", context["body"])
