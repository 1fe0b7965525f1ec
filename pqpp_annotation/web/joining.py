"""The pages for joining and leaving: invitation, sign-in, sign-out, consent and withdrawal."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, HTTPException, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from pqpp_annotation.protocol.completion import get_final_page
from pqpp_annotation.store.access import count_attempt, get_link, has_joined, redeem_link
from pqpp_annotation.store.people import save_consent, withdraw_person
from pqpp_annotation.store.tables import Person
from pqpp_annotation.web.site import Visit, refuse_unencrypted, require_form_token

Outside = Annotated[str, Field(default="", max_length=100)]


class RecruiterIds(BaseModel):
    """The ids that recruiting sites append to a link."""

    PROLIFIC_PID: Outside
    STUDY_ID: Outside
    SESSION_ID: Outside
    workerId: Outside
    assignmentId: Outside
    hitId: Outside
    participant_id: Outside

    def as_dict(self) -> dict[str, str]:
        """Return the ids that are set."""
        return self.model_dump(include=set(RecruiterIds.model_fields), exclude_defaults=True)


class JoinForm(RecruiterIds):
    """The form of the invitation page."""

    csrf: str
    agree: bool = False


pages = APIRouter(dependencies=[Depends(refuse_unencrypted)])
forms = APIRouter(dependencies=[Depends(require_form_token)])


@pages.get("/join/{token}")
def show_invitation(visit: Visit, token: str, ids: Annotated[RecruiterIds, Query()]) -> Response:
    """Show the study's description; nothing is stored, as link previews open this page too."""
    link = get_link(visit.store, token)
    has_joined(visit.store, link, ids.as_dict())  # raises if the id is missing
    page = visit.render("join.html", ids=ids.as_dict(), is_shared=link.is_shared, role=link.role)
    return visit.set_browser_cookie(page)


@pages.post("/join/{token}")
def join(visit: Visit, token: str, form: Annotated[JoinForm, Form()]) -> Response:
    """Sign in with a link; record the consent if given."""
    visit.check_csrf(form.csrf)
    link, ids = get_link(visit.store, token), form.as_dict()
    is_new = link.is_shared and not has_joined(visit.store, link, ids)
    client = visit.request.client
    keys = ("new people", str(link.id), client.host if client else "")
    if is_new and (wait := count_attempt(visit.store, *keys)):
        minutes = -(-wait // 60)
        message = visit.language.ngettext(
            "Too many attempts. Try again in %(count)s minute.",
            "Too many attempts. Try again in %(count)s minutes.",
            minutes,
        )
        message %= {"count": minutes}
        raise HTTPException(429, message, {"Retry-After": str(wait)})
    person = redeem_link(visit.store, token, ids, visit.get_browser_secret())
    if form.agree and person.consented is None:
        save_consent(visit.store, person.id, visit.language.gettext(visit.study.consent))
    return visit.sign_in(get_home_path(person), person, link.id)


@pages.get("/sign-in")
def show_sign_in(visit: Visit) -> Response:
    """Show instructions for signing in."""
    return visit.render("sign_in.html")


@forms.post("/sign-out")
def sign_out(visit: Visit) -> Response:
    """End the session."""
    visit.sign_out()
    return visit.redirect("/sign-in")


@pages.get("/consent")
def show_consent(visit: Visit) -> Response:
    """Ask for consent."""
    visit.get_person()
    return visit.render("consent.html")


@forms.post("/consent")
def receive_consent(visit: Visit) -> Response:
    """Record the consent."""
    save_consent(visit.store, visit.get_person().id, visit.language.gettext(visit.study.consent))
    return visit.redirect("/work")


@pages.get("/withdraw")
def show_withdrawal(visit: Visit) -> Response:
    """Show the choice between deleting answers and making them anonymous."""
    visit.get_person()
    return visit.render("withdraw.html")


@forms.post("/withdraw")
def withdraw(visit: Visit, mode: Annotated[Literal["delete", "anonymous"], Form()]) -> Response:
    """Withdraw the person, and show the last page."""
    person = visit.get_person()
    finish = get_final_page(visit.store, person, "withdrawn")  # before the ids are deleted
    people = visit.site.monitor.get_overview(fresh=True).people
    pay = next((row.pay for row in people if row.id == person.id), None)
    earned = {"for_items": pay.for_items, "for_hours": pay.for_hours} if pay else None
    leaver = withdraw_person(visit.store, person.id, mode, earned)
    visit.sign_out()
    claim = leaver.name if leaver and not leaver.outside else ""  # the only id for payment
    return visit.render("farewell.html", is_deleted=mode == "delete", finish=finish, claim=claim)


pages.include_router(forms)


def get_home_path(person: Person) -> str:
    """Return the path of a person's first page.

    Example:
        >>> get_home_path(Person(role="owner")), get_home_path(Person(role="annotator"))
        ('/owner', '/work')
    """
    return "/owner" if person.role == "owner" else "/work"
