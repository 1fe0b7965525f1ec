"""What all pages share: templates, the person who asks, the token of forms."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from pqpp_annotation.errors import AnnotationError, NotAllowedError
from pqpp_annotation.web.security import is_loopback
from pqpp_annotation.web.sessions import DAYS, Session, Sessions
from pqpp_files.render_page import page_templates

PACKAGE = Path(__file__).resolve().parent.parent


class SignInError(AnnotationError):
    """Nobody is signed in, or the session has ended."""


class TooOftenError(AnnotationError):
    """Something went wrong too often; the person has to wait."""


class Elsewhere(Exception):
    """The person has to be on another page first."""

    def __init__(self, url: str) -> None:
        self.url = url
        super().__init__(url)


class Site:
    """The pages' common part.

    Args:
        store: The open database.
        study: As it was read from its file.
        secret: Signs the cookies.
        allows_http: Whether a session may go unencrypted over a network.
    """

    def __init__(self, store: Any, study: Any, secret: str, allows_http: bool = False) -> None:
        self.store, self.study, self.allows_http = store, study, allows_http
        self.title = study.title or study.task.get("question") or study.name
        self.sessions = Sessions(secret)
        self.templates = page_templates(
            PACKAGE / "web/templates", PACKAGE / "owner/templates", PACKAGE / "kinds"
        )
        self.templates.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
        self.templates.filters["moment"] = moment

    def session(self, request: Request) -> Session:
        """Return the session of a request; a visitor's fresh one where it has none."""
        if not hasattr(request.state, "session"):
            cookie = request.cookies.get(self._cookie_name(request))
            request.state.session = self.sessions.read(cookie) or self.sessions.fresh()
        return request.state.session

    def person(self, request: Request, *roles: str) -> Any:
        """Return the person who asks.

        Args:
            roles: Who may; everybody where none is given.

        Raises:
            SignInError: Nobody is signed in, or the session was ended.
            NotAllowedError: The person has another role.
        """
        session = self.session(request)
        person = None if session.person is None else self.store.people.get(session.person)
        if person is None or person.session != session.count or person.withdrawn is not None:
            raise SignInError("sign in, or open your link again")
        if roles and person.role not in roles:
            raise NotAllowedError(f"this page is for {' and '.join(roles)} only")
        return person

    def check_csrf(self, request: Request, token: str | None = None) -> None:
        """Refuse a request that does not bring the token of its session.

        Args:
            token: As a form brought it; that of the header `X-CSRF-Token` where left out.

        Raises:
            SignInError: It is absent or of another session.
        """
        token = token if token is not None else request.headers.get("X-CSRF-Token", "")
        if not self.sessions.is_form_token(self.session(request), token):
            raise SignInError("this page is too old; load it again")

    def render(
        self, request: Request, template: str, /, status: int = 200, **values: Any
    ) -> Response:
        """Return a page.

        Args:
            template: Is given `study`, `title`, `csrf`, `person` (or None) and `values`.
        """
        session = self.session(request)
        values.setdefault("person", None)
        html = self.templates.get_template(template).render(
            study=self.study,
            title=self.title,
            csrf=self.sessions.form_token(session),
            **values,
        )
        response = HTMLResponse(html, status)
        self.keep(request, response, session)
        return response

    def sign_in(self, request: Request, person: Any, url: str) -> Response:
        """Start a session of a person and go to a page."""
        return self.start(request, self.sessions.fresh(person.id, person.session), url)

    def start(self, request: Request, session: Session, url: str) -> Response:
        """Start a session and go to a page."""
        response = RedirectResponse(url, 303)
        self.keep(request, response, session)
        return response

    def keep(self, request: Request, response: Response, session: Session) -> None:
        """Set the cookie; it never goes unencrypted over a network unless that was allowed."""
        response.set_cookie(
            self._cookie_name(request),
            self.sessions.write(session),
            max_age=DAYS * 86400,
            secure=self._is_secure(request),
            httponly=True,
            samesite="lax",
        )

    def refuse_plain(self, request: Request) -> None:
        """Refuse what came unencrypted over a network, where a browser would keep no session.

        Raises:
            NotAllowedError: It did, and that was not allowed.
        """
        if self._is_secure(request) and request.url.scheme != "https":
            raise NotAllowedError("this address is not encrypted; open it with https://")

    def _is_secure(self, request: Request) -> bool:
        if request.url.scheme == "https":
            return True
        return not (self.allows_http or is_loopback(request.url.hostname))

    def _cookie_name(self, request: Request) -> str:
        # A browser takes the prefix only with Secure and for exactly this host.
        return "__Host-pqpp" if self._is_secure(request) else "pqpp"


def moment(milliseconds: int) -> str:
    """Return a time as pages show it.

    Example:
        >>> moment(0)
        '1970-01-01T00:00Z'
    """
    when = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    return when.strftime("%Y-%m-%dT%H:%MZ")
