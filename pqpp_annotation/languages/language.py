"""The languages of pages, their texts, and the choice of a browser's language."""

import io
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from babel import Locale, UnknownLocaleError
from babel.core import negotiate_locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import Translations

from pqpp_annotation.errors import AnnotationError
from pqpp_files.errors import reraise
from pqpp_files.foreign.json_values import read_bounded
from pqpp_files.paths import join_inside

CATALOGUES = Path(__file__).parent
TEMPLATE = CATALOGUES / "messages.pot"
"""All English texts: the template of a new catalogue."""

SOURCE = "en"
_TAG = re.compile(r"([a-z]{1,8}(?:-[a-z\d]{1,8})*)\s*(?:;\s*q=([01](?:\.\d+)?))?", re.IGNORECASE)
# Pages insert a text's tags unescaped, and fill in its fields.
_MARKUP = re.compile(r"<[a-z/!?][^>]*>?|%(?:\(\w+\)s|\.0f|%)?", re.IGNORECASE)


class Language:
    """The texts of pages in one language.

    Args:
        code: Language code, such as `de` or `pt-BR`.
        files: Catalogues in PO format; texts of later files replace those of earlier ones.

    Raises:
        AnnotationError: The language code is unknown, or a file is not a catalogue.

    Example:
        >>> german = Language("de", [CATALOGUES / "de.po"])
        >>> german.gettext("Skip"), german.direction, Language("ar").direction
        ('Überspringen', 'ltr', 'rtl')
    """

    def __init__(self, code: str, files: list[Path] | None = None) -> None:
        try:
            self.direction = Locale.parse(code, sep="-").text_direction
        except (UnknownLocaleError, ValueError):
            raise AnnotationError(f"unknown language {code!r:.40}; use a code such as de") from None
        self.code = code
        self._texts, *others = [_read_catalogue(file) for file in files or ()] or [Translations()]
        for other in others:
            self._texts.merge(other)
        self.ngettext = self._texts.ngettext

    def gettext(self, text: str | None) -> str:
        """Return the translation of a text, the text itself if there is none, and "" for None."""
        return self._texts.gettext(text) if text else ""  # "" is the key of a catalogue's header

    @cached_property
    def script_texts(self) -> dict[str, str]:
        """Translations of the texts that scripts display, by English text."""
        with TEMPLATE.open("rb") as file:
            texts = [
                str(message.id)
                for message in read_po(file)
                if any(name.endswith(".js") for name, _ in message.locations)
            ]
        return {text: self.gettext(text) for text in texts if self.gettext(text) != text}


def read_languages(folder: Path) -> dict[str, Language]:
    """Read the languages of a study, by lower-case code.

    Args:
        folder: The study file's folder; its `languages/CODE.po` files add languages or replace
            texts.

    Example:
        >>> sorted(read_languages(Path("nowhere")))
        ['de', 'en']
    """
    shipped, own = (sorted(path.glob("*.po")) for path in (CATALOGUES, folder / "languages"))
    files: dict[str, list[Path]] = {SOURCE: []}
    for file in [*shipped, *(join_inside(folder, file.relative_to(folder)) for file in own)]:
        files.setdefault(file.stem, []).append(file)
    return {code.lower(): Language(code, paths) for code, paths in files.items()}


def choose_language(header: str, languages: Mapping[str, Language]) -> Language:
    """Return the available language that a browser prefers, else English.

    Args:
        header: The request's `Accept-Language`.

    Example:
        >>> languages = read_languages(Path("nowhere"))
        >>> headers = ("fr, de-AT;q=.7, en;q=0.5", "fr", "")
        >>> [choose_language(header, languages).code for header in headers]
        ['de', 'en', 'en']
    """
    pairs = [(float(weight or 1), code.lower()) for code, weight in _TAG.findall(header)]
    ranked = [code for weight, code in sorted(pairs, key=lambda pair: -pair[0]) if weight]
    return languages[(negotiate_locale(ranked, list(languages), sep="-") or SOURCE).lower()]


def _read_catalogue(file: Path) -> Translations:
    compiled = io.BytesIO()
    with reraise(str(file), "correct the catalogue", AnnotationError):
        content = read_bounded(file, 1 << 20, AnnotationError, "correct the catalogue")
        text = re.sub(r'\S[^\S\n]*\n\s*(?:#~\s*)?"', "", content.decode())  # joins lines
        # A file's rule of plurals or encoding may be an attack: the language's usual rule and UTF-8
        # are used. NUL would separate a text from a plural.
        text = re.sub("(?i)plural-forms|content-type|\0", "X-Was", text)
        messages = read_po(io.StringIO(text), file.stem.replace("-", "_"), abort_invalid=True)
        for message in messages:
            source = message.id if isinstance(message.id, str) else message.id[0]
            texts = [message.id, message.string] if any(message.string or ()) else [message.id]
            tags = [{*_MARKUP.findall(str(text))} for text in texts]
            if source and any(found != {*_MARKUP.findall(source)} for found in tags):
                raise ValueError(f"{texts[-1]!r:.60} has other tags or fields than its source")
        write_mo(compiled, messages)
        compiled.seek(0)
        return Translations(compiled)
