"""The fields of a page's form, in both of the encodings that pages send (HTML Living Standard, 4.10.21).

By the standard library: Starlette's reader needs a package that nothing else here does.
"""

import email.parser
import email.policy
from urllib.parse import parse_qsl

from polystream.core.errors import InvalidRequest

URLENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
#: More than any form of ours has; each costs a little.
_FIELDS_MAX = 100
_PLACE = "The form"


def read_form(content_type: str, body: bytes) -> list[tuple[str, str]]:
    """Names and values, in their order. Raises `InvalidRequest` for what is no form, or holds a file."""
    try:
        if media_type(content_type) == MULTIPART:
            return _multipart(content_type, body)
        text = body.decode()
        return parse_qsl(
            text, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=_FIELDS_MAX
        )
    except ValueError:  # UnicodeError too
        raise InvalidRequest(f"{_PLACE} cannot be read.") from None


def media_type(content_type: str) -> str:
    """Without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def _multipart(content_type: str, body: bytes) -> list[tuple[str, str]]:
    """RFC 7578, whose parts are MIME parts. Raises `ValueError`."""
    head = b"Content-Type: " + content_type.encode("latin-1") + b"\r\n\r\n"
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    if message.defects or not message.is_multipart():
        raise ValueError
    fields: list[tuple[str, str]] = []
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes) or len(fields) == _FIELDS_MAX:
            raise ValueError
        if part.get_filename() is not None:
            raise InvalidRequest(f"{name}: files are not taken.", param=name)
        fields.append((name, content.decode()))
    return fields
