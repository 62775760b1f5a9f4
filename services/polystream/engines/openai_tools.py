"""Sorts the tool call fragments of a chat answer into calls with our own numbers.

Engines disagree: all calls may say index 0, ids may come on every piece or on none, names may come in parts,
pieces of two calls may alternate. A call is opened in the log when its arguments or the next call begin: its
name is whole by then.
"""

import secrets
from dataclasses import dataclass

from polystream.core.events import Event, ToolCall


@dataclass(slots=True)
class _Call:
    """One call. `given`: whether the engine named its id; `opened`: whether its first piece is in the log."""

    index: int
    id: str
    given: bool
    name: str = ""
    opened: bool = False


class ToolCalls:
    """The calls of one answer."""

    def __init__(self) -> None:
        self._count = 0
        self._latest: _Call | None = None
        self._by_place: dict[int, _Call] = {}
        self._by_id: dict[tuple[int | None, str], _Call] = {}

    def feed(self, place: int | None, id: str, name: str, arguments: str, events: list[Event]) -> None:
        """Take one fragment and add what it says to `events`; `place` is the engine's index, absent strings
        are empty.

        An id that the place has had finds its call; a new one is a new call, unless the place's call has
        neither an id nor arguments yet. Without an id the place's latest call goes on; without a place too, a
        name begins a call and anything else goes on with the latest.
        """
        call = self._by_id.get((place, id)) or self._current(place, id, name) or self._begin(id, events)
        if id and not call.given:
            call.id, call.given = id, True
        if id:
            self._by_id[place, id] = call
        if place is not None:
            self._by_place[place] = call
        if name and not call.opened:  # the same once more, the whole so far, or the next part
            call.name = name if name.startswith(call.name) else call.name + name
        if arguments:
            self._open(call, events)
            last = events[-1] if events else None
            if isinstance(last, ToolCall) and last.index == call.index:
                last.arguments += arguments
            else:
                events.append(ToolCall(call.index, arguments=arguments))

    def close(self, events: list[Event]) -> None:
        """Open the last call, if it never had arguments."""
        if self._latest is not None:
            self._open(self._latest, events)

    def _current(self, place: int | None, id: str, name: str) -> _Call | None:
        call = self._by_place.get(place) if place is not None else None if name else self._latest
        return None if call is None or (id and (call.given or call.opened)) else call

    def _begin(self, id: str, events: list[Event]) -> _Call:
        """A new call; a client needs an id to answer it, so one without gets ours."""
        self.close(events)
        self._latest = _Call(self._count, id or f"call_{secrets.token_hex(12)}", bool(id))
        self._count += 1
        return self._latest

    def _open(self, call: _Call, events: list[Event]) -> None:
        if not call.opened:
            call.opened = True
            events.append(ToolCall(call.index, call.id, call.name or None))
