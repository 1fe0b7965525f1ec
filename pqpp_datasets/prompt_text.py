"""Normalisation of prompts, to compare, split and predict them."""

import unicodedata

_MAX_CHARACTERS = 2000
ENDING = " \t\r\n.,;:!?…"
"""Characters that `normalise` removes at the end of a prompt."""
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u2060\ufeff\u00ad"))


def fold_text(prompt: str) -> str:
    r"""Normalise a prompt's case, whitespace and Unicode form, to find equal prompts.

    Composes Unicode (NFC), folds case, and removes zero-width spaces, word joiners, byte order
    marks and soft hyphens. Each run of whitespace becomes one space; at the ends it is removed.
    Punctuation is unchanged.

    >>> fold_text("Cafe\u0301  noir\u200b ") == fold_text("caf\u00e9 Noir")
    True
    """
    text = unicodedata.normalize("NFC", prompt.translate(_INVISIBLE))
    return " ".join(unicodedata.normalize("NFC", text.casefold()).split())


def normalise(prompt: str) -> str:
    r"""Normalise a prompt for predictors and splits, more strongly than `fold_text`.

    Also unifies compatibility forms of Unicode (NFKC) and apostrophes, removes punctuation at the
    end (``.,;:!?…``), and cuts the prompt after 2,000 characters.

    >>> normalise("  A RED  cat. "), normalise("Cafe\u0301!")
    ('a red cat', 'café')
    """
    text = prompt.casefold()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", prompt.translate(_INVISIBLE)).casefold()
        text = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    return " ".join(text.split())[:_MAX_CHARACTERS].rstrip(ENDING)
