"""What pages say, in the languages that people read: one gettext catalogue each."""


def gettext_noop(text: str) -> str:
    """Mark a text for translation and return it unchanged; it is translated when it is shown.

    Example:
        >>> gettext_noop("Is this image relevant?")
        'Is this image relevant?'
    """
    return text
