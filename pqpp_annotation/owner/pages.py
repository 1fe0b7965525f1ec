"""The owner's pages, below /owner; other roles have no access."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form
from fastapi import Path as InPath
from fastapi.responses import Response
from sqlalchemy import update

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.owner import cases
from pqpp_annotation.owner.downloads import DOWNLOADS, PAYMENT_FILES
from pqpp_annotation.owner.overview import DISPUTES
from pqpp_annotation.owner.words import STATE_WORDS, format_duration
from pqpp_annotation.store import people
from pqpp_annotation.store.items import get_stored_image
from pqpp_annotation.store.tables import StudyRow
from pqpp_annotation.web.files import send_image
from pqpp_annotation.web.site import PageRequest, Visit, require_form_token

_PAGE_SIZE = 50
FormText = Annotated[str, Form()]


def require_owner(visit: Visit) -> None:
    """Refuse a request unless an owner is signed in."""
    if visit.get_person().role != "owner":
        raise AnnotationError("only the study owner can open this page", 403)


pages = APIRouter(prefix="/owner", dependencies=[Depends(require_owner)])
forms = APIRouter(dependencies=[Depends(require_form_token)])


@pages.get("")
@pages.get("/people")
def show_live_page(visit: Visit) -> Response:
    """Show the state of the study, or all annotators and control members.

    If the script asks, only the live part is sent; status 304 if nothing changed.
    """
    tab = visit.path.removeprefix("/owner")
    overview = visit.site.monitor.get_overview()
    if visit.request.headers.get("If-None-Match") == overview.key:
        return Response(status_code=304)
    suffix = "_live" if visit.request.headers.get("X-Part") == "live" else ""
    describe_label, days_left = visit.site.words.describe_label, overview.progress.days_left
    response = visit.render(
        f"owner/{'people' if tab else 'overview'}{suffix}.html",
        tab=tab,
        overview=overview,
        states=STATE_WORDS,
        describe_label=describe_label,
        labels=[(describe_label(value), count) for value, count in overview.labels.items()][:12],
        time_left="" if days_left is None else format_duration(days_left, visit.language.gettext),
    )
    response.headers.update({"X-Key": overview.key, "Vary": "X-Part"})
    return response


@pages.get("/items")
def show_disputes(visit: Visit, page: int = 1) -> Response:
    """Show the disputed items."""
    disputes = visit.site.monitor.get_overview().disputes
    reports = {(row["item"], row["person"]) for row in cases.list_events(visit.store)}
    last = max(1, -(-len(disputes) // _PAGE_SIZE))
    page = min(max(page, 1), last)
    return visit.render(
        "owner/items.html",
        tab="/items",
        disputes=disputes[(page - 1) * _PAGE_SIZE : page * _PAGE_SIZE],
        page=page,
        pages=last,
        most=DISPUTES,
        describe_label=visit.site.words.describe_label,
        reported=Counter(item for item, _ in reports if item),
    )


@pages.get("/items/{item}")
def show_item(visit: Visit, item: int) -> Response:
    """Show an item with everybody's answers."""
    case = cases.get_item_answers(visit.store, item)
    return visit.render(
        "owner/item.html", tab="/items", case=case, describe_answer=visit.site.words.describe_answer
    )


@pages.get("/images/{sha256}")
def send_owner_image(
    visit: Visit, sha256: Annotated[str, InPath(pattern="^[0-9a-f]{64}$")]
) -> Response:
    """Send an image as annotators see it, by its hash."""
    return send_image(visit, get_stored_image(visit.store, sha256))


@pages.get("/people/{person}")
def show_person(visit: Visit, person: int, page: int = 1) -> Response:
    """Show a person's work, agreement and answers, with buttons to accept or refuse."""
    overview = visit.site.monitor.get_overview(fresh=True)
    row = next((row for row in overview.people if row.id == person), None)
    if row is None:
        raise AnnotationError(f"annotator {person} not found; choose a name from the list", 409)
    answers, count = cases.list_answers(visit.store, person, page, _PAGE_SIZE)
    return visit.render(
        "owner/person.html",
        tab="/people",
        row=row,
        overview=overview,
        answers=answers,
        page=page,
        pages=count,
        states=STATE_WORDS,
        describe_answer=visit.site.words.describe_answer,
    )


@forms.post("/people/{person}")
def save_decision(visit: Visit, person: int, decision: FormText) -> Response:
    """Carry out the owner's decision about a person."""
    people.decide_on_person(visit.store, person, decision, visit.get_person().name)
    return visit.redirect(f"/owner/people/{person}")


@forms.post("/pause")
def pause_study(visit: Visit, pause: FormText) -> Response:
    """Pause the study or continue it."""
    with visit.store.begin_write() as db:
        db.execute(update(StudyRow).values(paused=db.now() if pause == "yes" else None))
    visit.site.monitor.get_overview(fresh=True)
    return visit.redirect("/owner")


@pages.get("/{name}.csv")
def download_file(visit: Visit, name: str) -> Response:
    """Send a table as a CSV file."""
    if name not in DOWNLOADS:
        raise AnnotationError(f"{name}.csv not found; download it from the overview", 409)
    visit.site.monitor.get_overview(fresh=True)
    return _send_csv(visit, name, DOWNLOADS[name](visit.site.monitor))


@forms.post("/pay/{method}")
def pay_annotators(visit: Visit, method: Literal["prolific", "hand"]) -> Response:
    """Record all amounts due by a method as paid, and send the payment file."""
    dues = visit.site.monitor.record_payments(method)
    return _send_csv(visit, f"payment-{method}", PAYMENT_FILES[method](visit.study, dues))


def _send_csv(visit: PageRequest, name: str, table: Iterable[dict[str, Any]]) -> Response:
    from pqpp_files.write_table import format_table

    rows = list(table)
    columns = {column: [row[column] for row in rows] for column in rows[0]} if rows else {}
    text = format_table("csv", columns) if rows else ""
    return Response(
        text.partition("\n")[2] if name == "payment-prolific" else text,
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{visit.study.name}-{name}.csv"'},
    )


pages.include_router(forms)
