"""docs/protocol.md is the contract: what the code has in closed sets stands there, and nothing else does."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from polystream.core.errors import TABLE
from polystream.core.events import REASONS, Batch, Error, Event, Failed, Finished, Text
from polystream.core.record import State
from polystream.core.request import OnDisconnect
from polystream.core.sink import COME_BACK
from polystream.dialects import articles, articles_request, chat_request, native, socket
from polystream.dialects.text import PlainText
from polystream.proto.polystream.v1 import streams_pb2 as pb
from polystream.settings import Settings

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "services" / "polystream"
TYPES: dict[str, Any] = {cls.type: cls for cls in Event.__args__}

Row = list[str]


def section(page: str, heading: str) -> str:
    """What stands under a heading, up to the next one of any level."""
    found = re.search(
        rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", re.sub(r"(?ms)^```.*?^```$", "", page), re.M | re.S
    )
    assert found, f"no heading {heading!r}"
    return found[1]


def rows(page: str, heading: str, column: str) -> list[Row]:
    """The rows of the table under a heading whose first column has that title; a bar in code is no border."""
    table = re.search(
        rf"^\| {re.escape(column)} \|.*?(?=^[^|]|\Z)", section(page, heading) + "\n", re.M | re.S
    )
    assert table, f"no table of {column!r} under {heading!r}"
    lines = table[0].strip().splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def code(cell: str) -> list[str]:
    """What stands in back quotes."""
    return re.findall(r"`([^`]+)`", cell)


def sources() -> Iterator[ast.AST]:
    """Every node of the package's code."""
    for path in PACKAGE.rglob("*.py"):
        yield from ast.walk(ast.parse(path.read_text()))


def texts(nodes: list[Any]) -> set[str]:
    """Those of some nodes that are literal texts."""
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def sent_notices() -> set[str]:
    """Kinds of notice that the code makes."""
    calls = [
        node for node in sources() if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Notice"
    ]
    return texts([call.args[0] for call in calls if call.args])


def read_notices() -> set[str]:
    """Kinds of notice that the code looks at."""
    read: list[Any] = []
    for node in sources():
        if isinstance(node, ast.MatchClass) and getattr(node.cls, "id", "") == "Notice":
            read += [getattr(pattern, "value", None) for pattern in node.kwd_patterns]
        if isinstance(node, ast.Compare) and getattr(node.left, "attr", "") == "kind":
            read += node.comparators
    return texts(read)


# ---- what must stand there, each as a check of a page ----


def check_events(page: str) -> None:
    table = {code(row[0])[0]: code(row[1]) for row in rows(page, "Events", "Type")}
    assert table == {name: [field.name for field in fields(cls)] for name, cls in TYPES.items()}


def check_reasons(page: str) -> None:
    said = re.search(r"`reason` is one of (.*?)\.\s", section(page, "Events"), re.S)
    assert said
    assert tuple(word for word in code(said[1]) if word.islower()) == REASONS


def check_notices(page: str) -> None:
    table = {code(row[0])[0]: row[3] for row in rows(page, "Notices", "Kind")}
    assert read_notices() | sent_notices() <= set(table)
    assert {kind for kind, sent in table.items() if sent == "yes"} == sent_notices()


def check_messages(page: str) -> None:
    said = [code(row[0])[0].encode() for row in rows(page, "What is no event", "Message")]
    assert said == [native.heartbeat(), native.come_back("drain", 200), native.lost(12)]
    reasons = [code(row[0])[0] for row in rows(page, "What is no event", "Reason")]
    assert reasons == list(COME_BACK)


def check_errors(page: str) -> None:
    said = {}
    for code_, http, openai_type, openai_code, grpc, retryable in rows(page, "Errors", "Code"):
        names = [code(cell)[0] for cell in (code_, openai_type, openai_code, grpc)]
        said[names[0]] = (int(http), *names[1:], retryable == "yes")
    assert said == {
        name: (row.http, row.openai_type, row.openai_code, row.grpc, row.retryable)
        for name, row in TABLE.items()
    }


def check_request(page: str) -> None:
    names = [name for row in rows(page, "The request", "Field") for name in code(row[0])]
    assert set(names) == set(native.StartFields.__struct_fields__)
    assert len(names) == len(set(names))
    modes = [code(row[0])[0] for row in rows(page, "When readers leave", "Value")]
    assert modes == list(OnDisconnect)


def check_status(page: str) -> None:
    said = section(page, "Status and cancel")
    assert all(f"`{state}`" in said for state in State)


def check_chat(page: str) -> None:
    understood = [name for row in rows(page, "OpenAI chat completions", "Field") for name in code(row[0])]
    handed_on = re.search(
        r"^Handed on.*?\n\n(.*?)\.\n", section(page, "OpenAI chat completions"), re.M | re.S
    )
    assert handed_on
    assert tuple(code(handed_on[1])) == chat_request.PASSED_ON
    assert {*understood, *chat_request.PASSED_ON} == set(chat_request.ChatFields.__struct_fields__)


def check_socket(page: str) -> None:
    said = [code(row[0])[0] for row in rows(page, "WebSocket", "Message") if row[0].startswith('`{"type":')]
    messages = [json.loads(message.replace("…", "")) for message in said]
    clients: list[Any] = [socket.Start, socket.Follow, socket.Cancel, socket.Unfollow]
    assert [message["type"] for message in messages] == [cls.__struct_config__.tag for cls in clients]
    for message, cls in zip(messages, clients, strict=True):
        assert set(message) - {"type"} <= set(cls.__struct_fields__)


