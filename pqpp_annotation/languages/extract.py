"""Collecting the texts of pages: `python -m pqpp_annotation.languages.extract`.

It writes `messages.pot`, and brings the catalogues beside it up to date: a new text is there
without a translation, one that is gone is left out.
"""

from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from pqpp_annotation.languages.language import OWN, TEMPLATE
from pqpp_files.write_beside import write_beside

_PACKAGE = OWN.parent
_METHODS = [("**.py", "python"), ("**.js", "javascript"), ("**.html", "jinja2")]
_REASONS = [("own_benchmark/**.py", "python")]
_OPTIONS = {
    "**.js": {"parse_template_string": "true"},
    "**.html": {
        "trimmed": "true",
        "trim_blocks": "true",
        "lstrip_blocks": "true",
        "silent": "false",
    },
}
_ERRORS = ("AnswerError", "NotAllowedError", "SignInError")  # pages show what these say
_KEYWORDS: dict[str, Any] = {"HTTPException": (2,), "ngettext": (1, 2)}
_KEYWORDS |= dict.fromkeys(("_", "gettext", "gettext_noop", "Reason", *_ERRORS))


def every_text() -> Catalog:
    """Return all texts of pages, each with the files that show it.

    Example:
        >>> "Skip" in every_text()
        True
    """
    texts = Catalog(project="pqpp", charset="utf-8", fuzzy=False)
    messages = [*extract_from_dir(_PACKAGE, _METHODS, _OPTIONS, _KEYWORDS)]
    messages += extract_from_dir(_PACKAGE.parent / "pqpp_datasets", _REASONS, {}, _KEYWORDS)
    for file, _, text, _, _ in sorted(messages, key=lambda message: (message[0], message[1])):
        texts.add(text, locations=[(Path(file).as_posix(), 0)])
    return texts


def main() -> None:
    """Write the template, and bring the catalogues up to date."""
    texts = every_text()
    _write(TEMPLATE, texts)
    for file in OWN.glob("*.po"):
        with file.open("rb") as old:
            catalogue = read_po(old, locale=file.stem)
        catalogue.update(texts, no_fuzzy_matching=True)
        _write(file, catalogue)


def _write(file: Path, catalogue: Catalog) -> None:
    head = [
        f"# {'Every text' if catalogue.locale is None else 'Texts'} of pages.",
        'msgid ""',
        'msgstr ""',
    ]
    if catalogue.locale is not None:
        head += [
            f'"Language: {catalogue.locale}\\n"',
            f'"Plural-Forms: {catalogue.plural_forms}\\n"',
        ]
    head += ['"Content-Type: text/plain; charset=utf-8\\n"', "", ""]
    # Neither lines nor dates: what changes is what is said.
    with write_beside(file) as beside, beside.open("wb") as output:
        output.write("\n".join(head).encode())
        write_po(
            output, catalogue, width=0, omit_header=True, include_lineno=False, ignore_obsolete=True
        )


if __name__ == "__main__":
    main()
