"""The annotators' pages, and the requests of their scripts."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Form
from fastapi.responses import Response
from pydantic import BaseModel, Field

from pqpp_annotation.kinds import ShownItem
from pqpp_annotation.protocol.completion import get_final_page
from pqpp_annotation.store import work
from pqpp_annotation.store.answers import save_answer
from pqpp_annotation.store.people import get_survey, save_survey
from pqpp_annotation.store.tables import Person
from pqpp_annotation.store.transactions import Transaction
from pqpp_annotation.web.site import KEPT_CONTROLS, Visit, require_form_token
from pqpp_files.escape import escape_controls

LONGEST = 3600.0
"""Maximum seconds of an answer; more means that the browser's clock was changed."""

Note = Annotated[str, Body(max_length=1000)]
pages = APIRouter()


class AnswerBody(BaseModel):
    """An answer sent by a page's script.

    Attributes:
        image: Name of the image on the page; None if the answer is about the item.
    """

    client_id: Annotated[str, Field(min_length=16, max_length=64, pattern=r"^[\w-]+$")]
    assignment: int
    image: Annotated[str, Field(max_length=64)] | None = None
    value: dict[str, Any]
    seconds: Annotated[float, Field(ge=0)] = 0.0


@pages.get("/work")
@pages.get("/work/{assignment}")
def show_work(visit: Visit, assignment: int | None = None) -> Response:
    """Show an item assigned to the person; without one, the script requests the next item."""
    kind = visit.study.kind
    with visit.store.begin_read() as db:
        person = visit.get_consenting_person(db)
        item = None if assignment is None else work.get_item(db, person.id, assignment)
        return visit.render(
            "work.html",
            state=_get_page_data(visit, db, person, item),
            kind=kind.name,
            kind_style=(kind.folder / "page.css").is_file(),
        )


def _get_page_data(visit: Visit, db: Transaction, person: Person, item: ShownItem | None) -> dict:
    """Return the data for a page's script: item (or None), progress and training."""
    return {
        "study": visit.study.name,
        "kind": visit.study.kind.name,
        "who": _get_browser_person_id(person),
        "task": None if item is None else TaskPage(visit, person, item).to_page_data(),
        "progress": asdict(work.get_progress(db, person.id)),
        "training": asdict(work.get_training_state(db, person.id)),
    }


@pages.get("/api/session")
def get_session_token(visit: Visit) -> dict[str, str]:
    """Return a new form token, for a page that stayed open while its person signed in again."""
    return {"who": _get_browser_person_id(visit.get_consenting_person()), "csrf": visit.csrf}


@pages.post("/api/next")
def get_next_task(
    visit: Visit, after: Annotated[int | None, Body(embed=True)] = None
) -> dict[str, Any]:
    """Reserve and return the next item, or the one after an assignment."""
    with visit.store.begin_write(lock=True) as db:
        person = visit.get_verified_person(db)
        return _get_page_data(visit, db, person, work.reserve_item(db, person.id, after=after))


@pages.get("/api/tasks/{assignment}")
def get_earlier_task(visit: Visit, assignment: int) -> dict[str, Any]:
    """Return an item assigned to the person."""
    with visit.store.begin_read() as db:
        person = visit.get_consenting_person(db)
        return _get_page_data(visit, db, person, work.get_item(db, person.id, assignment))


@pages.get("/api/feedback/{assignment}")
def get_task_feedback(visit: Visit, assignment: int) -> dict[str, Any]:
    """Return the right answers of an answered training item, and the training progress."""
    person = visit.get_consenting_person()
    item = work.get_item(visit.store, person.id, assignment)
    is_right, expected = work.get_training_feedback(visit.store, person.id, assignment)
    training = work.get_training_state(visit.store, person.id)
    return {
        "is_right": is_right,
        "expected": TaskPage(visit, person, item).to_page_answers(expected),
        "training": asdict(training),
        "is_over": training.done >= training.total,
        "is_passed": training.right >= visit.study.training.least * training.total,
    }


@pages.post("/api/answers")
def receive_answer(visit: Visit, body: AnswerBody) -> dict[str, bool]:
    """Save an answer and return whether its item is complete."""

    def read_from_page(item: ShownItem) -> tuple[int | None, Mapping[str, Any]]:
        return TaskPage(visit, person, item).read_answer(body.image, body.value)

    answer = (body.assignment, None, body.value, body.client_id, min(body.seconds, LONGEST))
    with visit.store.begin_write() as db:
        person = visit.get_verified_person(db)
        is_complete = save_answer(db, person.id, *answer, read_from_page)
    if is_complete:
        visit.site.monitor.reopen_places_if_due()
    return {"saved": True, "complete": is_complete}


