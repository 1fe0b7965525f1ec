"""Studies behind nginx and Caddy, as the docs say."""

import contextlib
import io
import re
import secrets
import time

import httpx
import pytest
from PIL import Image
from support.free_port import free_port
from support.served_process import proxied, running
from support.studies import small_study

from pqpp_cli.main import main

pytestmark = pytest.mark.slow
ROOT = "/colours"


class Browser:
    """Somebody who opens a link and looks at images."""

    def __init__(self, base, link):
        self.base, self.link = base, link
        self.http = httpx.Client(verify=False, follow_redirects=True, timeout=60)
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

    def judge(self):
        """Do one item; nothing where there is none."""
        headers = {"X-CSRF-Token": self.csrf}
        answered = self.http.post(f"{self.base}/api/next", json={}, headers=headers)
        assert answered.status_code == 200, answered.text
        task = answered.json()["task"]
        if task is None:
            self.is_done = True
            return
        for image in task["images"]:
            sent = self.http.get(httpx.URL(self.base).join(image["url"]))
            assert sent.status_code == 200, (sent.status_code, sent.text[:300])
            assert Image.open(io.BytesIO(sent.content)).size == (image["width"], image["height"])
            answer = {"client_id": secrets.token_hex(16), "assignment": task["assignment"]}
            answer |= {"image": image["id"], "value": {"label": 2}, "seconds": 2.0}
            taken = self.http.post(f"{self.base}/api/answers", json=answer, headers=headers)
            assert taken.status_code == 200, taken.text


def said(capsys, *words):
    assert main(["annotate", *words]) == 0
    return capsys.readouterr().out


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
            (cookie,) = (one for one in person.http.cookies.jar if "browser" not in one.name)
            assert cookie.secure and cookie.name.startswith("__Host-pqpp-")
            for _ in range(3):
                person.judge()
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
