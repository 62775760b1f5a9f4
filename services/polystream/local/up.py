"""`polystream up`: model, gateway, Envoy and nginx as children of one command, which end together.

One thing ends the run, and is told: a signal, the death of a part, a start that fails.
"""

import asyncio
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from polystream.local.lines import Printer, coloured, quiet_exit
from polystream.local.part import Part, Trouble
from polystream.local.ready import ask
from polystream.local.summary import Place, summary
from polystream.local.topology import NAMES, Topology
from polystream.settings import Settings

logger = logging.getLogger(__name__)

#: Values of HOST with which `localhost` reaches it.
_LOCAL = ("127.0.0.1", "0.0.0.0", "localhost")
_FOLDER = "polystream-up-"  #: then the process and what makes it new
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(settings: Settings, environment: Mapping[str, str], engine: str) -> int:
    """Serve until a signal comes or a part dies; the exit code: 0 after a signal, 1 after trouble.

    `environment` is what the parts get; `engine` says in words which one it is.
    """
    printer = Printer(sys.stdout, NAMES, coloured(sys.stdout, environment))
    _sweep()
    with tempfile.TemporaryDirectory(prefix=f"{_FOLDER}{os.getpid()}-") as folder:
        code = asyncio.run(Up(settings, environment, engine, Path(folder), printer).run())
    quiet_exit(sys.stdout)
    return code


def _sweep() -> None:
    """Take away the folders of runs that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        pid = folder.name.removeprefix(_FOLDER).partition("-")[0]
        if pid.isdecimal() and not Path(f"/proc/{pid}").exists() and Path("/proc/self").exists():
            shutil.rmtree(folder, ignore_errors=True)  # another's is kept by its rights


class Up:
    """One run, in a folder for what its parts write."""

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        engine: str,
        folder: Path,
        printer: Printer,
    ):
        self._topology = Topology(settings, environment, folder, printer.line, self._on_death)
        self._host = settings.host
        self._engine = engine
        self._printer = printer
        self._began = time.monotonic()

    async def run(self) -> int:
        """See `run`."""
        loop = asyncio.get_running_loop()
        #: Why it ends: "" for a signal, else the trouble.
        self._end: asyncio.Future[str] = loop.create_future()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._on_signal, number)
        starting = asyncio.create_task(self._start())
        trouble = await self._end
        starting.cancel()
        await asyncio.wait({starting})
        await self._topology.stop()
        if self._topology.started:
            self._say(f"all has stopped, because {trouble.splitlines()[0]}" if trouble else "all has stopped")
        return 1 if trouble else 0

    async def _start(self) -> None:
        try:
            self._topology.check()
            self._say(f"starting {', '.join(self._topology.names)}")
            front, grpc = await self._topology.start()
            _, state = await ask(front, "GET", "/readyz")
            place = Place(self._known(front), self._known(grpc), self._engine, json.loads(state))
        except Trouble as trouble:
            self._stop_for(str(trouble))
        except Exception as error:
            logger.exception("the start broke")
            self._stop_for(f"the start broke: {error or type(error).__name__}")
        else:
            self._say(f"ready after {time.monotonic() - self._began:.1f} s")
            self._printer.plain(summary(place))

    def _known(self, address: str) -> str:
        """The address as people type it."""
        return address.replace("127.0.0.1", "localhost") if self._host in _LOCAL else address

    def _on_signal(self, number: int) -> None:
        if self._end.done():
            self._say("ending all of it now")
            self._topology.kill()
        else:
            self._end.set_result("")
            self._say(f"{signal.Signals(number).name}: stopping; once more ends it at once")

    def _on_death(self, part: Part) -> None:
        self._stop_for(part.obituary())

    def _stop_for(self, trouble: str) -> None:
        if not self._end.done():
            self._end.set_result(trouble)
            for line in trouble.splitlines():
                self._say(line)
            if self._topology.started:
                self._say("stopping all others")

    def _say(self, text: str) -> None:
        self._printer.line("up", text)
