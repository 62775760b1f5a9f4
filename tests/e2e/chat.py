"""What a person does in Chat and where they look: by roles and names, as a screen reader finds them."""

import re
from collections.abc import Sequence

from playwright.async_api import Locator, Page, expect

PROTOCOLS = ("REST", "SSE", "WebSocket", "gRPC-Web")
#: The whole of an answer and its end: a second or two here, more where other work fills the machine.
END_MS = 30_000


class Chat:
    """Chat on a page, in English."""

    def __init__(self, page: Page):
        self.page = page
        self.field = page.get_by_role("textbox", name="Message")
        self.send = page.get_by_role("button", name="Send", exact=True)
        self.stop = page.get_by_role("button", name="Stop", exact=True)
        self.drop = page.get_by_role("button", name="Drop connection")
        self.answers = page.get_by_role("article", name="Answer")

    @property
    def answer(self) -> Locator:
        """The last one."""
        return self.answers.last

    async def choose(self, protocol: str) -> None:
        """Pick a protocol; while an answer runs, it is switched to it."""
        await self.page.get_by_role("radio", name=protocol, exact=True).check()

    async def ask(self, text: str, over: str | None = None) -> None:
        """Write a message and send it."""
        if over:
            await self.choose(over)
        await self.field.fill(text)
        await self.send.click()

    async def until_it_says(self, words: str) -> None:
        """Wait until these words have come."""
        await expect(self.answer).to_contain_text(words)

    async def until_verified(self) -> None:
        """Wait for the end, and for the digest to be found right."""
        await expect(self.answer).to_contain_text("verified", timeout=END_MS)
        await expect(self.answer).not_to_contain_text("not verified")

    async def text(self) -> str:
        """The last answer to the letter, as Copy gives it."""
        await self.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await self.answer.get_by_role("button", name="Copy", exact=True).last.click()
        await expect(self.answer.get_by_role("button", name="Copied").last).to_be_visible()
        return str(await self.page.evaluate("navigator.clipboard.readText()"))

    async def paragraphs(self) -> list[str]:
        """The paragraphs of the last answer, as they are shown."""
        return await self.answer.locator(".part > p").all_inner_texts()

    async def seams(self) -> Sequence[str]:
        """The lines that tell where the text changed hands."""
        return await self.answer.get_by_text(re.compile("continued over")).all_inner_texts()

    async def generation(self) -> str:
        """The id of the last answer, as the panel beside it says."""
        panel = self.page.get_by_role("complementary", name="This answer")
        said = await panel.get_by_role("definition").filter(has_text=re.compile("^gen_")).text_content()
        return said or ""
