"""When two prompts are one: the spelling that predictors read, and that splits are made by."""

import unicodedata

_MOST_CHARACTERS = 2000
ENDING = " \t\r\n.,;:!?…"
"""What may end a prompt without changing it."""
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u2060\ufeff\u00ad"))


def fold_text(prompt: str) -> str:
    r"""Normalise a prompt's spelling: equal results are one prompt.

    Unicode is composed (NFC), capitals are small letters, blanks and line breaks one blank each and
    none at the ends; zero-width blanks, byte order marks and soft hyphens go. Marks stay.

    >>> fold_text("Cafe\u0301  noir\u200b ") == fold_text("caf\u00e9 Noir")
    True
    """
    text = unicodedata.normalize("NFC", prompt.translate(_INVISIBLE))
    return " ".join(unicodedata.normalize("NFC", text.casefold()).split())


def normalise(prompt: str) -> str:
    r"""Return a prompt in one spelling, so that how it is typed changes nothing.

    Compatibility forms of Unicode become one (NFKC), capitals small letters; blanks and line breaks
    become one blank each; blanks and marks at the end (``.,;:!?``) and blanks at the beginning go,
    and so does what nobody sees, as of `fold_text`. Only the first 2,000 characters count.

    >>> normalise("  A RED  cat. "), normalise("Cafe\u0301!")
    ('a red cat', 'café')
    """
    text = prompt.casefold()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", prompt.translate(_INVISIBLE)).casefold()
        text = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    return " ".join(text.split())[:_MOST_CHARACTERS].rstrip(ENDING)
