"""Translations of the pages: one gettext catalogue per language."""


def gettext_noop(text: str) -> str:
    """Mark a text for translation and return it unchanged; pages translate it.

    Example:
        >>> gettext_noop("Is this image relevant?")
        'Is this image relevant?'
    """
    return text
