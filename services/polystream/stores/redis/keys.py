"""Names of keys and channels. All keys of one generation have its id as hash tag, so that they share a slot.

A log's channel has the name of its key.
"""

import hashlib

#: Sorted set of the ids that are not ended, by when they were created (seconds since 1970).
OPEN = "polystream:open"
#: Channel of the ids that are cancelled.
CANCELLED = "polystream:cancelled"


def log(id: str) -> str:
    """Stream of the events, event `seq` under the entry id `seq`-1."""
    return f"polystream:{{{id}}}:log"


def record(id: str) -> str:
    """Hash: the record as it was created, and what changes beside it."""
    return f"polystream:{{{id}}}:record"


def claims(id: str) -> str:
    """Set of the names of the idempotency keys that the generation holds."""
    return f"polystream:{{{id}}}:claims"


def claim(key: str) -> str:
    """An idempotency key, whose words may be long and somebody's."""
    return f"polystream:claim:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"
