"""A whole study over HTTP: two sessions, five careless annotators, payments and export."""

import csv
import io
import json
import random
import shlex
from fractions import Fraction

import pytest
from starlette.testclient import TestClient
from support.served import SECRET, get_token
from support.studies import write_table

from pqpp_annotation.export import export_study
from pqpp_annotation.store.access import make_links
from pqpp_annotation.store.answers import count_answers
from pqpp_annotation.store.database import open_store
from pqpp_annotation.store.people import get_people
from pqpp_annotation.store.tables import ItemImage
from pqpp_annotation.store.work import get_item
from pqpp_annotation.study import make_study
from pqpp_annotation.web.serve import create_app
from pqpp_cli.main import main

MODELS = {"lumen": 0.2, "ochre": 0.8, "pastel": 0.5}  # the better, the larger
MANNERS = ["random", "constant", "left", "hasty", "line"] + ["honest"] * 11
PAYMENT = {"per_item": 0.15, "per_hour": 9}


class Rater:
    """A simulated annotator with a browser, who also counts items, time and payments."""

    def __init__(self, number, manner, app, store, link):
        self.manner, self.store, self.link = manner, store, link
        mturk = {"workerId": f"W{number}", "assignmentId": f"A{number}"}
        self.ids = mturk if number % 5 == 4 else {"PROLIFIC_PID": f"p{number}"}
        self.draw = random.Random(number)
        self.browser = TestClient(app, follow_redirects=False)
        self.items, self.seconds, self.paid = 0, Fraction(0), 0

    def join(self):
        page = self.browser.get(self.link, params=self.ids)
        form = {"csrf": get_token(page), "agree": "yes", **self.ids}
        return self.browser.post(self.link, data=form).status_code

    def send(self, path, **form):
        token = get_token(self.browser.get("/withdraw"))
        return self.browser.post(path, data={"csrf": token, **form})

    def choose_answer(self, index, truth, line):
        levels = {"constant": 4, "left": 0 if index else 4, "line": line}
        level = levels.get(self.manner, self.draw.randrange(5))
        if self.manner == "honest":
            level = round(4 * truth + self.draw.gauss(0, 0.8))
        return {"label": 1 + min(max(level, 0), 4)}

    def rate_item(self, now):
        """Rate the next item; return whether there was one."""
        if not self.items:
            self.csrf = {"X-CSRF-Token": self.browser.get("/api/session").json()["csrf"]}
        task = self.browser.post("/api/next", headers=self.csrf).json()["task"]
        if task is None:
            return False
        with self.store.begin_read() as db:
            images = get_item(db, self.person, task["assignment"]).images
            models = [db.get_one(ItemImage, image.id).model for image in images]
        line, item_seconds = self.draw.randrange(5), Fraction(0)
        for index, (image, model) in enumerate(zip(task["images"], models, strict=True)):
            seconds = Fraction(1, 10) if self.manner == "hasty" else 2 + Fraction(index, 4)
            now[0] += int(1000 * seconds) + 200
            value = self.choose_answer(index, MODELS[model] + self.draw.gauss(0, 0.1), line)
            answer = {"client_id": f"{self.link[-8:]}-{task['assignment']:08}-{index}"}
            answer |= {"assignment": task["assignment"], "image": image["id"], "value": value}
            response = self.browser.post(
                "/api/answers", json={**answer, "seconds": float(seconds)}, headers=self.csrf
            )
            assert response.status_code == 200
            item_seconds += seconds
        self.items += 1
        self.seconds += item_seconds
        return True

    def compute_due(self, is_used):
        """Return the amount owed, in cents, and count it as paid."""
        cents = [Fraction(15) * self.items * is_used, Fraction(900) * self.seconds / 3600]
        earned = sum(int(part + Fraction(1, 2)) for part in cents)
        owed = max(0, earned - self.paid)
        self.paid += owed
        return owed


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = write_table(tmp_path, prompts=60, models=tuple(MODELS))
    rules = {"people_per_item": 6, "payment": PAYMENT, "reopen_after": None}
    store = open_store(make_study("study.yaml", table, tmp_path / "images", "rating", **rules))
    yield store
    store.close()


