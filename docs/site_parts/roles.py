"""The role of text in single backticks in docstrings."""

import re

from docutils import nodes


def make_code_role(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Return nodes that show a text as code, with a link if it is a name in the reference."""
    plain = text.replace("\0", "\\") if "\0" in text else text
    if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", plain):
        role = inliner.document.settings.env.get_domain("py").role("obj")
        return role("py:obj", rawtext, text, lineno, inliner)
    return [nodes.literal(rawtext, plain, classes=["code"])], []
