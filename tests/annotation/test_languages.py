"""Languages: every text is in the catalogues, browsers get theirs, studies bring their own."""

import ast
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from babel.messages.pofile import read_po, write_po
from starlette.testclient import TestClient
from support.browser import violations
from support.kind_pages import kind_study
from support.served import SECRET, serving
from support.studies import small_store

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.languages.language import OWN, TEMPLATE, languages_of, wanted_language
from pqpp_annotation.store.access import make_links
from pqpp_annotation.web.serve import create_app


def catalogue(file, locale=None):
    with file.open("rb") as source:
        return read_po(source, locale)


def test_every_text_is_in_the_template_and_in_german(tmp_path):
    shutil.copy(OWN / "de.po", tmp_path)
    bin_folder = Path(sys.executable).parent
    command = ["make", "-s", "texts", f"TEXTS={tmp_path}", f"BIN={bin_folder}"]
    subprocess.run(command, cwd=Path(__file__).parents[2], check=True)
    found = catalogue(tmp_path / "messages.pot")
    texts = {m.id: {name for name, _ in m.locations} for m in found if m.id}
    assert len(texts) > 250 and "pqpp_annotation/kinds/rich/page.js" in texts["Implausible"]
    kept = {m.id: {name for name, _ in m.locations} for m in catalogue(TEMPLATE) if m.id}
    assert kept == texts, "run make texts"
    german = catalogue(OWN / "de.po", "de")
    assert {message.id for message in german if message.id} == set(texts)
    for message in filter(lambda one: one.id, german):
        words = message.string if isinstance(message.string, tuple) else (message.string,)
        assert all(words) and not message.fuzzy, message.id
        assert [*message.check(german)] == []  # what is filled in has its place
        tags = [re.findall(r"<[^>]+>", str(text)) for text in (message.id, message.string)]
        assert tags[0] == tags[1], message.id


def test_what_a_judge_is_refused_with_is_a_text_of_the_catalogue():
    """A text that is put together where it is raised would be in no catalogue."""
    package = OWN.parent
    files = [*package.glob("kinds/**/*.py"), *package.glob("web/*.py")]
    files += [package / f"store/{name}.py" for name in ("answers", "work")]
    texts, seen = {message.id for message in catalogue(TEMPLATE)}, 0
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            call = node.exc if isinstance(node, ast.Raise) else None
            name = getattr(getattr(call, "func", None), "id", "")
            if name == "AnnotationError" and len(call.args) == 2:
                seen += 1
                text = call.args[0]
                of_schema = "fault[" in ast.unparse(text)  # which no page of ours sends
                assert of_schema or ast.literal_eval(text) in texts, (file, call.lineno)
    assert seen > 15


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
def test_a_browser_gets_the_language_that_it_likes_best(tmp_path, header, code):
    assert wanted_language(header, languages_of(tmp_path)).code == code


@pytest.fixture
def visit(tmp_path):
    """A function that opens a page of a study, as a browser of a language does."""
    stores = []

    def get(path, wanted="de", **settings):
        if not stores:
            stores.append(small_store(tmp_path, **settings))
        client = TestClient(create_app(stores[0], secret=SECRET), follow_redirects=False)
        [(token, _)] = make_links(stores[0])
        page = client.get(path.replace("TOKEN", token), headers={"Accept-Language": wanted})
        return unescape(page.text)

    yield get
    for store in stores:
        store.close()


def test_pages_speak_the_language_of_the_browser(visit):
    consent = "Ask us anything."
    payment = {"per_item": 0.5}
    page = visit("/join/TOKEN", consent=consent, payment=payment, items_per_person=1)
    assert '<html lang="de" dir="ltr">' in page and "Ich stimme zu – beginnen" in page
    assert "0.5 EUR je Prompt" in page and "1 Prompt<" in page
    assert consent in page  # the study's own words are not ours to translate
    assert "dieser Link ist unbekannt" in visit("/join/wrong").replace("Dieser", "dieser")
    assert '"error":"diese Studie' not in visit("/api/next", "en")
    assert '<html lang="en"' in visit("/join/TOKEN", "fr")


def test_a_study_brings_texts_of_its_own_and_languages(visit, tmp_path):
    (tmp_path / "languages").mkdir()
    (tmp_path / "languages" / "de.po").write_text(
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n\n'
        'msgid "Begin"\nmsgstr "Auf geht es"\n\nmsgid "Look well."\nmsgstr "Schauen Sie hin."\n'
    )
    (tmp_path / "languages" / "fr.po").write_text('msgid "Begin"\nmsgstr "Commencer"\n')
    german = visit("/join/TOKEN", instructions="Look well.")
    assert "Auf geht es" in german and "Schauen Sie hin." in german and "Wer fragt" not in german
    assert "Was Sie tun" in german  # all else is ours
    french = visit("/join/TOKEN", "fr-CA")
    assert 'lang="fr"' in french and "Commencer" in french and "What you do" in french


def test_a_language_that_there_is_not_is_told(tmp_path):
    store = small_store(tmp_path, language="fr")
    with pytest.raises(AnnotationError):
        create_app(store, secret=SECRET)
    store.close()
    (tmp_path / "languages").mkdir()
    (tmp_path / "languages" / "fr.po").write_bytes(b'msgid "\xff"')
    with pytest.raises(AnnotationError):
        languages_of(tmp_path)


def turned(text):
    """A text of an alphabet that is read from the right, tags and places as they were."""
    if isinstance(text, tuple):
        return tuple(map(turned, text))
    pieces = re.split(r"(<[^>]*>|%\(\w+\)s|%%|\{\w+\})", text)
    pieces[::2] = [re.sub("[A-Za-z]", "ש", piece) for piece in pieces[::2]]
    return "".join(pieces)


@pytest.mark.browser
def test_pages_are_read_from_the_right(tmp_path, visitor):
    """With a placeholder for each text: what stays in Latin letters is in no catalogue."""
    texts = catalogue(TEMPLATE, "he")
    for message in texts:
        if message.id:
            message.string = turned(message.id)
    (tmp_path / "languages").mkdir()
    with (tmp_path / "languages" / "he.po").open("wb") as file:
        write_po(file, texts)
    study = kind_study(tmp_path, "relevance", ["שלום"], language="he", title="מה")
    with serving(study) as served:
        page = visitor(viewport={"width": 390, "height": 800}).join(served.link())
        assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"
        assert violations(page) == []
        words = [page.inner_text("body"), page.locator(".thumb").first.get_attribute("aria-label")]
        latin = re.findall(r"[A-Za-z]{2,}", " ".join(words))
        assert set(latin) <= {"Enter"}, latin
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390  # nothing hangs out at the left
        menu = page.locator(".menu summary").bounding_box()
        assert menu["x"] < 100
        page.keyboard.press("1")
        page.goto(f"{served.url}/history")
        assert not re.findall(r"[A-Za-z]{2,}", page.inner_text("main"))
