"""What all pages share: templates, the person who asks, the token of forms."""

import datetime
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from pqpp_annotation.errors import AnnotationError, NotAllowedError
from pqpp_annotation.owner.overview import Watch
from pqpp_annotation.owner.words import Words, number, percent
from pqpp_annotation.store.people import person_by_id
from pqpp_annotation.store.tables import Person
from pqpp_annotation.store.transactions import Store
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


class Limit:
    """At most `count` failures of a key in `seconds`; kept in memory, so a restart forgets them.

    Args:
        clock: Seconds that never go back.

    Example:
        >>> limit = Limit(count=2, seconds=60, clock=lambda: 0.0)
        >>> limit.failed("a"), limit.failed("a"), limit.wait("a"), limit.wait("b")
        (None, None, 60, 0)
    """

    MOST_KEYS = 10_000

    def __init__(
        self, count: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.count, self.seconds, self._clock = count, seconds, clock
        self._failures: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def wait(self, key: str) -> int:
        """Return how many seconds the key has to wait; 0 where it need not."""
        with self._lock:
            times = self._recent(key)
            if len(times) < self.count:
                return 0
            return max(1, round(times[0] + self.seconds - self._clock()))

    def failed(self, key: str) -> None:
        """Count a failure."""
        with self._lock:
            if len(self._failures) >= self.MOST_KEYS:  # a flood must not fill the memory
                recent = {one: self._recent(one) for one in self._failures}
                self._failures = {one: times for one, times in recent.items() if times}
                while len(self._failures) >= self.MOST_KEYS:
                    del self._failures[next(iter(self._failures))]
            self._failures.setdefault(key, deque(maxlen=self.count)).append(self._clock())

    def _recent(self, key: str) -> deque[float]:
        """Return a key's failures of the last `seconds`."""
        times = self._failures.get(key, deque())
        while times and times[0] <= self._clock() - self.seconds:
            times.popleft()
        return times


class Site:
    """A study on the web: what outlives a request.

    Args:
        secret: Signs the cookies.
        allows_http: Whether a session may go unencrypted over a network.
    """

    def __init__(self, store: Store, secret: str, allows_http: bool = False) -> None:
        self.store, self.allows_http, study = store, allows_http, store.study
        self.sessions = Sessions(secret)
        self.bad_links = Limit(count=20, seconds=600)
        self.bad_names = Limit(count=5, seconds=300)
        self.bad_addresses = Limit(count=30, seconds=300)
        self.words, self.watch = Words(study), Watch(store)
        self.watch.prepare()
        self.templates = page_templates(
            PACKAGE / "web/templates", PACKAGE / "owner/templates", PACKAGE / "kinds"
        )
        self.templates.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
        self.templates.filters |= {"moment": moment, "number": number, "percent": percent}
        title = study.title or study.task.get("question") or study.name
        self.templates.globals |= {"study": study, "title": title, "person": None}


class Visit:
    """A request: who asks, and what is answered."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.site: Site = request.app.state.site
        self.store, self.study = self.site.store, self.site.store.study

    @cached_property
    def session(self) -> Session:
        """The session of the request; a visitor's fresh one where it has none."""
        sessions = self.site.sessions
        return sessions.read(self.request.cookies.get(self._cookie)) or sessions.fresh()

    @property
    def csrf(self) -> str:
        """What every form and script of the session sends back."""
        return self.site.sessions.form_token(self.session)

    @property
    def address(self) -> str:
        """Where the request comes from."""
        return self.request.client.host if self.request.client else ""

    def person(self, *roles: str) -> Person:
        """Return the person who asks.

        Args:
            roles: Who may; everybody where none is given.

        Raises:
            SignInError: Nobody is signed in, or the session was ended.
            NotAllowedError: The person has another role.
        """
        session = self.session
        person = None if session.person is None else person_by_id(self.store, session.person)
        if person is None or person.session != session.count or person.withdrawn is not None:
            raise SignInError("sign in, or open your link again")
        if roles and person.role not in roles:
            raise NotAllowedError(f"this page is for {' and '.join(roles)} only")
        return person

    def worker(self) -> Person:
        """Return the person who asks, who has consented where that is asked for."""
        person = self.person()
        if self.study.consent and person.consented is None and person.role != "owner":
            raise Elsewhere("/consent")
        return person

    def check_csrf(self, token: str) -> None:
        """Refuse a token that is not the session's.

        Raises:
            SignInError: It is absent or of another session.
        """
        if not self.site.sessions.is_form_token(self.session, token):
            raise SignInError("this page is too old; load it again")

    def sender(self) -> Person:
        """Return the worker whose page sends something, with its token in `X-CSRF-Token`."""
        self.check_csrf(self.request.headers.get("X-CSRF-Token", ""))
        return self.worker()

    def render(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return a page; a template has `study`, `title`, `csrf` and `person` (or None) too."""
        html = self.site.templates.get_template(template).render(csrf=self.csrf, **values)
        return self._keeping(HTMLResponse(html, status), self.session)

    def start(self, url: str, person: Person | None = None) -> Response:
        """Start a session, of a person or of nobody, and go to a page."""
        ids = () if person is None else (person.id, person.session)
        return self._keeping(RedirectResponse(url, 303), self.site.sessions.fresh(*ids))

    def _keeping(self, response: Response, session: Session) -> Response:
        """Set the cookie; it never goes unencrypted over a network unless that was allowed."""
        response.set_cookie(
            self._cookie,
            self.site.sessions.write(session),
            max_age=DAYS * 86400,
            secure=self.is_secure,
            httponly=True,
            samesite="lax",
        )
        return response

    @property
    def is_secure(self) -> bool:
        """Whether a session is only kept, and sent, where nothing goes unencrypted."""
        url = self.request.url
        return url.scheme == "https" or not (self.site.allows_http or is_loopback(url.hostname))

    @property
    def _cookie(self) -> str:
        # A browser takes the prefix only with Secure and for exactly this host.
        return "__Host-pqpp" if self.is_secure else "pqpp"


async def _visit(request: Request) -> Visit:
    return Visit(request)


Here = Annotated[Visit, Depends(_visit)]


def refuse_plain(visit: Here) -> None:
    """Refuse what came unencrypted over a network, where a browser would keep no session.

    Raises:
        NotAllowedError: It did, and that was not allowed.
    """
    if visit.is_secure and visit.request.url.scheme != "https":
        raise NotAllowedError("this address is not encrypted; open it with https://")


def moment(milliseconds: int) -> str:
    """Return a time as pages show it.

    Example:
        >>> moment(0)
        '1970-01-01T00:00Z'
    """
    when = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    return when.strftime("%Y-%m-%dT%H:%MZ")
