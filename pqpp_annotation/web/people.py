"""Coming and going: the link, signing in and out, consent, withdrawal."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from pqpp_annotation.errors import NotAllowedError
from pqpp_annotation.web.limits import Limit
from pqpp_annotation.web.site import Site, TooOftenError

Text = Annotated[str, Form(max_length=1000)]
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
        return {name: value for name, value in self.model_dump(include=set(_IDS)).items() if value}


_IDS = tuple(Ids.model_fields)


class JoinForm(Ids):
    """What the page of an invitation sends."""

    csrf: str
    agree: bool = False


def people_pages(site: Site) -> APIRouter:
    r"""Return the pages.

    Example:
        >>> from pqpp_annotation.demo.example import example_study
        >>> folder, study, store = example_study()
        >>> from pqpp_annotation.web.site import Site
        >>> site = Site(store, study, "x" * 48, True)
        >>> "/sign-in" in [route.path for route in people_pages(site).routes]
        True
        >>> store.close()
    """
    pages = APIRouter(dependencies=[Depends(site.refuse_plain)])
    _invitations(site, pages)
    _signing_in(site, pages)
    _own_choices(site, pages)
    return pages


def _invitations(site: Site, pages: APIRouter) -> None:
    """Add the pages that an invitation leads to."""
    store = site.store
    bad_links = Limit(count=20, seconds=600)

    @contextlib.contextmanager
    def counted(request: Request) -> Iterator[None]:
        """Count links that are not there, and let nobody try many."""
        address = _address(request)
        if wait := bad_links.wait(address):
            raise TooOftenError(f"too many wrong links; try again in {waiting_time(wait)}")
        try:
            yield
        except NotAllowedError:
            bad_links.failed(address)
            raise

    @pages.get("/join/{token}")
    def invitation(request: Request, token: str, ids: Annotated[Ids, Query()]) -> Response:
        """Say what the study is; nothing happens yet, as programs that look at links come too."""
        with counted(request):
            store.invitations.check(token)
        return site.render(request, "join.html", ids=ids.given())

    @pages.post("/join/{token}")
    def join(request: Request, token: str, form: Annotated[JoinForm, Form()]) -> Response:
        site.check_csrf(request, form.csrf)
        with counted(request):
            person = store.invitations.redeem(token, form.given())
        if form.agree and person.consented is None:
            store.people.consent(person.id)
        return site.sign_in(request, person, home(person))


def _signing_in(site: Site, pages: APIRouter) -> None:
    """Add signing in by name and password, and signing out."""
    bad_names = Limit(count=5, seconds=300)
    bad_addresses = Limit(count=30, seconds=300)

    @pages.get("/sign-in")
    def sign_in_page(request: Request, next: str = "") -> Response:
        return site.render(request, "sign_in.html", problem="", name="", next=next)

    @pages.post("/sign-in")
    def sign_in(
        request: Request, csrf: Text, name: Text, password: Text, next: Text = ""
    ) -> Response:
        site.check_csrf(request, csrf)
        address = _address(request)
        again = {"name": name, "next": next}
        if wait := max(bad_addresses.wait(address), bad_names.wait(name)):
            problem = f"Too many tries. Try again in {waiting_time(wait)}."
            return site.render(request, "sign_in.html", 429, problem=problem, **again)
        person = site.store.people.verify(name, password)
        if person is None:
            bad_addresses.failed(address)
            bad_names.failed(name)
            problem = "This name and this password do not go together."
            return site.render(request, "sign_in.html", 403, problem=problem, **again)
        return site.sign_in(request, person, next if is_here(next) else home(person))

    @pages.post("/sign-out")
    def sign_out(request: Request, csrf: Text) -> Response:
        site.check_csrf(request, csrf)
        return site.start(request, site.sessions.fresh(), "/sign-in")


def _own_choices(site: Site, pages: APIRouter) -> None:
    """Add consent, and leaving with one's answers or without."""
    store = site.store

    @pages.get("/consent")
    def consent_page(request: Request) -> Response:
        return site.render(request, "consent.html", person=site.person(request))

    @pages.post("/consent")
    def consent(request: Request, csrf: Text) -> Response:
        site.check_csrf(request, csrf)
        store.people.consent(site.person(request).id)
        return RedirectResponse("/work", 303)

    @pages.get("/withdraw")
    def withdraw_page(request: Request) -> Response:
        return site.render(request, "withdraw.html", person=site.person(request))

    @pages.post("/withdraw")
    def withdraw(
        request: Request, csrf: Text, mode: Annotated[Literal["delete", "anonymous"], Form()]
    ) -> Response:
        site.check_csrf(request, csrf)
        store.people.withdraw(site.person(request).id, mode)
        return site.start(request, site.sessions.fresh(), f"/farewell?mode={mode}")

    @pages.get("/farewell")
    def farewell(request: Request, mode: str = "delete") -> Response:
        return site.render(request, "farewell.html", is_deleted=mode != "anonymous")


def home(person: Any) -> str:
    """Return the page that a person begins at.

    Example:
        >>> from types import SimpleNamespace
        >>> home(SimpleNamespace(role="owner")), home(SimpleNamespace(role="annotator"))
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


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
