"""Recorded upstreams, replayed byte for byte: the answer is what their own bytes say, over every protocol."""

import pytest

from tests.clients import Refused, Wire
from tests.integration import transcripts
from tests.integration.cases import DOORS, ask
from tests.integration.server import Server
from tests.integration.upstream import Upstream
from tests.integration.waiting import at_once

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("name", transcripts.names())
async def test_a_recorded_answer_is_read_as_its_bytes_say(name: str, relay: Server, upstream: Upstream):
    recorded = transcripts.load(name)
    wanted = transcripts.read(recorded)

    async def over(door: str) -> None:
        stage = upstream.stage(transcripts.reply(recorded), name.replace("/", "."))
        wire: Wire = {}
        include = {"include_usage": True} if door == "chat" and wanted.code is None else {}
        if door == "chat" and recorded["status"] != 200:
            with pytest.raises(Refused) as refused:
                await ask(door, relay, stage.request(), wire=wire)
            assert refused.value.code == wanted.code
            return
        request = stage.request(**transcripts.asked(recorded))
        answer = await ask(door, relay, request, wire=wire, **include)
        assert answer.code == wanted.code
        assert answer.text == wanted.text
        assert answer.reason == wanted.reason
        assert [entry["token"] for entry in answer.logprobs] == wanted.tokens
        assert [call[1:] for call in answer.tool_calls] == [wanted.calls[i][1:] for i in sorted(wanted.calls)]
        if door == "chat" and wanted.code:
            return  # an error has no usage there
        assert answer.usage, "a figure is owed even where the engine gives none"
        spelled = (
            ("prompt_tokens", "completion_tokens") if door == "chat" else ("input_tokens", "output_tokens")
        )
        if wanted.usage:
            assert tuple(answer.usage[name] for name in spelled) == wanted.usage
            assert not answer.usage.get("estimated")
        elif door != "chat":
            assert answer.usage["estimated"] is True

    await at_once(*map(over, DOORS), names=tuple(DOORS))


async def test_a_connection_serves_the_next_answer_when_one_has_ended_properly(
    relay: Server, upstream: Upstream
):
    """The recorded engines keep their connections open, so the product may use one again."""
    recorded = transcripts.load("vllm/chat_short")
    before = set(upstream.connections)
    for _ in range(5):
        stage = upstream.stage(transcripts.reply(recorded))
        assert (await ask("ndjson", relay, stage.request())).text == transcripts.read(recorded).text
    assert len(set(upstream.connections) - before) <= 1


async def test_the_witness_reads_something_of_every_kind():
    """A transcript the reading above takes for nothing at all would prove nothing."""
    read = {name: transcripts.read(transcripts.load(name)) for name in transcripts.names()}
    for name, wanted in read.items():
        assert wanted.code or wanted.reason, name
        assert wanted.code or wanted.text or wanted.calls, name
    assert {"context_length_exceeded", "invalid_request", "upstream_error", "upstream_disconnected"} == {
        wanted.code for wanted in read.values() if wanted.code
    }
    assert any(wanted.usage for wanted in read.values())
    assert any(wanted.calls for wanted in read.values())
    assert any(wanted.tokens for wanted in read.values())
