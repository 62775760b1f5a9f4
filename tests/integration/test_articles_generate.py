"""`POST /start` and `GET /generate`, by a browser that leaves, comes back, and has several tabs."""

import asyncio
import json

import pytest

from tests.clients import articles, http
from tests.integration.articles import (
    SHORT,
    Doors,
    doors_of,
    prompt_of,
)
from tests.integration.server import Server
from tests.integration.upstream import Reply, Upstream, says

pytestmark = pytest.mark.asyncio(loop_scope="session")

FORM = "application/x-www-form-urlencoded"
BOUNDARY = "multipart/form-data; boundary=x7"


@pytest.mark.parametrize("kind", ["json", "none", "text", "form", "multipart"])
async def test_a_start_takes_json_and_forms(doors: Doors, upstream: Upstream, kind: str):
    stage = upstream.stage(Reply(says(*SHORT)))
    prompt = f"stage {stage.key}"
    raw = json.dumps({"prompt": prompt}).encode()
    media = {"json": "application/json", "text": "text/plain;charset=UTF-8", "form": FORM}
    if kind == "form":
        raw = f"prompt={prompt.replace(' ', '+')}".encode()
    if kind == "multipart":
        part = f'Content-Disposition: form-data; name="prompt"\r\n\r\n{prompt}'
        raw = f"--x7\r\n{part}\r\n--x7--\r\n".encode()
    types = {"Content-Type": media.get(kind, BOUNDARY)} if kind != "none" else {}
    browser = articles.Browser(doors)
    told = await browser.start(raw, types)
    assert list(browser.cookies.values()) == [told["id"]]
    assert await browser.source() == 204
    assert browser.shown == "".join(SHORT)
    assert stage.calls[0].body["messages"] == [{"role": "user", "content": prompt}]


async def test_a_start_without_a_body_has_a_prompt_of_its_own(scripted: Server):
    browser = articles.Browser(doors_of(scripted))
    await browser.start()
    assert await browser.source() == 204
    assert browser.shown.startswith("Polystream keeps one numbered log")
    assert browser.ends == [("end", "")]


async def test_a_start_of_another_media_type_is_refused(doors: Doors):
    url, headers = f"{doors.http}/start", {"Content-Type": "application/xml"}
    answer = await http.request("POST", url, headers, b"<prompt/>")
    assert (await http.refuse(answer)).status == 415
    answer.close()


async def test_the_cookie_is_for_no_script_and_no_other_site(doors: Doors, upstream: Upstream):
    stage = upstream.stage(Reply(says(*SHORT)))
    raw = json.dumps({"prompt": prompt_of(stage)}).encode()
    answer, said = await http.fetch("POST", f"{doors.http}/start", articles.JSON, raw)
    id = json.loads(said)["id"]
    assert answer.headers["set-cookie"] == f"polystream_generation={id}; Path=/; HttpOnly; SameSite=Lax"
    assert answer.headers["cache-control"] == "no-store"
    await http.fetch("DELETE", f"{doors.http}/v1/streams/{id}")


@pytest.mark.parametrize("leave_after", [1, 3, 9])
async def test_an_event_source_that_comes_back_goes_on(doors: Doors, upstream: Upstream, leave_after: int):
    deltas = [f"line {number}\n" for number in range(9)]
    stage = upstream.stage(Reply(says(*deltas, delay_ms=10)))
    browser = articles.Browser(doors)
    await browser.start(json.dumps({"prompt": prompt_of(stage)}).encode(), articles.JSON)
    while await browser.connect(leave_after=leave_after) == 200:
        pass
    assert browser.shown == "".join(deltas)
    assert browser.ends == [("end", "")]
    assert browser.connections > 9 // leave_after
    assert len(stage.calls) == 1


async def test_the_tabs_of_one_browser_are_told_apart_when_they_come_back(doors: Doors, upstream: Upstream):
    """They share the cookie, which is the later tab's."""
    tabs: list[articles.Browser] = []
    stages = []
    for who in "ab":
        stages.append(upstream.stage(Reply(says(*[f"{who}{number} " for number in range(20)], delay_ms=20))))
        tabs.append(articles.Browser(doors, tabs[0].cookies if tabs else {}))
        told = await tabs[-1].start(json.dumps({"prompt": prompt_of(stages[-1])}).encode(), articles.JSON)
        await tabs[-1].connect(f"?id={told['id']}" if who == "a" else "", leave_after=2)
    assert await asyncio.gather(*(tab.source() for tab in tabs)) == [204, 204]
    for who, tab in zip("ab", tabs, strict=True):
        assert tab.shown == "".join(f"{who}{number} " for number in range(20))


@pytest.mark.parametrize("position", ["gen_x:1", "7", "gen_x:-1", "gen_x"])
async def test_a_position_that_is_none_stops_the_event_source(doors: Doors, position: str):
    answer = await http.request("GET", f"{doors.http}/generate", {"Last-Event-ID": position})
    refused = await http.refuse(answer)
    answer.close()
    assert refused.status == (404 if position == "gen_x:1" else 400)