def test_whole_study_over_http(study, tmp_path, capsys):
    store, now = study, [1_700_000_000_000]
    store.clock = lambda: now[0]
    app = create_app(store, secret=SECRET)
    [(shared, _)] = make_links(store, is_shared=True)
    [(token, _)] = make_links(store, role="owner")
    owner = TestClient(app, follow_redirects=False)
    form = {"csrf": get_token(owner.get(f"/join/{token}")), "agree": "yes"}
    owner.post(f"/join/{token}", data=form)
    raters = []
    for number, manner in enumerate(MANNERS):
        raters.append(Rater(number, manner, app, store, f"/join/{shared}"))
        assert raters[-1].join() == 303
        person = get_people(store)[-1]
        raters[-1].person, raters[-1].name = person.id, person.name

    def decide(path, **form):
        csrf = get_token(owner.get("/owner/items"))
        return owner.post(f"/owner{path}", data={"csrf": csrf, **form})

    def check_payment():
        """Compare both payment files with the amounts computed by hand."""
        owed = {rater: rater.compute_due(rater not in refused) for rater in raters}
        pids = {r.ids["PROLIFIC_PID"]: owed[r] for r in raters if "PROLIFIC_PID" in r.ids}
        expected = [f"{pid},{cents / 100:.2f}" for pid, cents in pids.items() if cents]
        assert sorted(decide("/pay/prolific").text.splitlines()) == sorted(expected)
        hand_rows = csv.DictReader(io.StringIO(decide("/pay/hand").text))
        found = {(row["workerId"], row["assignmentId"], float(row["owed"])) for row in hand_rows}
        assert found == {
            (*rater.ids.values(), amount / 100)
            for rater, amount in owed.items()
            if amount and "workerId" in rater.ids
        }
        assert decide("/pay/prolific").status_code == decide("/pay/hand").status_code == 409

    def refuse_flagged():
        """Refuse flagged annotators as the owner; return whether there were new ones."""
        people = csv.DictReader(io.StringIO(owner.get("/owner/annotators.csv").text))
        flags = {row["annotator"]: row["flag"] for row in people}
        new = [rater for rater in raters if flags.get(rater.name) and rater not in refused]
        for rater in new:
            decide(f"/people/{rater.person}", decision="refuse")
        refused.extend(new)
        return bool(new)

    refused, leaver = [], raters[7]
    for _ in range(15):  # the first session
        for rater in raters:
            rater.rate_item(now)
    refuse_flagged()
    check_payment()
    now[0] += 86_400_000  # the second session, in which others fill the refused places
    active = list(raters)
    while any([rater.rate_item(now) for rater in active]) or refuse_flagged():
        if leaver in active and leaver.items > 17:
            assert leaver.send("/withdraw", mode="anonymous").status_code == 200
            assert leaver.join() == 403 and leaver.browser.get("/work").status_code == 303
            active.remove(leaver)
    assert {rater.manner for rater in refused} == set(MANNERS[:5]) and len(refused) == 5
    assert owner.get("/owner/payment.csv").text.count("withdrawn") == 1
    check_payment()

    export_study(store, tmp_path / "votes")
    facts = json.loads((tmp_path / "votes" / "export.json").read_text())
    assert main(shlex.split(facts["build"].removeprefix("pqpp "))) == 0
    capsys.readouterr()
    from pqpp_datasets.load import load_benchmark

    name = shlex.split(facts["build"])[-1]
    rows = list(load_benchmark(f"./{name}", split="train+validation+test"))
    means = {model: sum(row[f"{model}_rating"] for row in rows) / len(rows) for model in MODELS}
    assert sorted(means, key=means.get) == sorted(MODELS, key=MODELS.get)
    assert len(rows) == 60
    exported = {file: file.read_bytes() for file in (tmp_path / "votes").rglob("*.*")}
    answers = (tmp_path / "votes" / "answers.csv").read_text().count("\n") - 1
    assert answers == count_answers(store) == 3 * sum(rater.items for rater in raters)
    export_study(store, tmp_path / "votes")
    assert exported == {file: file.read_bytes() for file in exported}
    (tmp_path / "votes" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"contains notes.txt"):
        export_study(store, tmp_path / "votes")
