"""`pqpp annotate`: people's judgments, from the table of prompts to the files of `pqpp build`."""

from __future__ import annotations

import argparse

from pqpp_cli.annotate.action import add_action, needing_annotate, opened
from pqpp_cli.annotate.demo import add_demo
from pqpp_cli.annotate.init import ADDRESS, add_init
from pqpp_cli.annotate.invite import add_invite
from pqpp_cli.options import add_output
from pqpp_cli.output import OutputFile, OutputFolder, emit, format_of
from pqpp_files.visible import visible

_EPILOG = """examples:
  pqpp annotate demo
  pqpp annotate init study.yaml --file prompts.csv --image-dir images
  pqpp annotate serve study.yaml
  pqpp annotate invite study.yaml --count 20 --output links.csv
  pqpp annotate status study.yaml
  pqpp annotate export study.yaml --output votes
  pqpp build votes/judgments.csv --scale pqpp --output my-benchmark
"""
_SERVE_EPILOG = """examples:
  pqpp annotate serve study.yaml
  pqpp annotate serve study.yaml --port 8080
  pqpp annotate serve study.yaml --host 0.0.0.0 --certificate chain.pem --key key.pem

It listens to this machine only unless told otherwise. Behind a reverse proxy, which is where TLS
belongs, that is what you want; the documentation has the few lines for Caddy and nginx.

Links are made for port 8000 unless `invite --address` says otherwise. With another --port, put its
number in their place.
"""
_EXPORT_EPILOG = """examples:
  pqpp annotate export study.yaml --output votes
  pqpp build votes/judgments.csv --scale pqpp --output my-benchmark

The `pqpp build` command that fits the study is printed.
"""
_IMPORT_EPILOG = """examples:
  pqpp annotate import study.yaml --file partial.csv --name ann

Answers of one person, given elsewhere, like a GIMBRR file that is half filled in: a row an image,
with prompt_id, image and label (and model), or GIMBRR's own columns. Blank answers are what is left
to do. The link that is printed leads the person to the rest.
"""
_BACKUP_EPILOG = """examples:
  pqpp annotate backup study.yaml --output monday.db

One SQLite file with all but the images, made while people work, from SQLite and from PostgreSQL.
To go back to it, name it as `database` in the study file.
"""
_PERSON = ("name", "role", "done", "skipped", "left", "active_minutes", "state")


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "annotate",
        help="collect people's judgments in the browser",
        description="Make a study of images and prompts, serve it, invite people, and export what "
        "they said for `pqpp build`.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add_init(actions)
    add_demo(actions)
    _add_serve(actions)
    add_invite(actions)
    status = add_action(actions, "status", "say how far a study and its people are", run_status)
    add_output(status, ("table", "csv", "json"), by_name=True)
    what = "write all that a study has brought"
    export = add_action(actions, "export", what, run_export, _EXPORT_EPILOG)
    export.add_argument(
        "--output", type=OutputFolder, metavar="DIR", required=True, help="the folder to write"
    )
    _add_import(actions)
    copy = add_action(
        actions, "backup", "copy the database while people work", run_backup, _BACKUP_EPILOG
    )
    copy.add_argument(
        "--output", type=OutputFile, metavar="FILE", required=True, help="the file to write"
    )


def _add_serve(actions) -> None:
    what = "serve a study until it is stopped"
    serve = add_action(actions, "serve", what, run_serve, _SERVE_EPILOG)
    serve.add_argument(
        "--host", default="127.0.0.1", help="address to listen at (default: this machine only)"
    )
    serve.add_argument("--port", type=int, metavar="N", default=8000, help="(default: 8000)")
    serve.add_argument(
        "--certificate", metavar="FILE", help="TLS certificate with its chain, in PEM form"
    )
    serve.add_argument("--key", metavar="FILE", help="its key, in PEM form")
    serve.add_argument(
        "--allow-http",
        action="store_true",
        help="let people sign in over a network without TLS; what they send can be read on the way",
    )


def _add_import(actions) -> None:
    what = "take in a person's answers from elsewhere, to go on with the rest"
    taken = add_action(actions, "import", what, run_import, _IMPORT_EPILOG)
    taken.add_argument("--file", metavar="FILE", required=True, help="the table of the answers")
    taken.add_argument("--name", required=True, help="of the person, who is added if not there")
    taken.add_argument(
        "--address",
        metavar="URL",
        default=ADDRESS,
        help="where people reach the server (default: %(default)s)",
    )


def run_import(options: argparse.Namespace) -> None:
    """Take in answers that were given elsewhere."""
    with needing_annotate():
        from pqpp_annotation.continued import import_votes

    store = opened(options.study)
    try:
        lines, token = import_votes(store, store.study, options.file, options.name)
    finally:
        store.close()
    for line in [*lines, f"{options.address.rstrip('/')}/join/{token}"]:
        print(visible(line))


def run_serve(options: argparse.Namespace) -> None:
    """Serve a study."""
    with needing_annotate():
        from pqpp_annotation.web.serve import serve

    serve(
        options.study,
        options.host,
        options.port,
        allows_http=options.allow_http,
        certificate=options.certificate,
        key=options.key,
    )


def run_status(options: argparse.Namespace) -> None:
    """Say how far a study and its people are."""
    import json

    style = format_of(options, ("table", "csv", "json"))
    store = opened(options.study, options.output)
    try:
        people = [_row_of(store, person) for person in store.people.all()]
        counts = store.count_items()
        votes = store.answers.count()
    finally:
        store.close()
    if style == "json":
        text = json.dumps({"items": vars(counts), "answers": votes, "people": people}, indent=1)
    else:
        import pandas

        table = pandas.DataFrame(people, columns=list(_PERSON))
        text = table.to_csv(index=False) if style == "csv" else table.to_markdown(index=False)
        if style == "table":
            text = f"{counts}\nanswers: {votes:,}\n\n{text}" if people else f"{counts}\n"
    emit(text, options.output)


def _row_of(store, person) -> dict:
    progress = store.work.progress(person.id)
    gap = store.study.payment.gap_minutes if store.study.payment else 2.0
    minutes = store.events.active_seconds(person.id, gap) / 60
    state = "finished" if progress.done and not progress.left_for_me else "at work"
    if person.withdrawn or person.role == "owner":
        state = "withdrawn" if person.withdrawn else ""
    values = (person.name, person.role, progress.done, progress.skipped, progress.left_for_me)
    return dict(zip(_PERSON, (*values, round(minutes, 1), state), strict=True))


def run_export(options: argparse.Namespace) -> None:
    """Write all that a study has brought to a folder."""
    with needing_annotate():
        from pqpp_annotation.export import export_study

    store = opened(options.study)
    try:
        for line in export_study(store, store.study, options.output):
            print(visible(line))
    finally:
        store.close()


def run_backup(options: argparse.Namespace) -> None:
    """Copy the database."""
    store = opened(options.study, options.output)
    try:
        from pqpp_annotation.store.backup import backup

        place = backup(store, options.output)
    finally:
        store.close()
    print(visible(f"written: {place} ({place.stat().st_size:,} bytes; the images are not in it)"))
