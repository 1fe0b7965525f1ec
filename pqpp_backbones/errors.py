"""The errors of models: one line each, with what came, what is allowed and what to do."""

from pqpp_files.errors import PqppError

_POLICY = ("content_policy", "content policy", "content_filter", "moderation", "safety")


class ModelError(PqppError):
    """A model, or what it is given, cannot be used; or a training cannot go on."""


class ServiceError(ModelError):
    """A model that chats or draws gave no usable answer, or would cost more than is allowed.

    Args:
        message: What is wrong and what to check.
        status: Of a service's refusal; 0 where there was no usable answer after all tries.
        said: What the service itself said of it.
    """

    def __init__(self, message: str, status: int = 0, said: str = "") -> None:
        super().__init__(message)
        self.status, self.said = status, said

    @property
    def refuses_content(self) -> bool:
        """Whether it is this one content that the service's rules forbid; others may go on."""
        said = self.said.casefold()
        return self.status in (400, 403, 422) and any(word in said for word in _POLICY)
