"""The owner's pages as requests: who sees them, what they say, what they change."""

import csv
import io
import json
import re
import shutil

import pytest
from sqlalchemy import select
from support.served import client_of, join, token_of
from support.studies import do_all, rows, small_store

from pqpp_annotation.demo import Persona, simulate_answers
from pqpp_annotation.export import export_study
from pqpp_annotation.store.access import make_links
from pqpp_annotation.store.answers import iterate_votes
from pqpp_annotation.store.database import open_store
from pqpp_annotation.store.people import add_person, decide_on_person, find_person
from pqpp_annotation.store.tables import Assignment, Person
from pqpp_annotation.store.work import get_past_items, reserve_item
from pqpp_annotation.study import read_study

PAGES = ["", "/people", "/people/2", "/items", "/items/1", "/record.csv", "/payment.csv"]
FORMS = {"/pause": {"pause": "yes"}, "/people/2": {"decision": "refuse"}, "/pay/hand": {}}
SCORES = {"plausibility": 3, "alignment": 4, "aesthetics": 5, "overall": 2}
RICH = {"implausible": [[0.5, 0.5]], "misaligned": [], "words": [1], "scores": SCORES}
VALUES = {
    "match": {"label": 0},
    "rating": {"label": 3},
    "preference": {"choice": "b"},
    "rich": {**RICH, "inappropriate": False},
}
TABLES = ("annotators", "payment")


def begun(folder, **database):
    """A study that some people have begun."""
    rule = {"per_item": 0.5, "per_hour": 12}
    store = small_store(folder, prompts=6, controls=3, payment=rule, **database)
    simulate_answers(store, [Persona("member", noise=0.0, role="control")])
    manners = {"anna": "honest", "random": "random", "always": "constant"}
    simulate_answers(store, [Persona(name, manner, noise=0.0) for name, manner in manners.items()])
    return store


@pytest.fixture(scope="module")
def begun_once(tmp_path_factory):
    """A folder of that study, to be copied."""
    folder = tmp_path_factory.mktemp("begun")
    begun(folder).close()
    return folder


@pytest.fixture
def store(request, tmp_path, database):
    """That study, on each database."""
    if database:
        store = begun(tmp_path, **database)
    else:
        once = request.getfixturevalue("begun_once")
        shutil.copytree(once, tmp_path, dirs_exist_ok=True)
        store = open_store(read_study(tmp_path / "study.yaml"))
    yield store
    store.close()


@pytest.fixture
def client(store):
    """Somebody's browser, nobody yet."""
    return client_of(store)


def owner_posts(client, path, **form):
    """Send a form with the token of the owner's session."""
    token = token_of(client.get("/owner/items"))
    return client.post(f"/owner{path}", data={"csrf": token, **form})


def test_only_an_owner_sees_any_of_the_pages(client, store):
    for path in PAGES:
        answered = client.get(f"/owner{path}")
        assert answered.status_code == 303, path
        assert answered.headers["location"].startswith("/sign-in")
    for role in ("annotator", "control"):
        join(client, role=role)
        for path in PAGES:
            answered = client.get(f"/owner{path}", headers={"X-Part": "live"})
            assert answered.status_code == 403, (role, path)
            assert "anna" not in answered.text
        for path, form in FORMS.items():
            before = rows(store, Person)
            token = token_of(client.get("/history"))
            answered = client.post(f"/owner{path}", data={"csrf": token, **form})
            assert answered.status_code == 403, (role, path)
            assert rows(store, Person) == before


def test_no_annotator_sees_what_another_said(client, store):
    with store.begin_read() as db:
        others = db.execute(select(Assignment.id)).scalars().all()
    assert len(others) > 20
    join(client, role="annotator")
    for assignment in others[:20]:
        for path in ("/work", "/api/tasks", "/api/feedback"):
            answered = client.get(f"{path}/{assignment}")
            assert answered.status_code == 403 and "label" not in answered.text
    assert "dogs" not in client.get("/history").text  # nobody's items but the own ones


def test_every_form_needs_the_token_of_the_session(client, store):
    join(client, role="owner")
    before = rows(store, Person)
    for path, form in FORMS.items():
        assert client.post(f"/owner{path}", data={"csrf": "forged", **form}).status_code == 401
        assert client.post(f"/owner{path}", data=form).status_code == 422
    assert rows(store, Person) == before


def test_the_overview_tells_progress_people_and_money(client, store):
    join(client, role="owner")
    page = client.get("/owner")
    assert page.status_code == 200
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text))
    assert "0 of 6 items have 3 valid ratings; 12 ratings" in text
    assert "is below 0.41" in text and "not used" in text
    for place in ("/owner", "/owner/people"):
        german = client.get(place, headers={"Accept-Language": "de"}).text
        assert re.search(r"Kappa -?\d\.\d{3} mit \w+ liegt unter 0\.41<", german)
        assert "is below" not in german
    assert "Owed" in text and "EUR" in text
    assert re.search(r'<th scope="row">20[\d-]+</th>.*?class="number">\d+<', page.text)
    style = page.headers["content-security-policy"]
    assert "unsafe" not in style
    assert "style=" not in page.text and "onclick" not in page.text


