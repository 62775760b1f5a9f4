"""The forms of the articles' doors, against the scripts that were printed for them."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polystream.core.events import REASONS, Batch, Error, Event, Failed, Finished, Notice, Reasoning, Text
from polystream.core.request import Message, Request
from polystream.dialects import articles, articles_request
from polystream.proto import stream_pb2 as pb
from tests.clients import articles as printed

ERROR = Error("upstream_error", "It broke: here.", True)
RESTART = Notice("restart", {})
FAILED = '{"error":{"code":"upstream_error","message":"It broke: here.","retryable":true}}'
FORMS: dict[str, Callable[[], Any]] = {
    "fastapi": articles.Pieces,
    "starlette": articles.Lines,
    "socket": articles.SocketFrames,
    "instruct": lambda: articles.Instruction("gen_x"),
    "grpc": articles.Messages,
    "generate": lambda: articles.StreamedText("gen_x", False),
}
#: Deltas as engines cut them: in the middle of anything but a character.
PARTS = st.sampled_from(
    ["\n", "\r", "\r\n", "\n\n", " ", ": ", ":", "data: ", "</", "s>", "<", "\u2028", "日本", "🌍"]
)
DELTAS = st.lists(
    st.lists(PARTS | st.characters(codec="utf-8"), min_size=1, max_size=6).map("".join), max_size=8
)


def log(deltas: list[str], *last: Event, cuts: int = 1) -> list[Batch]:
    """A log of these texts and an end, `cuts` events a batch."""
    events: list[Event] = [*map(Text, deltas), *(last or (Finished("stop"),))]
    return [Batch(1 + at, events[at : at + cuts]) for at in range(0, len(events), cuts)]


def spelled(form: Any, batches: list[Batch]) -> list[bytes]:
    """What a sink would hand on, to where the form breaks."""
    said: list[bytes] = []
    for batch in batches:
        said += form.encode(batch)
        if form.breaks(batch):
            break
    return said


def text_of(form: Any, batches: list[Batch]) -> str:
    """All of it as text."""
    return b"".join(spelled(form, batches)).decode()


def one_line(text: str) -> str:
    """Without what a reader of lines takes for their ends."""
    return text.replace("\r", "").replace("\n", "")


def data(text: str) -> str:
    """As server-sent events carry it: every line end is LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def batched(deltas: list[str], cuts: int) -> list[str]:
    """The texts that travel together."""
    return ["".join(deltas[at : at + cuts]) for at in range(0, len(deltas), cuts)]


@given(DELTAS, st.integers(1, 3))
def test_the_fetching_pages_show_the_text_without_its_line_breaks(deltas: list[str], cuts: int):
    batches, wanted = log(deltas, cuts=cuts), one_line("".join(deltas))
    assert printed.fastapi(text_of(articles.Pieces(), batches)) == wanted
    assert printed.starlette(text_of(articles.Lines(), batches)) == wanted


@given(DELTAS, st.integers(1, 3))
def test_an_event_stream_reader_has_the_text_and_the_end_at_their_doors(deltas: list[str], cuts: int):
    batches = log(deltas, cuts=cuts)
    wanted = "".join(map(data, batched(deltas, cuts)))
    for form, end in ((articles.Pieces(), ("end", "")), (articles.Lines(), ("message", ""))):
        *texts, last = printed.events(text_of(form, batches))
        assert "".join(said for _, said in texts) == wanted
        assert {name for name, _ in texts} <= {"message"}
        assert last == end
        assert end not in texts


@given(DELTAS, st.integers(1, 3))
def test_the_socket_page_shows_exactly_the_text(deltas: list[str], cuts: int):
    frames = [frame.decode() for frame in spelled(articles.SocketFrames(), log(deltas, cuts=cuts))]
    assert "".join(map(printed.socket, frames)) == "".join(deltas)
    assert all(frame.count(": ") == 1 for frame in frames)
    assert frames[-1] == "event:end\ndata: \n\n"


