"""Every failure a client can meet: one exception class a code, and the one table of its numbers.

Raised where detected, translated once by each protocol. Anything that is not a `StreamError` becomes
`internal`: logged whole, no detail on the wire.
"""

from dataclasses import dataclass
from typing import ClassVar

from polystream.core.events import Error


class StreamError(Exception):
    """A failure with a code for programs, a text for people and `retryable` for clients.

    `param` names the request's field at fault; `retry_after_s` is how long the other side asked us to wait.
    """

    code: ClassVar[str] = "internal"
    text: ClassVar[str] = "Something broke on our side."

    def __init__(self, message: str = "", *, param: str | None = None, retry_after_s: float | None = None):
        super().__init__(message or self.text)
        self.message = message or self.text
        self.param = param
        self.retry_after_s = retry_after_s

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return TABLE[self.code].retryable

    def as_event(self) -> Error:
        """The failure as the log and the wire carry it."""
        return Error(self.code, self.message, self.retryable, self.param, self.retry_after_s)


class Internal(StreamError):
    """Ours, unexpected."""


class InvalidRequest(StreamError):
    """The request makes no sense; `param` says where."""

    code = "invalid_request"
    text = "The request is not valid."


class Unauthenticated(StreamError):
    """No credentials, or wrong ones."""

    code = "unauthenticated"
    text = "Credentials are missing or wrong."


class Forbidden(StreamError):
    """Credentials that do not suffice."""

    code = "forbidden"
    text = "That is not allowed with these credentials."


class NotFound(StreamError):
    """No such generation for this owner, or no such path."""

    code = "not_found"
    text = "There is no such generation."


class ModelNotFound(StreamError):
    """No target serves that model."""

    code = "model_not_found"
    text = "There is no such model."


class Conflict(StreamError):
    """An idempotency key was used for another request."""

    code = "conflict"
    text = "That idempotency key belongs to another request."


class PositionLost(StreamError):
    """The log does not hold that position."""

    code = "position_lost"
    text = "The log does not hold that position."


class TooLarge(StreamError):
    """A request above REQUEST_MAX_BYTES, or a log above its limits."""

    code = "too_large"
    text = "That is too large."


class ContextLengthExceeded(StreamError):
    """The prompt does not fit the model's context."""

    code = "context_length_exceeded"
    text = "The prompt does not fit the model's context."


class ContentFilter(StreamError):
    """The engine's filter refused the prompt."""

    code = "content_filter"
    text = "The engine's content filter refused the request."


class RateLimited(StreamError):
    """Too many requests for now."""

    code = "rate_limited"
    text = "Too many requests; try again later."


class QuotaExceeded(StreamError):
    """The quota is used up; waiting does not help."""

    code = "quota_exceeded"
    text = "The quota is used up."


class Overloaded(StreamError):
    """No room for now."""

    code = "overloaded"
    text = "There is no room for another request now; try again."


class Draining(StreamError):
    """This replica is shutting down."""

    code = "draining"
    text = "This replica is shutting down; try again."


class UpstreamUnavailable(StreamError):
    """The engine could not be reached."""

    code = "upstream_unavailable"
    text = "The engine cannot be reached."


class UpstreamError(StreamError):
    """The engine failed."""

    code = "upstream_error"
    text = "The engine failed."


class UpstreamTimeout(StreamError):
    """No first token in time."""

    code = "upstream_timeout"
    text = "The engine gave no first token in time."


class UpstreamDisconnected(StreamError):
    """The engine broke off in mid-answer."""

    code = "upstream_disconnected"
    text = "The engine broke off in mid-answer."


class UpstreamIncomplete(StreamError):
    """The engine's answer ended without saying so."""

    code = "upstream_incomplete"
    text = "The engine's answer ended without saying that it was complete."


class UpstreamStalled(StreamError):
    """The engine went silent in mid-answer."""

    code = "upstream_stalled"
    text = "The engine went silent in mid-answer."


