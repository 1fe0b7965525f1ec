"""Requests to the owner's pages: access, contents, forms and downloads."""

import csv
import io
import json
import re
import shutil

import pytest
from sqlalchemy import select
from support.served import get_token, join, open_client
from support.studies import answer_all, create_store, read_rows

from pqpp_annotation.demo import Persona, simulate_answers
from pqpp_annotation.export import export_study
from pqpp_annotation.store.access import make_links
from pqpp_annotation.store.answers import iterate_votes, read_records
from pqpp_annotation.store.database import open_store
from pqpp_annotation.store.people import add_person, decide_on_person, find_person
from pqpp_annotation.store.tables import Assignment, Person
from pqpp_annotation.store.work import get_past_items, reserve_item
from pqpp_annotation.study import read_study

PAGES = ["", "/people", "/people/2", "/items", "/items/1", "/record.csv", "/payment.csv"]
FORMS = {"/pause": {"pause": "yes"}, "/people/2": {"decision": "refuse"}, "/pay/hand": {}}
SCORES = {"plausibility": 3, "alignment": 4, "aesthetics": 5, "overall": 2}
RICH_ANSWER = {"implausible": [[0.5, 0.5]], "misaligned": [], "words": [1], "scores": SCORES}
VALUES = {
    "match": {"label": 0},
    "rating": {"label": 3},
    "preference": {"choice": "b"},
    "rich": {**RICH_ANSWER, "inappropriate": False},
}
TABLES = ("annotators", "payment")


def make_rated_study(folder, **database):
    """Make a study that simulated people have rated."""
    rule = {"per_item": 0.5, "per_hour": 12}
    store = create_store(folder, prompts=6, controls=3, payment=rule, **database)
    simulate_answers(store, [Persona("member", noise=0.0, role="control")])
    manners = {"anna": "honest", "random": "random", "always": "constant"}
    simulate_answers(store, [Persona(name, manner, noise=0.0) for name, manner in manners.items()])
    return store


@pytest.fixture(scope="module")
def rated_study_folder(tmp_path_factory):
    """A folder with a rated study, to be copied."""
    folder = tmp_path_factory.mktemp("begun")
    make_rated_study(folder).close()
    return folder


@pytest.fixture
def store(request, tmp_path, database):
    """A rated study, on each database."""
    if database:
        store = make_rated_study(tmp_path, **database)
    else:
        once = request.getfixturevalue("rated_study_folder")
        shutil.copytree(once, tmp_path, dirs_exist_ok=True)
        store = open_store(read_study(tmp_path / "study.yaml"))
    yield store
    store.close()


@pytest.fixture
def client(store):
    """A browser that is not signed in."""
    return open_client(store)


def post_as_owner(client, path, **form):
    """Send a form with the token of the owner's session."""
    token = get_token(client.get("/owner/items"))
    return client.post(f"/owner{path}", data={"csrf": token, **form})


def test_other_roles_have_no_access(client, store):
    for path in PAGES:
        response = client.get(f"/owner{path}")
        assert response.status_code == 303, path
        assert response.headers["location"].startswith("/sign-in")
    for role in ("annotator", "control"):
        join(client, role=role)
        for path in PAGES:
            response = client.get(f"/owner{path}", headers={"X-Part": "live"})
            assert response.status_code == 403, (role, path)
            assert "anna" not in response.text
        for path, form in FORMS.items():
            before = read_rows(store, Person)
            token = get_token(client.get("/history"))
            response = client.post(f"/owner{path}", data={"csrf": token, **form})
            assert response.status_code == 403, (role, path)
            assert read_rows(store, Person) == before


def test_annotators_cannot_see_answers_of_others(client, store):
    with store.begin_read() as db:
        assignments = db.execute(select(Assignment.id)).scalars().all()
    assert len(assignments) > 20
    join(client, role="annotator")
    for assignment in assignments[:20]:
        for path in ("/work", "/api/tasks", "/api/feedback"):
            response = client.get(f"{path}/{assignment}")
            assert response.status_code == 403 and "label" not in response.text
    assert "dogs" not in client.get("/history").text


def test_forms_require_the_session_token(client, store):
    join(client, role="owner")
    before = read_rows(store, Person)
    for path, form in FORMS.items():
        assert client.post(f"/owner{path}", data={"csrf": "forged", **form}).status_code == 401
        assert client.post(f"/owner{path}", data=form).status_code == 422
    assert read_rows(store, Person) == before


def test_overview_shows_progress_people_and_costs(client, store):
    join(client, role="owner")
    page = client.get("/owner")
    assert page.status_code == 200
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text))
    assert "0 of 6 items have 3 valid ratings; 12 ratings" in text
    assert "is below 0.41" in text and "not used" in text
    for path in ("/owner", "/owner/people"):
        german = client.get(path, headers={"Accept-Language": "de"}).text
        assert re.search(r"Kappa -?\d\.\d{3} mit \w+ liegt unter 0\.41<", german)
        assert "is below" not in german
    assert "Owed" in text and "EUR" in text
    assert re.search(r'<th scope="row">20[\d-]+</th>.*?class="number">\d+<', page.text)
    policy = page.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "style=" not in page.text and "onclick" not in page.text


