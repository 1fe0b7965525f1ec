"""The pages of judging, and what their script asks for and sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from pqpp_annotation.kinds import ShownItem
from pqpp_annotation.protocol.completion import Finish, finish_of
from pqpp_annotation.web.site import Elsewhere, Site

LONGEST = 3600.0
"""Seconds on one answer; more is a clock that was put forward."""


class AnswerSent(BaseModel):
    """An answer as the page's script sends it; `image` is None where it is about the item."""

    client_id: Annotated[str, Field(min_length=16, max_length=64, pattern=r"^[\w-]+$")]
    assignment: int
    image: int | None = None
    value: dict[str, Any]
    seconds: Annotated[float, Field(ge=0)] = 0.0


class SkipSent(BaseModel):
    """An item that the person does not want to judge."""

    assignment: int


class EventSent(BaseModel):
    """What the page saw: that the person went away or came back."""

    kind: Annotated[str, Field(pattern="^(seen|away|back)$")]


def work_pages(site: Site) -> APIRouter:
    r"""Return the pages and the script's addresses.

    Example:
        >>> from pqpp_annotation.demo.example import example_study
        >>> folder, study, store = example_study()
        >>> from pqpp_annotation.web.site import Site
        >>> site = Site(store, study, "x" * 48, True)
        >>> from fastapi import FastAPI
        >>> app = FastAPI()
        >>> app.include_router(work_pages(site))
        >>> str(app.url_path_for("thanks")), str(app.url_path_for("answer"))
        ('/thanks', '/api/answers')
        >>> store.close()
    """
    pages = APIRouter()
    pages.include_router(_judging(site))
    pages.include_router(_script(site))
    pages.include_router(_looking_back(site))
    return pages


def _worker(site: Site, request: Request) -> Any:
    """Return the person, who has consented where that is asked for."""
    person = site.person(request)
    if site.study.consent and person.consented is None and person.role != "owner":
        raise Elsewhere("/consent")
    return person


def _sender(site: Site, request: Request) -> Any:
    """Return the person whose page sends something."""
    site.check_csrf(request)
    return _worker(site, request)


def _state(site: Site, person: Any, shown: ShownItem | None) -> dict[str, Any]:
    """Return what a page knows of an item and of the way there."""
    work = site.store.work
    return {
        "study": site.study.name,
        "who": _who(person),
        "task": None if shown is None else shown_task(site, shown),
        "progress": asdict(work.progress(person.id)),
        "training": asdict(work.training(person.id)),
    }


def _judging(site: Site) -> APIRouter:
    """Return the pages on which items are judged."""
    pages = APIRouter()
    store, study = site.store, site.study

    def work_page(request: Request, person: Any, shown: ShownItem | None) -> Response:
        if shown is None:
            return RedirectResponse("/thanks", 303)
        return site.render(
            request,
            "work.html",
            settings=study.task,
            kind_style=(study.kind.folder / "page.css").is_file(),
            person=person,
            state=_state(site, person, shown),
            kind=study.kind.name,
        )

    @pages.get("/work")
    def work(request: Request) -> Response:
        person = _worker(site, request)
        return work_page(request, person, store.work.next(person.id))

    @pages.get("/work/{assignment}")
    def earlier_work(request: Request, assignment: int) -> Response:
        person = _worker(site, request)
        return work_page(request, person, store.work.shown(person.id, assignment))

    return pages


