"""When two prompts are one: the spelling that predictors read, and that splits are made by."""

import unicodedata

_MOST_CHARACTERS = 2000
ENDING = " \t\r\n.,;:!?…"
"""What may end a prompt without changing it."""


def normalise(prompt: str) -> str:
    r"""Return a prompt in one spelling, so that how it is typed changes nothing.

    Compatibility forms of Unicode become one (NFKC), capitals small letters; blanks and line breaks
    become one blank each; blanks and marks at the end (``.,;:!?``) and blanks at the beginning go.
    Only the first 2,000 characters count.

    >>> normalise("  A RED  cat. "), normalise("Cafe\u0301!")
    ('a red cat', 'café')
    """
    text = prompt.casefold()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", prompt).casefold()
        text = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    return " ".join(text.split())[:_MOST_CHARACTERS].rstrip(ENDING)
