"""What is said of each status: what to check where it is the caller's, to wait where it is not."""

import httpx
import pytest
from huggingface_hub import errors

from pqpp_hub.reasons import NOT_CACHED, reason_behind, reason_of


def refusal(status, kind=errors.HfHubHTTPError):
    request = httpx.Request("GET", "http://hub/x", headers={"Authorization": "Bearer hf_secret"})
    return kind("hf_secret", response=httpx.Response(status, request=request))


@pytest.mark.parametrize(
    ("status", "check"),
    [
        (400, "check the files' names and the card's metadata"),
        (402, "look at the owner's billing page"),
        (413, "too large (413); split it"),
        (422, "check the files' names and the card's metadata"),
        (418, "refuses the request (418); check the name"),
    ],
)
def test_what_waiting_does_not_change_is_to_be_checked(status, check):
    said = reason_of(refusal(status))
    assert check in said and "later" not in said and "\n" not in said


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_what_waiting_may_change_is_to_be_tried_later(status):
    assert reason_of(refusal(status)) == f"answers with an error ({status}); try again later"


def test_too_many_requests():
    assert "wait and try again" in reason_of(refusal(429))


def raised(*chain):
    """Return the last of some errors, each raised while the one before was handled."""
    try:
        if len(chain) > 1:
            raise chain[-1] from raised(*chain[:-1])
        raise chain[0]
    except Exception as error:
        return error


def test_a_librarys_error_is_told_by_the_hubs_answer_behind_it():
    missing = refusal(404, errors.RepositoryNotFoundError)
    assert "does not exist or is private" in reason_behind(raised(missing, OSError("hf_secret")))
    away = errors.LocalEntryNotFoundError("hf_secret")
    assert reason_behind(raised(httpx.ConnectError("x"), away, OSError("x"))) == NOT_CACHED
    assert "(503)" in reason_behind(raised(refusal(503), away, OSError("x")))
    bad = httpx.LocalProtocolError("Illegal header value b'Bearer hf_secret'")
    assert "no token by its form" in reason_behind(raised(bad, OSError("x")))


def test_an_error_without_the_hub_behind_it_has_no_reason():
    assert reason_behind(raised(KeyError("a"), ValueError("b"))) is None
    # The repository is there; it is of another kind.
    assert reason_behind(raised(refusal(404, errors.RemoteEntryNotFoundError), OSError())) is None
