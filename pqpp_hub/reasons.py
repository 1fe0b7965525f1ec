"""What is said when the Hub refuses or fails.

Only fixed sentences: the client's own texts may hold request headers, and with them a token.
"""

from __future__ import annotations

_STATUS = {
    401: "needs an access token: run `hf auth login`, set HF_TOKEN, or give a token",
    403: "may not be {0} with this token; use one with {1} permission for its owner",
    404: "does not exist or is private; check its name, or give a token",
    409: "was being changed by somebody else; try again",
    412: "was changed by somebody else meanwhile; look at it and try again",
    429: "cannot be used now, since there were too many requests; wait and try again",
}


def reason_of(error: Exception, permission: str = "write") -> str:
    """Return the end of a sentence about a repository: what went wrong, and what to do.

    Args:
        error: What the client raised.
        permission: What was tried, `read` or `write`.

    Example:
        >>> reason_of(ConnectionError("secret"))
        'cannot be reached; connect, and check HF_ENDPOINT and HF_HUB_OFFLINE'
    """
    from huggingface_hub import errors

    # The client wraps what its upload threads raise in a RuntimeError.
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    response = getattr(error, "response", None)
    said = response.headers.get("X-Error-Message", "") if response is not None else ""
    if "expired" in said:
        return "refuses the access token, which has expired; make a new one in your Hub settings"
    if "Invalid credentials" in said:
        return "refuses the access token, which is not valid; check it, or run `hf auth login`"
    if isinstance(error, errors.GatedRepoError):
        return "is gated; ask for access on its page and give a token"
    if isinstance(error, errors.RepositoryNotFoundError):
        return _STATUS[404]
    if isinstance(error, errors.RevisionNotFoundError):
        return "does not exist; check the revision"
    if isinstance(error, errors.HFValidationError):
        return "is not a valid repository name; write OWNER/REPOSITORY"
    if isinstance(error, errors.LocalTokenNotFoundError):
        return _STATUS[401]
    if isinstance(error, errors.HfHubHTTPError) and response is not None:
        status = response.status_code
        reason = _STATUS.get(status, f"answers with an error ({status}); try again later")
        return reason.format({"write": "written"}.get(permission, permission), permission)
    # The client's transport has changed from release to release; all of them are meant here.
    transports = {kind.__module__.split(".")[0] for kind in type(error).__mro__}
    if isinstance(error, ConnectionError) or transports & {"httpx", "httpx2", "requests"}:
        return "cannot be reached; connect, and check HF_ENDPOINT and HF_HUB_OFFLINE"
    if isinstance(error, ValueError) and "metadata" in str(error):
        return (
            "refuses the card, since the metadata at the top of README.md is not valid; correct it"
        )
    return f"could not be used ({type(error).__name__}); try again"