def _script(site: Site) -> APIRouter:
    """Return what the script of these pages asks for and sends."""
    pages = APIRouter()
    store, study = site.store, site.study

    @pages.get("/api/session")
    def session(request: Request) -> dict[str, str]:
        """Tell a page that was open when its person signed in again the new token."""
        person = _worker(site, request)
        token = site.sessions.form_token(site.session(request))
        return {"who": _who(person), "csrf": token}

    @pages.get("/api/next")
    def next_task(request: Request, after: int | None = None) -> dict[str, Any]:
        person = _worker(site, request)
        return _state(site, person, store.work.next(person.id, after=after))

    @pages.get("/api/tasks/{assignment}")
    def one_task(request: Request, assignment: int) -> dict[str, Any]:
        person = _worker(site, request)
        return _state(site, person, store.work.shown(person.id, assignment))

    @pages.get("/api/feedback/{assignment}")
    def feedback(request: Request, assignment: int) -> dict[str, Any]:
        person = _worker(site, request)
        found = store.work.feedback(person.id, assignment)
        training = store.work.training(person.id)
        return {
            "is_right": found.is_right,
            "expected": answer_keys(found.expected),
            "training": asdict(training),
            "is_over": training.done >= training.total,
            "is_passed": training.right >= study.training.least * training.total,
        }

    _take_answers(site, pages)
    return pages


def _take_answers(site: Site, pages: APIRouter) -> None:
    """Add the addresses that answers, skips and events are sent to."""
    store = site.store

    @pages.post("/api/answers")
    def answer(request: Request, sent: AnswerSent) -> dict[str, Any]:
        person = _sender(site, request)
        saved = store.answers.save(
            person.id,
            sent.assignment,
            sent.image,
            sent.value,
            sent.client_id,
            min(sent.seconds, LONGEST),
        )
        return {"saved": True, "complete": saved.is_complete}

    @pages.post("/api/skip")
    def skip(request: Request, sent: SkipSent) -> dict[str, Any]:
        store.work.skip(_sender(site, request).id, sent.assignment)
        return {"saved": True, "complete": True}

    @pages.post("/api/events")
    def event(request: Request, sent: EventSent) -> dict[str, Any]:
        store.events.add(_sender(site, request).id, sent.kind, {})
        return {"saved": True}


def _looking_back(site: Site) -> APIRouter:
    """Return the pages of what was answered, and of the end."""
    pages = APIRouter()
    store, study = site.store, site.study

    @pages.get("/history")
    def history(request: Request) -> Response:
        person = _worker(site, request)
        return site.render(
            request,
            "history.html",
            person=person,
            earlier=store.work.history(person.id),
            progress=store.work.progress(person.id),
        )

    @pages.get("/thanks")
    def thanks(request: Request) -> Response:
        person = _worker(site, request)
        progress = store.work.progress(person.id)
        is_finished = store.work.next(person.id) is None
        finish = Finish(None, None)
        if is_finished and progress.done:
            finish = finish_of(store, study, person)
        return site.render(
            request,
            "thanks.html",
            person=person,
            is_finished=is_finished,
            finish=finish,
            progress=progress,
        )

    return pages


def _who(person: Any) -> str:
    """Name a person to the browser, so that no answer is sent for another, in another study too."""
    return f"{person.id}-{person.created}"


def shown_task(site: Site, shown: ShownItem) -> dict[str, Any]:
    r"""Return what a kind's script is told of an item.

    Example:
        >>> from pqpp_annotation.demo.example import example_study
        >>> folder, study, store = example_study()
        >>> from pqpp_annotation.web.site import Site
        >>> site = Site(store, study, "x" * 48, True)
        >>> shown = store.work.next(store.people.add("ann").id)
        >>> shown_task(site, shown)["prompt"]
        'a cat'
        >>> store.close()
    """
    kind = site.study.kind
    return {
        "assignment": shown.assignment,
        "kind": kind.name,
        "purpose": shown.purpose,
        "prompt": shown.prompt,
        "images": [
            {"id": one.id, "url": f"/images/{one.sha256}", "width": one.width, "height": one.height}
            for one in shown.images
        ],
        "answers": answer_keys(shown.answers),
        "detail": dict(kind.shown_detail(shown.detail)),
        "settings": dict(site.study.task),
    }


def answer_keys(answers: Mapping[int | None, Any]) -> dict[str, Any]:
    """Return answers as JSON can hold them: "item" for the one about the item.

    Example:
        >>> answer_keys({3: {"label": 2}, None: {"label": 1}})
        {'3': {'label': 2}, 'item': {'label': 1}}
    """
    return {"item" if image is None else str(image): value for image, value in answers.items()}
