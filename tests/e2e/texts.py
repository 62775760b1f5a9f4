"""What the scripted engine says in these tests: numbered words, so that one lost or doubled is seen."""

from urllib.parse import urlencode

PARAGRAPHS = [
    " ".join(f"{name}{number}" for number in range(1, 21)) for name in ("alpha", "beta", "gamma", "delta")
]
TEXT = "\n\n".join(PARAGRAPHS)
WORDS = len(TEXT.split())
#: With the first and the last event of the log.
EVENTS = WORDS + 2
PACE_MS = 25
#: Slow enough to be left, and back, before it ends.
SLOW = "scripted:?" + urlencode({"text": TEXT, "pace_ms": PACE_MS})
