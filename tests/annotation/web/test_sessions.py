"""Who is let in, how often somebody may try, and what ends a session; all on the server."""

import itertools
import re

import pytest
from starlette.testclient import TestClient
from support.served import client_of, join, next_state, token_of
from support.studies import do_all, rows, small_store

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.owner.overview import StudyMonitor
from pqpp_annotation.store.access import make_links, revoke_link
from pqpp_annotation.store.answers import count_answers
from pqpp_annotation.store.people import add_person, decide_on_person, get_people
from pqpp_annotation.store.tables import Person
from pqpp_annotation.web.serve import create_app

DAY = 86_400_000


@pytest.fixture
def store(tmp_path):
    store = small_store(tmp_path)
    yield store
    store.close()


def test_signing_out_ends_the_session_on_the_server(store):
    client = client_of(store)
    join(client)
    [cookie] = [(name, value) for name, value in client.cookies.items() if "browser" not in name]
    csrf = client.get("/api/session").json()["csrf"]
    assert client.post("/sign-out", data={"csrf": csrf}).status_code == 303
    stolen = client_of(store)
    stolen.cookies.set(*cookie)
    assert stolen.get("/api/session").status_code == 401
    assert stolen.get("/work").headers["location"].startswith("/sign-in")


@pytest.mark.parametrize("ends", ["revoked", "expired", "owner"])
def test_an_open_page_saves_nothing_more(store, ends):
    client = client_of(store)
    now = store.clock()
    [(token, link)] = make_links(store, days=1)
    join(client, f"/join/{token}")
    state = next_state(client)
    csrf = {"X-CSRF-Token": state["csrf"]}
    [person] = get_people(store)
    if ends == "revoked":
        revoke_link(store, link.id)
    elif ends == "expired":
        store.clock = lambda: now + 2 * DAY
    else:
        decide_on_person(store, person.id, "sign-out")
    answer = {"client_id": "x" * 16, "assignment": state["task"]["assignment"]}
    answer |= {"image": state["task"]["images"][0]["id"], "value": {"label": 2}}
    assert client.post("/api/answers", json=answer, headers=csrf).status_code == 401
    assert count_answers(store) == 0


def test_an_id_behind_a_shared_link_is_held_by_the_first_browser(store):
    [(token, _)] = make_links(store, is_shared=True)
    first, other = client_of(store), client_of(store)
    link = f"/join/{token}?PROLIFIC_PID=p1"
    assert join(first, link, PROLIFIC_PID="p1").status_code == 303
    [person] = get_people(store)
    do_all(store, person.id, most=2)
    refused = join(other, link, PROLIFIC_PID="p1")
    assert refused.status_code == 403 and "another browser" in refused.text
    assert other.get("/history").headers["location"].startswith("/sign-in")
    # The first one comes back, also after signing out; the owner may let another in.
    csrf = first.get("/api/session").json()["csrf"]
    first.post("/sign-out", data={"csrf": csrf})
    assert join(first, link, PROLIFIC_PID="p1").status_code == 303
    decide_on_person(store, person.id, "let-in")
    assert join(other, link, PROLIFIC_PID="p1").status_code == 303
    assert join(first, link, PROLIFIC_PID="p1").status_code == 403
    assert len(get_people(store)) == 1


