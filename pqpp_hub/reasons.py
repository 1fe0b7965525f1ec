"""Describe errors of the Hub in fixed sentences: the client's messages may contain a token."""

ABSENT = "does not exist or is private; check its name, or give a token"
_STATUS = {
    401: "needs an access token: run `hf auth login`, set HF_TOKEN, or give a token",
    403: "may not be {0} with this token; use one with {1} permission for its owner",
    404: ABSENT,
    409: "is being changed by someone else; try again",
    412: "was changed by someone else; review the change and try again",
    429: "has received too many requests; wait, then try again",
}

# Raised if a token contains characters that a header cannot; the message contains the token.
_HEADER_ERRORS = ("LocalProtocolError", "InvalidHeader")
NOT_CACHED = "is not cached and the Hub cannot be reached; connect, or give a local folder"


def describe_error(error: BaseException, permission: str = "write") -> str:
    """Return a description of the Hub client's error, as the end of a sentence about a repository.

    Args:
        error: The client's error.
        permission: The attempted access, `read` or `write`.

    Example:
        >>> describe_error(ConnectionError("secret"))
        'cannot be reached; connect, and check HF_ENDPOINT and HF_HUB_OFFLINE'
    """
    from huggingface_hub import errors

    # The client wraps errors of its upload threads in a RuntimeError.
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    response = getattr(error, "response", None)
    message = response.headers.get("X-Error-Message", "") if response is not None else ""
    if "expired" in message:
        return "refuses the access token: it has expired; create a new one in your Hub settings"
    if "Invalid credentials" in message:
        return "refuses the access token: it is not valid; check the token, or run `hf auth login`"
    sentences = {
        errors.GatedRepoError: "is gated; request access on its page, then give a token",
        errors.RepositoryNotFoundError: ABSENT,
        errors.RevisionNotFoundError: "does not exist; check the revision",
        errors.HFValidationError: "is not a valid repository name; write OWNER/REPOSITORY",
        errors.LocalTokenNotFoundError: _STATUS[401],
    }
    for kind, sentence in sentences.items():
        if isinstance(error, kind):
            return sentence
    if isinstance(error, errors.HfHubHTTPError) and response is not None:
        status = response.status_code
        if status >= 500 or status == 408:
            return f"answers with an error ({status}); try again later"
        other = f"refuses the request ({status}); check the name, the files and the card's metadata"
        reason = _STATUS.get(status, other)
        return reason.format({"write": "written"}.get(permission, permission), permission)
    if isinstance(error, UnicodeEncodeError) or type(error).__name__ in _HEADER_ERRORS:
        return "does not accept the access token, which is malformed; copy the token again"
    if isinstance(error, ConnectionError) or _is_connection_error(error):
        return "cannot be reached; connect, and check HF_ENDPOINT and HF_HUB_OFFLINE"
    if isinstance(error, ValueError) and "metadata" in str(error):
        return "refuses the metadata at the top of README.md; correct the metadata"
    return f"could not be used ({type(error).__name__}); try again"


def find_hub_reason(error: BaseException) -> str | None:
    """Return the description of the Hub error that caused a library's error, or None.

    Args:
        error: An error of a library that uses the Hub, such as transformers.

    Returns:
        As in `describe_error`; None if no cause is an error of the Hub.

    Example:
        >>> find_hub_reason(KeyError("vision_config")) is None
        True
    """
    from huggingface_hub import errors

    client_errors = (errors.HFValidationError, errors.LocalTokenNotFoundError, UnicodeEncodeError)
    not_cached = False
    visited: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in visited:
        visited.append(cause)
        # `datasets` raises a ConnectionError.
        not_cached |= isinstance(cause, errors.LocalEntryNotFoundError | ConnectionError)
        # If a file is missing, the repository exists but is of another type.
        is_missing_file = isinstance(cause, errors.RemoteEntryNotFoundError)
        is_response = isinstance(cause, errors.HfHubHTTPError) and not is_missing_file
        is_client_error = isinstance(cause, client_errors) or _is_connection_error(cause)
        # The cause of a missing cache entry may be a response of the Hub, which says more.
        if is_response or (not is_missing_file and not not_cached and is_client_error):
            return describe_error(cause, "read")
        cause = cause.__cause__ or cause.__context__
    return NOT_CACHED if not_cached else None


def _is_connection_error(error: BaseException) -> bool:
    # Releases of the client use different HTTP libraries.
    packages = {kind.__module__.split(".")[0] for kind in type(error).__mro__}
    return bool(packages & {"httpx", "httpx2", "requests"})
