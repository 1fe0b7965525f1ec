"""What is put right in a page: for readers who cannot see it, and paths of this machine."""

import re

from site_parts.sources import ROOT

_EMPTY_HEAD = re.compile(r"<th(?: [^>]*)?>(?:\s*<p>\s*</p>)?\s*</th>")


def mend(app, pagename, templatename, context, doctree):
    """Drop headings without a level from the menu, empty heads from tables, and paths."""
    if "furo_navigation_tree" in context:
        menu = context["furo_navigation_tree"].replace('"caption" role="heading"', '"caption"')
        context["furo_navigation_tree"] = menu
    if "body" in context:
        context["body"] = _EMPTY_HEAD.sub("<td></td>", context["body"].replace(f"{ROOT}/", ""))
