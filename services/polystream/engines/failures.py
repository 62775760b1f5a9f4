"""What an engine's refusal means in our closed list of codes (docs/protocol.md, "From upstream").

Engines spell one refusal in many shapes: a JSON object, a string, FastAPI's `detail`, an event under an error
status, a page of HTML. The code decides, then the HTTP status; words decide only where nothing else tells.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

from polystream.core import errors
from polystream.core.errors import StreamError
from polystream.engines.sse import SseParser

#: What a client is shown of an engine's words, in characters: a sentence or two, no dump.
MESSAGE_MAX = 400

_BY_STATUS: dict[int, type[StreamError]] = {
    400: errors.InvalidRequest,
    408: errors.UpstreamTimeout,
    413: errors.TooLarge,
    422: errors.InvalidRequest,
    429: errors.RateLimited,
    503: errors.Overloaded,
    504: errors.UpstreamTimeout,
}

#: Names seen in `code` and `type`, letters only. Ours stand here too: a Polystream may be the engine.
_BY_NAME: dict[str, type[StreamError]] = {
    "contextlengthexceeded": errors.ContextLengthExceeded,
    "exceedcontextsizeerror": errors.ContextLengthExceeded,
    "contentfilter": errors.ContentFilter,
    "contentpolicyviolation": errors.ContentFilter,
    "responsibleaipolicyviolation": errors.ContentFilter,
    "insufficientquota": errors.QuotaExceeded,
    "quotaexceeded": errors.QuotaExceeded,
    "billinghardlimitreached": errors.QuotaExceeded,
    "ratelimit": errors.RateLimited,
    "ratelimited": errors.RateLimited,
    "ratelimiterror": errors.RateLimited,
    "ratelimitexceeded": errors.RateLimited,
    "toomanyrequests": errors.RateLimited,
    "overloaded": errors.Overloaded,
    "overloadederror": errors.Overloaded,
    "unavailableerror": errors.Overloaded,
    "draining": errors.Overloaded,
    "modelnotfound": errors.ModelNotFound,
    "toolarge": errors.TooLarge,
    "timeout": errors.UpstreamTimeout,
    "upstreamtimeout": errors.UpstreamTimeout,
    "upstreamunavailable": errors.UpstreamUnavailable,
    "upstreamdisconnected": errors.UpstreamDisconnected,
    "upstreamincomplete": errors.UpstreamIncomplete,
    "upstreamstalled": errors.UpstreamStalled,
    "upstreambadchunk": errors.UpstreamBadChunk,
    "upstreamerror": errors.UpstreamError,
    "servererror": errors.UpstreamError,
    "internalservererror": errors.UpstreamError,
    "apierror": errors.UpstreamError,
    "invalidrequest": errors.InvalidRequest,
    "invalidrequesterror": errors.InvalidRequest,
    "badrequest": errors.InvalidRequest,
    "badrequesterror": errors.InvalidRequest,
}

#: vLLM says nothing but words (and `param`) of a prompt that is too long.
_CONTEXT = re.compile(r"context[ _](length|size|window)", re.IGNORECASE)
#: Nor of a model it does not have. A 404 without such words is no model's: its address is wrong.
_NO_MODEL = re.compile(r"\bmodel\b.*\b(not exist|not found|unknown)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What can be read of an engine's words, whatever their shape."""

    message: str = ""
    code: Any = None
    kind: Any = None
    param: str | None = None


def from_response(status: int, headers: Mapping[str, str], body: bytes) -> StreamError:
    """The failure behind an HTTP status other than 200. `headers` by lower-case name; `body` may be cut."""
    refusal = _read(body)
    cls = _by_status(status, refusal)
    wait = _retry_after(headers)
    match status:
        case 401 | 403:  # the engine's words may quote our key
            return cls(f"The engine refused our credentials ({status}).", retry_after_s=wait)
        case _ if 300 <= status < 400:
            return cls(
                f"The engine answered {status}; redirects are not followed: its address must be corrected."
            )
    if cls is errors.UpstreamError:
        return cls(
            f"The engine answered {status}: {refusal.message or 'no reason given'}", retry_after_s=wait
        )
    return cls(refusal.message, param=refusal.param, retry_after_s=wait)


