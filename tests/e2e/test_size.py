"""The page as it is served: small enough, kept by its digest, and under a policy that lets no stranger in."""

import gzip
import re

import pytest

from tests.clients import http
from tests.integration.front import Front
from tests.integration.server import ROOT

DIST = ROOT / "frontend" / "dist"
#: kB, compressed as nginx does it: what is needed before the first view is drawn, and what comes later.
#: A tenth above today's; docs/performance.md has the figures.
FIRST_SCRIPTS_KB = 180
FIRST_STYLES_KB = 8
LATER_KB = {"AnswerBody": 80, "Race": 10, "Wire": 24, "grpcweb": 41}


def kilobytes(*names: str) -> float:
    """The compressed size of files."""
    return sum(len(gzip.compress((DIST / name).read_bytes(), 6)) for name in names) / 1000


def named(pattern: str) -> list[str]:
    """What the first page names."""
    return re.findall(pattern, (DIST / "index.html").read_text())


def test_the_first_view_is_within_its_budget():
    scripts = kilobytes(*named(r'(?:src|modulepreload"[^>]*href)="/([^"]+\.js)"'))
    styles = kilobytes(*named(r'href="/([^"]+\.css)"'))
    print(f"first view: scripts {scripts:.0f} kB, styles {styles:.1f} kB")
    assert 0 < scripts <= FIRST_SCRIPTS_KB
    assert 0 < styles <= FIRST_STYLES_KB


@pytest.mark.parametrize("name", LATER_KB)
def test_what_comes_later_is_within_its_budget(name: str):
    files = [str(path.relative_to(DIST)) for path in DIST.glob(f"assets/{name}-*") if path.suffix != ".map"]
    size = kilobytes(*files)
    print(f"{name}: {size:.1f} kB")
    assert files
    assert size <= LATER_KB[name]


def test_whatever_the_page_loads_has_a_digest_in_its_name():
    names = named(r'(?:src|href)="/([^"]+)"')
    unnamed = {name for name in names if not re.fullmatch(r"assets/[\w.-]+-[\w-]{8}\.(?:js|css)", name)}
    assert unnamed == {"icon.svg", "first.js"}


@pytest.mark.asyncio(loop_scope="session")
async def test_nginx_lets_assets_be_kept_for_good_and_asks_for_the_page_again(slow: Front):
    asset = named(r'src="/(assets/[^"]+)"')[0]
    kept, packed = await http.fetch("GET", f"{slow.rest}/{asset}", {"Accept-Encoding": "gzip"})
    assert kept.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert kept.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed) == (DIST / asset).read_bytes()
    page, _ = await http.fetch("GET", f"{slow.rest}/")
    assert page.headers["cache-control"] == "no-cache"
    same, _ = await http.fetch("GET", f"{slow.rest}/", {"If-None-Match": page.headers["etag"]})
    assert same.status == 304


@pytest.mark.asyncio(loop_scope="session")
async def test_the_pages_policy_allows_its_own_files_and_nothing_inline(slow: Front):
    page, body = await http.fetch("GET", f"{slow.rest}/")
    policy = dict(
        part.strip().partition(" ")[::2] for part in page.headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'self'"
    assert not {"script-src", "style-src"} & set(policy)
    assert "unsafe" not in page.headers["content-security-policy"]
    assert policy["frame-ancestors"] == "'none'"
    assert not re.search(rb"<script(?![^>]*\ssrc=)|<style|\son\w+=|\sstyle=", body)
