"""Languages: catalogues, the choice by browser, and a study's own catalogues."""

import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from starlette.testclient import TestClient
from support.served import SECRET
from support.studies import create_store

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.languages.language import CATALOGUES, TEMPLATE, choose_language, read_languages
from pqpp_annotation.store.access import make_links
from pqpp_annotation.web.serve import create_app


def read_catalogue(file, locale=None):
    with file.open("rb") as source:
        return read_po(source, locale)


def test_all_texts_are_translated_to_german(tmp_path):
    shutil.copy(CATALOGUES / "de.po", tmp_path)
    bin_folder = Path(sys.executable).parent
    command = ["make", "-s", "texts", f"TEXTS={tmp_path}", f"BIN={bin_folder}"]
    subprocess.run(command, cwd=Path(__file__).parents[2], check=True)
    extracted = read_catalogue(tmp_path / "messages.pot")
    texts = {m.id: {name for name, _ in m.locations} for m in extracted if m.id}
    assert len(texts) > 250 and "pqpp_annotation/kinds/rich/page.js" in texts["Implausible"]
    template = {m.id: {name for name, _ in m.locations} for m in read_catalogue(TEMPLATE) if m.id}
    assert template == texts, "run make texts"
    german = read_catalogue(CATALOGUES / "de.po", "de")
    assert {message.id for message in german if message.id} == set(texts)
    for message in filter(lambda message: message.id, german):
        words = message.string if isinstance(message.string, tuple) else (message.string,)
        assert all(words) and not message.fuzzy, message.id
        assert [*message.check(german)] == []  # has the same placeholders
        tags = [re.findall(r"<[^>]+>", str(text)) for text in (message.id, message.string)]
        assert tags[0] == tags[1], message.id


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("de", "de"),
        ("de-AT, en;q=0.8", "de"),
        ("fr, en;q=0.4, de;q=0.6", "de"),
        ("de;q=0, fr", "en"),
        (";;q=x,,", "en"),
    ],
)
def test_chooses_the_preferred_available_language(tmp_path, header, code):
    assert choose_language(header, read_languages(tmp_path)).code == code


@pytest.fixture
def get_page(tmp_path):
    """A function that returns the text of a study's page in a browser's language."""
    stores = []

    def get_text(path, language="de", **settings):
        if not stores:
            stores.append(create_store(tmp_path, **settings))
        client = TestClient(create_app(stores[0], secret=SECRET), follow_redirects=False)
        [(token, _)] = make_links(stores[0])
        page = client.get(path.replace("TOKEN", token), headers={"Accept-Language": language})
        return unescape(page.text)

    yield get_text
    for store in stores:
        store.close()


def test_pages_use_the_browser_language(get_page):
    consent, payment = "Ask us anything.", {"per_item": 0.5, "per_hour": 1_234_567.5}
    page = get_page("/join/TOKEN", consent=consent, payment=payment, items_per_person=1)
    assert '<html lang="de" dir="ltr">' in page and "Zustimmen und starten" in page
    assert "0.5 EUR je Prompt, 1234567.5 EUR" in page and "1 Prompt<" in page
    assert consent in page  # the study's own texts are not translated
    assert "dieser Link ist unbekannt" in get_page("/join/wrong").replace("Dieser", "dieser")
    assert '"error":"diese Studie' not in get_page("/api/session", "en")
    assert '<html lang="en"' in get_page("/join/TOKEN", "fr")


def test_study_folder_overrides_and_adds_translations(get_page, tmp_path):
    (tmp_path / "languages").mkdir()
    (tmp_path / "languages" / "de.po").write_text(
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n\n'
        'msgid "Start"\nmsgstr "Auf geht es"\n\nmsgid "Look well."\nmsgstr "Schauen Sie hin."\n'
    )
    head = 'msgid ""\nmsgstr "Content-Type: ; charset=raw_unicode_escape\\nPlural-"\f\n'
    head += '#~ "Forms: nplurals=2; plural=n/0;\\n"\n\nmsgid "<b>not translated</b>"\nmsgstr ""\n\n'
    head += 'msgid "Your task\0<b>"\nmsgstr "<b>\0"\n\n'
    text = f'{head}msgid "Start"\nmsgstr "Commencer\\\\u003e"\n'
    (tmp_path / "languages" / "fr.po").write_text(text)
    german = get_page("/join/TOKEN", instructions="Look well.")
    assert "Auf geht es" in german and "Schauen Sie hin." in german and "leitet" not in german
    assert "Ihre Aufgabe" in german  # from pqpp's catalogue
    french = get_page("/join/TOKEN", "fr-CA")
    assert 'lang="fr"' in french and "Commencer\\u003e" in french and "Your task" in french


def test_rejects_missing_and_damaged_catalogues(tmp_path):
    store = create_store(tmp_path, language="fr")
    with pytest.raises(AnnotationError):
        create_app(store, secret=SECRET)
    store.close()
    (tmp_path / "languages").mkdir()
    plural = b'%(n)s"\n\nmsgid "a"\nmsgid_plural "<b>"\nmsgstr[0] "x"\nmsgstr[1] "'
    for text in (b"\xff", b"%(n)s <b>", b"%(x)s", b"%(n)d", plural):
        (tmp_path / "languages" / "fr.po").write_bytes(b'msgid "%(n)s"\nmsgstr "' + text + b'"')
        with pytest.raises(AnnotationError, match=r"fr\.po"):
            read_languages(tmp_path)
