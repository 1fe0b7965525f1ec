"""Translatable reasons why an annotator is excluded or flagged."""

from collections.abc import Callable
from typing import Any, Self


class Reason(str):
    """An English reason with its template and values, so that it can be translated.

    Args:
        text: The template, with placeholders such as `%(name)s`.
        facts: Values of the placeholders; a `Reason` among them is also translated.

    Example:
        >>> why = Reason("shares no image with %(name)s", name="ada")
        >>> why, why.localise({"shares no image with %(name)s": "ohne Bild mit %(name)s"}.get)
        ('shares no image with ada', 'ohne Bild mit ada')
    """

    text: str
    facts: dict[str, Any]

    def __new__(cls, text: str, **facts: Any) -> Self:
        """Fill in the template."""
        reason = super().__new__(cls, text % facts)
        reason.text, reason.facts = text, facts
        return reason

    def localise(self, gettext: Callable[[str], str | None]) -> str:
        """Return the reason in another language; untranslated templates stay English."""
        facts = {
            name: fact.localise(gettext) if isinstance(fact, Reason) else fact
            for name, fact in self.facts.items()
        }
        return (gettext(self.text) or self.text) % facts
