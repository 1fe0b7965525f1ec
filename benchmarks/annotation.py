"""How fast an annotation study answers, and whether anything is lost under load and kills.

    python benchmarks/annotation.py > benchmarks/annotation.md
    python benchmarks/annotation.py --part kills --kills 5

The server is `pqpp annotate serve` in a process of its own; annotators are threads of this one,
which speak HTTP as a browser does: a link, a session, the next item, a vote. Items have one image
unless it is said, three people an item. PostgreSQL is a server of its own on a socket.

- pace: 20 annotators, a vote a second each; how long a save takes, from the request to the answer.
- rush: 50 annotators without a pause until 1,500 votes; every vote is counted in the database.
- kills: the server is killed (SIGKILL) at random moments under load and started again; every vote
  that was answered with success must be there, once. How long until it answers /health again.
- size: a database of 250,000 votes, as PQPP's whole study; the owner's view, export and memory.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import csv
import http.client
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
from annotation_people import PQPP, Annotator, Server, all_at_once, annotators_of
from PIL import Image
from sqlalchemy import func, insert, select

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import postgresql

from pqpp_annotation.store import tables
from pqpp_annotation.store.database import Store, create_store, open_store
from pqpp_annotation.study import Study, make_study, read_study
from pqpp_annotation.study.images import CheckedImage
from pqpp_annotation.study.items import NewImage, NewItem
from pqpp_annotation.study.study import study_of

PARTS = ("pace", "rush", "kills", "size")
DATABASES = ("sqlite", "postgresql")
VARIABLE = "PQPP_BENCHMARK_DATABASE"


@contextlib.contextmanager
def study_on(database: str, prompts: int) -> Iterator[Study]:
    """Give a study with one image a prompt, on a database of a kind."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = {}
        if database == "postgresql":
            os.environ[VARIABLE] = stack.enter_context(postgresql.server())()
            settings["database"] = f"${VARIABLE}"
        (folder / "images").mkdir()
        with (folder / "prompts.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("prompt", "image", "model"))
            for number in range(prompts):
                color = (number % 256, number // 256, 0)
                Image.new("RGB", (64, 64), color).save(folder / "images" / f"{number}.png")
                writer.writerow((f"a cat and {number} dogs", f"{number}.png", "sdxl"))
        yield make_study(
            folder / "study.yaml", folder / "prompts.csv", folder / "images", "rating", **settings
        )


def pace(database: str, people: int = 20, seconds: int = 60) -> str:
    """Measure saves of people who vote once a second."""
    with study_on(database, people * seconds) as study:
        server = Server(study)
        server.start()
        taken: list[float] = []
        taken_next: list[float] = []
        annotators = annotators_of(server, people)
        used = server.cpu_seconds()
        start = time.monotonic() + 1

        def work(one: Annotator) -> None:
            offset = random.Random(one.token).random()
            for turn in range(seconds):
                began = time.monotonic()
                task = one.next()
                taken_next.append(time.monotonic() - began)
                time.sleep(max(0.0, start + offset + turn - time.monotonic()))
                began = time.monotonic()
                assert one.save(task, task["images"][0]["id"], str(uuid.uuid4())) == 200
                taken.append(time.monotonic() - began)

        try:
            all_at_once(work, annotators)
            used = (server.cpu_seconds() - used) / len(taken) * 1000
            checked(study, len(taken))
        finally:
            server.kill()
    late = np.percentile(taken, (50, 95, 99)) * 1000
    ahead = np.percentile(taken_next, 95) * 1000
    figures = " | ".join(f"{one:.0f}" for one in (*late, max(taken) * 1000, ahead, used))
    return f"| {database} | {len(taken):,} | {figures} |"


def rush(database: str, people: int = 50, votes: int = 1500) -> str:
    """Let people vote without a pause until all is done, and count what is there."""
    with study_on(database, votes // 3) as study:
        server = Server(study)
        server.start()
        taken: list[float] = []
        said: list[str] = []
        annotators = annotators_of(server, people)

        def work(one: Annotator) -> None:
            while (task := one.next()) is not None:
                client, began = str(uuid.uuid4()), time.monotonic()
                assert one.save(task, task["images"][0]["id"], client) == 200
                taken.append(time.monotonic() - began)
                said.append(client)

        began = time.monotonic()
        try:
            all_at_once(work, annotators)
            whole = time.monotonic() - began
            lost, over, still_open = checked(study, votes, said)
        finally:
            server.kill()
    middle, late = np.percentile(taken, (50, 95)) * 1000
    counts = f"{len(taken):,} | {lost} | {over} | {still_open}"
    return f"| {database} | {counts} | {whole:.1f} | {middle:.0f} | {late:.0f} |"


def checked(study: Study, votes: int, said: list[str] | None = None) -> tuple[int, int, int]:
    """Return how many votes are lost, items have too many people, and have too few."""
    with contextlib.closing(open_store(study)) as store, store.reading() as db:
        kept = db.scalars(select(tables.Answer.client_id)).all()
        done = select(func.count()).where(
            tables.Assignment.item_id == tables.Item.id, tables.Assignment.state == "done"
        )
        counts = db.scalars(select(done.scalar_subquery()).select_from(tables.Item)).all()
    assert len(kept) == len(set(kept)) == votes, (len(kept), votes)
    lost = len(set(said or ()) - set(kept))
    return lost, sum(one > 3 for one in counts), sum(one < 3 for one in counts)


def kills(database: str, count: int = 50, people: int = 10) -> str:
    """Kill the server again and again while people work."""
    with study_on(database, 4000) as study:
        server = Server(study)
        server.start()
        annotators = annotators_of(server, people)
        said: list[str] = []
        sent: list[str] = []
        is_over = threading.Event()

        def work(one: Annotator) -> None:
            while not is_over.is_set():
                try:
                    task = one.next()
                    client = str(uuid.uuid4())
                    sent.append(client)
                    while not is_over.is_set():  # as the page's queue does, the same id again
                        try:
                            if one.save(task, task["images"][0]["id"], client) == 200:
                                said.append(client)
                                break
                        except (OSError, http.client.HTTPException):
                            time.sleep(0.1)
                except (OSError, http.client.HTTPException, AssertionError):
                    time.sleep(0.1)

        threads = [threading.Thread(target=work, args=(one,)) for one in annotators]
        for thread in threads:
            thread.start()
        moments, back = random.Random(0), []
        for _ in range(count):
            time.sleep(moments.uniform(0.3, 2.0))
            server.kill()
            back.append(server.start())
        time.sleep(1)
        is_over.set()
        for thread in threads:
            thread.join()
        server.kill()
        with contextlib.closing(open_store(study)) as store, store.reading() as db:
            kept = collections.Counter(db.scalars(select(tables.Answer.client_id)))
            query = select(tables.Answer.assignment_id).where(tables.Answer.current)
            twice = sum(n > 1 for n in collections.Counter(db.scalars(query)).values())
    lost = len(set(said) - set(kept))
    unknown = len(set(kept) - set(sent))
    middle, last = np.median(back), max(back)
    counts = f"{count} | {len(said):,} | {lost} | {twice + unknown}"
    return f"| {database} | {counts} | {middle:.2f} | {last:.2f} |"


def big_study(folder: Path, database: str) -> Study:
    """Make a study with 250,000 votes: 147 people and 3 control members, five images an item."""
    study = study_of(
        {"name": "big", "kind": "relevance", "database": "big.db"}
        if database == "sqlite"
        else {"name": "big", "kind": "relevance", "database": f"${VARIABLE}"},
        folder,
    )
    items, images = [], []
    models = ("glide", "glide", "sdxl", "sdxl", "reference")
    for number in range(13_400):
        own = []
        for place, model in enumerate(models):
            name = f"{number}-{place}.png"
            sha = f"{number * 5 + place:064x}"
            images.append(CheckedImage(sha, f"images/{name}", "image/png", 512, 512, 300_000))
            own.append(NewImage(sha, name, model, model == "reference"))
        purpose = "control" if number < 100 else "work"
        prompt = f"a cat and {number} dogs on a lawn before a house"
        items.append(NewItem(f"mscoco-{number}", 0, prompt, purpose, tuple(own)))
    create_store(study, items, images)
    (folder / "study.yaml").write_text(json.dumps(study.config()))
    study = read_study(folder / "study.yaml")
    with contextlib.closing(open_store(study)) as store:
        fill(store)
    return study


def fill(store: Store) -> None:
    """Write the votes, as saves would have left them."""
    draw, now = random.Random(0), store.clock() - 30 * 86_400_000
    truth = [draw.choice((2, 2, 1, 0, -1)) for _ in range(67_000)]
    people = [store.people.add(f"annotator-{n}").id for n in range(147)]
    members = [store.people.add(f"control-{n}", "control").id for n in range(3)]
    given = [(one, item) for one in members for item in range(1, 101)]
    given += [(one, item) for one in people for item in draw.sample(range(1, 101), 67)]
    given += [
        (people[(3 * number + place) % 147], item)
        for number, item in enumerate(range(101, 13_401))
        for place in range(3)
    ]
    position: collections.Counter = collections.Counter()
    assignments, answers = [], []
    for number, (one, item) in enumerate(given, 1):
        finished = now + 1000 * position[one] * 30
        row = {"id": number, "person_id": one, "item_id": item, "position": position[one]}
        row |= {"state": "done", "created": finished - 25_000, "expires": finished}
        assignments.append(row | {"finished": finished})
        position[one] += 1
        for place in range(5):
            image = (item - 1) * 5 + place
            label = 2 if place == 4 else truth[image]
            if draw.random() < 0.15:
                label = draw.choice((2, 1, 0, -1))
            answers.append(
                {
                    "assignment_id": number,
                    "item_image_id": image + 1,
                    "client_id": f"{number}-{place}",
                    "value": {"label": label},
                    "seconds": 4.0,
                    "created": finished - 5000 * (4 - place),
                    "current": True,
                }
            )
    with store.writing(alone=True) as db:
        db.execute(insert(tables.Assignment), assignments)
        for start in range(0, len(answers), 20_000):
            db.execute(insert(tables.Answer), answers[start : start + 20_000])
        counts = collections.Counter(item for _, item in given if item > 100)
        table = tables.Item.__table__
        db.execute(table.update().where(table.c.id > 100).values(done=3))
        assert set(counts.values()) == {3}
        if not store.is_sqlite:  # ids that were given by hand are not known to the sequences
            for name in ("assignment", "item", "item_image"):
                query = select(func.setval(f"{name}_id_seq", len(assignments) + len(answers)))
                db.execute(query)


def size(database: str) -> str:
    """Measure the owner's view, an export and their memory with 250,000 votes."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if database == "postgresql":
            os.environ[VARIABLE] = stack.enter_context(postgresql.server())()
        study = big_study(folder, database)
        with contextlib.closing(open_store(study)) as store:
            votes = store.answers.count()
            ((token, _),) = store.invitations.create(1, "owner")
        server = Server(study)
        server.start()
        owner = Annotator(server, token)
        owner.join()
        views = []
        for _ in range(5):
            began = time.monotonic()
            status, _, _ = owner.ask("GET", "/owner")
            assert status == 200, status
            views.append(time.monotonic() - began)
        peak = server.peak_mebibytes()
        server.kill()
        began = time.monotonic()
        words = [*PQPP, "export", str(folder / "study.yaml"), "--output", str(folder / "votes")]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0
        export = time.monotonic() - began
    first, later = views[0], sorted(views[1:])[1]
    figures = f"{first:.2f} | {later:.2f} | {peak:.0f} | {export:.1f} | {used.ru_maxrss / 1024:.0f}"
    return f"| {database} | {votes:,} | {figures} |"


HEADS = {
    "pace": (
        "## 20 annotators at a vote a second\n\nMilliseconds.\n\n"
        "| database | votes | save p50 | p95 | p99 | most | next item p95 | "
        "processor time of the server a vote |\n|---|---|---|---|---|---|---|---|"
    ),
    "rush": (
        "## 50 annotators without a pause\n\n"
        "| database | votes | lost | items over three | items under three | seconds | save p50 ms "
        "| p95 ms |\n|---|---|---|---|---|---|---|---|"
    ),
    "kills": (
        "## kill -9 under load\n\nTen annotators without a pause; the page's queue sends a vote "
        "again until it is answered.\n\n| database | kills | votes answered | lost | twice | back "
        "after, median s | most s |\n|---|---|---|---|---|---|---|"
    ),
    "size": (
        "## 250,000 votes\n\nSeconds and MiB, of processes of their own.\n\n"
        "| database | answers | owner's view, first | later | server's MiB | export | its "
        "MiB |\n|---|---|---|---|---|---|---|"
    ),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS, action="append", help="only this (default: all)")
    parser.add_argument("--database", choices=DATABASES, action="append", help="only this one")
    parser.add_argument("--kills", type=int, metavar="N", default=50, help="(default: 50)")
    parser.add_argument("--seconds", type=int, metavar="N", default=60, help="of pace")
    options = parser.parse_args()
    names = ("fastapi", "sqlalchemy", "uvicorn", "psycopg")
    print(f"# Annotation\n\n{__doc__.split(chr(10) * 2)[0]}\n")
    print(f"pqpp {version('pqpp')}, " + ", ".join(f"{one} {version(one)}" for one in names), end="")
    print(f", Python {platform.python_version()}, {os.cpu_count()} cores.")
    for part in options.part or PARTS:
        print(f"\n{HEADS[part]}", flush=True)
        loads = []
        for database in options.database or DATABASES:
            more = {"kills": {"count": options.kills}, "pace": {"seconds": options.seconds}}
            run = {"pace": pace, "rush": rush, "kills": kills, "size": size}[part]
            loads.append(os.getloadavg()[0])
            print(run(database, **more.get(part, {})), flush=True)
        said = " and ".join(f"{one:.1f}" for one in loads)
        print(f"\nLoad of the machine before: {said} (this benchmark and other work together).")


if __name__ == "__main__":
    main()