@given(DELTAS, st.integers(1, 3))
def test_the_grpc_page_shows_exactly_the_text(deltas: list[str], cuts: int):
    messages = spelled(articles.Messages(), log(deltas, cuts=cuts))
    contents = [pb.LlmResponse.FromString(message).llm_content for message in messages]
    assert "".join(map(printed.response, contents)) == "".join(deltas)
    assert all(content.startswith("Response ") for content in contents)


@given(DELTAS, st.integers(1, 3))
def test_an_event_source_shows_the_text_with_every_line_end_as_lf(deltas: list[str], cuts: int):
    *texts, last = printed.events(text_of(articles.StreamedText("gen_x", False), log(deltas, cuts=cuts)))
    assert texts == [("streamed-text", data(delta)) for delta in deltas]
    assert last == ("end", "")


@given(DELTAS, st.integers(1, 3))
def test_the_notebook_has_the_text_without_the_eos_mark(deltas: list[str], cuts: int):
    wanted = "".join(deltas)
    while "</s>" in wanted:
        wanted = wanted.replace("</s>", "", 1)
    assert text_of(articles.Instruction("gen_x"), log(deltas, cuts=cuts)) == wanted


@pytest.mark.parametrize(
    ("deltas", "shown"),
    [
        (["a", "</s>"], "a"),
        (["a<", "/", "s", ">b"], "ab"),
        (["</</s>s>", "x"], "x"),
        (["</", "</s>", "s>"], ""),
        (["a <b"], "a <b"),
        (["a </s"], "a </s"),
    ],
)
def test_no_eos_mark_shows_however_it_is_cut(deltas: list[str], shown: str):
    assert text_of(articles.Instruction("gen_x"), log(deltas)) == shown


def test_what_may_become_an_eos_mark_is_held_and_nothing_else():
    form = articles.Instruction("gen_x")
    assert form.encode(Batch(1, [Text("ab<")])) == [b"ab"]
    assert form.encode(Batch(2, [Text("/s")])) == []
    assert form.encode(Batch(3, [Text("x")])) == [b"</sx"]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("fastapi", b"data: Hi\n\ndata:\ndata: \xe6\x97\xa5\n\n" + b"event:end\ndata: \n\n"),
        ("starlette", b"data: Hi\n\ndata:\ndata: \xe6\x97\xa5\n\n" + b"end:\ndata:\n\n"),
        ("instruct", "Hi\n日".encode()),
        ("socket", "data: Hi\n日\n\nevent:end\ndata: \n\n".encode()),
        (
            "generate",
            "id: gen_x:1\nevent: streamed-text\ndata: Hi\ndata: 日\n\n"
            "id: gen_x:end\nevent: end\ndata: \n\n".encode(),
        ),
    ],
)
def test_the_bytes_are_those_of_the_page(form: str, said: bytes):
    assert b"".join(spelled(FORMS[form](), log(["Hi\n日"]))) == said


@pytest.mark.parametrize("spell", [printed.fastapi, printed.starlette])
def test_a_heartbeat_shows_nothing(spell: Callable[[str], str]):
    form = articles.Pieces() if spell is printed.fastapi else articles.Lines()
    assert form.heartbeat
    assert spell(form.heartbeat.decode()) == ""
    assert printed.events(form.heartbeat.decode()) == []


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_but_a_cancel_is_a_good_end(name: str, reason: str):
    form = FORMS[name]()
    batch = Batch(3, [Finished(reason)])
    said = b"".join(form.encode(batch))
    assert form.breaks(batch) is (reason == "cancelled" and name != "generate")
    assert (form.error.code if form.error else None) == ("cancelled" if reason == "cancelled" else None)
    assert (b"end" in said) is (
        reason != "cancelled" and name not in ("instruct", "grpc")
    ) or name == "generate"


