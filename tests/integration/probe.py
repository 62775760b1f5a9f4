"""The product, run with one addition: on SIGUSR1 it prints how many tasks and response objects are alive."""

import asyncio
import gc
import re
import runpy
import signal
from itertools import count

from tests.clients import http
from tests.integration.server import Server

_numbers = count()


def _report(*_: object) -> None:
    """Written for a signal handler inside a running loop; the number tells one report from the next."""
    gc.collect()
    responses = sum(
        any(
            base.__module__ == "starlette.responses" and base.__name__ == "Response"
            for base in type(thing).__mro__
        )
        for thing in gc.get_objects()
    )
    print(f"alive report={next(_numbers)} tasks={len(asyncio.all_tasks())} responses={responses}", flush=True)


async def alive(server: Server) -> dict[str, int]:
    """Ask a server run by this module for its counts."""
    seen = len([line for line in server.log if line.startswith("alive ")])
    server.signal(signal.SIGUSR1)
    # A request wakes the loop, should the signal alone not.
    await http.fetch("GET", f"{server.rest}/healthz")
    wanted = f"alive report={seen} "
    line = await asyncio.to_thread(server.wait_for_line, lambda line: line.startswith(wanted), 10)
    return {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", line)}


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, _report)
    runpy.run_module("polystream", run_name="__main__")
