"""What is said when the Hub refuses or fails.

Only fixed sentences: the client's own texts may hold request headers, and with them a token.
"""

from __future__ import annotations

from pqpp_models.checkpoint import CARD

_STATUS = {
    401: "needs an access token: run `hf auth login`, set HF_TOKEN, or give a token",
    403: "may not be written with this token; use one with write permission for its owner",
    404: "does not exist or is private; check its name, or give a token",
    409: "was being changed by somebody else; try again",
    412: "was changed by somebody else meanwhile; look at it and try again",
    429: "cannot be used now, since there were too many requests; wait and try again",
}


def reason_of(error: Exception) -> str:
    """Return the end of a sentence about a repository: what went wrong, and what to do.

    >>> reason_of(ConnectionError("secret"))
    'cannot be reached; connect, and check HF_ENDPOINT and HF_HUB_OFFLINE'
    """
    from huggingface_hub import errors

    # The client wraps what its upload threads raise in a RuntimeError.
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, errors.HfHubHTTPError):
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
        trouble = f"answers with an error ({status}); try again later"
        return _STATUS.get(status, trouble)
    # The client's transport has changed from release to release; all of them are meant here.
    transports = {kind.__module__.split(".")[0] for kind in type(error).__mro__}
    if isinstance(error, ConnectionError) or transports & {"httpx", "httpx2", "requests"}:
        return "cannot be reached; connect, and check HF_ENDPOINT and HF_HUB_OFFLINE"
    if isinstance(error, ValueError) and "metadata" in str(error):
        return f"refuses the card, since the metadata at the top of {CARD} is not valid; correct it"
    return f"could not be used ({type(error).__name__}); try again"


def other_kind(repo_id: str, token: str | bool | None) -> str | None:
    """Return whether a dataset or Space has a name, None if none has or it cannot be told."""
    from huggingface_hub import HfApi

    for kind in ("dataset", "space"):
        try:
            HfApi(token=token).repo_info(repo_id, repo_type=kind)
        except Exception:
            continue
        return "dataset" if kind == "dataset" else "Space"
    return None
