"""Sessions: signing in and out, shared links, rate limits, and leaving."""

import itertools
import re

import pytest
from starlette.testclient import TestClient
from support.served import get_next_state, get_token, join, open_client
from support.studies import answer_all, create_store, read_rows

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
    store = create_store(tmp_path)
    yield store
    store.close()


def test_sign_out_invalidates_the_cookie(store):
    client = open_client(store)
    join(client)
    [cookie] = [(name, value) for name, value in client.cookies.items() if "browser" not in name]
    csrf = client.get("/api/session").json()["csrf"]
    assert client.post("/sign-out", data={"csrf": csrf}).status_code == 303
    other_client = open_client(store)
    other_client.cookies.set(*cookie)
    assert other_client.get("/api/session").status_code == 401
    assert other_client.get("/work").headers["location"].startswith("/sign-in")


@pytest.mark.parametrize("reason", ["revoked", "expired", "owner"])
def test_ended_session_saves_no_answers(store, reason):
    client = open_client(store)
    now = store.clock()
    [(token, link)] = make_links(store, days=1)
    join(client, f"/join/{token}")
    state = get_next_state(client)
    csrf = {"X-CSRF-Token": state["csrf"]}
    [person] = get_people(store)
    if reason == "revoked":
        revoke_link(store, link.id)
    elif reason == "expired":
        store.clock = lambda: now + 2 * DAY
    else:
        decide_on_person(store, person.id, "sign-out")
    answer = {"client_id": "x" * 16, "assignment": state["task"]["assignment"]}
    answer |= {"image": state["task"]["images"][0]["id"], "value": {"label": 2}}
    assert client.post("/api/answers", json=answer, headers=csrf).status_code == 401
    assert count_answers(store) == 0


def test_shared_link_id_is_bound_to_the_first_browser(store):
    [(token, _)] = make_links(store, is_shared=True)
    first, other = open_client(store), open_client(store)
    link = f"/join/{token}?PROLIFIC_PID=p1"
    assert join(first, link, PROLIFIC_PID="p1").status_code == 303
    [person] = get_people(store)
    answer_all(store, person.id, limit=2)
    response = join(other, link, PROLIFIC_PID="p1")
    assert response.status_code == 403 and "another browser" in response.text
    assert other.get("/history").headers["location"].startswith("/sign-in")
    # The first browser can sign in again; the owner can allow another.
    csrf = first.get("/api/session").json()["csrf"]
    first.post("/sign-out", data={"csrf": csrf})
    assert join(first, link, PROLIFIC_PID="p1").status_code == 303
    decide_on_person(store, person.id, "let-in")
    assert join(other, link, PROLIFIC_PID="p1").status_code == 303
    assert join(first, link, PROLIFIC_PID="p1").status_code == 403
    assert len(get_people(store)) == 1