@pages.post("/api/skip")
def receive_skip(visit: Visit, assignment: Annotated[int, Body(embed=True)]) -> dict[str, bool]:
    """Skip an item."""
    with visit.store.begin_write() as db:
        work.skip_item(db, visit.get_verified_person(db).id, assignment)
    return {"saved": True, "complete": True}


@pages.post("/api/report")
def receive_report(visit: Visit, assignment: Annotated[int, Body()], text: Note) -> dict[str, bool]:
    """Save a report of a problem with an item."""
    with visit.store.begin_write() as db:
        work.report_item(db, visit.get_verified_person(db).id, assignment, text)
    return {"saved": True}


@pages.get("/history")
def show_history(visit: Visit) -> Response:
    """Show the person's items, latest first."""
    person = visit.get_consenting_person()
    progress = work.get_progress(visit.store, person.id)
    earlier = work.get_past_items(visit.store, person.id)
    return visit.render("history.html", earlier=earlier, progress=progress)


@pages.get("/thanks")
def show_thanks(visit: Visit) -> Response:
    """Show the last page, the survey before it, or why the person must wait or continue."""
    person = visit.get_consenting_person()
    visit.site.monitor.reopen_places_if_due()
    progress = work.get_progress(visit.store, person.id)
    step = work.get_next_step(visit.store, person.id)
    # A person who waits for others' reservations has done everything available.
    outcome = "complete" if step.name == "waiting" and progress.done else step.name
    if outcome == "complete" and visit.study.survey and not get_survey(visit.store, person.id):
        return visit.render("survey.html")
    finish = get_final_page(visit.store, person, outcome)
    return visit.render("thanks.html", step=step, finish=finish, progress=progress)


@pages.post("/survey", dependencies=[Depends(require_form_token)])
def receive_survey(visit: Visit, answers: Annotated[list[str], Form()]) -> Response:
    """Save a person's answers to the survey."""
    typed = [text.replace("\r\n", "\n") for text in answers]  # browsers send line breaks so
    save_survey(visit.store, visit.get_consenting_person().id, typed)
    return visit.redirect("/thanks")


def _get_browser_person_id(person: Person) -> str:
    """Return a person's id for the browser, unique across all studies."""
    return f"{person.id}-{person.created}"


class TaskPage:
    """An item on a person's page, with random names for its images."""

    def __init__(self, visit: Visit, person: Person, item: ShownItem) -> None:
        self._visit, self._person, self._item = visit, person, item
        self._kind = visit.study.kind
        self._names = {image.id: self._get_name(image.id) for image in item.images}
        self._ids = {name: image_id for image_id, name in self._names.items()}

    def _get_name(self, image: int | str) -> str:
        return self._visit.site.sessions.get_image_name(self._person.id, image)

    def _get_url(self, image: int | str) -> str:
        return f"{self._visit.root}/images/{self._item.assignment}/{self._get_name(image)}"

    def to_page_data(self) -> dict[str, Any]:
        """Return the data for the script of the kind of task, without models and purposes."""
        item, study, names = self._item, self._visit.study, self._names
        images = [
            {"id": names[i.id], "url": self._get_url(i.id)}
            | {"width": i.width, "height": i.height, "tall": i.tall}
            for i in item.images
        ]
        return {
            "assignment": item.assignment,
            "is_training": item.purpose == "training",
            "prompt": escape_controls(item.prompt, KEPT_CONTROLS),
            "images": images,
            "answers": self.to_page_answers(item.answers),
            "detail": self._kind.get_extra_page_data(item.detail, self._get_url),
            "settings": study.kind.get_page_settings(study.task, self._visit.language.gettext),
        }

    def to_page_answers(self, answers: Mapping[int | None, Mapping[str, Any]]) -> dict[str, Any]:
        """Return answers in page form, by the image's page name ("item" for the item)."""
        return {
            "item" if image is None else self._names[image]: self._kind.answer_to_page(
                value, self._names
            )
            for image, value in answers.items()
        }

    def read_answer(
        self, image: str | None, value: Mapping[str, Any]
    ) -> tuple[int | None, Mapping[str, Any]]:
        """Return the id of an image on the page, 0 if unknown, and the stored form of an answer."""
        image_id = None if image is None else self._ids.get(image, 0)
        return image_id, self._kind.answer_from_page(value, self._ids)
