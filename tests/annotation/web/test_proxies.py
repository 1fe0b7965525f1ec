"""nginx and Caddy, as the docs say, before a study below a prefix at a port of their own."""

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
    """Somebody who opens a link and judges images."""

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
        joined = self.post(self.link.partition(self.base)[2].partition("?")[0], page)
        assert joined.status_code == 200, joined.text
        return joined

    def judge(self):
        """Do one item; nothing where there is none."""
        answered = self.http.get(f"{self.base}/api/next")
        assert answered.status_code == 200, answered.text
        task = answered.json()["task"]
        if task is None:
            self.is_done = True
            return
        csrf = self.http.get(f"{self.base}/api/session").json()["csrf"]
        for image in task["images"]:
            sent = self.http.get(httpx.URL(self.base).join(image["url"]))
            with Image.open(io.BytesIO(sent.content)) as picture:
                assert picture.size == (image["width"], image["height"])
            answer = {
                "client_id": secrets.token_hex(16),
                "assignment": task["assignment"],
                "image": image["id"],
                "value": {"label": 2},
                "seconds": 2.0,
            }
            headers = {"X-CSRF-Token": csrf, "Origin": self.base.removesuffix(ROOT)}
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
            cookies = [cookie for cookie in person.http.cookies.jar if "browser" not in cookie.name]
            assert [(c.secure, c.name.startswith("__Host-pqpp-")) for c in cookies] == [
                (True, True)
            ]
            while not person.is_done:
                person.judge()
            assert person.is_done and "Thank you!" in person.http.get(f"{url}/thanks").text
            server.terminate()
            log = server.communicate()[1]
    assert "Traceback" not in log and " 403 " not in log


def wait_for(http, url):
    for _ in range(300):
        try:
            if http.get(url).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"{url} does not answer")