def test_unchanged_overview_returns_304(client, store):
    join(client, role="owner")
    first = client.get("/owner", headers={"X-Part": "live"})
    assert "<html" not in first.text and 'id="tiles"' in first.text
    headers = {"X-Part": "live", "If-None-Match": first.headers["X-Key"]}
    assert client.get("/owner", headers=headers).status_code == 304
    simulate_answers(store, [Persona("late")])
    add_person(store, "new", "annotator")
    post_as_owner(client, "/pause", pause="no")  # refreshes the overview
    second = client.get("/owner", headers=headers)
    assert second.status_code == 200 and second.headers["X-Key"] != first.headers["X-Key"]


def test_downloads_csv_tables(client, store):
    join(client, role="owner")
    for name in TABLES:
        response = client.get(f"/owner/{name}.csv")
        assert response.headers["content-type"].startswith("text/csv"), name
        assert "attachment" in response.headers["content-disposition"]
        table = list(csv.DictReader(io.StringIO(response.text)))
        assert table, name
    table = csv.DictReader(io.StringIO(client.get("/owner/annotators.csv").text))
    people = {row["annotator"]: row for row in table}
    assert people["random"]["state"] == "refused" and people["random"]["reason"]
    assert client.get("/owner/other.csv").status_code == 409


def test_record_lists_decisions_and_reports(client, store):
    ann = find_person(store, "anna")
    [(token, _)] = make_links(store, person_id=ann.id)
    join(client, f"/join/{token}")
    csrf = {"X-CSRF-Token": client.get("/api/session").json()["csrf"]}
    assignment = get_past_items(store, ann.id)[0].assignment
    for text in ("Never mind", "A <b>broken</b> image\0"):
        report = {"assignment": assignment, "text": text}
        assert client.post("/api/report", json=report, headers=csrf).status_code == 200
    report = {"assignment": assignment + 40, "text": "of another"}
    assert client.post("/api/report", json=report, headers=csrf).status_code == 403
    join(client, role="owner")
    post_as_owner(client, f"/people/{ann.id}", decision="accept")
    events = list(csv.DictReader(io.StringIO(client.get("/owner/record.csv").text)))
    cells = [(row["person"], row["what"], row["text"]) for row in events if row["person"] == "anna"]
    reports = [("anna", "reported", text) for text in ("Never mind", "A <b>broken</b> image")]
    assert cells == [*reports, ("anna", "decided", "accept")]
    assert events[-1]["by"].startswith("owner-") and events[-1]["when"].endswith("+00:00")
    [item] = {row["item"] for row in events if row["what"] == "reported"}
    assert f'/owner/items/{item}">Item {item}: 1<' in client.get("/owner/items").text
    assert "A &lt;b&gt;broken" in client.get(f"/owner/items/{item}").text


def test_paused_study_assigns_nothing(client, store):
    join(client, role="owner")
    assert post_as_owner(client, "/pause", pause="yes").status_code == 303
    assert "Paused since" in client.get("/owner").text
    person = add_person(store, "new", "annotator").id
    assert reserve_item(store, person) is None
    post_as_owner(client, "/pause", pause="no")
    assert "Paused since" not in client.get("/owner").text


def test_rejects_invalid_decisions(client, store):
    join(client, role="owner")
    before = read_rows(store, Person)
    for path, form in (
        ("/people/2", {"decision": "shoot"}),
        ("/people/2", {"decision": "\0"}),
        (f"/people/{10**12}", {"decision": "refuse"}),
        (f"/people/{10**25}", {"decision": "refuse"}),
        ("/pay/nobody", {}),
    ):
        assert 400 <= post_as_owner(client, path, **form).status_code < 500, (path, form)
    assert read_rows(store, Person) == before


@pytest.mark.parametrize("kind", list(VALUES))
def test_every_kind_has_pages_and_an_export(tmp_path, kind):
    from pqpp_files.read_table import read_table

    store = create_store(tmp_path, kind=kind, prompts=3)
    for name in ("anna", "boris"):
        person = add_person(store, name, "annotator").id
        answer_all(store, person, VALUES.get(kind))
    client = open_client(store)
    join(client, role="owner")
    for path in PAGES:
        assert client.get(f"/owner{path}").status_code == 200, path
    assert "anna" in client.get("/owner/items/1").text
    export_study(store, tmp_path / "out")
    facts = json.loads((tmp_path / "out" / "export.json").read_text())
    assert facts["votes"] == len(list(iterate_votes(read_records(store))))
    for name, count in facts["files"].items():
        assert len(read_table(tmp_path / "out" / name)) == count > 0, name
    option = {"preference": "preferences", "order": None, "rich": None}.get(kind, "judgments")
    assert (facts["build"] or "--None").split("--")[1].split()[0] == str(option)
    store.close()


@pytest.mark.parametrize("n_random", [0, 2, 6])
def test_first_card_warns_about_careless_annotators(tmp_path, n_random):
    rules = {"people_per_item": 6, "admission": {"min_reference_share": 0.0}}
    store = create_store(tmp_path, kind="rating", prompts=40, **rules)
    people = [Persona(f"p{n}", "random" if n < n_random else "honest", noise=0.2) for n in range(6)]
    simulate_answers(store, people)
    client = open_client(store)
    join(client, role="owner")
    page = client.get("/owner").text
    messages = {0: "0 of 6 annotators", 2: "2 of 6 annotators", 6: "no better than chance"}
    assert messages[n_random] in page and ('class="verdict good"' in page) == (not n_random)
    assert ("Needs review" in page) == bool(n_random)
    if n_random == 2:
        for number in (1, 2):
            decide_on_person(store, number, "accept")
        client.get("/owner/people/1")
        assert 'class="verdict good"' in client.get("/owner").text
    store.close()
