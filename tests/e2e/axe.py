"""axe-core in a page: what it finds wrong for those who see, hear or move otherwise."""

from functools import cache
from typing import Any

from playwright.async_api import Page

from tests.integration.server import ROOT

SCRIPT = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
_RUN = "axe.run(document, { resultTypes: ['violations'] })"


async def findings(page: Page) -> list[str]:
    """Its serious and critical findings, a line for each place; evaluated, so that no policy forbids it."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(_source())
    result: dict[str, Any] = await page.evaluate(_RUN)
    return [
        f"{found['impact']} {found['id']}: {node['html'][:160]} ({node['failureSummary']})"
        for found in result["violations"]
        if found["impact"] in ("serious", "critical")
        for node in found["nodes"]
    ]


@cache
def _source() -> str:
    return f"{SCRIPT.read_text()};void 0"
