"""Requests to annotators' pages: joining, answering, leaving, headers and logs."""

import csv
import logging
import re

import pytest
from sqlalchemy import select
from support.served import get_next_state, get_token, join, open_client
from support.studies import answer_all, create_store, read_rows

from pqpp_annotation.export import export_study
from pqpp_annotation.store.access import make_links, revoke_link
from pqpp_annotation.store.answers import count_answers
from pqpp_annotation.store.people import get_people
from pqpp_annotation.store.tables import Asset, Assignment


@pytest.fixture
def make_client(tmp_path):
    """A function that makes a study and returns a client of its pages."""
    stores = []

    def make_one(base_url="http://testserver", allows_http=False, store=None, **settings):
        if store is None:
            store = create_store(tmp_path, **settings)
            stores.append(store)
        return open_client(store, base_url, allows_http=allows_http)

    yield make_one
    for store in stores:
        store.close()


def make_link(client, **options):
    """Return the path of a new invitation link."""
    [(token, _)] = make_links(client.store, 1, **options)
    return f"/join/{token}"


def start_task(make_client):
    """Return the client of somebody who joined, the first state and its first image."""
    client = make_client()
    join(client)
    state = get_next_state(client)
    return client, state, state["task"]["images"][0]["id"]


def post_answer(client, state, image, value, name="a" * 16, **headers):
    """Send an answer as the page's script does."""
    body = {"client_id": name, "assignment": state["task"]["assignment"], "image": image}
    body |= {"value": value, "seconds": 1.5}
    headers.setdefault("X-CSRF-Token", state["csrf"])
    return client.post("/api/answers", json=body, headers=headers)


def test_link_signs_in_the_same_person_again(make_client):
    client = make_client(consent="Agree?")
    link = make_link(client)
    assert get_people(client.store) == [] and "Agree?" in client.get(link).text
    assert get_people(client.store) == []  # opening the page adds nobody
    response = join(client, link)
    assert (response.status_code, response.headers["location"]) == (303, "/work")
    assert client.get("/work").status_code == 200
    assert get_people(client.store)[0].consented is not None
    client.cookies.clear()
    join(client, link)
    assert len(get_people(client.store)) == 1


def test_get_requests_reserve_no_items(make_client):
    client = make_client()
    join(client)
    paths = ("/work", "/thanks", "/history", "/static/work.js", "/owner", "/none", "/health")
    for path in paths:
        response, head = client.get(path), client.head(path)
        assert (head.status_code, head.text) == (response.status_code, ""), path
        assert head.headers["content-type"] == response.headers["content-type"]
    assert "More items to rate" in client.get("/thanks").text
    assert client.get("/api/next").status_code == 405 and not read_rows(client.store, Assignment)
    get_next_state(client)
    assert len(read_rows(client.store, Assignment)) == 1


def test_work_requires_consent(make_client):
    client = make_client(consent="Agree?")
    join(client, agree="no")
    assert client.get("/work").headers["location"] == "/consent"
    csrf = {"X-CSRF-Token": get_token(client.get("/consent"))}
    assert client.post("/api/next", json={}, headers=csrf).status_code == 401
    page = client.get("/consent")
    client.post("/consent", data={"csrf": get_token(page)})
    assert client.get("/work").status_code == 200


def test_stores_known_recruiter_ids_only(make_client):
    client = make_client()
    link = make_link(client) + "?PROLIFIC_PID=p1&STUDY_ID=s&evil=x"
    page = client.get(link)
    assert 'value="p1"' in page.text and "evil" not in page.text
    join(client, link, PROLIFIC_PID="p1", STUDY_ID="s", evil="x")
    [person] = get_people(client.store)
    assert person.outside == {"PROLIFIC_PID": "p1", "STUDY_ID": "s"}


def test_invalid_link_gives_the_reason(make_client):
    client = make_client()
    (revoked, invitation), (expired, _) = make_links(client.store, 2, days=1)
    revoke_link(client.store, invitation.id)
    now = client.store.clock()
    client.store.clock = lambda: now + 2 * 86_400_000
    for token, reason in (("x" * 32, "unknown"), (revoked, "revoked"), (expired, "expired")):
        page = client.get(f"/join/{token}")
        assert page.status_code == 403
        assert re.search(f"link (is|was|has) {reason}", page.text)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"value": {"label": 9}}, 409),
        ({"image": "0" * 24}, 409),
        ({"image": 1}, 422),
        ({"assignment": 10**6}, 403),
        ({"client_id": "short"}, 422),
        ({"seconds": -1}, 422),
        ({"value": 3}, 422),
        ({"value": {"label": 2, "more": "x" * 2**20}}, 413),
    ],
)
def test_rejects_invalid_answers(make_client, change, code):
    client, state, image = start_task(make_client)
    body = {"client_id": "c" * 16, "assignment": state["task"]["assignment"]}
    body |= {"image": image, "value": {"label": 2}}
    headers = {"X-CSRF-Token": state["csrf"]}
    response = client.post("/api/answers", json=body | change, headers=headers)
    assert response.status_code == code
    assert "\n" not in response.text and count_answers(client.store) == 0


def test_rejects_wrong_csrf_token(make_client):
    client, state, image = start_task(make_client)
    assert post_answer(client, state | {"csrf": "x"}, image, {"label": 2}).status_code == 401
    for path in ("/sign-out", "/consent", "/withdraw"):
        response = client.post(path, data={"csrf": "x", "mode": "delete"})
        assert response.status_code == 401
    assert get_people(client.store)[0].withdrawn is None
    assert client.get("/api/session").json()["csrf"] == state["csrf"]


