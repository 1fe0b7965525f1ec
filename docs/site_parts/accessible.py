"""Correct finished pages for screen readers, and remove local paths."""

import re

from site_parts.sources import ROOT

_EMPTY_HEAD = re.compile(r"<th(?: [^>]*)?>(?:\s*<p>\s*</p>)?\s*</th>")


def fix_page(app, pagename, templatename, context, doctree):
    """Remove heading roles from the menu, empty table headers, and local paths from a page."""
    if "furo_navigation_tree" in context:
        menu = context["furo_navigation_tree"].replace('"caption" role="heading"', '"caption"')
        context["furo_navigation_tree"] = menu
    if "body" in context:
        context["body"] = _EMPTY_HEAD.sub("<td></td>", context["body"].replace(f"{ROOT}/", ""))
