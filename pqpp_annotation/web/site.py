"""The shared parts of all pages: templates, the signed-in person and the form token."""

import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.languages import gettext_noop
from pqpp_annotation.languages.language import Language, choose_language, read_languages
from pqpp_annotation.owner.overview import StudyMonitor
from pqpp_annotation.owner.words import LabelNames, format_number, format_percent
from pqpp_annotation.store.access import DAYS, end_session, get_session_person, start_session
from pqpp_annotation.store.tables import Person
from pqpp_annotation.store.transactions import Store, Transaction
from pqpp_annotation.study.images import get_copies
from pqpp_annotation.web.security import LOOPBACK, CookieSigner
from pqpp_files.escape import escape_controls
from pqpp_files.render_page import load_templates

PACKAGE = Path(__file__).resolve().parent.parent
# Line breaks, and the marks that Arabic and Hebrew texts need.
KEPT_CONTROLS = "\t\n\r\u061c\u200e\u200f"


class Site:
    """The state of a study's web service, shared by all requests.

    Args:
        secret: The key that signs cookies.
        allows_http: Whether unencrypted sessions over a network are allowed.
    """

    def __init__(self, store: Store, secret: str, allows_http: bool = False) -> None:
        self.store, self.allows_http, study = store, allows_http, store.study
        self.sessions = CookieSigner(secret, study.name)
        self.copies = get_copies(study)
        self.words, self.monitor = LabelNames(study), StudyMonitor(store)
        self.templates = load_templates(
            PACKAGE / "web/templates", PACKAGE / "owner/templates", PACKAGE / "kinds"
        )
        self.templates.policies["ext.i18n.trimmed"] = True
        self.templates.add_extension("jinja2.ext.i18n")
        self.templates.filters.update(moment=format_time, number=format_number)
        self.templates.filters["percent"] = format_percent
        self.title = study.title or study.task.get("question") or gettext_noop("Rate images")
        self.templates.globals |= {"study": study}
        self.languages = read_languages(study.root)
        if (study.language or "en").lower() not in self.languages:
            path = f"languages/{study.language}.po"
            raise AnnotationError(f"language {study.language}: {path} not found; create the file")


