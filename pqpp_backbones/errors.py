"""The errors of models and services."""

from pqpp_files.errors import PqppError

_POLICY = ("content_policy", "content policy", "content_filter", "moderation", "safety")


class ModelError(PqppError):
    """A model or its input cannot be used, or training cannot continue."""


class ServiceError(ModelError):
    """A service returned no usable reply or refused a request, or a call would exceed the budget.

    Args:
        status: The HTTP status of a refusal; 200 for an empty reply; 0 if there is no usable reply.
        reply: The service's message.
    """

    def __init__(self, message: str, status: int = 0, reply: str = "") -> None:
        super().__init__(message)
        self.status, self.reply = status, reply

    @property
    def affects_one_request(self) -> bool:
        """Whether only this request's content was refused, or its reply was empty."""
        message = self.reply.casefold()
        forbids = self.status in (400, 403, 422) and any(word in message for word in _POLICY)
        return forbids or self.status == 200
