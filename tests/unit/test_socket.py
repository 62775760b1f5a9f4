"""The WebSocket's messages: what a client may say, and the answers that are no events."""

import json
from typing import Any

import pytest

from polystream.core.errors import InvalidRequest
from polystream.core.events import Error
from polystream.core.record import State
from polystream.core.request import Message, OnDisconnect
from polystream.dialects import socket
from polystream.dialects.socket import Cancel, Follow, Start, Unfollow
from tests.fakes import record

START = {"type": "start", "ref": "a", "request": {"prompt": "hi"}}
FOLLOW = {"type": "follow", "ref": "b", "id": "gen_x"}


def parse(message: Any) -> Any:
    """A message as the session takes it."""
    return socket.parse(json.dumps(message))


def param(message: Any) -> str | None:
    """The field for which a message is refused."""
    with pytest.raises(InvalidRequest) as raised:
        parse(message)
    return raised.value.param


def test_a_start_has_a_ref_and_a_request():
    start = parse(START)
    assert isinstance(start, Start)
    assert (start.ref, start.idempotency_key, start.request.on_disconnect) == ("a", None, None)
    assert start.request.request().messages == (Message("user", "hi"),)


def test_a_start_may_have_a_key_and_say_what_happens_when_readers_leave():
    start = parse(START | {"idempotency_key": "k", "request": {"prompt": "hi", "on_disconnect": "cancel"}})
    assert start.idempotency_key == "k"
    assert start.request.on_disconnect is OnDisconnect.CANCEL


@pytest.mark.parametrize(
    ("more", "after"), [({}, None), ({"after": None}, None), ({"after": 0}, 0), ({"after": 12}, 12)]
)
def test_a_follow_names_a_generation_and_perhaps_a_position(more: Any, after: int | None):
    assert parse(FOLLOW | more) == Follow("b", "gen_x", after)


@pytest.mark.parametrize(
    ("fields", "cancel"),
    [
        ({"id": "gen_x"}, Cancel("gen_x", None)),
        ({"ref": "a"}, Cancel(None, "a")),
        ({"id": "gen_x", "ref": "a"}, Cancel("gen_x", "a")),
    ],
)
def test_a_cancel_names_a_generation_or_a_ref(fields: Any, cancel: Cancel):
    assert parse({"type": "cancel"} | fields) == cancel


def test_an_unfollow_names_a_ref():
    assert parse({"type": "unfollow", "ref": "a"}) == Unfollow("a")


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ({}, "type"),
        ({"ref": "a"}, "type"),
        ({"type": "stop", "ref": "a"}, "type"),
        ({"type": 1, "ref": "a"}, "type"),
        ({"type": "start", "request": {"prompt": "hi"}}, "ref"),
        ({"type": "start", "ref": "a"}, "request"),
        (START | {"ref": ""}, "ref"),
        (START | {"ref": "a" * 65}, "ref"),
        (START | {"ref": 1}, "ref"),
        (START | {"request": []}, "request"),
        (START | {"request": {"bogus": 1}}, "request.bogus"),
        (START | {"request": {"max_tokens": 0}}, "request.max_tokens"),
        (START | {"request": {"messages": [{"role": "user", "x": 1}]}}, "request.messages[0].x"),
        (START | {"idempotency_key": "k" * 256}, "idempotency_key"),
        (START | {"id": "gen_x"}, "id"),
        ({"type": "follow", "ref": "b"}, "id"),
        (FOLLOW | {"id": ""}, "id"),
        (FOLLOW | {"id": "x" * 129}, "id"),
        (FOLLOW | {"after": -1}, "after"),
        (FOLLOW | {"after": "12"}, "after"),
        (FOLLOW | {"after": 1.5}, "after"),
        (FOLLOW | {"request": {}}, "request"),
        ({"type": "cancel"}, "id"),
        ({"type": "cancel", "id": None, "ref": None}, "id"),
        ({"type": "cancel", "id": ""}, "id"),
        ({"type": "unfollow"}, "ref"),
        ({"type": "unfollow", "ref": "a", "id": "gen_x"}, "id"),
    ],
)
def test_a_wrong_message_is_refused_by_its_field(message: Any, place: str):
    assert param(message) == place


def test_the_longest_names_are_taken():
    assert parse(START | {"ref": "a" * 64, "idempotency_key": "k" * 255})
    assert parse(FOLLOW | {"id": "x" * 128})


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"type":"unfollow","ref":"\\ud800"}', "null", "[]", '"start"']
)
def test_what_is_no_message_is_refused_and_never_internal(text: str):
    with pytest.raises(InvalidRequest):
        socket.parse(text)


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ('{"type":"start","ref":"a","bogus":1}', "a"),
        ('{"ref":"a"}', "a"),
        ('{"type":"start"}', None),
        ('{"ref":1}', None),
        ('{"ref":null}', None),
        ("{", None),
        ("[]", None),
        ("[" * 100_000, None),
        ('{"request":' + "[" * 100_000, None),
        ('{"ref":"\\ud800"}', None),
    ],
)
def test_the_ref_of_a_wrong_message_is_found_where_there_is_one(text: str, ref: str | None):
    assert socket.ref_of(text) == ref


def test_an_error_carries_the_ref_of_the_message():
    error = Error("invalid_request", "é", False, "stop")
    said = b'"code":"invalid_request","message":"\\u00e9","param":"stop","retryable":false'
    spelled = b'"type":"error","error":{' + said + b"}}"
    assert socket.error("a", error) == b'{"ref":"a",' + spelled
    assert socket.error(None, error) == b"{" + spelled


def test_a_status_is_the_status_object_behind_the_ref():
    made = record(id="gen_x", state=State.FINISHED, reason="stop", events=3, last_seq=2)
    spelled = (
        b'"type":"status","id":"gen_x","model":"m","state":"finished","events":3,"last_seq":2,'
        b'"created":1796057692,"reason":"stop"}'
    )
    assert socket.status("b", made) == b'{"ref":"b",' + spelled
    assert socket.status(None, made) == b"{" + spelled
