"""The WebSocket listener: /v1/streams, the article's /ws, and the two health paths by plain HTTP."""

import http
import logging
from collections.abc import Sequence

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from polystream.dialects.json import whole
from polystream.edge import health
from polystream.edge.readers import Readers
from polystream.protocols.sockets import BACKLOG, listening
from polystream.protocols.websocket import Session
from polystream.protocols.websocket_articles import Prompts

SUBPROTOCOL = Subprotocol("polystream.v1")
#: What runs a socket, by its path.
DOORS: dict[str, type[Session | Prompts]] = {"/v1/streams": Session, "/ws": Prompts}
#: The library tells of every socket at INFO.
_logger = logging.getLogger("polystream.websockets")
_logger.setLevel(logging.WARNING)
#: How long a client may take to answer a close frame, seconds.
_CLOSE_S = 2


class WebSocketListener:
    """See `edge.drain.Listener`. `frame_max_bytes`: larger frames close the socket with 1009."""

    def __init__(
        self, readers: Readers, host: str, port: int, frame_max_bytes: int, heartbeat_s: float, stall_s: float
    ):
        self._readers = readers
        self._address = host, port
        self._frame_max_bytes = frame_max_bytes
        self._heartbeat_s = heartbeat_s
        self._stall_s = stall_s
        self._sessions: set[Session | Prompts] = set()

    async def start(self) -> str:
        """Listen. No compression: a token's frame is smaller than what deflate adds in CPU and memory."""
        listener = listening(*self._address)
        self._server: Server = await serve(
            self._run,
            sock=listener,
            backlog=BACKLOG,
            process_request=self._answer_http,
            select_subprotocol=_select_subprotocol,
            compression=None,
            max_size=self._frame_max_bytes,
            ping_interval=self._heartbeat_s,
            ping_timeout=self._stall_s,
            close_timeout=_CLOSE_S,
            server_header=None,
            logger=_logger,
        )
        return f"ws://{self._address[0]}:{listener.getsockname()[1]}"

    async def stop_listening(self) -> None:
        """Refuse new sockets; open ones stay."""
        self._server.close(close_connections=False)
        for session in self._sessions:
            session.drain()

    async def stop(self) -> None:
        """End: the sockets close themselves once their refs have ended."""
        await self._server.wait_closed()

    async def _run(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        session = DOORS[_path(connection.request)](connection, self._readers)
        self._sessions.add(session)
        try:
            await session.run()
        finally:
            self._sessions.discard(session)

    async def _answer_http(self, connection: ServerConnection, request: Request) -> Response | None:
        path = _path(request)
        if path in DOORS:
            return None
        if path == "/healthz":
            return _json(http.HTTPStatus.OK, {"ok": True})
        if path == "/readyz":
            state = await health.check(self._readers.generations)
            status = http.HTTPStatus.OK if state.ready else http.HTTPStatus.SERVICE_UNAVAILABLE
            return _json(status, state.fields)
        error = {"code": "not_found", "message": "There is no such path.", "retryable": False}
        return _json(http.HTTPStatus.NOT_FOUND, {"error": error})


def _path(request: Request) -> str:
    return request.path.partition("?")[0]


def _select_subprotocol(connection: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """Ours when it is offered; it is not required."""
    return SUBPROTOCOL if SUBPROTOCOL in offered else None


def _json(status: http.HTTPStatus, fields: dict[str, object]) -> Response:
    body = whole(fields).encode()
    headers = Headers(
        {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
    )
    return Response(status.value, status.phrase, headers, body)
