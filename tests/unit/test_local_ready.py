"""How long a part is waited for, and what is said of one that never serves."""

import asyncio

import pytest

from polystream.local.part import Part, Trouble
from polystream.local.ready import Patience, listening, until_ready


class FakePart(Part):
    """Runs until it is told to end, and says what the test says."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        super().__init__("fake", self.lines.append)
        self._over = asyncio.Event()
        self.ended = asyncio.create_task(self._life())

    async def _life(self) -> int:
        await self._over.wait()
        return 3

    def end(self) -> None:
        self._over.set()

    def say(self, line: str) -> None:
        self._take([line])


@pytest.fixture
async def part():
    fake = FakePart()
    yield fake
    fake.end()
    await fake.ended


async def never() -> str:
    return "its door is closed"


async def wait(part: Part, probe=never, silent_s: float = 30, whole_s: float = 30) -> list[str]:
    said: list[str] = []
    async with asyncio.timeout(10):
        await until_ready(part, probe, Patience(silent_s, whole_s), said.append)
    return said


async def test_it_returns_when_nothing_is_missing(part: FakePart):
    answers = iter(["nothing yet", "nothing yet", ""])

    async def probe() -> str:
        return next(answers)

    assert await wait(part, probe) == []
    assert list(answers) == []


async def test_who_is_silent_for_too_long_is_given_up_with_what_is_missing(part: FakePart):
    with pytest.raises(Trouble, match="fake is not ready after 0 s: its door is closed"):
        await wait(part, silent_s=0.1)


async def test_who_tells_how_far_it_is_is_given_more_time(part: FakePart):
    loop = asyncio.get_running_loop()
    until = loop.time() + 0.8

    async def probe() -> str:
        part.say("further")
        return "" if loop.time() > until else "not yet"

    await wait(part, probe, silent_s=0.4)


async def test_but_not_for_ever(part: FakePart):
    async def probe() -> str:
        part.say("further")
        return "not yet"

    with pytest.raises(Trouble, match="not yet"):
        await wait(part, probe, whole_s=0.2)


async def test_one_that_ends_is_told_with_its_last_lines(part: FakePart):
    part.say("out of memory")
    part.end()
    with pytest.raises(Trouble) as told:
        await wait(part)
    assert str(told.value) == "fake exited with status 3\nits last lines were:\n    out of memory"


async def test_an_answer_is_not_the_parts_when_that_has_ended(part: FakePart):
    part.end()
    await part.ended

    async def probe() -> str:
        return ""

    with pytest.raises(Trouble, match="exited with status 3"):
        await wait(part, probe)


async def test_a_part_says_where_it_listens(part: FakePart):
    probe = listening(part, "rest", "grpc")
    part.say("rest listening on http://127.0.0.1:5000")
    assert await probe() == "it has not said where it listens"
    part.say("grpc listening on [::1]:50051")
    part.say("model listening on nothing")
    assert await probe() == ""
    assert part.addresses == {"rest": "127.0.0.1:5000", "grpc": "[::1]:50051"}
