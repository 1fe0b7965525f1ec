"""Coming and going: the link, signing in and out, consent, withdrawal."""

import contextlib
import re
from collections.abc import Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, Query
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from pqpp_annotation.errors import NotAllowedError
from pqpp_annotation.store.invitations import check_link, redeem_link
from pqpp_annotation.store.people import keep_consent, verify_password, withdraw_person
from pqpp_annotation.store.tables import Person
from pqpp_annotation.web.site import Here, TooOftenError, refuse_plain

ShortText = Annotated[str, Form(max_length=1000)]
Outside = Annotated[str, Field(default="", max_length=100)]


class Ids(BaseModel):
    """The ids that recruiting sites put behind a link; all else there is ignored."""

    PROLIFIC_PID: Outside
    STUDY_ID: Outside
    SESSION_ID: Outside
    workerId: Outside
    assignmentId: Outside
    hitId: Outside

    def given(self) -> dict[str, str]:
        """Return those that there are."""
        return self.model_dump(include=set(Ids.model_fields), exclude_defaults=True)


class JoinForm(Ids):
    """What the page of an invitation sends."""

    csrf: str
    agree: bool = False


pages = APIRouter(dependencies=[Depends(refuse_plain)])


@contextlib.contextmanager
def _counted(visit: Here) -> Iterator[None]:
    """Count links that are not there, and let nobody try many."""
    limit = visit.site.bad_links
    if wait := limit.wait(visit.address):
        raise TooOftenError(f"too many wrong links; try again in {waiting_time(wait)}")
    try:
        yield
    except NotAllowedError:
        limit.failed(visit.address)
        raise


@pages.get("/join/{token}")
def invitation_page(visit: Here, token: str, ids: Annotated[Ids, Query()]) -> Response:
    """Say what the study is; nothing happens yet, as programs that look at links come too."""
    with _counted(visit):
        check_link(visit.store, token)
    return visit.render("join.html", ids=ids.given())


@pages.post("/join/{token}")
def join(visit: Here, token: str, form: Annotated[JoinForm, Form()]) -> Response:
    """Sign in by a link."""
    visit.check_csrf(form.csrf)
    with _counted(visit):
        person = redeem_link(visit.store, token, form.given())
    if form.agree and person.consented is None:
        keep_consent(visit.store, person.id)
    return visit.start(home(person), person)


@pages.get("/sign-in")
def sign_in_page(visit: Here, next: str = "") -> Response:
    """Ask for name and password."""
    return visit.render("sign_in.html", problem="", name="", next=next)


@pages.post("/sign-in")
def sign_in(
    visit: Here, csrf: ShortText, name: ShortText, password: ShortText, next: ShortText = ""
) -> Response:
    """Sign in by name and password."""
    visit.check_csrf(csrf)
    limits = {visit.site.bad_addresses: visit.address, visit.site.bad_names: name}
    if wait := max(limit.wait(key) for limit, key in limits.items()):
        problem = f"Too many tries. Try again in {waiting_time(wait)}."
        return visit.render("sign_in.html", 429, problem=problem, name=name, next=next)
    person = verify_password(visit.store, name, password)
    if person is None:
        for limit, key in limits.items():
            limit.failed(key)
        problem = "This name and this password do not go together."
        return visit.render("sign_in.html", 403, problem=problem, name=name, next=next)
    return visit.start(next if is_here(next) else home(person), person)


@pages.post("/sign-out")
def sign_out(visit: Here, csrf: ShortText) -> Response:
    """Go."""
    visit.check_csrf(csrf)
    return visit.start("/sign-in")


@pages.get("/consent")
def consent_page(visit: Here) -> Response:
    """Ask for consent."""
    return visit.render("consent.html", person=visit.person())


@pages.post("/consent")
def consent(visit: Here, csrf: ShortText) -> Response:
    """Agree."""
    visit.check_csrf(csrf)
    keep_consent(visit.store, visit.person().id)
    return RedirectResponse("/work", 303)


@pages.get("/withdraw")
def withdraw_page(visit: Here) -> Response:
    """Ask what becomes of the answers."""
    return visit.render("withdraw.html", person=visit.person())


@pages.post("/withdraw")
def withdraw(
    visit: Here, csrf: ShortText, mode: Annotated[Literal["delete", "anonymous"], Form()]
) -> Response:
    """Leave with the answers or without."""
    visit.check_csrf(csrf)
    withdraw_person(visit.store, visit.person().id, mode)
    return visit.start(f"/farewell?mode={mode}")


@pages.get("/farewell")
def farewell(visit: Here, mode: str = "delete") -> Response:
    """Say what became of the answers."""
    return visit.render("farewell.html", is_deleted=mode != "anonymous")


def home(person: Person) -> str:
    """Return the page that a person begins at.

    Example:
        >>> home(Person(role="owner")), home(Person(role="annotator"))
        ('/owner', '/work')
    """
    return "/owner" if person.role == "owner" else "/work"


def is_here(url: str) -> bool:
    """Say whether an address leads to a page of this study.

    Example:
        >>> is_here("/owner"), is_here("//example.org"), is_here("https://example.org")
        (True, False, False)
    """
    return re.fullmatch(r"/[\w/-]*", url) is not None and not url.startswith("//")


def waiting_time(seconds: int) -> str:
    """Say how long to wait.

    Example:
        >>> waiting_time(40), waiting_time(61)
        ('40 seconds', '2 minutes')
    """
    return f"{seconds} seconds" if seconds < 60 else f"{-(-seconds // 60)} minutes"
