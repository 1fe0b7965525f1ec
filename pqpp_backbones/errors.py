"""The errors of models: one line each, with the value, what is allowed and the fix."""

from pqpp_files.errors import PqppError

_POLICY = ("content_policy", "content policy", "content_filter", "moderation", "safety")


class ModelError(PqppError):
    """A model or its input cannot be used; or a training cannot continue."""


class ServiceError(ModelError):
    """A chat or image service gave no usable answer, or would exceed the budget.

    Args:
        message: The problem and what to check.
        status: The HTTP status of a refusal; 0 if no try had a usable answer, 200 if a paid reply
            is empty.
        reply: The service's message.
    """

    def __init__(self, message: str, status: int = 0, reply: str = "") -> None:
        super().__init__(message)
        self.status, self.said = status, reply

    @property
    def affects_one_request(self) -> bool:
        """Whether only this request failed: its content is refused, or its paid reply is empty."""
        said = self.said.casefold()
        forbids = self.status in (400, 403, 422) and any(word in said for word in _POLICY)
        return forbids or self.status == 200