@pytest.mark.parametrize("name", ["fastapi", "starlette", "socket"])
@pytest.mark.parametrize("together", [True, False])
def test_a_failure_is_told_in_words_and_breaks_off(name: str, together: bool):
    form = FORMS[name]()
    said = text_of(form, log(["Hi"], Failed(ERROR), cuts=2 if together else 1))
    assert said == f"data: Hi\n\nevent:failed\ndata: {FAILED}\n\n"
    assert form.error == ERROR


def test_a_failure_reaches_an_event_source_as_its_last_event():
    form = articles.StreamedText("gen_x", False)
    batches = log(["Hi"], Failed(ERROR))
    assert printed.events(text_of(form, batches)) == [("streamed-text", "Hi"), ("failed", FAILED)]
    assert not form.breaks(batches[-1])


@pytest.mark.parametrize("name", FORMS)
def test_a_restart_behind_text_ends_the_answer_there(name: str):
    form = FORMS[name]()
    kept = Batch(1, [Reasoning("hm"), RESTART, Text("so ")])
    form.encode(kept)
    assert not form.breaks(kept)
    broken = Batch(4, [Text("far"), RESTART, Text("void")])
    said = b"".join(form.encode(broken))
    assert form.breaks(broken)
    assert form.error.code == "upstream_disconnected"
    assert b"void" not in said
    assert b"far" in said


def test_an_event_source_that_comes_back_has_words_already():
    assert articles.StreamedText("gen_x", True).breaks(Batch(9, [RESTART]))
    assert not articles.StreamedText("gen_x", False).breaks(Batch(9, [RESTART]))


@pytest.mark.parametrize("name", FORMS)
def test_what_is_no_text_is_not_shown(name: str):
    assert FORMS[name]().encode(Batch(1, [Reasoning("hm"), Notice("queued", {})])) == []


@pytest.mark.parametrize("name", FORMS)
def test_a_readers_own_trouble_has_words_only_where_its_client_can_come_back(name: str):
    form = FORMS[name]()
    assert not form.resumable
    generate = name == "generate"
    assert form.come_back("slow", 200) == (b"retry: 200\n\n" if generate else None)
    assert form.lost(3) == (b"" if generate else None)
    words = name in ("fastapi", "starlette", "socket")
    assert form.cut(ERROR) == (f"event:failed\ndata: {FAILED}\n\n".encode() if words else None)


def test_a_cut_notebook_has_what_was_held_back():
    form = articles.Instruction("gen_x")
    form.encode(Batch(1, [Text("a<")]))
    assert form.cut(ERROR) == b"<"


def test_forms_with_other_bytes_have_other_keys():
    assert len({make().key for make in FORMS.values()}) == len(FORMS)
    assert articles.Instruction("gen_x").key != articles.Instruction("gen_y").key


@pytest.mark.parametrize("text", ["", "a\nb"])
def test_a_whole_answer_is_spelled_like_a_streamed_one(text: str):
    streamed = text_of(articles.Pieces(), log([text] if text else []))
    assert articles.whole(articles.Pieces(), text).decode() == streamed


# ---- requests ----


def test_a_prompt_is_one_message_of_the_user():
    asked = articles_request.StreamingFields("hi", None, 5, 42, 0.5, False)
    wanted = Request((Message("user", "hi"),), max_tokens=5, seed=42, temperature=0.5)
    assert asked.request() == wanted
    assert not asked.streamed
    assert articles_request.prompt("hi").request() == Request((Message("user", "hi"),))
    named = articles_request.PromptFields("hi", "m")
    assert named.request() == Request((Message("user", "hi"),), "m")
    assert articles_request.message(pb.UserRequest(prompt="hi").SerializeToString()).prompt == "hi"


def test_a_template_is_the_input_of_a_base_model():
    fields = articles_request.InstructFields("a {instruction} b")
    assert fields.request("") == Request((Message("user", "a {instruction} b"),))
    filled = "ユーザー: a {instruction} b\nシステム: "
    assert fields.request("ユーザー: {instruction}\nシステム: ") == Request((), prompt=filled)
