"""The native dialect's WebSocket messages: what a client may say, and the answers that are no events."""

from typing import Annotated

import msgspec

from polystream.core.errors import InvalidRequest
from polystream.core.events import Error
from polystream.core.record import Record
from polystream.dialects.json import decode, dumps
from polystream.dialects.native import KEY_MAX, StartFields, error_fields, status_fields

Ref = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
Id = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]


class Start(msgspec.Struct, tag="start", forbid_unknown_fields=True):
    """Start a generation and follow it under `ref`."""

    ref: Ref
    request: StartFields
    idempotency_key: Annotated[str, msgspec.Meta(max_length=KEY_MAX)] | None = None


class Follow(msgspec.Struct, tag="follow", forbid_unknown_fields=True):
    """Follow a generation behind `after` under `ref`."""

    ref: Ref
    id: Id
    after: Annotated[int, msgspec.Meta(ge=0)] | None = None


class Cancel(msgspec.Struct, tag="cancel", forbid_unknown_fields=True):
    """Cancel a generation by its id, or by the ref it runs under."""

    id: Id | None = None
    ref: Ref | None = None


class Unfollow(msgspec.Struct, tag="unfollow", forbid_unknown_fields=True):
    """Leave the generation under `ref`."""

    ref: Ref


class _RefOnly(msgspec.Struct):
    ref: str | None = None


def parse(text: str) -> Start | Follow | Cancel | Unfollow:
    """A client's message. Raises `InvalidRequest` that names the field."""
    message: Start | Follow | Cancel | Unfollow = decode(text.encode(), Start | Follow | Cancel | Unfollow)  # type: ignore[arg-type]
    if isinstance(message, Cancel) and message.id is None and message.ref is None:
        raise InvalidRequest("id: name the generation, or the ref it runs under.", param="id")
    return message


def ref_of(text: str) -> str | None:
    """The ref of a message that may be wrong otherwise, for the answer that says so."""
    try:
        return msgspec.json.decode(text, type=_RefOnly).ref
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def error(ref: str | None, error: Error) -> bytes:
    """The answer to a message that could not be obeyed."""
    return dumps({"ref": ref, "type": "error", "error": error_fields(error)}).encode()


def status(ref: str | None, record: Record) -> bytes:
    """The answer to a cancel, and to a follow that is already at the end."""
    return dumps({"ref": ref, "type": "status"} | status_fields(record)).encode()
