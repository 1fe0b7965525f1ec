"""Studies behind nginx and Caddy, as the docs say; one of them from the prompts to the bench."""

import contextlib
import csv
import io
import json
import random
import re
import secrets
import shlex
import time

import httpx
import pytest
from PIL import Image
from support.free_port import free_port
from support.served_process import proxied, running
from support.studies import small_study

from pqpp_annotation.study import read_study
from pqpp_cli.main import main

pytestmark = pytest.mark.slow
ROOT = "/colours"
MODELS = ("flux", "sdxl", "glide")
PROMPTS, CONTROLS, SITTING = 60, 6, 22


def write_prompts(folder):
    """Images whose first pixel says how good they are: worse the more words a prompt has."""
    (folder / "images").mkdir()
    draw = random.Random(0)
    with (folder / "prompts.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt_id", "prompt", "image", "model"])
        for number in range(PROMPTS):
            words = number % 6
            for place, model in enumerate(MODELS):
                name = f"{number}-{model}.png"
                grade = max(0, min(3, round((5 - words) * 0.6 + draw.choice((-0.4, 0, 0.4)))))
                picture = Image.new("RGB", (8, 6), (60 * grade, number, place))
                picture.save(folder / "images" / name)
                prompt = f"a cat{' and a dog' * words} {number}"
                writer.writerow([f"q{number}", prompt, name, model])


class Browser:
    """Somebody who opens a link and looks at images; `manner` is honest, random or constant."""

    def __init__(self, base, link, manner="honest", language="en"):
        self.base, self.link, self.manner = base, link, manner
        self.draw = random.Random(link.partition("?")[2] + manner)
        headers = {"Accept-Language": language}
        self.http = httpx.Client(verify=False, follow_redirects=True, headers=headers, timeout=60)
        self.is_done = False

    def post(self, path, page, **form):
        form["csrf"] = re.search(r'name="csrf" value="([^"]+)"', page.text)[1]
        return self.http.post(self.base + path, data=form)

    def join(self):
        page = self.http.get(self.link)
        assert page.status_code == 200, page.text
        ids = dict(re.findall(r'name="(PROLIFIC_PID|agree)" value="([^"]+)"', page.text))
        joined = self.post(self.link.partition(self.base)[2].partition("?")[0], page, **ids)
        assert joined.status_code == 200, joined.text
        self.csrf = self.http.get(f"{self.base}/api/session").json().get("csrf")
        return joined

    def leave(self):
        self.post("/sign-out", self.http.get(f"{self.base}/history"))

    def label(self, image):
        if self.manner == "constant":
            return 2
        true = image.getpixel((0, 0))[0] // 60 - 1
        is_wrong = self.manner == "random" or self.draw.random() < 0.08
        return self.draw.choice((-1, 0, 1, 2)) if is_wrong else true

    def judge(self):
        """Do one item; nothing where there is none."""
        answered = self.http.get(f"{self.base}/api/next")
        assert answered.status_code == 200, answered.text
        task = answered.json()["task"]
        if task is None:
            self.is_done = True
            return
        for image in task["images"]:
            sent = self.http.get(httpx.URL(self.base).join(image["url"]))
            assert sent.status_code == 200, (sent.status_code, sent.text[:300])
            with Image.open(io.BytesIO(sent.content)) as picture:
                label = self.label(picture.convert("RGB"))
            answer = {
                "client_id": secrets.token_hex(16),
                "assignment": task["assignment"],
                "image": image["id"],
                "value": {"label": label},
                "seconds": 2.0,
            }
            headers = {"X-CSRF-Token": self.csrf, "Origin": self.base.removesuffix(ROOT)}
            taken = self.http.post(f"{self.base}/api/answers", json=answer, headers=headers)
            assert taken.status_code == 200, taken.text


def said(capsys, *words):
    assert main(["annotate", *words]) == 0
    return capsys.readouterr().out


