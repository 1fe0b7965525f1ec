"""`pqpp annotate invite`: links and passwords."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pqpp_cli.annotate.action import add_action, opened
from pqpp_cli.annotate.init import ADDRESS
from pqpp_cli.errors import CommandError
from pqpp_cli.output import OutputFile, emit
from pqpp_files.visible import visible

_EPILOG = """examples:
  pqpp annotate invite study.yaml --count 20 --output links.csv
  pqpp annotate invite study.yaml --role control --label "Ann"
  pqpp annotate invite study.yaml --shared --address https://study.example.org
  pqpp annotate invite study.yaml --name ann --role owner --password-file secret.txt
  pqpp annotate invite study.yaml --list
  pqpp annotate invite study.yaml --revoke 7

A link is for one person, who comes back by it, also on another device. --shared is one link for a
recruiting site, which adds an id to it: ?PROLIFIC_PID=..., ?workerId=... or ?participant_id=...
Roles: annotator; control (judges the control items, to compare people with); owner (sees all).
"""


def add_invite(actions: argparse._SubParsersAction) -> None:
    """Add the action."""
    what = "make links for people, or end them"
    invite = add_action(actions, "invite", what, run_invite, _EPILOG)
    invite.add_argument("--count", type=int, metavar="N", default=1, help="links (default: 1)")
    invite.add_argument(
        "--role", default="annotator", help="annotator, control or owner (default: %(default)s)"
    )
    invite.add_argument("--label", default=None, help="a note of yours; nobody else sees it")
    invite.add_argument(
        "--days", type=float, metavar="N", default=30, help="until a link expires (default: 30)"
    )
    invite.add_argument(
        "--shared", action="store_true", help="one link for all whom a recruiting site sends"
    )
    invite.add_argument(
        "--address",
        metavar="URL",
        default=ADDRESS,
        help="where people reach the server (default: %(default)s)",
    )
    invite.add_argument("--name", default=None, help="add a person who signs in by a password")
    invite.add_argument(
        "--password-file", metavar="FILE", help="the password of --name; - is standard input"
    )
    invite.add_argument("--list", action="store_true", help="print what links there are")
    invite.add_argument("--revoke", type=int, metavar="ID", help="end a link at once")
    invite.add_argument("--output", type=OutputFile, metavar="FILE", help="write the links as CSV")


def run_invite(options: argparse.Namespace) -> None:
    """Make links, list them, end one, or add a person with a password."""
    if options.password_file and not options.name:
        raise CommandError("--password-file: say whose it is by --name")
    store = opened(options.study, options.output)
    try:
        if options.revoke is not None:
            store.invitations.revoke(options.revoke)
            print(f"revoked: link {options.revoke}")
        elif options.list:
            print(f"{'id':>6}  {'role':9}  {'state':8}  label")
            for one in store.invitations.all():
                print(visible(_line_of(one, store.clock())))
        elif options.name:
            _add_person(store, options)
        else:
            count = 1 if options.shared else options.count
            label = options.label or ""
            made = store.invitations.create(
                count, options.role, label, options.days, options.shared
            )
            _print_links(made, options)
    finally:
        store.close()


def _line_of(one, now: int) -> str:
    """Return an invitation in a line."""
    state = "used" if one.person_id else "shared" if one.is_shared else "not used"
    if one.revoked:
        state = "revoked"
    elif one.expires <= now:
        state = "expired"
    return f"{one.id:>6}  {one.role:9}  {state:8}  {one.label}"


def _print_links(made: list, options: argparse.Namespace) -> None:
    import csv
    import io
    from datetime import UTC, datetime

    rows = []
    for token, one in made:
        expires = datetime.fromtimestamp(one.expires / 1000, UTC).isoformat(timespec="minutes")
        link = f"{options.address.rstrip('/')}/join/{token}"
        rows.append((one.id, one.label, one.role, link, expires))
    if options.output is None:
        for row in rows:
            print(row[3])
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("id", "label", "role", "link", "expires"))
    writer.writerows(rows)
    emit(text.getvalue(), options.output)


def _add_person(store, options: argparse.Namespace) -> None:
    """Add a person with a password, or give one that is there another password."""
    if not options.password_file:
        raise CommandError("--name: give the password by --password-file FILE, - is standard input")
    read = sys.stdin.readline() if options.password_file == "-" else ""
    try:
        password = (read or Path(options.password_file).read_text("utf-8")).strip("\r\n")
    except UnicodeDecodeError:
        raise CommandError(f"--password-file {options.password_file}: it is no text") from None
    known = store.people.by_name(options.name)
    if known is not None:
        store.people.set_password(known.id, password)
        print(visible(f"changed: the password of {known.name}; sessions have ended"))
        return
    person = store.people.add(options.name, options.role, password)
    print(visible(f"added: {person.name} ({person.role}), who signs in by a password"))
