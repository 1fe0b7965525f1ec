"""The errors of models: one line each, with the value, what is allowed and the fix."""

from pqpp_files.errors import PqppError

_POLICY = ("content_policy", "content policy", "content_filter", "moderation", "safety")


class ModelError(PqppError):
    """A model or its input cannot be used; or a training cannot continue."""


class ServiceError(ModelError):
    """A model that chats or draws gave no usable answer, or would cost more than is allowed.

    Args:
        message: The problem and what to check.
        status: Of a service's refusal; 0 if there was no usable answer after all tries, 200 if a
            paid reply contains nothing.
        said: The service's message.
    """

    def __init__(self, message: str, status: int = 0, reply: str = "") -> None:
        super().__init__(message)
        self.status, self.said = status, reply

    @property
    def affects_one_request(self) -> bool:
        """Whether this one content is forbidden, or its paid reply is empty; others may go on."""
        said = self.said.casefold()
        forbids = self.status in (400, 403, 422) and any(word in said for word in _POLICY)
        return forbids or self.status == 200
