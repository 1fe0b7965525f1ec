"""The pages of judging, and what their script asks for and sends."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from pqpp_annotation.kinds import ShownItem
from pqpp_annotation.protocol.completion import Finish, finish_of
from pqpp_annotation.store.answers import save_answer
from pqpp_annotation.store.assignments import shown_item
from pqpp_annotation.store.people import keep_event
from pqpp_annotation.store.tables import Person
from pqpp_annotation.store.training import training_feedback, training_state
from pqpp_annotation.store.work import next_item, past_items, progress_of, skip_item
from pqpp_annotation.study.study import Study
from pqpp_annotation.web.site import Here

LONGEST = 3600.0
"""Seconds on one answer; more is a clock that was put forward."""

pages = APIRouter()


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


@pages.get("/work")
def work_page(visit: Here) -> Response:
    """Show the next item."""
    person = visit.worker()
    return _judging(visit, person, next_item(visit.store, person.id))


@pages.get("/work/{assignment}")
def earlier_work_page(visit: Here, assignment: int) -> Response:
    """Show an item that the person was given before."""
    person = visit.worker()
    return _judging(visit, person, shown_item(visit.store, person.id, assignment))


def _judging(visit: Here, person: Person, shown: ShownItem | None) -> Response:
    if shown is None:
        return RedirectResponse("/thanks", 303)
    kind = visit.study.kind
    return visit.render(
        "work.html",
        person=person,
        state=_state(visit, person, shown),
        kind=kind.name,
        kind_style=(kind.folder / "page.css").is_file(),
    )


def _state(visit: Here, person: Person, shown: ShownItem | None) -> dict[str, Any]:
    """Return what a page knows of an item and of the way there."""
    return {
        "study": visit.study.name,
        "who": _who(person),
        "task": None if shown is None else shown_task(visit.study, shown),
        "progress": asdict(progress_of(visit.store, person.id)),
        "training": asdict(training_state(visit.store, person.id)),
    }


@pages.get("/api/session")
def session(visit: Here) -> dict[str, str]:
    """Tell a page that was open when its person signed in again the new token."""
    return {"who": _who(visit.worker()), "csrf": visit.csrf}


@pages.get("/api/next")
def next_task(visit: Here, after: int | None = None) -> dict[str, Any]:
    """Tell the next item, or what comes behind an assignment."""
    person = visit.worker()
    return _state(visit, person, next_item(visit.store, person.id, after=after))


@pages.get("/api/tasks/{assignment}")
def earlier_task(visit: Here, assignment: int) -> dict[str, Any]:
    """Tell an item that the person was given before."""
    person = visit.worker()
    return _state(visit, person, shown_item(visit.store, person.id, assignment))


@pages.get("/api/feedback/{assignment}")
def feedback_on_task(visit: Here, assignment: int) -> dict[str, Any]:
    """Tell the right answers of a training item."""
    person = visit.worker()
    feedback = training_feedback(visit.store, person.id, assignment)
    training = training_state(visit.store, person.id)
    return {
        "is_right": feedback.is_right,
        "expected": answer_keys(feedback.expected),
        "training": asdict(training),
        "is_over": training.done >= training.total,
        "is_passed": training.right >= visit.study.training.least * training.total,
    }


@pages.post("/api/answers")
def take_answer(visit: Here, sent: AnswerSent) -> dict[str, Any]:
    """Keep an answer."""
    person, seconds = visit.sender(), min(sent.seconds, LONGEST)
    about = (sent.assignment, sent.image, sent.value)
    saved = save_answer(visit.store, person.id, *about, sent.client_id, seconds)
    return {"saved": True, "complete": saved.is_complete}


@pages.post("/api/skip")
def take_skip(visit: Here, sent: SkipSent) -> dict[str, Any]:
    """Pass over an item."""
    skip_item(visit.store, visit.sender().id, sent.assignment)
    return {"saved": True, "complete": True}


@pages.post("/api/events")
def take_event(visit: Here, sent: EventSent) -> dict[str, Any]:
    """Keep that the person went away or came back."""
    keep_event(visit.store, visit.sender().id, sent.kind)
    return {"saved": True}


@pages.get("/history")
def history_page(visit: Here) -> Response:
    """Show what was answered."""
    person = visit.worker()
    progress = progress_of(visit.store, person.id)
    earlier = past_items(visit.store, person.id)
    return visit.render("history.html", person=person, earlier=earlier, progress=progress)


@pages.get("/thanks")
def thanks_page(visit: Here) -> Response:
    """Show the end, or that there is more."""
    person = visit.worker()
    progress = progress_of(visit.store, person.id)
    is_finished = next_item(visit.store, person.id) is None
    is_paid = is_finished and progress.done
    finish = finish_of(visit.store, person) if is_paid else Finish(None, None)
    return visit.render(
        "thanks.html", person=person, is_finished=is_finished, finish=finish, progress=progress
    )


def _who(person: Person) -> str:
    """Name a person to the browser, so that no answer is sent for another, in another study too."""
    return f"{person.id}-{person.created}"


def shown_task(study: Study, shown: ShownItem) -> dict[str, Any]:
    r"""Return what a kind's script is told of an item.

    Example:
        >>> from pqpp_annotation.demo import example_study
        >>> folder, study, store = example_study()
        >>> from pqpp_annotation.store.people import add_person
        >>> shown_task(study, next_item(store, add_person(store, "ann").id))["prompt"]
        'a cat'
        >>> store.close()
    """
    return {
        "assignment": shown.assignment,
        "kind": study.kind.name,
        "purpose": shown.purpose,
        "prompt": shown.prompt,
        "images": [
            {
                "id": image.id,
                "url": f"/images/{image.sha256}",
                "width": image.width,
                "height": image.height,
            }
            for image in shown.images
        ],
        "answers": answer_keys(shown.answers),
        "detail": dict(study.kind.shown_detail(shown.detail)),
        "settings": dict(study.task),
    }


def answer_keys(answers: Mapping[int | None, Any]) -> dict[str, Any]:
    """Return answers as JSON can hold them: "item" for the one about the item.

    Example:
        >>> answer_keys({3: {"label": 2}, None: {"label": 1}})
        {'3': {'label': 2}, 'item': {'label': 1}}
    """
    return {"item" if image is None else str(image): value for image, value in answers.items()}
