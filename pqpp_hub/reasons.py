"""What is said when the Hub refuses or fails.

Only fixed sentences: the client's own texts may hold request headers, and with them a token.
"""

_STATUS = {
    400: "refuses what was sent as not valid (400), or it was damaged on its way; check the files' "
    "names and the card's metadata, and try once more",
    401: "needs an access token: run `hf auth login`, set HF_TOKEN, or give a token",
    402: "asks for a payment (402), since its owner's storage or plan is used up; make room, or "
    "look at the owner's billing page",
    403: "may not be {0} with this token; use one with {1} permission for its owner",
    404: "does not exist or is private; check its name, or give a token",
    409: "was being changed by somebody else; try again",
    412: "was changed by somebody else meanwhile; look at it and try again",
    413: "refuses a file as too large (413); split it or leave it out",
    422: "refuses what was sent as not valid (422); check the files' names and the card's metadata",
    429: "cannot be used now, since there were too many requests; wait and try again",
}

# What the transports raise when a token cannot stand in a header; the text would hold it.
_NO_HEADER = ("LocalProtocolError", "InvalidHeader")
NOT_CACHED = "is not in the cache and the Hub cannot be reached; connect, or give a folder"


def reason_of(error: BaseException, permission: str = "write") -> str:
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
    message = response.headers.get("X-Error-Message", "") if response is not None else ""
    if "expired" in message:
        return "refuses the access token, which has expired; make a new one in your Hub settings"
    if "Invalid credentials" in message:
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
        reason = _STATUS.get(response.status_code) or _other_status(response.status_code)
        return reason.format({"write": "written"}.get(permission, permission), permission)
    if isinstance(error, UnicodeEncodeError) or type(error).__name__ in _NO_HEADER:
        return "cannot be asked with this access token, which is no token by its form; copy it anew"
    if isinstance(error, ConnectionError) or _is_of_the_transport(error):
        return "cannot be reached; connect, and check HF_ENDPOINT and HF_HUB_OFFLINE"
    if isinstance(error, ValueError) and "metadata" in str(error):
        return (
            "refuses the card, since the metadata at the top of README.md is not valid; correct it"
        )
    return f"could not be used ({type(error).__name__}); try again"


def reason_behind(error: BaseException, permission: str = "read") -> str | None:
    """Return `reason_of` the Hub's refusal or failure that a library's error came of.

    Args:
        error: What a library raised that asks the Hub itself, as transformers and diffusers do.
        permission: What was tried, `read` or `write`.

    Returns:
        The end of a sentence about a repository; None if the Hub has nothing to do with the error.

    Example:
        >>> reason_behind(KeyError("vision_config")) is None
        True
    """
    from huggingface_hub import errors

    not_cached = False
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        seen.append(cause)
        # The second is what `datasets` says where nobody answers.
        not_cached |= isinstance(cause, errors.LocalEntryNotFoundError | ConnectionError)
        # A file that a repository does not have says of what kind it is, not that it is away.
        lacks_a_file = isinstance(cause, errors.RemoteEntryNotFoundError)
        answered = isinstance(cause, errors.HfHubHTTPError) and not lacks_a_file
        # Behind what is not in the cache there is an answer of the Hub, which says more, or none.
        if answered or (not lacks_a_file and not not_cached and _is_of_the_hub(cause)):
            return reason_of(cause, permission)
        cause = cause.__cause__ or cause.__context__
    return NOT_CACHED if not_cached else None


def _is_of_the_hub(error: BaseException) -> bool:
    from huggingface_hub import errors

    of_client = (errors.HfHubHTTPError, errors.HFValidationError, errors.LocalTokenNotFoundError)
    named = isinstance(error, (*of_client, errors.OfflineModeIsEnabled, UnicodeEncodeError))
    return named or _is_of_the_transport(error)


def _is_of_the_transport(error: BaseException) -> bool:
    # The client's transport has changed from release to release; all of them are meant here.
    homes = {kind.__module__.split(".")[0] for kind in type(error).__mro__}
    return bool(homes & {"httpx", "httpx2", "requests"})


def _other_status(status: int) -> str:
    if status >= 500 or status == 408:
        return f"answers with an error ({status}); try again later"
    return f"refuses the request ({status}); check the name, its settings on the Hub and the token"
