"""Coming and going: the link, signing in and out, consent, withdrawal."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, HTTPException, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from pqpp_annotation.protocol.completion import get_finish
from pqpp_annotation.store.access import check_link, has_joined, redeem_link
from pqpp_annotation.store.people import save_consent, withdraw_person
from pqpp_annotation.store.tables import Person
from pqpp_annotation.web.site import Here, refuse_unencrypted, require_form_token

Outside = Annotated[str, Field(default="", max_length=100)]


class RecruiterIds(BaseModel):
    """The ids that recruiting sites put behind a link; all else there is ignored."""

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
    """What the page of an invitation sends."""

    csrf: str
    agree: bool = False


pages = APIRouter(dependencies=[Depends(refuse_unencrypted)])
forms = APIRouter(dependencies=[Depends(require_form_token)])


@pages.get("/join/{token}")
def invitation_page(visit: Here, token: str, ids: Annotated[RecruiterIds, Query()]) -> Response:
    """Show what the study is, without any change, since link previews open the page too."""
    link = check_link(visit.store, token)
    has_joined(visit.store, link, ids.as_dict())  # or is told that the id is missing
    page = visit.render("join.html", ids=ids.as_dict(), is_shared=link.is_shared, role=link.role)
    return visit.mark_browser(page)


@pages.post("/join/{token}")
def join(visit: Here, token: str, form: Annotated[JoinForm, Form()]) -> Response:
    """Sign in by a link."""
    visit.check_csrf(form.csrf)
    link, ids = check_link(visit.store, token), form.as_dict()
    is_new = link.is_shared and not has_joined(visit.store, link, ids)
    if is_new and (wait := visit.site.new_people.take(str(link.id), visit.address)):
        minutes = -(-wait // 60)
        line = visit.language.ngettext(
            "Too many attempts. Try again in %(count)s minute.",
            "Too many attempts. Try again in %(count)s minutes.",
            minutes,
        )
        line %= {"count": minutes}
        raise HTTPException(429, line, {"Retry-After": str(wait)})
    person = redeem_link(visit.store, token, ids, visit.get_browser_secret())
    if form.agree and person.consented is None:
        save_consent(visit.store, person.id, visit.language.gettext(visit.study.consent))
    return visit.sign_in(get_home(person), person, link.id)


@pages.get("/sign-in")
def sign_in_page(visit: Here) -> Response:
    """Show how to sign in."""
    return visit.render("sign_in.html")


@forms.post("/sign-out")
def sign_out(visit: Here) -> Response:
    """Sign out."""
    visit.leave()
    return visit.redirect("/sign-in")


@pages.get("/consent")
def consent_page(visit: Here) -> Response:
    """Ask for consent."""
    visit.get_person()
    return visit.render("consent.html")


@forms.post("/consent")
def consent(visit: Here) -> Response:
    """Record the consent."""
    save_consent(visit.store, visit.get_person().id, visit.language.gettext(visit.study.consent))
    return visit.redirect("/work")


@pages.get("/withdraw")
def withdraw_page(visit: Here) -> Response:
    """Ask what becomes of the answers."""
    visit.get_person()
    return visit.render("withdraw.html")


@forms.post("/withdraw")
def withdraw(visit: Here, mode: Annotated[Literal["delete", "anonymous"], Form()]) -> Response:
    """Leave with the answers or without."""
    person = visit.get_person()
    finish = get_finish(visit.store, person, "withdrawn")  # before all that says who it was is gone
    people = visit.site.watch.get_overview(fresh=True).people
    pay = next((row.pay for row in people if row.id == person.id), None)
    earned = {"for_items": pay.for_items, "for_hours": pay.for_hours} if pay else None
    left = withdraw_person(visit.store, person.id, mode, earned)
    visit.leave()
    claim = left.name if left and not left.outside else ""  # nothing else tells who is to be paid
    return visit.render("farewell.html", is_deleted=mode == "delete", finish=finish, claim=claim)


pages.include_router(forms)


def get_home(person: Person) -> str:
    """Return the address of a person's first page.

    Example:
        >>> get_home(Person(role="owner")), get_home(Person(role="annotator"))
        ('/owner', '/work')
    """
    return "/owner" if person.role == "owner" else "/work"
