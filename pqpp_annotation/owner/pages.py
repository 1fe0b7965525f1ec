"""The owner's pages, below /owner: nobody of another role sees any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse
from sqlalchemy import update

from pqpp_annotation.errors import AnswerError
from pqpp_annotation.owner import adjudication, overview
from pqpp_annotation.owner.charts import days_chart, kappa_chart, labels_chart
from pqpp_annotation.owner.disputes import disputes_csv
from pqpp_annotation.owner.overview import Overview, Watch
from pqpp_annotation.owner.payment import payment_rows
from pqpp_annotation.owner.people import people_csv
from pqpp_annotation.owner.words import STATES, Words, number, percent, span
from pqpp_annotation.store import tables

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store
    from pqpp_annotation.study.study import Study
    from pqpp_annotation.web.site import Site

_A_PAGE = 50
_MOST_ITEM = 2**62
Text = Annotated[str, Form()]


def owner_pages(store: Store, study: Study, web: Site) -> APIRouter:
    """Return the owner's pages.

    Args:
        store: Of the study.
        study: The study.
        web: Renders pages, knows who asks, and checks forms.
    """
    pages = APIRouter(prefix="/owner")
    web.templates.filters |= {"number": number, "percent": percent}
    desk = _Desk(store, study, web)
    get: dict[str, Callable[..., Response]]
    get = {"": desk.overview, "/people": desk.people, "/items": desk.items}
    get |= {"/items/{item}": desk.item, "/invitations": desk.invitations}
    get |= {"/{name}.csv": desk.csv}
    for path, page in get.items():
        pages.add_api_route(path, page, methods=["GET"])
    post: dict[str, Callable[..., Response]]
    post = {"/items/{item}": desk.decide, "/pause": desk.pause, "/invitations": desk.invite}
    post |= {"/invitations/{invitation}/revoke": desk.revoke}
    for path, page in post.items():
        pages.add_api_route(path, page, methods=["POST"])
    return pages


class _Desk:
    """The pages; each asks first whether an owner asks."""

    def __init__(self, store: Store, study: Study, web: Site):
        self._store, self._study, self._web = store, study, web
        self._watch = Watch(store, study)
        self._watch.prepare()
        self._words = Words(study)

    def _owner(self, request: Request, csrf: str | None = None) -> Any:
        """Return the owner who asks; with a form, after a look at its token."""
        person = self._web.person(request, "owner")
        if csrf is not None:
            self._web.check_csrf(request, csrf)
        return person

    def overview(self, request: Request) -> Response:
        """Show how the study stands."""
        return self._live(request, "Overview", self._charts)

    def people(self, request: Request) -> Response:
        """Show everybody."""
        return self._live(request, "People", lambda _: {})

    def _live(self, request: Request, tab: str, more: Callable[[Overview], dict]) -> Response:
        """Show a page, or what of it changes, or that nothing has changed."""
        person = self._owner(request)
        look = self._watch.look()
        if request.headers.get("If-None-Match") == look.key:
            return Response(status_code=304)
        part = "_live" if request.headers.get("X-Part") == "live" else ""
        values = {"look": look, "states": STATES, "words": self._words.label, **more(look)}
        response = self._web.render(
            request, f"owner/{tab.lower()}{part}.html", person=person, tab=tab, **values
        )
        response.headers.update({"X-Key": look.key, "Cache-Control": "no-store", "Vary": "X-Part"})
        return response

    def _charts(self, look: Overview) -> dict[str, Any]:
        has_group = any(row.kappa is not None for row in look.people)
        known = [
            (row.name, value, row.is_admitted)
            for row in look.people
            if row.role == "annotator"
            and (value := row.kappa if has_group else row.agreement) is not None
        ]
        bound = self._study.admission.min_kappa if has_group else float("nan")
        what = "kappa with the control group" if has_group else "agreement with the others"
        labels = [(self._words.label(label), count) for label, count in look.labels.items()]
        left = look.pace.days_left
        return {
            "days": days_chart(look.days),
            "kappas": kappa_chart(known, bound, what),
            "labels": labels_chart(labels) if 0 < len(labels) <= 12 else None,
            "judged": look.count("admitted") + look.count("refused"),
            "left": "" if left is None else span(left),
        }

    def items(self, request: Request, page: int = 1) -> Response:
        """Show the disputed items."""
        person = self._owner(request)
        found = self._watch.look().disputes
        pages = max(1, -(-len(found) // _A_PAGE))
        page = min(max(page, 1), pages)
        return self._web.render(
            request,
            "owner/items.html",
            person=person,
            tab="Disputes",
            disputes=found[(page - 1) * _A_PAGE : page * _A_PAGE],
            page=page,
            pages=pages,
            most=overview.DISPUTES,
            words=self._words.label,
        )

    def item(self, request: Request, item: int) -> Response:
        """Show an item with what everybody said of it."""
        person = self._owner(request)
        case = self._case(item)
        return self._web.render(
            request,
            "owner/item.html",
            person=person,
            tab="Disputes",
            case=case,
            choices=[adjudication.choices_of(self._study, part) for part in case.parts],
            said=self._words.value,
        )

    def _case(self, item: int) -> adjudication.Case:
        if not 0 < item < _MOST_ITEM:
            raise AnswerError(f"item {item}: there is none; choose one from the list")
        return adjudication.case_of(self._store, self._study, item)

    def decide(
        self, request: Request, item: int, csrf: Text, image: Text = "", choice: Text = ""
    ) -> Response:
        """Keep what the owner decides."""
        person = self._owner(request, csrf)
        adjudication.decide(self._store, self._study, self._case(item), person.id, image, choice)
        return RedirectResponse(f"/owner/items/{item}", 303)

    def pause(self, request: Request, csrf: Text, pause: Text) -> Response:
        """Give nothing new out, or go on."""
        self._owner(request, csrf)
        paused = self._store.clock() if pause == "yes" else None
        with self._store.writing() as db:
            db.execute(update(tables.StudyRow).values(paused=paused))
        self._watch.look(fresh=True)
        return RedirectResponse("/owner", 303)

    def invitations(self, request: Request) -> Response:
        """Show the links."""
        return self._links(request, self._owner(request), [])

    def invite(
        self,
        request: Request,
        csrf: Text,
        count: Annotated[int, Form()] = 1,
        role: Text = "annotator",
        days: Annotated[float, Form()] = 30,
        label: Text = "",
    ) -> Response:
        """Make links, and show them this once."""
        person = self._owner(request, csrf)
        made = self._store.invitations.create(count, role, label.strip()[:80], days)
        base = str(request.base_url).rstrip("/")
        return self._links(request, person, [f"{base}/join/{token}" for token, _ in made])

    def revoke(self, request: Request, invitation: int, csrf: Text) -> Response:
        """End a link."""
        self._owner(request, csrf)
        self._store.invitations.revoke(invitation)
        return RedirectResponse("/owner/invitations", 303)

    def _links(self, request: Request, person: Any, links: list[str]) -> Response:
        names = {one.id: one.name for one in self._store.people.all()}
        now = self._store.clock()
        rows = [
            (one, _state(one, now), None if one.person_id is None else names.get(one.person_id))
            for one in reversed(self._store.invitations.all())
        ]
        response = self._web.render(
            request,
            "owner/invitations.html",
            person=person,
            tab="Invitations",
            invitations=rows,
            links=links,
        )
        response.headers["Cache-Control"] = "no-store"
        return response

    def csv(self, request: Request, name: str) -> Response:
        """Give a table as a file."""
        self._owner(request)
        look = self._watch.look()
        tables: dict[str, Callable[[], Iterator[dict]]] = {
            "progress": lambda: overview.progress_csv(look),
            "votes": lambda: overview.days_csv(look),
            "agreement": lambda: overview.agreement_csv(look),
            "annotators": lambda: people_csv(look.people),
            "disputes": lambda: disputes_csv(self._watch.disputes()),
            "payment": lambda: payment_rows(self._study, look.people),
        }
        if name not in tables:
            raise AnswerError(f"{name}.csv: there is none; {', '.join(tables)} are there")
        headers = {
            "Content-Disposition": f'attachment; filename="{self._study.name}-{name}.csv"',
            "Cache-Control": "no-store",
        }
        text = _csv(list(tables[name]()))
        return StreamingResponse(text, media_type="text/csv; charset=utf-8", headers=headers)


def _state(invitation: Any, now: int) -> str:
    if invitation.revoked is not None:
        return "revoked"
    if invitation.expires <= now:
        return "expired"
    return "open" if invitation.person_id is None else "used"


def _csv(rows: list[dict]) -> Iterator[str]:
    from pqpp_files.write_table import table_text

    if not rows:
        return iter(())
    return table_text("csv", [{name: [row[name] for row in rows] for name in rows[0]}])