def check_grpc(page: str) -> None:
    calls = pb.DESCRIPTOR.services_by_name["Streams"].methods
    proto = (PACKAGE / "proto/polystream/v1/streams.proto").read_text()
    service = re.search(r"^service Streams \{\n.*?^\}\n", proto, re.M | re.S)
    assert service
    assert service[0] in page
    assert len(calls) == service[0].count("rpc ")
    numbers = dict(re.findall(r"`(\w+)`\s+(\d+)", section(page, "gRPC")))
    assert numbers == {
        field.name: str(field.number) for field in pb.Event.DESCRIPTOR.fields if field.name != "seq"
    }


ARTICLES = "The doors of the articles"
#: Forms whose table has a row, in its order.
_FORMS: list[Any] = [
    articles.Pieces(), articles.Lines(), articles.SocketFrames(), articles.StreamedText("gen_…", False),
]  # fmt: skip


def check_article_requests(page: str) -> None:
    table = [(code(row[0]), code(row[1])) for row in rows(page, ARTICLES, "Door")]
    shapes = [
        articles_request.StreamingFields,
        articles_request.InstructFields,
        articles_request.PromptFields,
    ]
    named = [set(names) for _, names in table]
    assert named == [*({*shape.__struct_fields__} for shape in [*shapes, shapes[2]]), set(), {"UserRequest"}]
    assert f"`{articles_request.START_PROMPT}`" in section(page, ARTICLES).replace("\n", " ")


def check_article_forms(page: str) -> None:
    table = [[code(cell) for cell in row[1:]] for row in rows(page, ARTICLES, "Form of")]
    for form, row in zip(_FORMS, table, strict=False):
        said = b"".join(form.encode(Batch(7, [Text("TEXT")]))).decode().replace(":7\n", ":<seq>\n")
        last = b"".join(form.encode(Batch(8, [Finished("stop")]))).decode()
        beat = [form.heartbeat.decode()] if form.heartbeat else []
        spelled = [[part.replace("\n", "\\n") for part in cell] for cell in ([said], [last], beat)]
        assert row == spelled, form
    assert [row[0][-1] for row in table[len(_FORMS) :]] == [
        PlainText().encode(Batch(7, [Text("TEXT")]))[0].decode(),
        "Response TEXT",
    ]


def check_article_failures(page: str) -> None:
    table = [code(row[1]) for row in rows(page, ARTICLES, "Failure at")]
    batch = Batch(7, [Failed(Error("internal", "", False))])
    for form, row in ((_FORMS[0], table[0]), (_FORMS[3], table[2])):
        said = re.sub(r'"error":{.*?}', '"error":{…}', b"".join(form.encode(batch)).decode())
        assert row == [said.replace("\n", "\\n")]


def check_settings(page: str) -> None:
    for variable, default, _ in rows(page, "Settings that show on the wire", "Variable"):
        for name, value in zip(code(variable), default.split(", "), strict=True):
            assert str(Settings.model_fields[name.lower()].default or "empty") == value, name


CHECKS: dict[str, Callable[[str], None]] = {
    name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")
}


@pytest.fixture
def page() -> str:
    """The page."""
    return (ROOT / "docs" / "protocol.md").read_text()


@pytest.mark.parametrize("name", CHECKS)
def test_the_page_says_what_the_code_has(name: str, page: str):
    CHECKS[name](page)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("events", "| `refusal` | `text` |", "| `refused` | `text` |"),
        ("events", "`call_id`?, `name`?", "`call_id`?"),
        ("reasons", "`cancelled`, and `budget` (", "and `budget` ("),
        ("notices", "| `restart` |", "| `again` |"),
        ("notices", "| `filter` | `{verdicts}` |", "| `filters` | `{verdicts}` |"),
        ("messages", '`{"type":"lost","after":12}`', '`{"type":"lost"}`'),
        ("messages", "| `slow` |", "| `late` |"),
        ("errors", "| `position_lost` | 410 |", "| `position_lost` | 404 |"),
        ("errors", "| `cancelled` | 499 |", "| `canceled` | 499 |"),
        ("request", "| `seed` |", "| `seeds` |"),
        ("request", "| `continue` | It", "| `go on` | It"),
        ("status", "`finished` (then", "finished (then"),
        ("chat", "`min_p`, ", ""),
        ("chat", "`top_logprobs` |", "`top_probs` |"),
        ("socket", '`{"type":"unfollow"', '`{"type":"leave"'),
        ("grpc", "rpc GetStatus", "rpc Status"),
        ("grpc", "`lost` 16", "`lost` 17"),
        ("article_requests", "`instruction`, `model` |", "`instruction` |"),
        ("article_requests", "about a river.`", "about a lake.`"),
        ("article_forms", r"| `end:\ndata:\n\n` |", r"| `event:end\ndata:\n\n` |"),
        ("article_forms", "`Response TEXT`", "`TEXT`"),
        ("article_failures", r"| `event:failed\n", r"| `event:error\n"),
        ("settings", "| `DRAIN_S` | 300 |", "| `DRAIN_S` | 30 |"),
    ],
)
def test_a_page_that_says_something_else_is_seen(name: str, old: str, new: str, page: str):
    assert page.count(old) == 1, "the page no longer has what this test spoils"
    with pytest.raises((AssertionError, KeyError)):
        CHECKS[name](page.replace(old, new))