class PageRequest:
    """A request to the study's site, with its person and session."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.site: Site = request.app.state.site
        self.store, self.study = self.site.store, self.site.store.study
        self.root: str = request.scope.get("root_path", "")
        self.signed_in: Person | None = None

    @cached_property
    def session(self) -> str:
        """Id of the visit in the request's cookie, or of a new visit."""
        cookie, sessions = self.request.cookies.get(self._cookie_name), self.site.sessions
        return sessions.unsign(cookie) or sessions.create_visit()

    @cached_property
    def language(self) -> Language:
        """The study's language if set, else the available one that the browser prefers."""
        if self.study.language:
            return self.site.languages[self.study.language.lower()]
        header = self.request.headers.get("Accept-Language", "")
        return choose_language(header, self.site.languages)

    @property
    def csrf(self) -> str:
        """The token that the session's forms and scripts must send."""
        return self.site.sessions.make_form_token(self.session)

    def get_person(self, db: Transaction | None = None) -> Person:
        """Return the signed-in person.

        Args:
            db: The transaction to use; a new one by default.

        Raises:
            HTTPException: Nobody is signed in.
        """
        person = self.signed_in = get_session_person(db or self.store, self.session)
        if person is None:
            raise HTTPException(401, "you are not signed in; open your link again")
        return person

    def get_consenting_person(self, db: Transaction | None = None) -> Person:
        """Return the signed-in person, who must have consented if the study requires it.

        Raises:
            HTTPException: Nobody is signed in, or the consent is missing.
        """
        person = self.get_person(db)
        if self.study.consent and person.consented is None and person.role != "owner":
            message = gettext_noop("consent is missing; read the consent text and agree first")
            raise HTTPException(401, message, {"X-Page": "/consent"})
        return person

    def check_csrf(self, token: str) -> None:
        """Check the token of a form or script.

        Raises:
            HTTPException: The token is missing or belongs to another session.
        """
        if not self.site.sessions.is_form_token(self.session, token):
            raise HTTPException(401, "this page is out of date; reload the page")

    def get_verified_person(self, db: Transaction) -> Person:
        """Check the request's `X-CSRF-Token`, and return the person, who must have consented."""
        self.check_csrf(self.request.headers.get("X-CSRF-Token", ""))
        return self.get_consenting_person(db)

    def render(self, template: str, status: int = 200, **values: Any) -> Response:
        """Render a template with the values, the study, the signed-in person and translations."""
        html = self.site.templates.get_template(template).render(
            title=self.language.gettext(self.site.title),
            csrf=self.csrf,
            root=self.root,
            person=self.signed_in,
            language=self.language,
            gettext=self.language.gettext,
            ngettext=self.language.ngettext,
            **values,
        )
        html = escape_controls(html, KEPT_CONTROLS)
        return self._set_cookie(HTMLResponse(html, status), self.session)

    def redirect(self, path: str) -> Response:
        """Return a redirect to a page of the study."""
        return RedirectResponse(self.root + path, 303)

    @property
    def path(self) -> str:
        """Path of the requested page, without the proxy's prefix."""
        return self.request.url.path.removeprefix(self.root) or "/"

    def sign_in(self, path: str, person: Person, invitation_id: int) -> Response:
        """Start a session of a person who used a link, and redirect to a page."""
        self.sign_out()
        start_session(self.store, self.session, person.id, invitation_id)
        return self._set_cookie(self.redirect(path), self.session)

    def sign_out(self) -> None:
        """End the session in every browser that has its cookie, and begin one without a person."""
        end_session(self.store, self.session)
        self.session, self.signed_in = self.site.sessions.create_visit(), None

    def get_browser_secret(self) -> str:
        """Return the secret in the browser's cookie; "" if it has none."""
        sessions = self.site.sessions
        return sessions.unsign(self.request.cookies.get(f"{self._cookie_name}-browser")) or ""

    def set_browser_cookie(self, response: Response) -> Response:
        """Set a secret cookie that identifies the browser, unless it is set."""
        if not self.get_browser_secret():
            self._set_cookie(response, self.site.sessions.create_visit(), "-browser")
        return response

    def _set_cookie(self, response: Response, visit: str, suffix: str = "") -> Response:
        """Set a signed cookie, for encrypted connections only if `is_secure`."""
        response.set_cookie(
            f"{self._cookie_name}{suffix}",
            self.site.sessions.sign(visit),
            max_age=DAYS * 86400,
            secure=self.is_secure,
            httponly=True,
            samesite="lax",
        )
        return response

    @property
    def is_secure(self) -> bool:
        """Whether cookies require an encrypted connection."""
        url = self.request.url
        return url.scheme == "https" or not (self.site.allows_http or url.hostname in LOOPBACK)

    @property
    def _cookie_name(self) -> str:
        # Browsers accept the prefix only on secure cookies for exactly this host.
        name = self.site.sessions.name
        return f"__Host-{name}" if self.is_secure else name


async def _make_page_request(request: Request) -> PageRequest:
    return PageRequest(request)


Visit = Annotated[PageRequest, Depends(_make_page_request)]


def require_form_token(visit: Visit, csrf: Annotated[str, Form(max_length=1000)]) -> None:
    """Refuse a form without the session's token."""
    visit.check_csrf(csrf)


def refuse_unencrypted(visit: Visit) -> None:
    """Refuse an unencrypted request, unless it is local or `allows_http` is set.

    Raises:
        AnnotationError: The request is refused.
    """
    if visit.is_secure and visit.request.url.scheme != "https":
        raise AnnotationError("the connection is not encrypted; open the https:// address", 403)


def format_time(milliseconds: int) -> str:
    """Format a time in milliseconds since 1970 as ISO 8601, UTC, to the minute.

    Example:
        >>> format_time(0)
        '1970-01-01T00:00Z'
    """
    when = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    return when.strftime("%Y-%m-%dT%H:%MZ")
