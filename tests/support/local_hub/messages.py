"""What goes over the wire: a request as it came, a response, a refusal, and who may do what."""

import json
import urllib.parse
from dataclasses import dataclass, field

REPOSITORY_ERROR = "RepoNotFound"


@dataclass
class Request:
    """A request, its path still encoded: a revision or a file may hold an encoded slash."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict:
        """Return the body as JSON."""
        try:
            return json.loads(self.body or b"{}")
        except ValueError:
            raise Refusal(400, "the body is not JSON") from None

    def form(self) -> dict[str, list[str]]:
        """Return the body as a form."""
        return urllib.parse.parse_qs(self.body.decode())

    def has_flag(self, name: str) -> bool:
        """Tell whether a yes-or-no argument of the query is set."""
        return self.query.get(name, ["false"])[0].lower() in ("true", "1")


@dataclass
class Response:
    """What is answered."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, value, status: int = 200, **headers: str) -> "Response":
        """Answer with JSON."""
        return cls(
            status, json.dumps(value).encode(), {"Content-Type": "application/json", **headers}
        )


class Refusal(Exception):
    """A request that is not granted, with the two headers that clients read.

    Args:
        status: HTTP status.
        message: What is wrong.
        code: `X-Error-Code`: RepoNotFound, RevisionNotFound, EntryNotFound; none if left out.
        extra: More of the JSON body.
    """

    def __init__(self, status: int, message: str, code: str | None = None, **extra):
        super().__init__(message)
        self.status, self.message, self.code, self.extra = status, message, code, extra

    def to_response(self) -> Response:
        """Return it as an answer."""
        headers = {"X-Error-Message": self.message}
        if self.code:
            headers["X-Error-Code"] = self.code
        return Response.json({"error": self.message, **self.extra}, self.status, **headers)


@dataclass(frozen=True)
class Account:
    """Who a token stands for.

    Attributes:
        name: The user.
        write: Whether the token may write.
        organizations: The organisations whose repositories the user may read and write.
        expired: Whether the token has run out.
    """

    name: str
    write: bool = True
    organizations: tuple[str, ...] = ()
    expired: bool = False

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Whose repositories are the user's own."""
        return (self.name, *self.organizations)


def make_expired_error() -> Refusal:
    """Refuse a token that has run out, as the Hub does; clients see a missing repository."""
    return Refusal(401, "User Access Token is expired", REPOSITORY_ERROR)
