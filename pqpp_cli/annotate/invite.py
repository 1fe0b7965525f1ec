"""`pqpp annotate invite`: make links for people, or end them."""

from __future__ import annotations

import csv
import io
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pqpp_cli.annotate.groups import Address, StudyFile
from pqpp_cli.command import Command
from pqpp_cli.errors import CommandError
from pqpp_files.options.option import option
from pqpp_files.visible import visible


class AnnotateInvite(StudyFile, Address, Command):
    """Make links for people, or end them."""

    EPILOG = """examples:
  pqpp annotate invite study.yaml --count 20 --output links.csv
  pqpp annotate invite study.yaml --role control --label "Ann"
  pqpp annotate invite study.yaml --shared --address https://study.example.org
  pqpp annotate invite study.yaml --name ann --role owner --password-file secret.txt
  pqpp annotate invite study.yaml --list
  pqpp annotate invite study.yaml --revoke 7

A link is for one person, who comes back by it, also on another device. --shared is one link for a
recruiting site, which adds an id to it: ?PROLIFIC_PID=..., ?workerId=... or ?participant_id=...
Roles: annotator; control (judges the control items, to compare people with); owner (sees all);
trial (tries the study; what it says is no data). Revoking a link ends the sessions it began.
"""
    count: int = option(1, "links", metavar="N")
    role: str = option("annotator", "annotator, control, owner or trial")
    label: str | None = option(None, "a note of yours; nobody else sees it")
    days: float = option(30.0, "until a link expires (default: 30)", metavar="N")
    shared: bool = option(False, "one link for all whom a recruiting site sends")
    name: str | None = option(None, "add a person who signs in by a password")
    password_file: str | None = option(
        None, "the password of --name; - is standard input", metavar="FILE", path="file"
    )
    list: bool = option(False, "print what links there are")
    revoke: int | None = option(None, "end a link at once", metavar="ID")
    output: str | None = option(None, "write the links as CSV", metavar="FILE", path="output file")

    def __post_init__(self) -> None:
        """Check that a password is somebody's, and that somebody has one."""
        super().__post_init__()
        if self.password_file and not self.name:
            raise CommandError("`password_file`: say whose it is by `name`")
        if self.name and not (self.password_file or self.list or self.revoke is not None):
            raise CommandError(
                "`name`: give the password by `password_file` FILE, - is standard input"
            )

    def run(self) -> None:
        """Make links, list them, end one, or add a person with a password."""
        with self.opened(self.output) as store:
            from pqpp_annotation.store.invitations import all_links, make_links, revoke_link

            if self.revoke is not None:
                revoke_link(store, self.revoke)
                print(f"revoked: link {self.revoke}")
            elif self.list:
                print(f"{'id':>6}  {'role':9}  {'state':8}  label")
                for invitation in all_links(store):
                    print(visible(_line_of(invitation, store.clock())))
            elif self.name:
                self._add_person(store, self.name)
            else:
                count = 1 if self.shared else self.count
                label = self.label or ""
                links = make_links(store, count, self.role, label, self.days, self.shared)
                self._print_links(store, links)

    def _print_links(self, store: Any, created: Any) -> None:
        from pqpp_cli.output import emit

        rows = []
        for token, invitation in created:
            expires = datetime.fromtimestamp(invitation.expires / 1000, UTC)
            about = (invitation.id, invitation.label, invitation.role)
            rows.append((*about, self.link(store, token), expires.isoformat(timespec="minutes")))
        if self.output is None:
            for row in rows:
                print(row[3])
            return
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("id", "label", "role", "link", "expires"))
        writer.writerows(rows)
        emit(text.getvalue(), self.output, is_secret=True)

    def _add_person(self, store: Any, name: str) -> None:
        """Add a person with a password, or give one that is there another password."""
        from pqpp_annotation.store.people import add_person, find_person, set_password

        password = _password_in(self.password_file or "-")
        known = find_person(store, name)
        if known is not None:
            set_password(store, known.id, password)
            print(visible(f"changed: the password of {known.name}; sessions have ended"))
            return
        person = add_person(store, name, self.role, password)
        print(visible(f"added: {person.name} ({person.role}), who signs in by a password"))


def _password_in(path: str) -> str:
    try:
        line = sys.stdin.readline() if path == "-" else Path(path).read_text("utf-8")
    except UnicodeDecodeError:
        raise CommandError(f"`password_file` {path}: it is not text") from None
    return line.strip("\r\n")


def _line_of(invitation: Any, now: int) -> str:
    """Return an invitation in a line."""
    state = "used" if invitation.person_id else "shared" if invitation.is_shared else "not used"
    if invitation.revoked:
        state = "revoked"
    elif invitation.expires <= now:
        state = "expired"
    return f"{invitation.id:>6}  {invitation.role:9}  {state:8}  {invitation.label}"
