"""Whose listener keeps us from an address, as Linux spells it."""

import pytest

from polystream.local.ports import meet
from polystream.local.proxies import joined, reached, split

#: As in /proc/net/tcp and tcp6 of a little-endian machine.
LOOPBACK, OTHER, ANY = "0100007F", "0200007F", "00000000"
LOOPBACK_6, ANY_6, MAPPED = "0" * 24 + "01000000", "0" * 32, "0000000000000000FFFF00000100007F"


@pytest.mark.parametrize(
    ("host", "listening", "expected"),
    [
        ("127.0.0.1", LOOPBACK, True),
        ("127.0.0.1", OTHER, False),
        ("127.0.0.1", ANY, True),
        ("127.0.0.1", ANY_6, True),
        ("127.0.0.1", MAPPED, True),
        ("127.0.0.1", LOOPBACK_6, False),
        ("0.0.0.0", OTHER, True),
        ("::1", LOOPBACK_6, True),
        ("localhost", LOOPBACK, True),
    ],
)
def test_a_listener_keeps_others_from_its_address(host: str, listening: str, expected: bool):
    assert meet(host, listening, "little") is expected


@pytest.mark.parametrize("address", ["127.0.0.1:80", "[::1]:80", "host.example:80"])
def test_an_address_is_split_and_joined(address: str):
    assert joined(*split(address)) == address


def test_who_listens_everywhere_is_reached_here():
    listening = ("0.0.0.0:1", "[::]:1", "10.0.0.1:1", "localhost:1")
    assert [reached(address) for address in listening] == [
        "127.0.0.1:1",
        "[::1]:1",
        "10.0.0.1:1",
        "127.0.0.1:1",
    ]