def test_what_has_not_changed_is_not_sent_again(client, store):
    join(client, role="owner")
    first = client.get("/owner", headers={"X-Part": "live"})
    assert "<html" not in first.text and 'id="tiles"' in first.text
    same = {"X-Part": "live", "If-None-Match": first.headers["X-Key"]}
    assert client.get("/owner", headers=same).status_code == 304
    simulate_answers(store, [Persona("late")])
    add_person(store, "new", "annotator")
    owner_posts(client, "/pause", pause="no")  # a look at once
    again = client.get("/owner", headers=same)
    assert again.status_code == 200 and again.headers["X-Key"] != first.headers["X-Key"]


def test_each_table_is_a_csv(client, store):
    join(client, role="owner")
    for name in TABLES:
        answered = client.get(f"/owner/{name}.csv")
        assert answered.headers["content-type"].startswith("text/csv"), name
        assert "attachment" in answered.headers["content-disposition"]
        table = list(csv.DictReader(io.StringIO(answered.text)))
        assert table, name
    people = {
        r["annotator"]: r
        for r in csv.DictReader(io.StringIO(client.get("/owner/annotators.csv").text))
    }
    assert people["random"]["state"] == "refused" and people["random"]["reason"]
    assert client.get("/owner/other.csv").status_code == 409


def test_a_review_board_reads_who_decided_and_reported(client, store):
    ann = find_person(store, "anna")
    [(token, _)] = make_links(store, person_id=ann.id)
    join(client, f"/join/{token}")
    csrf = {"X-CSRF-Token": client.get("/api/session").json()["csrf"]}
    given = get_past_items(store, ann.id)[0].assignment
    for text in ("Never mind", "A <b>broken</b> image\0"):
        sent = {"assignment": given, "text": text}
        assert client.post("/api/report", json=sent, headers=csrf).status_code == 200
    sent = {"assignment": given + 40, "text": "of another"}
    assert client.post("/api/report", json=sent, headers=csrf).status_code == 403
    join(client, role="owner")
    owner_posts(client, f"/people/{ann.id}", decision="accept")
    told = list(csv.DictReader(io.StringIO(client.get("/owner/record.csv").text)))
    facts = [(row["person"], row["what"], row["text"]) for row in told if row["person"] == "anna"]
    reports = [("anna", "reported", text) for text in ("Never mind", "A <b>broken</b> image")]
    assert facts == [*reports, ("anna", "decided", "accept")]
    assert told[-1]["by"].startswith("owner-") and told[-1]["when"].endswith("+00:00")
    [item] = {row["item"] for row in told if row["what"] == "reported"}
    assert f'/owner/items/{item}">Item {item}: 1<' in client.get("/owner/items").text
    assert "A &lt;b&gt;broken" in client.get(f"/owner/items/{item}").text


def test_a_pause_gives_nothing_new_and_ends(client, store):
    join(client, role="owner")
    assert owner_posts(client, "/pause", pause="yes").status_code == 303
    assert "Paused since" in client.get("/owner").text
    new = add_person(store, "new", "annotator").id
    assert reserve_item(store, new) is None
    owner_posts(client, "/pause", pause="no")
    assert "Paused since" not in client.get("/owner").text


def test_bad_decisions_are_refused_and_change_nothing(client, store):
    join(client, role="owner")
    before = rows(store, Person)
    for path, form in (
        ("/people/2", {"decision": "shoot"}),
        ("/people/2", {"decision": "\0"}),
        (f"/people/{10**12}", {"decision": "refuse"}),
        (f"/people/{10**25}", {"decision": "refuse"}),
        ("/pay/nobody", {}),
    ):
        assert 400 <= owner_posts(client, path, **form).status_code < 500, (path, form)
    assert rows(store, Person) == before


@pytest.mark.parametrize("kind", list(VALUES))
def test_every_kind_has_the_pages_and_an_export(tmp_path, kind):
    from pqpp_files.read_table import read_table

    store = small_store(tmp_path, kind=kind, prompts=3)
    for name in ("anna", "boris"):
        person = add_person(store, name, "annotator").id
        do_all(store, person, VALUES.get(kind))
    client = client_of(store)
    join(client, role="owner")
    for path in PAGES:
        assert client.get(f"/owner{path}").status_code == 200, path
    assert "anna" in client.get("/owner/items/1").text
    export_study(store, tmp_path / "out")
    facts = json.loads((tmp_path / "out" / "export.json").read_text())
    assert facts["votes"] == len(list(iterate_votes(store)))
    for name, count in facts["files"].items():
        assert len(read_table(tmp_path / "out" / name)) == count > 0, name
    what = {"preference": "preferences", "order": None, "rich": None}.get(kind, "judgments")
    assert (facts["build"] or "--None").split("--")[1].split()[0] == str(what)
    store.close()


@pytest.mark.parametrize("bad", [0, 2, 6])
def test_the_first_card_says_whether_the_votes_can_be_trusted(tmp_path, bad):
    rules = {"people_per_item": 6, "admission": {"min_reference_share": 0.0}}
    store = small_store(tmp_path, kind="rating", prompts=40, **rules)
    people = [Persona(f"p{n}", "random" if n < bad else "honest", noise=0.2) for n in range(6)]
    simulate_answers(store, people)
    client = client_of(store)
    join(client, role="owner")
    page = client.get("/owner").text
    said = {0: "0 of 6 annotators", 2: "2 of 6 annotators", 6: "no better than chance"}
    assert said[bad] in page and ('class="verdict good"' in page) == (not bad)
    assert ("Needs review" in page) == bool(bad)
    if bad == 2:
        for number in (1, 2):
            decide_on_person(store, number, "accept")
        client.get("/owner/people/1")
        assert 'class="verdict good"' in client.get("/owner").text
    store.close()
