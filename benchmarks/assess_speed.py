"""How many images a second the arithmetic of `pqpp assess gimbrr` scores from kept evidence.

    python benchmarks/assess_speed.py [--images N]
    python benchmarks/assess_speed.py --gallery 5000

Evidence is made up, of the size that the models leave: 91 names, 20 boxes. Times are CPU
seconds of one process, reading JSON included. `--gallery` measures instead how long a gallery of so
many images takes to write and, where there is a Chromium, to open and to filter.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from metrics_timing import Row, print_table

from pqpp_feedback.assess.gallery import verdict_gallery
from pqpp_feedback.assess.verdicts import recompute
from pqpp_feedback.gimbrr.assessor import GimbrrAssessor
from pqpp_feedback.gimbrr.published import VOCABULARY, Published

TASKS = {
    "Single object": (["koala"], None),
    "Multiple objects": (["cow", "cup", "car"], None),
    "Negation": (["bed"], "cat"),
    "Counting": (["cow"], "5"),
    "Simple arithmetic": (["cow", "cup"], "3,6"),
}


def main() -> None:
    """Print and keep a line a task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=2000, metavar="N", help="of each task")
    parser.add_argument("--gallery", type=int, metavar="N", help="measure a gallery of N images")
    options = parser.parse_args()
    if options.gallery:
        return measure_gallery(options.gallery)
    count = options.images
    routine = Published()
    kept = []
    for task, (objects, label) in TASKS.items():
        rows = [row(number, task, objects, label) for number in range(count)]
        start = time.process_time()
        found = list(recompute(rows, [GimbrrAssessor(routine)]))
        seconds = time.process_time() - start
        print(f"{task}, {routine.name}: {len(found) / seconds:,.0f} images a CPU second")
        what = f"assess {count:,} images anew, {task}, {routine.name}, CPU time"
        kept.append(Row(what, "none", None, seconds))
    print_table(kept)


def row(number: int, task: str, objects: list[str], label: str | None) -> dict:
    """Return a row of verdicts with evidence."""
    random = np.random.default_rng(number)
    values = random.normal(0.2, 0.03, len(VOCABULARY)).round(6).tolist()
    names = [*objects, label or "cat"]
    own = {name: {"bare": 0.2} for name in names}
    scores = random.random(20).round(6).tolist()
    boxes = [{"label": objects[0], "score": one, "box": [0, 0, 1, 1]} for one in scores]
    evidence = {
        "clip": {"bare": values, "own": own, "scale": 100.0},
        "detector": {"labels": {name: name for name in objects}, "boxes": boxes},
    }
    asked = {"task": task, "representations": objects, "task_specific_label": label}
    return {
        **{"image": f"{number}/m_0.png", "prompt_id": str(number), "prompt": "", "task": task},
        **{"generator": "m", "assessor": "gimbrr", "routine": "", "asked": json.dumps(asked)},
        "evidence": json.dumps(evidence),
    }


def measure_gallery(count: int) -> None:
    """Print what a gallery takes, every other image with two heatmaps, the others with boxes."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [shown_row(Path(folder), number) for number in range(count)]
        page = Path(folder, "gallery.html")
        start = time.process_time()
        page.write_text(verdict_gallery(rows, folder, page), encoding="utf-8")
        took = time.process_time() - start
        size = page.stat().st_size / 1e6
        print(f"{count:,} images: written in {took:.1f} CPU seconds, {size:.1f} MB")
        chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
        if chromium:
            look(chromium, page)


def shown_row(folder: Path, number: int) -> dict:
    """Make a small image, and return its row."""
    import base64
    import io

    from PIL import Image

    random = np.random.default_rng(number)

    def picture(side: int, shape: tuple[int, ...]) -> Image.Image:
        small = random.integers(0, 256, shape, dtype=np.uint8)
        return Image.fromarray(small).resize((side, side))

    def heatmap() -> str:
        buffer = io.BytesIO()
        picture(64, (8, 8)).save(buffer, "png")
        return base64.b64encode(buffer.getvalue()).decode()

    found = row(number, "Counting", ["cow"], "5")
    path = folder / found["image"]
    path.parent.mkdir()
    picture(192, (8, 8, 3)).save(path)
    boxes = [
        {"label": "cow", "score": 0.9, "box": [n / 10, 0.1, n / 10 + 0.2, 0.4]} for n in range(3)
    ]
    maps = {name: heatmap() for name in ("implausibility", "misalignment")}
    evidence = {"heatmaps": maps} if number % 2 else {"detector": {"boxes": boxes}}
    verdict = (True, False, None)[number % 3]
    told = {"verdict": verdict, "score": number % 10 / 10, "reason": f"{number} were found"}
    return {**found, **told, "prompt": f"{number} cows", "evidence": json.dumps(evidence)}


def look(chromium: str, page: Path) -> None:
    """Print what a page takes in a browser, from a file."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shown, asked = browser.new_page(viewport={"width": 1280, "height": 900}), []
        shown.on("request", lambda request: asked.append(request.url))
        start = time.perf_counter()
        shown.goto(page.as_uri(), wait_until="domcontentloaded")
        shown.wait_for_function("() => document.querySelector('img.image').naturalWidth > 0")
        seconds = time.perf_counter() - start
        images = sum(url.endswith(".png") for url in asked)
        nodes = shown.evaluate("document.querySelectorAll('*').length")
        print(f"first image in view after {seconds:.2f} s; {images} images read, {nodes:,} nodes")
        for name, change in CHANGES.items():
            script = "change => { const start = performance.now(); eval(change); " + SETTLED
            print(f"{name}: {shown.evaluate(script, change):.0f} ms")
        browser.close()


CHANGES = {
    "filter by verdict": "document.querySelector('[data-filter=verdict]').value = 'match'",
    "search a text": "document.getElementById('text').value = '7 cows'",
    "lowest score first": "document.getElementById('text').value = '';"
    "document.getElementById('order').value = 'low'",
}
SETTLED = (
    "document.getElementById('filters').dispatchEvent(new Event('input', {bubbles: true}));"
    "return new Promise(done => requestAnimationFrame(() => setTimeout("
    "() => done(performance.now() - start)))); }"
)


if __name__ == "__main__":
    main()
