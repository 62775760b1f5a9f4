"""What is rare, over redis-py's connections: one question at a time on each, asked again until patience ends.

The client library's own retry is off: it knows no patience, and not which questions may be asked twice.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    ClusterDownError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)

from polystream.core.errors import StoreUnavailable
from polystream.stores.redis.address import Address
from polystream.stores.redis.scripts import Script

logger = logging.getLogger(__name__)

#: With the writer's and the subscriber's five connections a replica.
_CONNECTIONS = 3
#: How long a question is asked, seconds, and the pause between two tries.
PATIENCE_S, _PAUSE_S = 3.0, 0.05

T = TypeVar("T")


class Rare:
    """Asks Redis. Everything asked may run twice."""

    def __init__(self, address: Address, connect_timeout_s: float, reply_timeout_s: float):
        self._address = address
        self._warned = False
        pool = BlockingConnectionPool(
            **address.for_redis_py,
            max_connections=_CONNECTIONS,
            timeout=None,
            socket_connect_timeout=connect_timeout_s,
            socket_timeout=reply_timeout_s,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        self._redis = Redis.from_pool(pool)

    async def run(self, script: Script, names: Sequence[str], *words: Any) -> Any:
        """Run a script."""

        async def run(redis: Redis) -> Any:
            try:
                return await redis.evalsha(script.digest, len(names), *names, *words)
            except NoScriptError:
                return await redis.eval(script.source, len(names), *names, *words)

        return await self.ask(run)

    async def ask(self, command: Callable[[Redis], Awaitable[T]]) -> T:
        """Ask until it is answered or patience ends; then raises `StoreUnavailable`."""
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_S
        while True:
            try:
                return await command(self._redis)
            except AuthenticationError as error:  # before what it is a kind of
                raise self._unavailable(f"refuses user or password: {error}") from error
            except OutOfMemoryError as error:
                raise self._unavailable(f"cannot write: {error}") from error
            except (ReadOnlyError, ClusterDownError) as error:  # a primary no more: ask who is it now
                await self._redis.connection_pool.disconnect(inuse_connections=False)
                if loop.time() > until:
                    raise self._unavailable(f"cannot write: {error}") from error
            except ResponseError:
                raise
            except (RedisError, OSError) as error:
                if loop.time() > until:
                    raise self._unavailable(f"cannot be reached: {error or 'no answer'}") from error
            await asyncio.sleep(_PAUSE_S * random.uniform(0.5, 1))

    async def check(self) -> None:
        """Raises `StoreUnavailable` when it does not answer, or may throw logs away when it is full."""
        policy = await self._policy()
        if policy is None:
            await self.ask(lambda redis: redis.ping())
            if not self._warned:
                self._warned = True
                logger.warning(
                    "%s does not tell its maxmemory-policy: make sure it is noeviction", self._address
                )
        elif policy != "noeviction":
            raise StoreUnavailable(
                f"The store {self._address} may throw logs away: its maxmemory-policy is {policy}, "
                "and must be noeviction."
            )

    async def close(self) -> None:
        """Give the connections back."""
        await self._redis.aclose(close_connection_pool=True)

    async def _policy(self) -> str | None:
        """How Redis makes room, None if it does not say: managed ones may forbid CONFIG, or INFO."""
        try:
            return str((await self.ask(lambda redis: redis.info("memory")))["maxmemory_policy"])
        except (NoPermissionError, KeyError):
            pass
        try:
            return str(
                (await self.ask(lambda redis: redis.config_get("maxmemory-policy")))["maxmemory-policy"]
            )
        except (NoPermissionError, ResponseError, KeyError):
            return None

    def _unavailable(self, trouble: str) -> StoreUnavailable:
        logger.warning("%s %s", self._address, trouble)
        return StoreUnavailable(f"The store {self._address} {trouble}")