def everybody_judges(people, items):
    for _ in range(items):
        for person in people:
            if not person.is_done:
                person.judge()


@pytest.mark.parametrize("program", ["nginx", "caddy"])
def test_a_study_stands_behind_a_proxy_below_a_prefix_at_another_port(tmp_path, program, capsys):
    small_study(tmp_path, prompts=2)
    behind = free_port()
    with proxied(program, tmp_path, behind, ROOT) as url:
        options = ("--url", url)
        with running(tmp_path, behind, *options, answers=f"{ROOT}/health") as server:
            link = said(capsys, "invite", str(tmp_path / "study.yaml")).strip()
            assert link.startswith(f"{url}/join/")
            person = Browser(url, link)
            wait_for(person.http, f"{url}/health")
            page = person.join()
            assert str(page.url) == f"{url}/work"
            for address in re.findall(r'(?:src|href)="([^"]+)"', page.text):
                found = person.http.get(httpx.URL(url).join(address))
                assert address.startswith(f"{ROOT}/") or address == "#main", address
                assert found.status_code == 200, address
            cookies = [cookie for cookie in person.http.cookies.jar if "browser" not in cookie.name]
            assert [(c.secure, c.name.startswith("__Host-pqpp-")) for c in cookies] == [
                (True, True)
            ]
            everybody_judges([person], 3)
            assert person.is_done and "Thank you!" in person.http.get(f"{url}/thanks").text
            server.terminate()
            server.wait(60)
            log = server.stderr.read()
    assert "Traceback" not in log and " 403 " not in log


def wait_for(http, url, text=""):
    """Wait until a page is there and says something; the owner's are a minute old at most."""
    said = ""
    for _ in range(900):
        with contextlib.suppress(httpx.TransportError):
            answered = http.get(url)
            said = re.sub(r"<[^>]*>|\s+", " ", answered.text)
            if answered.status_code == 200 and text in answered.text:
                return
        time.sleep(0.1)
    raise AssertionError(f"{url} says: {said}")


