"""The lines of several parts on one terminal: cut anywhere, of any bytes, of any length."""

import io

import pytest

from polystream.local.lines import LONGEST, Cutter, Printer, coloured

TEXT = "one\ntwø\r\n\nfour"
LINES = ["one", "twø", "", "four"]


def cut(*pieces: bytes) -> list[str]:
    cutter = Cutter()
    lines = [line for piece in pieces for line in cutter.feed(piece)]
    return lines + cutter.feed(b"", last=True)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_come_whole_wherever_bytes_are_cut(size: int):
    data = TEXT.encode()
    assert cut(*(data[at : at + size] for at in range(0, len(data), size))) == LINES


def test_a_line_waits_for_its_end():
    cutter = Cutter()
    assert cutter.feed(b"half a ") == []
    assert cutter.feed(b"line\nand") == ["half a line"]
    assert cutter.feed(b"", last=True) == ["and"]
    assert cutter.feed(b"", last=True) == []


def test_bytes_that_are_no_text_are_seen_as_such():
    assert cut(b"a\xff\xc3", b"b\n", b"\xe2\x82") == ["a\ufffd\ufffdb", "\ufffd"]


def test_a_line_without_end_is_shown_in_pieces_and_not_gathered():
    cutter = Cutter()
    assert cutter.feed(b"x" * (2 * LONGEST + 1)) == ["x" * LONGEST, "x" * LONGEST]
    assert cutter.feed(b"\nnext\n") == ["x", "next"]
    assert cutter.feed(b"x" * LONGEST) == []
    assert cutter.feed(b"\n") == ["x" * LONGEST]


def test_each_line_is_written_behind_its_name():
    out = io.StringIO()
    printer = Printer(out, ("a", "longer"), coloured=False)
    printer.line("a", "x")
    printer.line("longer", "y")
    printer.plain("z")
    assert out.getvalue() == "a      | x\nlonger | y\nz\n"


def test_a_colour_covers_the_name_only():
    out = io.StringIO()
    Printer(out, ("a", "b"), coloured=True).line("b", "x")
    assert out.getvalue() == "\x1b[35mb |\x1b[0m x\n"


def test_what_a_terminal_would_obey_is_shown_and_not_sent():
    out = io.StringIO()
    Printer(out, ("a",), coloured=False).line("a", "\x1b]0;title\x07\tb\x9b1mc\rd")
    assert out.getvalue() == "a | \ufffd]0;title\ufffd\tb\ufffd1mc\ufffdd\n"


def test_a_reader_that_has_gone_does_not_break_the_run():
    class Gone(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    printer = Printer(Gone(), ("a",), coloured=False)
    printer.line("a", "x")
    printer.line("a", "y")


@pytest.mark.parametrize(
    ("terminal", "environment", "expected"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": ""}, False),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_are_for_terminals_and_for_who_asks(
    terminal: bool, environment: dict[str, str], expected: bool
):
    class Out(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    assert coloured(Out(), environment) is expected
