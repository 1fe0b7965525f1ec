"""The pictures of docs/annotation.md: `PQPP_SCREENSHOTS=docs/pictures` makes them anew."""

import contextlib
import csv
import os
from pathlib import Path

import pytest
from PIL import Image
from sqlalchemy import update
from support.browser import WIDE, saved
from support.free_port import free_port
from support.served import Served, serving
from support.studies import do_all

from pqpp_annotation.demo import make_demo
from pqpp_annotation.demo.pictures import picture, scene
from pqpp_annotation.store.people import everybody
from pqpp_annotation.store.tables import Person
from pqpp_annotation.study import make_study

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LARGEST = 300_000


@pytest.fixture
def keep(tmp_path):
    """A function that keeps a page's picture, which is small and shows something."""

    def shoot(page, name):
        path = Path(os.environ.get("PQPP_SCREENSHOTS", tmp_path)) / f"annotation_{name}.png"
        page.mouse.move(0, 0)
        page.screenshot(path=path)
        with Image.open(path) as image:
            smaller = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        smaller.save(path, optimize=True)
        assert path.stat().st_size < LARGEST
        assert len(smaller.getcolors()) > 32

    return shoot


@contextlib.contextmanager
def demo(folder):
    """The demo's study, half done."""
    port = free_port()
    _, store = make_demo(folder)
    served = Served(store.study, store, f"http://127.0.0.1:{port}", port)
    served.start()
    yield served
    served.stop()
    store.close()


def test_annotating_in_light_and_dark_and_the_owners_view(tmp_path, visitor, keep):
    with demo(tmp_path / "demo") as served:
        link = served.link()
        page = visitor().open(link)
        page.locator("main form button.primary").click()
        page.wait_for_selector("html[data-ready]")
        [*_, person] = everybody(served.store)
        with served.store.writing() as db:  # practice is another picture
            db.execute(update(Person).where(Person.id == person.id).values(trained=1))
        do_all(served.store, person.id, most=6)
        page.goto(f"{served.url}/work")
        page.wait_for_selector("html[data-ready]")
        for key in ("1", "2"):
            page.keyboard.press(key)
        saved(page)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            keep(page, scheme)
        owner = visitor(viewport={"width": 1280, "height": 960}).open(served.link("owner"))
        owner.locator("main form button.primary").click()
        owner.wait_for_url("**/owner")
        owner.wait_for_load_state("load")
        keep(owner, "owner")


def test_the_rich_task(tmp_path, visitor, keep):
    (tmp_path / "images").mkdir()
    asked = scene(3)
    picture(asked, -1, "rich").save(tmp_path / "images" / "1.png")
    with (tmp_path / "prompts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("prompt", "image"), (asked.prompt, "1.png")])
    title = "What is wrong with this picture?"
    file, images = tmp_path / "prompts.csv", tmp_path / "images"
    study = make_study(tmp_path / "study.yaml", file, images, "rich", title=title)
    with serving(study) as served:
        page = visitor(viewport=WIDE).join(served.link())
        image = page.locator(".stage img")
        box = image.bounding_box()
        for x, y in ((0.36, 0.3), (0.62, 0.4)):
            page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])
        page.keyboard.press("m")
        page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.7 * box["height"])
        page.locator(".panel .word").nth(1).click()
        for score in ("2", "3", "3"):
            page.keyboard.press(score)
        keep(page, "rich")
