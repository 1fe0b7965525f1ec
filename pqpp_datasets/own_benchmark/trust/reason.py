"""Why an annotator is refused or flagged."""

from collections.abc import Callable
from typing import Any, Self


class Reason(str):
    """A translatable reason in English, which keeps its template and values.

    Args:
        text: The text, with placeholders like `%(name)s`.
        facts: Values of the placeholders; a `Reason` among them is translated, too.

    Example:
        >>> why = Reason("shares no image with %(name)s", name="ada")
        >>> why, why.localise({"shares no image with %(name)s": "ohne Bild mit %(name)s"}.get)
        ('shares no image with ada', 'ohne Bild mit ada')
    """

    text: str
    facts: dict[str, Any]

    def __new__(cls, text: str, **facts: Any) -> Self:
        """Fill the facts in."""
        reason = super().__new__(cls, text % facts)
        reason.text, reason.facts = text, facts
        return reason

    def localise(self, gettext: Callable[[str], str | None]) -> str:
        """Translate the reason."""
        facts = {
            name: fact.localise(gettext) if isinstance(fact, Reason) else fact
            for name, fact in self.facts.items()
        }
        return (gettext(self.text) or self.text) % facts