def test_a_study_from_prompts_to_the_bench(tmp_path, new_postgresql, monkeypatch, capsys):
    write_prompts(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STUDY_DATABASE", new_postgresql())
    behind = free_port()
    with proxied("nginx", tmp_path, behind, ROOT) as url:
        settings = {
            "database": "$STUDY_DATABASE",
            "items_per_person": SITTING,
            "reopen_after": 12,
            "control.every": 3,
            "control.count": CONTROLS,
            "consent": "I take part.",
            "payment": "{per_item: 0.1, per_hour: 6.0}",
            "completion.code": "C0DE",
        }
        words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        made = said(
            capsys,
            *("init", "study.yaml", "--file", "prompts.csv", "--image-dir", "images"),
            *("--title", "Colours", "--address", url, *words),
        )
        [owner_link, trial_link] = re.findall(r"(https://\S+)", made)
        options = ("--url", url, "--workers", "2")
        with running(tmp_path, behind, *options, answers=f"{ROOT}/health") as server:
            shared = said(capsys, "invite", "study.yaml", "--shared").strip()
            members = said(capsys, "invite", "study.yaml", "--role", "control", "--count", "2")
            owner, trial = Browser(url, owner_link), Browser(url, trial_link)
            wait_for(owner.http, f"{url}/health")
            assert "Colours" in owner.join().text
            trial.join()
            control = [Browser(url, link) for link in members.split()]
            manners = ["honest"] * 10 + ["random", "constant"]
            people = [
                Browser(url, f"{shared}?PROLIFIC_PID=person{number}", manner)
                for number, manner in enumerate(manners)
            ]
            for person in (*control, *people):
                person.join()
            everybody_judges([trial], 1)
            everybody_judges(control, CONTROLS + 1)
            everybody_judges(people, SITTING // 2)
            for person in people:  # the first sitting is over; the same browser comes back
                person.leave()
                assert person.http.get(f"{url}/api/next").status_code == 401
                person.join()
            everybody_judges(people, SITTING // 4)
            refuse(owner, url, capsys)
            new = [Browser(url, f"{shared}?PROLIFIC_PID=new{number}") for number in range(2)]
            for person in new:
                person.join()
            everybody_judges([*people, *new], SITTING)
            done = [one for one in (*people, *new) if one.manner == "honest"]
            codes = [one.http.get(f"{url}/thanks").text for one in done]
            assert all("C0DE" in page for page in codes), codes
            wait_for(owner.http, f"{url}/owner", "every item has its people, whose votes are used")
            bonuses = owner.http.get(f"{url}/owner/payment-prolific.csv").text
            payment = [
                *csv.DictReader(owner.http.get(f"{url}/owner/payment.csv").text.splitlines())
            ]
            server.terminate()
            server.wait(60)
            assert "Traceback" not in server.stderr.read()
    assert len(payment) == 14
    paid = dict(row.split(",") for row in bonuses.splitlines())
    for row in payment:
        items = float(row["items"]) if row["admitted"] == "true" else 0.0
        wanted = round(0.1 * items, 2) + float(row["for_hours"])
        assert float(row["amount"]) == pytest.approx(wanted, abs=0.005), row
        assert paid.get(row["PROLIFIC_PID"], "0.00") == f"{float(row['amount']):.2f}"
    refused = {row["PROLIFIC_PID"] for row in payment if row["admitted"] == "false"}
    assert refused == {"person10", "person11"}
    work = sum(int(row["items"]) for row in payment if row["admitted"] == "true")
    assert work >= 3 * (PROMPTS - CONTROLS)  # of usable people, and control items
    status = said(capsys, "status", "study.yaml")
    assert "not used" in status
    lines = said(capsys, "export", "study.yaml", "--output", "votes")
    facts = json.loads((tmp_path / "votes/export.json").read_text())
    assert facts["people"]["role_trial"] == 1 and "pqpp build" in lines
    votes = [*csv.DictReader((tmp_path / "votes/counted/judgments.csv").open())]
    usable = {}
    for vote in votes:
        usable.setdefault(vote["image"], set()).add(vote["annotator"])
    assert len(usable) == PROMPTS * len(MODELS) and min(map(len, usable.values())) >= 3
    assert main(shlex.split(facts["build"].removeprefix("pqpp "))) == 0
    capsys.readouterr()
    name = shlex.split(facts["build"])[-1]
    words = ["bench", "--dataset", f"./{name}", "--split", "train", "--predictors", "n_words"]
    assert main([*words, "--targets", "mean_hbpp", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["pearson"] < -0.8
    assert read_study(tmp_path / "study.yaml").items_per_person == SITTING


def refuse(owner, url, capsys):
    """Two are refused while it runs: by hand, and by the rules; others get their places."""
    page = owner.http.get(f"{url}/owner/people").text
    people = dict(reversed(one) for one in re.findall(r"/owner/people/(\d+)\">([^<]+)<", page))
    rows = csv.DictReader(owner.http.get(f"{url}/owner/annotators.csv").text.splitlines())
    kappas = {row["annotator"]: float(row["kappa"] or 1) for row in rows}
    bad = sorted((name for name in kappas if name in people), key=kappas.get)[:2]
    assert len(bad) == 2 and all(kappas[name] < 0.41 for name in bad), (people, kappas)
    path = f"/owner/people/{people[bad[0]]}"
    for decision in ("refuse", "reopen"):
        owner.post(path, owner.http.get(url + path), decision=decision)
    for name in bad:  # the other by the rules, once enough controls are judged
        for _ in range(100):
            page = owner.http.get(f"{url}/owner/people/{people[name]}").text
            if "The places are open to others." in page:
                break
            time.sleep(0.1)
        else:
            raise AssertionError(f"the places of {name} are not open")