def test_limits_new_ids_per_address_but_not_known_ids(store):
    [(token, _)] = make_links(store, is_shared=True)
    browsers = [open_client(store) for _ in range(3)]
    codes = []
    for number in range(70):
        link = f"/join/{token}?workerId=w{number}"
        codes.append(join(browsers[number % 3], link, workerId=f"w{number}").status_code)
    assert codes == [303] * 60 + [429] * 10
    assert join(browsers[0], f"/join/{token}?workerId=w0", workerId="w0").status_code == 303
    csrf = get_token(browsers[0].get("/withdraw"))
    for ids in ("", "?PROLIFIC_PID={{%25PROLIFIC_PID%25}}", "?workerId=${workerId}"):
        page = browsers[0].get(f"/join/{token}{ids}")
        assert page.status_code == 403 and "ID is missing" in page.text
        assert "Go to the start page" not in page.text and "<form" not in page.text
        form = {"csrf": csrf, "PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}
        assert browsers[0].post(f"/join/{token}", data=form).status_code == 403
    assert len(get_people(store)) == 60


COMPLETION = {"code": "D0NE", "url": "https://example.org/?cc={code}&id={PROLIFIC_PID}"}
COMPLETION |= {"screened_out": {"code": "SCREEN", "url": "https://example.org/?cc={code}"}}
COMPLETION |= {"quota_full": {"code": "FULL"}, "withdrawn": {"code": "GONE"}}


def join_shared_link(store, number):
    client = open_client(store)
    [(token, _)] = make_links(store, is_shared=True)
    join(client, f"/join/{token}?PROLIFIC_PID=p{number}", PROLIFIC_PID=f"p{number}")
    return client, get_people(store)[-1].id


def test_each_outcome_has_its_code_and_url(tmp_path):
    store = create_store(tmp_path, prompts=3, people_per_item=1, training=1, completion=COMPLETION)
    client, person = join_shared_link(store, 1)
    answer_all(store, person, {"label": -1})
    assert get_next_state(client)["task"] is None
    page = client.get("/thanks")
    assert page.status_code == 200 and "SCREEN" in page.text and "?cc=SCREEN" in page.text
    assert "D0NE" not in page.text
    client, person = join_shared_link(store, 2)
    answer_all(store, person)
    page = client.get("/thanks").text
    assert "cc=D0NE&amp;id=p2" in page and "You have rated 3 items" in page
    client, person = join_shared_link(store, 3)
    answer_all(store, person)
    page = client.get("/thanks").text
    assert "FULL" in page and "This study is full" in page and "D0NE" not in page
    csrf = get_token(client.get("/withdraw"))
    page = client.post("/withdraw", data={"csrf": csrf, "mode": "delete"}).text
    assert "GONE" in page and "deleted" in page
    store.close()


@pytest.mark.parametrize("mode", ["delete", "anonymous"])
def test_leaver_is_paid_and_cannot_rejoin(tmp_path, mode):
    rule = {"per_item": 0.15, "per_hour": 12}
    store = create_store(tmp_path, prompts=4, training=2, payment=rule)
    store.clock = itertools.count(store.clock(), 4_000).__next__
    client, person = join_shared_link(store, 1)
    answer_all(store, person)
    [due_before] = StudyMonitor(store).get_overview().dues
    client.post("/withdraw", data={"csrf": get_token(client.get("/withdraw")), "mode": mode})
    monitor = StudyMonitor(store)
    [row] = monitor.get_overview().dues
    assert due_before.pay.owed == row.pay.owed == monitor.get_overview().money["owed"] == 0.65
    paid = (row.pay.items, row.pay.for_items, row.pay.for_hours, row.reason, row.method)
    assert paid == (0, 0.6, 0.05, "withdrawn", "prolific")
    # The id is deleted, and cannot join again with any link.
    assert "p1" not in str(read_rows(store, Person))
    for shared in (True, False):
        [(token, _)] = make_links(store, is_shared=shared)
        page = join(open_client(store), f"/join/{token}", PROLIFIC_PID="p1").text
        assert "have left this study" in page
    assert len(get_people(store)) == 1
    store.close()


def test_leaver_without_id_gets_a_payment_code(tmp_path):
    store = create_store(tmp_path, payment={"per_item": 0.15})
    client = open_client(store)
    [(token, _)] = make_links(store)
    join(client, f"/join/{token}")
    answer_all(store, get_people(store)[0].id)
    form = {"csrf": get_token(client.get("/withdraw")), "mode": "delete"}
    farewell = client.post("/withdraw", data=form).text
    [due] = StudyMonitor(store).record_payments("hand")
    assert due.pay.owed == 0.6 and f"<b>{due.name}</b>" in farewell
    store.close()


def test_id_cannot_be_used_with_a_second_link(store):
    client, _ = join_shared_link(store, 1)
    [(shared, _)], [(personal, _)] = make_links(store, is_shared=True), make_links(store)
    assert join(client, f"/join/{shared}", PROLIFIC_PID="p1").status_code == 303
    response = join(client, f"/join/{personal}", PROLIFIC_PID="p1")
    assert "used with another link" in response.text and len(get_people(store)) == 1
    stranger, [(other_personal, _)] = open_client(store), make_links(store)
    assert join(open_client(store), f"/join/{other_personal}", PROLIFIC_PID="p2").status_code == 303
    assert "used with another link" in join(stranger, f"/join/{shared}", PROLIFIC_PID="p2").text


def test_unavailable_database_is_not_named_on_pages(store, monkeypatch, caplog):
    client = open_client(store)
    join(client)

    def raise_unavailable(*_, **__):
        raise AnnotationError("/srv/secret/study.db cannot be reached (host=10.0.0.7)", 503)

    monkeypatch.setattr("pqpp_annotation.store.work.get_progress", raise_unavailable)
    for path in ("/work", "/thanks"):
        response = client.get(path)
        assert response.status_code == 503
        assert "secret" not in response.text and "10.0.0.7" not in response.text
        assert "try again" in response.text
    assert "/srv/secret/study.db" in caplog.text


@pytest.mark.parametrize("is_removed", [True, False])
def test_root_path_prefixes_all_urls(store, is_removed):
    client = open_client(store, root_path="/colours/a")
    prefix = "/colours/a"
    [(token, _)] = make_links(store)

    def to_path(path):
        return path.removeprefix(prefix) if is_removed else path

    page = client.get(to_path(f"{prefix}/join/{token}"))
    addresses = re.findall(r'(?:href|src|action)="(/[^"]*)"', page.text)
    assert addresses and all(address.startswith(f"{prefix}/") for address in addresses)
    for address in addresses:
        if "static" in address:
            assert client.get(to_path(address)).status_code == 200, address
    form = {"csrf": get_token(page), "agree": "yes"}
    joined = client.post(to_path(f"{prefix}/join/{token}"), data=form)
    assert joined.headers["location"] == f"{prefix}/work"
    work = client.get(to_path(f"{prefix}/work"))
    assert f'src="{prefix}/static/work.js"' in work.text
    csrf = client.get(to_path(f"{prefix}/api/session")).json()["csrf"]
    response = client.post(to_path(f"{prefix}/api/next"), json={}, headers={"X-CSRF-Token": csrf})
    state = response.json()
    url = state["task"]["images"][0]["url"]
    assert url.startswith(f"{prefix}/images/") and client.get(to_path(url)).status_code == 200
    client.cookies.clear()
    location = client.get(to_path(f"{prefix}/work")).headers["location"]
    assert location == f"{prefix}/sign-in"


@pytest.mark.parametrize("secrets", ["ab", "aa"])
def test_two_studies_on_one_host_use_different_cookies(tmp_path, secrets):
    # "aa": both use the secret of the environment.
    browser, clients = TestClient(None), []
    for name, secret in zip("ab", secrets, strict=True):
        (tmp_path / name).mkdir()
        store = create_store(tmp_path / name, prompts=1)
        app = create_app(store, secret=secret * 40)
        client = TestClient(app, follow_redirects=False, cookies=browser.cookies)
        client.store = store
        join(client)
        browser.cookies.update(client.cookies)
        clients.append((client, store))
    for client, store in clients:  # both are signed in with the shared cookies
        client.cookies = browser.cookies
        assert client.get("/api/session").status_code == 200
        store.close()


def test_owner_decides_on_the_person_page(store):
    ann = add_person(store, "ann").id
    answer_all(store, ann)
    client = open_client(store)
    join(client, role="owner")
    page = client.get(f"/owner/people/{ann}")
    assert page.status_code == 200 and page.text.count("<tr>") == 9
    source = re.search(r'src="(/owner/images/[^"]+)"', page.text)[1]
    assert client.get(source).headers["content-type"] == "image/jpeg"
    form = {"csrf": get_token(page)}
    for decision in ("refuse", "accept", "rules", "sign-out"):
        response = client.post(f"/owner/people/{ann}", data={**form, "decision": decision})
        assert response.headers["location"] == f"/owner/people/{ann}"
