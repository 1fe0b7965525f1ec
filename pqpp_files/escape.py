r"""Escape control characters in texts from outside, such as those that move a terminal's cursor."""

import re

# Control characters, marks that change the writing direction, and lone surrogates.
_MARKS = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_CONTROLS = re.compile(f"[\x00-\x1f\x7f-\x9f{_MARKS}\ud800-\udfff]")
# Backslashes before a mark are doubled, or else they would cancel the one that escapes it.
_MARKDOWN = re.compile(r"(?<!\\)(\\*)([|<*`~]|(?<=])\(|(?<![^\W_])_|_(?![^\W_]))")


def escape_controls(text: str, keep: str = "") -> str:
    r"""Return a text with its control characters written as escapes.

    Args:
        keep: Characters to keep, such as line breaks.

    Example:
        >>> escape_controls("a \x1b[31mred cat\n")
        'a \\x1b[31mred cat\\n'
    """
    return _CONTROLS.sub(lambda m: m[0] if m[0] in keep else ascii(m[0])[1:-1], text)


def escape_cell(text: str) -> str:
    r"""Return a text for a line or cell of Markdown, with marks of cells, styles and links escaped.

    Example:
        >>> print(escape_cell("a _red_ cat | mean_hbpp"))
        a \_red\_ cat \| mean_hbpp
        >>> print(escape_cell(r"**a** \| `b` \<b>"), escape_cell("![](http://a.b)"))
        \*\*a\*\* \\\| \`b\` \\\<b> ![]\(http://a.b)
    """
    return _MARKDOWN.sub(r"\1\1\\\2", escape_controls(text))
