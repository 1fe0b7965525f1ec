"""`pqpp annotate`: collect people's judgments in the browser."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from pqpp_annotation.kinds.kind import TASK_KINDS
from pqpp_cli.command import Command, Group
from pqpp_cli.groups import Dataset, ResultOptions
from pqpp_cli.output import emit
from pqpp_files.atomic_write import lock_folder
from pqpp_files.errors import FileError, PqppError
from pqpp_files.escape import escape_controls
from pqpp_files.extras import require_extra
from pqpp_files.foreign.yaml_values import parse_yaml
from pqpp_files.options.option import NEEDED, option
from pqpp_files.paths import check_output, expand
from pqpp_files.write_table import format_table

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store


class Annotate(Group):
    """Collect human ratings in the browser.

    Create a study of images and prompts, serve it, invite people, and export their answers for
    `pqpp build`.

    examples:
      pqpp annotate demo
      pqpp annotate init study.yaml --file prompts.csv --image-dir images
      pqpp annotate serve study.yaml
      pqpp annotate invite study.yaml --count 20 --output links.csv
      pqpp annotate status study.yaml
      pqpp annotate export study.yaml --output votes

    `pqpp annotate export` prints the `pqpp build` command for the study's scale.
    """


class StudyFile(Group):
    """The argument that names the study file.

    Attributes:
        study: Study file, such as study.yaml.
    """

    study: str = option(NEEDED, path="file", word=True, library="path")

    @contextlib.contextmanager
    def open_study(self, output: str | None = None) -> Iterator[Store]:
        """Yield the study's database, after refusing an output that is one of the study's files."""
        with require_extra("pqpp annotate", "annotate"):
            from pqpp_annotation.store.database import open_store
            from pqpp_annotation.study import read_study

        with contextlib.closing(open_store(read_study(self.study))) as store:
            if output is not None:
                study = store.study
                files = [study.root / study.prompts, study.root / f".{study.name}.secret"]
                check_output(output, [*files, store.name] if store.is_sqlite else files)
            yield store


class ServerAddress(Group):
    """The option for the server's address.

    Attributes:
        address: Public address of the server (default: that of `serve`).
    """

    address: str | None = option(None, metavar="https://HOST[/PATH]")

    def make_link(self, store: Store, token: str) -> str:
        """Return the URL at which the holder of a token joins the study."""
        from pqpp_annotation.store.access import get_server_url

        return f"{(self.address or get_server_url(store)).rstrip('/')}/join/{token}"


class AnnotateBackup(StudyFile, Command):
    """Copy the database of a running study.

    examples:
      pqpp annotate backup study.yaml --output monday.db

    The copy is one SQLite file with everything but the images. To restore it, copy it into the
    study's folder and set `database` in the study file to its name. For PostgreSQL, use `pg_dump`.
    """

    output: str = option(NEEDED, "file to write", path="output file", holds="SQLite")

    def run(self) -> None:
        """Copy the database."""
        with self.open_study(self.output) as store:
            from pqpp_annotation.store.database import copy_database

            copy = copy_database(store, self.output)
        print(f"written: {copy} ({copy.stat().st_size:,} bytes; the images are not in it)")


class AnnotateDemo(Command):
    """Try a small study with drawn images and simulated annotators.

    examples:
      pqpp annotate demo
      pqpp annotate demo --output /tmp/demo --port 8080 --no-browser

    Two simulated annotators are the control group; three others have rated some images, one of them
    at random. The owner's page opens in the browser; use the other link to rate images yourself.
    The same command opens the study again.
    """

    output: str = option("pqpp-annotation-demo", "folder of the study", path="output")
    port: int = option(8000, "port to listen on")
    browser: bool = option(True, "print the links without opening a browser")

    def run(self) -> None:
        """Create the demo study if it does not exist, and serve it."""
        with require_extra("pqpp annotate", "annotate"):
            from pqpp_annotation.demo import serve_demo_study

        serve_demo_study(self.output, self.port, open_browser=self.browser)


class AnnotateExport(StudyFile, Command):
    """Export the votes of a study.

    examples:
      pqpp annotate export study.yaml --output votes

    The `pqpp build` command for the study's scale is printed.
    """

    output: str = option(NEEDED, "folder to write", path="output")
    format: str = option("csv", "format of the tables", choices=("csv", "parquet"))

    def run(self) -> None:
        """Write the export to a folder and print what it contains."""
        with self.open_study() as store:
            from pqpp_annotation.export import export_study

            for line in export_study(store, self.output, self.format):
                print(line)


_OWNER_DAYS, _TRY_DAYS = 365, 1
_LINK_COLUMNS = ("id", "label", "role")


class AnnotateInit(StudyFile, ServerAddress, Dataset, Command):
    """Create a study from a table of prompts and a folder of images.

    examples:
      pqpp annotate init study.yaml --file prompts.csv --image-dir images
      pqpp annotate init study.yaml --file urls.csv --kind match --title "Does the image match?"
      pqpp annotate init study.yaml --dataset OWNER/NAME --split train --set control.count=20
      pqpp annotate init study.yaml --file more.csv --add

    The table has one row per image: prompt, image (a file in --image-dir, or a URL), and optionally
    prompt_id, model (`reference` for a real photo), control, training and check (yes or no),
    expected (the right answer of a practice item or an attention check) and, for --kind match,
    linked_prompts. Images are checked before anything is written. The study file explains all other
    settings.
    """

    dataset: str | None = option(None, "read prompts and images from a dataset instead of --file")
    file: str | None = option(None, "table of prompts and images", path="file")
    image_dir: str | None = option(None, "folder of images", path="images")
    column: str = option("prompt", goes_with="dataset")
    image_column: str = option("image", "column with the images", metavar="COLUMN")
    kind: str = option("relevance", f"kind of task: {', '.join(TASK_KINDS)}")
    title: str | None = option(None, "one-line question for annotators")
    people_per_item: int = option(3, "annotators per item")
    seed: int = option(0, "random seed")
    set: dict[str, str] | None = option(None, "another setting, such as control.count=20")
    add: bool = option(False, "add prompts to an existing study")

    def __post_init__(self) -> None:
        """Require exactly one source of prompts; refuse settings that have their own option."""
        super().__post_init__()
        self.require_one_of("file", "dataset")
        for name in ("kind", "image_dir", "file", "path"):
            if name in (self.set or {}):
                raise PqppError(f"`set` cannot change {name}; use its own option (see --help)")

    def run(self) -> None:
        """Create a study, or add prompts to one."""
        with require_extra("pqpp annotate", "annotate"):
            from pqpp_annotation.study import add_prompts, make_study, read_study

        if self.add:
            fixed = ("kind", "title", "people_per_item", "seed", "set", "address", "image_dir")
            self.refuse("`add`", *fixed)
            study = read_study(self.study)
            file, _ = self._prepare_prompts(study.root / expand(study.image_dir or ""))
            print(f"added {add_prompts(study, file)} items to {self.study}")
            return
        path = Path(self.study)
        check_output(path)
        if path.exists():
            raise PqppError(f"{path} already exists; add prompts with `add`, or use another file")
        settings: dict[str, Any] = {"people_per_item": self.people_per_item, "seed": self.seed}
        settings |= {"image_column": self.image_column, **parse_settings(self.set or {})}
        if self.title is not None:
            settings["title"] = self.title
        file, folder = self._prepare_prompts(path.parent / f"{path.stem}-images")
        study = make_study(path, file, folder, self.kind, **settings)
        with self.open_study() as store:
            from pqpp_annotation.store.access import make_links, save_server_url
            from pqpp_annotation.store.items import count_items

            counts = count_items(store)
            if self.address:
                save_server_url(store, self.address)
            print(f"created {path} and {store.name} ({counts})")
            print(f"next: pqpp annotate serve {shlex.quote(str(path))}")
            links = ("owner", "made by init", _OWNER_DAYS), ("trial", "to try it", _TRY_DAYS)
            for role, label, days in links:
                [(token, _)] = make_links(store, 1, role, label, days)
                print(f"{role} link: {self.make_link(store, token)}")

    def _prepare_prompts(self, folder: Path) -> tuple[str, str | None]:
        """Return the table of prompts and the image folder, after writing those of a dataset."""
        if self.dataset is None:
            return self.file or "", self.image_dir
        self.refuse("`dataset`", "image_dir")
        from pqpp_annotation.study.sources import write_prompt_table

        return str(write_prompt_table(self.load_rows(), folder, self.image_column)), str(folder)


def parse_settings(texts: dict[str, str]) -> dict[str, Any]:
    """Return settings such as `control.count=20` as nested mappings with YAML values.

    Raises:
        PqppError: A name is incomplete, or is a group and a setting at once.

    Example:
        >>> parse_settings({"control.count": "20", "consent": "I agree.", "control.every": "4"})
        {'control': {'count': 20, 'every': 4}, 'consent': 'I agree.'}
    """
    settings: dict[str, Any] = {}
    for name, value in texts.items():
        *groups, last = name.split(".")
        if not all([*groups, last]):
            raise PqppError(f"`set` is {name}={value}; write NAME=VALUE, such as control.count=20")
        group_settings = settings
        for group in groups:
            if not isinstance(group_settings := group_settings.setdefault(group, {}), dict):
                raise PqppError(f"`set` gives values for both {group} and {name}; remove one")
        try:
            group_settings[last] = parse_yaml(value, name)
        except FileError:
            group_settings[last] = value
    return settings


_NEW_LINKS = ("count", "role", "label", "days", "shared", "output", "address")


class AnnotateInvite(StudyFile, ServerAddress, Command):
    """Create, list or revoke links to a study.

    examples:
      pqpp annotate invite study.yaml --count 20 --output links.csv
      pqpp annotate invite study.yaml --role control --label "Ann"
      pqpp annotate invite study.yaml --shared --address https://study.example.org
      pqpp annotate invite study.yaml --list
      pqpp annotate invite study.yaml --revoke 7

    A link is for one person, who can use it again, also on another device. --shared creates one
    link for a recruiting site, which adds an id to it: ?PROLIFIC_PID=..., ?workerId=... or
    ?participant_id=... The roles are annotator, control (rates the control items, as a reference),
    owner (sees everything) and trial (votes are not exported). Revoking a link ends its sessions.
    """

    count: int = option(1, "number of links")
    role: str = option("annotator", "annotator, control, owner or trial")
    label: str = option("", "a note that only owners see")
    days: float = option(30.0, "days until a link expires")
    shared: bool = option(False, "create one link for everyone from a recruiting site")
    list: bool = option(False, "list the links")
    revoke: int | None = option(None, "revoke the link with this id", metavar="ID")
    output: str | None = option(None, "write the links to this CSV file", path="output file")

    def run(self) -> None:
        """Create, list or revoke links."""
        with self.open_study(self.output) as store:
            from pqpp_annotation.store.access import get_links, revoke_link

            if self.revoke is not None:
                self.refuse("`revoke`", "list", *_NEW_LINKS)
                revoke_link(store, self.revoke)
                print(f"revoked: link {self.revoke}")
            elif self.list:
                self.refuse("`list`", *_NEW_LINKS)
                print(f"{'id':>6}  {'role':9}  {'state':8}  label")
                for link in get_links(store):
                    state = link.get_state(store.clock())
                    state = "shared" if link.is_shared and state == "open" else state
                    print(f"{link.id:>6}  {link.role:9}  {state:8}  {escape_controls(link.label)}")
            else:
                if self.shared:
                    self.refuse("`shared`", "count")
                output = expand(self.output or "")
                with lock_folder(output.parent) if self.output else contextlib.nullcontext():
                    if output.is_file():
                        raise PqppError(f"{output} already exists; use another file")
                    self._make_links(store)

    def _make_links(self, store: Store) -> None:
        """Create links, and print them or write them to a file."""
        from pqpp_annotation.store.access import make_links

        links = make_links(store, self.count, self.role, self.label, self.days, self.shared)
        urls = [self.make_link(store, token) for token, _ in links]
        if self.output is None:
            return print("\n".join(urls))
        ends = [datetime.fromtimestamp(link.expires / 1000, UTC) for _, link in links]
        columns: dict = {n: [getattr(link, n) for _, link in links] for n in _LINK_COLUMNS}
        columns["link"] = urls
        columns["expires"] = [end.isoformat(timespec="minutes") for end in ends]
        emit(format_table("csv", columns), self.output, is_secret=True)


class AnnotateServe(StudyFile, ServerAddress, Command):
    """Serve a study on the web until Ctrl-C.

    examples:
      pqpp annotate serve study.yaml
      pqpp annotate serve study.yaml --port 8080
      pqpp annotate serve study.yaml --address https://study.example.org/colours
      pqpp annotate serve study.yaml --host 0.0.0.0 --certificate chain.pem --key key.pem

    By default, only this machine can connect. For a public study, use a reverse proxy with TLS; the
    documentation has configurations for Caddy and nginx.

    --address is the public address, such as https://study.example.org/colours. New links begin with
    it, and its path must match the proxy's.

    Attributes:
        allow_http: Allow sign-in over a network without TLS; others on the network can then read
            everything.
    """

    host: str = option("127.0.0.1", "address to listen on (default: this machine only)")
    port: int = option(8000, "port to listen on")
    address: str | None = option(None, "public address, used in all links", library="url")
    certificate: str | None = option(None, "TLS certificate with its chain (PEM)", path="file")
    key: str | None = option(None, "key of the certificate (PEM)", path="file")
    allow_http: bool = option(False, library="allows_http")

    def run(self) -> None:
        """Serve the study."""
        with require_extra("pqpp annotate", "annotate"):
            from pqpp_annotation.web.serve import serve

        serve(**self.get_arguments(serve))


_COUNTS = ("done", "skipped", "left", "active_minutes")
_COLUMNS = ("name", "role", *_COUNTS, "state", "votes", "reason", "flag")


class AnnotateStatus(StudyFile, ResultOptions, Command):
    """Print the progress of a study and its annotators.

    examples:
      pqpp annotate status study.yaml
    """

    format: str | None = option(None, choices=("table", "csv", "json"))

    def run(self) -> None:
        """Print the progress."""
        style = self.style
        with self.open_study(self.output) as store:
            from pqpp_annotation.owner.overview import StudyMonitor
            from pqpp_annotation.store.answers import count_answers
            from pqpp_annotation.store.items import count_items
            from pqpp_annotation.store.people import get_people

            overview = StudyMonitor(store).get_overview()
            rows = {row.id: row for row in overview.people}
            with store.begin_read() as db:
                people = [_make_row(db, person, rows.get(person.id)) for person in get_people(db)]
            counts = replace(count_items(store), finished=overview.progress.complete)
            votes = count_answers(store)
        if style == "json":
            text = json.dumps({"items": vars(counts), "answers": votes, "people": people}, indent=1)
        elif style == "csv":
            text = format_table("csv", {name: [row[name] for row in people] for name in _COLUMNS})
        else:
            table = tabulate(people, "keys", "pipe")
            text = f"{counts}\nanswers: {votes:,}\n\n{table}" if people else f"{counts}\n"
        emit(text, self.output, style)


def _make_row(db: Any, person: Any, row: Any) -> dict[str, Any]:
    """Return a person's row of the status table; `row` is None for people who do not rate."""
    from pqpp_annotation.owner.words import STATE_WORDS
    from pqpp_annotation.store.work import get_progress

    progress = get_progress(db, person.id)
    state = "finished" if progress.done and not progress.left_for_me else "at work"
    if person.withdrawn or row is None:
        state = "withdrawn" if person.withdrawn else ""
    elif row.stopped:
        state = "stopped"
    values = (person.name, person.role, progress.done, progress.skipped, progress.left_for_me)
    minutes = round(row.hours * 60, 1) if row else 0.0
    judged = (STATE_WORDS[row.state], row.reason, row.flag) if row else ("", "", "")
    return dict(zip(_COLUMNS, (*values, minutes, state, *judged), strict=True))