class UpstreamBadChunk(StreamError):
    """The engine sent what cannot be read."""

    code = "upstream_bad_chunk"
    text = "The engine sent something that cannot be read."


class StoreUnavailable(StreamError):
    """The store of the logs cannot be reached."""

    code = "store_unavailable"
    text = "The store of the logs cannot be reached."


class Cancelled(StreamError):
    """The generation was cancelled; spelled as an error only by doors that have no word for it."""

    code = "cancelled"
    text = "The generation was cancelled."


@dataclass(frozen=True, slots=True)
class Row:
    """How one code is spelled: HTTP status, OpenAI `type` and `code`, gRPC status name, retryable."""

    http: int
    openai_type: str
    openai_code: str
    grpc: str
    retryable: bool = False


_INVALID, _API = "invalid_request_error", "api_error"

#: The one table of docs/protocol.md.
TABLE: dict[str, Row] = {
    "invalid_request": Row(400, _INVALID, "invalid_request", "INVALID_ARGUMENT"),
    "unauthenticated": Row(401, "authentication_error", "invalid_api_key", "UNAUTHENTICATED"),
    "forbidden": Row(403, "permission_error", "forbidden", "PERMISSION_DENIED"),
    "not_found": Row(404, _INVALID, "not_found", "NOT_FOUND"),
    "model_not_found": Row(404, _INVALID, "model_not_found", "NOT_FOUND"),
    "conflict": Row(409, _INVALID, "idempotency_conflict", "ALREADY_EXISTS"),
    "position_lost": Row(410, _INVALID, "position_lost", "OUT_OF_RANGE"),
    "too_large": Row(413, _INVALID, "too_large", "RESOURCE_EXHAUSTED"),
    "context_length_exceeded": Row(400, _INVALID, "context_length_exceeded", "INVALID_ARGUMENT"),
    "content_filter": Row(400, _INVALID, "content_filter", "INVALID_ARGUMENT"),
    "rate_limited": Row(429, "rate_limit_error", "rate_limited", "RESOURCE_EXHAUSTED", True),
    "quota_exceeded": Row(429, "insufficient_quota", "insufficient_quota", "RESOURCE_EXHAUSTED"),
    "overloaded": Row(503, "overloaded_error", "overloaded", "UNAVAILABLE", True),
    "draining": Row(503, "overloaded_error", "draining", "UNAVAILABLE", True),
    "upstream_unavailable": Row(502, _API, "upstream_unavailable", "UNAVAILABLE", True),
    "upstream_error": Row(502, _API, "upstream_error", "UNAVAILABLE", True),
    "upstream_timeout": Row(504, _API, "upstream_timeout", "DEADLINE_EXCEEDED", True),
    "upstream_disconnected": Row(502, _API, "upstream_disconnected", "UNAVAILABLE", True),
    "upstream_incomplete": Row(502, _API, "upstream_incomplete", "UNAVAILABLE", True),
    "upstream_stalled": Row(502, _API, "upstream_stalled", "UNAVAILABLE", True),
    "upstream_bad_chunk": Row(502, _API, "upstream_bad_chunk", "UNAVAILABLE", True),
    "store_unavailable": Row(503, _API, "store_unavailable", "UNAVAILABLE", True),
    "internal": Row(500, _API, "internal", "INTERNAL"),
    "cancelled": Row(499, _API, "cancelled", "CANCELLED"),
}


def _leaves(cls: type[StreamError]) -> list[type[StreamError]]:
    return [cls, *(leaf for sub in cls.__subclasses__() for leaf in _leaves(sub))]


#: Code → exception class.
BY_CODE: dict[str, type[StreamError]] = {cls.code: cls for cls in _leaves(StreamError)} | {
    "internal": Internal
}


def from_event(error: Error) -> StreamError:
    """The exception for a failure that a log holds."""
    return BY_CODE[error.code](error.message, param=error.param, retry_after_s=error.retry_after_s)
