"""What another Polystream, asked as an engine, says in its chat stream's comments: its queue, what it
ignored.

They say nothing of the answer, so one that cannot be read is passed over.
"""

import msgspec

from polystream.core.events import Event, Notice

#: Kinds that an engine may tell of itself. `takeover` and `restart` change how a log is read: its own
#: producer alone writes them.
KINDS = frozenset({"queued", "prefill", "ignored", "filter", "skipped", "seam"})


def notices(comments: list[bytes]) -> list[Event]:
    """The notices in `{"kind", "detail"}` objects of JSON."""
    return [notice for comment in comments if (notice := _notice(comment)) is not None]


def _notice(comment: bytes) -> Notice | None:
    try:
        said = msgspec.json.decode(comment)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    kind, detail = said.get("kind"), said.get("detail")
    if not isinstance(kind, str) or kind not in KINDS or not isinstance(detail, dict):
        return None
    return Notice(kind, detail)