def from_object(said: Any) -> StreamError:
    """The failure an error object (or string) under status 200 stands for."""
    refusal = _refusal(said)
    kind = _named(refusal.kind)
    status = _number(refusal.code)
    if (cls := _named(refusal.code)) is None:
        # A server error is no refusal of the request, whatever number it carries.
        cls = kind if status is None or kind is errors.UpstreamError else _by_status(status, refusal)
    return (cls or errors.UpstreamError)(refusal.message, param=refusal.param)


def error_in(said: Any) -> Any:
    """A JSON value under status 200 that is itself an error, without an `error` field; else None."""
    named = isinstance(said, dict) and "error" in (said.get("object"), said.get("type"))
    return said if named else None


def scrub(text: str) -> str:
    """An engine's words for a client's eyes: one short line, without tracebacks and pages of HTML."""
    if re.match(r"\s*<(!doctype|html)", text, re.IGNORECASE):
        return "an HTML page, which some proxy in between may have written"
    text = text.split("Traceback (most recent call last)")[0]
    text = " ".join("".join(c if c.isprintable() else " " for c in text[: MESSAGE_MAX * 4]).split())
    return text if len(text) <= MESSAGE_MAX else text[: MESSAGE_MAX - 1] + "…"


def _by_status(status: int, refusal: Refusal) -> type[StreamError]:
    """The class for a status, refined by a name that agrees with it."""
    status = 400 if status == 422 else status
    for name in (refusal.code, refusal.kind):
        named = _named(name)
        vague = named in (None, errors.InvalidRequest, errors.UpstreamError)
        if named is not None and not vague and errors.TABLE[named.code].http == status:
            return named
    if status == 400 and (refusal.param == "input_tokens" or _CONTEXT.search(refusal.message)):
        return errors.ContextLengthExceeded
    if status == 404 and (refusal.param == "model" or _NO_MODEL.search(refusal.message)):
        return errors.ModelNotFound
    return _BY_STATUS.get(status, errors.UpstreamError)


def _named(name: Any) -> type[StreamError] | None:
    return _BY_NAME.get(re.sub(r"[^a-z]", "", name.lower())) if isinstance(name, str) else None


def _number(code: Any) -> int | None:
    if isinstance(code, str) and code.isdecimal() and len(code) == 3:
        return int(code)
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _read(body: bytes) -> Refusal:
    """JSON, JSON in the framing of an event (Triton, with 400), or text."""
    text = body.decode("utf-8", "replace")
    framed = SseParser()
    events = [*framed.feed(body), framed.close() or b""] if text.startswith("data:") else []
    for candidate in (text, *(event.decode("utf-8", "replace") for event in events)):
        try:
            return _refusal(json.loads(candidate))
        except (ValueError, RecursionError):
            continue
    return Refusal(scrub(text))


def _refusal(said: Any) -> Refusal:
    if isinstance(said, list) and said:
        said = said[0]
    if isinstance(said, dict):
        inner = said.get("error") or said.get("detail") or said
        if inner is not said and not isinstance(inner, dict):
            return _refusal(inner)
        message = inner.get("message") or inner.get("msg") or ""
        message = message if isinstance(message, str) else ""
        if isinstance(where := inner.get("loc"), list):  # one of FastAPI's validation errors
            message = ".".join(str(part) for part in where if isinstance(part, str | int)) + f": {message}"
        param = inner.get("param")
        deeper = inner.get("innererror")
        code = inner.get("code") or (deeper.get("code") if isinstance(deeper, dict) else None)
        return Refusal(scrub(message), code, inner.get("type"), param if isinstance(param, str) else None)
    return Refusal(scrub(said) if isinstance(said, str) else "")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds by `retry-after-ms`, else `retry-after` (seconds or a date, RFC 9110, 10.2.3), as the SDKs."""
    for name, scale in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / scale
        except (KeyError, ValueError):
            continue
        return seconds if seconds >= 0 and isfinite(seconds) else None
    try:
        date = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
