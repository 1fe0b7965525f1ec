"""The application: its pages, and what each error looks like to a person and to a script."""

from urllib.parse import quote

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from sqlalchemy import text
from starlette.exceptions import HTTPException as StarletteHTTPException

from pqpp_annotation.errors import AnnotationError, AnswerError, NotAllowedError, StoreError
from pqpp_annotation.languages import gettext_noop
from pqpp_annotation.owner import pages as owner
from pqpp_annotation.store.transactions import Store
from pqpp_annotation.web import files, people, work
from pqpp_annotation.web.security import LOG, Guard
from pqpp_annotation.web.site import Elsewhere, Here, SignInError, Site, TooOftenError, Visit
from pqpp_files.write_beside import is_full

STATUS: dict[type[Exception], int] = {
    AnswerError: 409,
    NotAllowedError: 403,
    SignInError: 401,
    TooOftenError: 429,
    StoreError: 503,
}


class Health(BaseModel):
    """That all is well."""

    status: str = "ok"


def create_app(
    store: Store, *, secret: str, allows_http: bool = False, root_path: str = ""
) -> FastAPI:
    """Return the web application of a study.

    Args:
        store: The open database.
        secret: Signs the cookies; the same after a restart, or everybody has to sign in again.
        allows_http: Send sessions unencrypted over a network too. On this machine's own address
            they always may.
        root_path: What stands before every path, where a proxy serves the study below a prefix,
            like `/colours`; whether the proxy takes it off or not.

    Example:
        >>> app = create_app(store, secret="x" * 48)  # doctest: +SKIP
    """
    app = FastAPI(openapi_url=None)
    app.state.site = Site(store, secret, allows_http)
    app.add_middleware(Guard, root_path=root_path)
    files.mount_static(app)
    for part in (people, work, files, owner):
        app.include_router(part.pages)
    _add_errors(app)

    @app.get("/")
    def start(visit: Here) -> Response:
        """Go where the person begins."""
        return visit.go(people.home(visit.person()))

    @app.get("/health")
    def health() -> Health:
        """Say that the service runs and its database answers."""
        with store.reading() as db:
            db.execute(text("SELECT 1"))
        return Health()

    return app


def _add_errors(app: FastAPI) -> None:
    """Show every error in one line: as JSON to a script, as a page to a person."""

    def tell(request: Request, status: int, line: str) -> Response:
        visit = Visit(request)
        line = visit.language.gettext(line)
        if visit.path.startswith(("/api/", "/images/", "/health")):
            return JSONResponse({"error": line}, status)
        return visit.render("problem.html", status, line=line)

    @app.exception_handler(Elsewhere)
    def elsewhere(request: Request, error: Elsewhere) -> Response:
        visit = Visit(request)
        if visit.path.startswith("/api/"):
            return JSONResponse({"error": "another page comes first", "go": error.url}, 401)
        return visit.go(error.url)

    @app.exception_handler(AnnotationError)
    def known(request: Request, error: AnnotationError) -> Response:
        status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 400)
        visit = Visit(request)
        if status == 401 and request.method == "GET" and not visit.path.startswith("/api/"):
            return visit.go(f"/sign-in?next={quote(visit.path)}")
        if status == 503:  # it names the database, which is nobody's business but the log's
            LOG.error("%s", error)
            return tell(
                request, status, gettext_noop("the study cannot be reached just now; try again")
            )
        return tell(request, status, str(error))

    @app.exception_handler(RequestValidationError)
    def malformed(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        return tell(request, 422, f"{where}: {first['msg']}")

    @app.exception_handler(StarletteHTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        line = (
            gettext_noop("There is no such page.")
            if error.detail == "Not Found"
            else str(error.detail)
        )
        return tell(request, error.status_code, line)

    @app.exception_handler(OSError)
    def full(request: Request, error: OSError) -> Response:
        if not is_full(error):
            raise error
        LOG.error("%s", error)
        return tell(request, 507, gettext_noop("its disk is full"))

    @app.exception_handler(Exception)
    def defect(request: Request, error: Exception) -> Response:
        # The trace goes to the log, by the server; the person keeps the answer in the browser.
        return tell(request, 500, gettext_noop("something went wrong there"))
