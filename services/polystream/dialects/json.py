"""JSON as every dialect reads and writes it: ASCII only, no blanks, and errors that name the field.

ASCII, because some readers break lines at U+0085, U+2028 and U+2029; the standard library's encoder is the
one that
does it in C.
"""

import json
import re
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii as quote
from typing import Any, TypeVar

import msgspec

from polystream.core.errors import InvalidRequest

__all__ = ["convert", "decode", "dumps", "quote", "whole"]

T = TypeVar("T")

#: Levels of lists and objects in a body: above any schema's, below what Python's own recursion takes.
MAX_DEPTH = 100

#: msgspec ends its messages with the place at fault, and names an unknown or missing field in back quotes.
_PLACE = re.compile(r" - at `(?:key in )?\$(?P<path>[^`]*)`$")
_FIELD = re.compile(r"field `(?P<name>[^`]*)`")

_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def whole(value: Mapping[str, Any]) -> str:
    """An object as ASCII JSON."""
    return _encoder.encode(value)


def dumps(value: Mapping[str, Any]) -> str:
    """An object as ASCII JSON, its absent fields (None) left out, at this level."""
    return _encoder.encode({key: item for key, item in value.items() if item is not None})


def decode(body: bytes, shape: type[T]) -> T:
    """A body as a struct. Raises `InvalidRequest` that names the field."""
    try:
        decoded = msgspec.json.decode(body, type=shape)
        if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
            _check_depth(msgspec.json.decode(body))
        return decoded
    except msgspec.ValidationError as error:
        raise _named(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(f"The body is not JSON: {error}") from None


def convert(value: object, shape: type[T]) -> T:
    """Decoded data as a struct. Raises `InvalidRequest` like `decode`."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise _named(error) from None


def _check_depth(value: object) -> None:
    """What we accept we must also be able to hash, store and hand on."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        items = [item for outer in level for item in (outer.values() if isinstance(outer, dict) else outer)]
        level = [item for item in items if isinstance(item, dict | list)]
        if not level:
            return
    raise InvalidRequest(f"The body has more than {MAX_DEPTH} levels of lists and objects.")


def _named(error: msgspec.ValidationError) -> InvalidRequest:
    message = str(error)
    place, field = _PLACE.search(message), _FIELD.search(message)
    parts = [place["path"].lstrip(".") if place else "", field["name"] if field else ""]
    param = ".".join(filter(None, parts))
    message = _PLACE.sub("", message)
    return InvalidRequest(f"{param}: {message}" if param else message, param=param or None)