def test_made_up_ids_of_one_address_are_counted_but_known_ones_come_back(store):
    [(token, _)] = make_links(store, is_shared=True)
    browsers = [client_of(store) for _ in range(3)]
    codes = []
    for number in range(70):
        link = f"/join/{token}?workerId=w{number}"
        codes.append(join(browsers[number % 3], link, workerId=f"w{number}").status_code)
    assert codes == [303] * 60 + [429] * 10
    assert join(browsers[0], f"/join/{token}?workerId=w0", workerId="w0").status_code == 303
    csrf = token_of(browsers[0].get("/withdraw"))
    for ids in ("", "?PROLIFIC_PID={{%25PROLIFIC_PID%25}}", "?workerId=${workerId}"):
        alone = browsers[0].get(f"/join/{token}{ids}")
        assert alone.status_code == 403 and "ID is missing" in alone.text
        assert "Go to the start page" not in alone.text and "<form" not in alone.text
        sent = {"csrf": csrf, "PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}
        assert browsers[0].post(f"/join/{token}", data=sent).status_code == 403
    assert len(get_people(store)) == 60


WAYS = {"code": "D0NE", "url": "https://example.org/?cc={code}&id={PROLIFIC_PID}"}
WAYS |= {"screened_out": {"code": "SCREEN", "url": "https://example.org/?cc={code}"}}
WAYS |= {"quota_full": {"code": "FULL"}, "withdrawn": {"code": "GONE"}}


def came(store, number):
    client = client_of(store)
    [(token, _)] = make_links(store, is_shared=True)
    join(client, f"/join/{token}?PROLIFIC_PID=p{number}", PROLIFIC_PID=f"p{number}")
    return client, get_people(store)[-1].id


def test_every_way_out_has_its_code_and_address(tmp_path):
    store = small_store(tmp_path, prompts=3, people_per_item=1, training=1, completion=WAYS)
    client, person = came(store, 1)
    do_all(store, person, {"label": -1})
    assert next_state(client)["task"] is None
    page = client.get("/thanks")
    assert page.status_code == 200 and "SCREEN" in page.text and "?cc=SCREEN" in page.text
    assert "D0NE" not in page.text
    client, person = came(store, 2)
    do_all(store, person)
    page = client.get("/thanks").text
    assert "cc=D0NE&amp;id=p2" in page and "You have rated 3 items" in page
    client, person = came(store, 3)
    do_all(store, person)
    page = client.get("/thanks").text
    assert "FULL" in page and "This study is full" in page and "D0NE" not in page
    csrf = token_of(client.get("/withdraw"))
    page = client.post("/withdraw", data={"csrf": csrf, "mode": "delete"}).text
    assert "GONE" in page and "deleted" in page
    store.close()


@pytest.mark.parametrize("mode", ["delete", "anonymous"])
def test_who_leaves_is_paid_and_does_not_come_again(tmp_path, mode):
    rule = {"per_item": 0.15, "per_hour": 12}
    store = small_store(tmp_path, prompts=4, training=2, payment=rule)
    store.clock = itertools.count(store.clock(), 4_000).__next__
    client, person = came(store, 1)
    do_all(store, person)
    [before] = StudyMonitor(store).get_overview().dues
    client.post("/withdraw", data={"csrf": token_of(client.get("/withdraw")), "mode": mode})
    monitor = StudyMonitor(store)
    [row] = monitor.get_overview().dues
    assert before.pay.owed == row.pay.owed == monitor.get_overview().money["owed"] == 0.65
    paid = (row.pay.items, row.pay.for_items, row.pay.for_hours, row.reason, row.method)
    assert paid == (0, 0.6, 0.05, "withdrawn", "prolific")
    # Nothing tells whose votes they were, and the id comes back by no link, nor gets new tries.
    assert "p1" not in str(rows(store, Person))
    for shared in (True, False):
        [(token, _)] = make_links(store, is_shared=shared)
        refused = join(client_of(store), f"/join/{token}", PROLIFIC_PID="p1").text
        assert "have left this study" in refused
    assert len(get_people(store)) == 1
    store.close()


def test_who_leaves_without_an_id_is_told_a_code_to_be_paid_by(tmp_path):
    store = small_store(tmp_path, payment={"per_item": 0.15})
    client = client_of(store)
    [(token, _)] = make_links(store)
    join(client, f"/join/{token}")
    do_all(store, get_people(store)[0].id)
    form = {"csrf": token_of(client.get("/withdraw")), "mode": "delete"}
    farewell = client.post("/withdraw", data=form).text
    [due] = StudyMonitor(store).record_payments("hand")
    assert due.pay.owed == 0.6 and f"<b>{due.name}</b>" in farewell
    store.close()


def test_one_id_is_one_person_whatever_the_link(store):
    client, _ = came(store, 1)
    [(shared, _)], [(own, _)] = make_links(store, is_shared=True), make_links(store)
    assert join(client, f"/join/{shared}", PROLIFIC_PID="p1").status_code == 303
    other = join(client, f"/join/{own}", PROLIFIC_PID="p1")
    assert "used with another link" in other.text and len(get_people(store)) == 1
    stranger, [(third, _)] = client_of(store), make_links(store)
    assert join(client_of(store), f"/join/{third}", PROLIFIC_PID="p2").status_code == 303
    assert "used with another link" in join(stranger, f"/join/{shared}", PROLIFIC_PID="p2").text


def test_a_database_that_is_away_is_not_named_to_people(store, monkeypatch, caplog):
    client = client_of(store)
    join(client)

    def away(*_, **__):
        raise AnnotationError("/srv/secret/study.db cannot be reached (host=10.0.0.7)", 503)

    monkeypatch.setattr("pqpp_annotation.store.work.get_progress", away)
    for path in ("/work", "/thanks"):
        answered = client.get(path)
        assert answered.status_code == 503
        assert "secret" not in answered.text and "10.0.0.7" not in answered.text
        assert "try again" in answered.text
    assert "/srv/secret/study.db" in caplog.text


@pytest.mark.parametrize("taken_off", [True, False])
def test_a_study_below_a_prefix(store, taken_off):
    client = client_of(store, root_path="/colours/a")
    prefix = "/colours/a"
    [(token, _)] = make_links(store)

    def to(path):
        return path.removeprefix(prefix) if taken_off else path

    page = client.get(to(f"{prefix}/join/{token}"))
    addresses = re.findall(r'(?:href|src|action)="(/[^"]*)"', page.text)
    assert addresses and all(one.startswith(f"{prefix}/") for one in addresses)
    for one in addresses:
        if "static" in one:
            assert client.get(to(one)).status_code == 200, one
    form = {"csrf": token_of(page), "agree": "yes"}
    joined = client.post(to(f"{prefix}/join/{token}"), data=form)
    assert joined.headers["location"] == f"{prefix}/work"
    work = client.get(to(f"{prefix}/work"))
    assert f'src="{prefix}/static/work.js"' in work.text
    csrf = client.get(to(f"{prefix}/api/session")).json()["csrf"]
    asked = client.post(to(f"{prefix}/api/next"), json={}, headers={"X-CSRF-Token": csrf})
    state = asked.json()
    url = state["task"]["images"][0]["url"]
    assert url.startswith(f"{prefix}/images/") and client.get(to(url)).status_code == 200
    client.cookies.clear()
    sent = client.get(to(f"{prefix}/work")).headers["location"]
    assert sent == f"{prefix}/sign-in"


@pytest.mark.parametrize("secrets", ["ab", "aa"])
def test_two_studies_on_one_host_have_cookies_of_their_own(tmp_path, secrets):
    """Also where both have one secret of the environment."""
    browser, seen = TestClient(None), []
    for name, secret in zip("ab", secrets, strict=True):
        (tmp_path / name).mkdir()
        store = small_store(tmp_path / name, prompts=1)
        app = create_app(store, secret=secret * 40)
        client = TestClient(app, follow_redirects=False, cookies=browser.cookies)
        client.store = store
        join(client)
        browser.cookies.update(client.cookies)
        seen.append((client, store))
    for client, store in seen:  # each still signed in with the cookies of both
        client.cookies = browser.cookies
        assert client.get("/api/session").status_code == 200
        store.close()


def test_the_owner_decides_on_a_page_of_the_person(store):
    ann = add_person(store, "ann").id
    do_all(store, ann)
    client = client_of(store)
    join(client, role="owner")
    page = client.get(f"/owner/people/{ann}")
    assert page.status_code == 200 and page.text.count("<tr>") == 9
    source = re.search(r'src="(/owner/images/[^"]+)"', page.text)[1]
    assert client.get(source).headers["content-type"] == "image/jpeg"
    form = {"csrf": token_of(page)}
    for decision in ("refuse", "accept", "rules", "sign-out"):
        answered = client.post(f"/owner/people/{ann}", data={**form, "decision": decision})
        assert answered.headers["location"] == f"/owner/people/{ann}"