def test_rejects_cross_site_requests(make_client):
    client, state, image = start_task(make_client)
    cross_site, same_origin = {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-origin"}
    assert post_answer(client, state, image, {"label": 2}, **cross_site).status_code == 403
    assert post_answer(client, state, image, {"label": 2}, **same_origin).status_code == 200


def test_responses_have_security_headers(make_client):
    client = make_client()
    for path in ("/sign-in", "/static/style.css", "/health", "/nothing", "/images/1/x"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY" and "server" not in headers
    assert client.get("/sign-in").headers["cache-control"] == "no-store"


def test_pages_have_no_inline_scripts_or_styles(make_client):
    client = make_client()
    join(client)
    for path in ("/work", "/history", "/thanks", "/withdraw", "/sign-in", "/consent"):
        page = client.get(path).text
        scripts = re.findall(r"<script(?![^>]*(?:src=|application/json))", page)
        assert not scripts and "style=" not in page and "<style" not in page
        assert not re.search(r"\son\w+=", page)


def test_cookies_require_tls_unless_http_is_allowed(make_client):
    client = make_client(base_url="https://study.example")
    cookie = join(client).headers["set-cookie"]
    assert cookie.startswith("__Host-pqpp-")
    for attribute in ("Secure", "HttpOnly", "SameSite=lax", "Path=/"):
        assert attribute in cookie
    assert "strict-transport-security" in client.get("/work").headers
    plain = make_client(base_url="http://study.example", store=client.store)
    refused = plain.get("/sign-in")
    assert refused.status_code == 403 and "https://" in refused.text
    allowed = make_client("http://study.example", allows_http=True, store=client.store)
    cookie = join(allowed).headers["set-cookie"]
    assert cookie.startswith("pqpp-") and "Secure" not in cookie


def test_images_are_served_by_page_name_only(make_client, tmp_path):
    client = make_client()
    url = "/images/1/" + "0" * 24
    assert client.get(url).status_code == 303 or client.get(url).status_code == 401
    join(client)
    image = get_next_state(client)["task"]["images"][0]
    response = client.get(image["url"])
    assert response.status_code == 200 and response.headers["content-type"] == "image/jpeg"
    assert "immutable" in response.headers["cache-control"]
    folder = image["url"].rpartition("/")[0]
    for path in ("..%2f..%2fetc%2fpasswd", "study.yaml", "0" * 24, "%00", "A" * 64):
        assert client.get(f"{folder}/{path}").status_code in (403, 404, 422)
    with client.store.begin_read() as db:
        sha256 = db.scalars(select(Asset.sha256)).first()
    assert client.get(f"/owner/images/{sha256}").status_code == 403
    for path in ("kinds/rich/kind.py", "..%2fapp.py", "kinds/..%2f..%2f..%2fetc/passwd"):
        assert client.get(f"/static/{path}").status_code == 404


def test_withdrawal_ends_all_sessions(make_client):
    client = make_client()
    link = make_link(client)
    join(client, link)
    other = make_client(store=client.store)
    join(other, link)
    state = get_next_state(client)
    post_answer(client, state, state["task"]["images"][0]["id"], {"label": 2})
    form = {"csrf": get_token(client.get("/withdraw")), "mode": "delete"}
    response = client.post("/withdraw", data=form)
    assert "deleted" in response.text and count_answers(client.store) == 0
    assert client.get("/work").headers["location"].startswith("/sign-in")
    assert other.get("/work").headers["location"].startswith("/sign-in")
    assert client.get(link).status_code == 403 or join(client, link).status_code == 403


def test_log_contains_no_tokens(make_client, caplog):
    caplog.set_level(logging.DEBUG)
    client = make_client()
    link = make_link(client)
    join(client, link)
    client.get("/join/not-a-token?PROLIFIC_PID=p1")
    csrf = client.get("/api/session").json()["csrf"]
    records = [record for record in caplog.records if not record.name.startswith("httpx")]
    log = "\n".join(record.getMessage() for record in records)
    assert "GET /join/{token} 200" in log
    for secret in (link.rpartition("/")[2], "not-a-token", "p1", csrf):
        assert secret not in log


def test_survey_is_saved_once_and_exported(make_client, tmp_path):
    questions = {"How old are you?": ["under 30", "older"], "Anything <else>\u202e?": []}
    client = make_client(prompts=1, survey=questions, completion={"code": "C0DE"})
    join(client)
    [person] = get_people(client.store)
    assert "C0DE" not in client.get("/thanks").text and "Anything" not in client.get("/thanks").text
    answer_all(client.store, person.id)
    page = client.get("/thanks")
    assert r"Anything &lt;else&gt;\u202e?" in page.text and "C0DE" not in page.text
    form = {"csrf": get_token(page)}
    for answers in (["young", ""], ["older"], ["older", "x" * 3000], ["older", "", ""]):
        assert client.post("/survey", data={**form, "answers": answers}).status_code == 409
    assert client.post("/survey", data={"answers": ["older", ""]}).status_code == 422
    lines = "\r\n".join(["x" * 99] * 20)  # 1,999 characters as typed
    for answer in (lines, "later"):
        client.post("/survey", data={**form, "answers": ["older", answer]})
    assert "C0DE" in client.get("/thanks").text
    export_study(client.store, tmp_path / "out")
    exported = list(csv.DictReader((tmp_path / "out" / "survey.csv").open()))
    assert [row["answer"] for row in exported] == ["older", lines.replace("\r", "")]
    assert {row["annotator"] for row in exported} == {person.name}
