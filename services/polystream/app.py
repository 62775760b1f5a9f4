"""The composition root: settings → store and engine → generations → the listeners asked for."""

import asyncio
import gc
import logging
import socket
import sys

from polystream.core.errors import StreamError
from polystream.core.generations import Generations
from polystream.core.log import LogLimits
from polystream.core.ports import Engine, Store
from polystream.core.producer import Limits
from polystream.edge.drain import Listener, drain, wait_for_signal
from polystream.edge.loop import Loop
from polystream.edge.pulse import Pulse
from polystream.edge.readers import Readers
from polystream.engines.scripted import ScriptedEngine
from polystream.protocols import grpc_server, http_server, websocket_server
from polystream.settings import Settings
from polystream.stores.memory import MemoryStore

PROTOCOLS = ("rest", "websocket", "grpc")

logger = logging.getLogger(__name__)


def engine(settings: Settings) -> Engine:
    """The engine that ENGINE_URL names; to be called within the event loop.

    Raises `ValueError` for a URL or headers that no engine can have, or for a MODEL that cannot be had.
    """
    if settings.engine_url == "ctranslate2:":
        return _embedded_model(settings)
    if not settings.engine_url or settings.engine_url.startswith("scripted:"):
        options = settings.engine_url.removeprefix("scripted:").removeprefix("?")
        return ScriptedEngine(options, settings.default_model or "scripted")
    from polystream.engines.openai import OpenAIEngine  # here: its import takes a second that others need not

    return OpenAIEngine(
        settings.engine_url,
        key=settings.engine_key.get_secret_value(),
        headers=settings.engine_headers,
        api_version=settings.openai_api_version,
        default_model=settings.default_model,
        connect_timeout_s=settings.connect_timeout_s,
        first_token_timeout_s=settings.first_token_timeout_s,
        stall_timeout_s=settings.stall_timeout_s,
        split_reasoning=settings.split_reasoning,
        deployment=settings.openai_chat_engine,
    )


def _embedded_model(settings: Settings) -> Engine:
    """The engine over MODEL, converted and measured if that has never been done here."""
    from polystream.engines import ctranslate2, ctranslate2_speed  # here: its libraries are heavy
    from polystream.models import folder, progress, resolve

    bar = progress.Bar(sys.stderr)
    try:
        path = resolve.resolve(settings.model, settings.models_dir, progress=bar.show)
    finally:
        bar.close()
    model = folder.load(path)
    speed = ctranslate2_speed.choose(model, settings.engine_threads, settings.engine_workers)
    return ctranslate2.CTranslate2Engine(
        model,
        speed,
        name=settings.default_model,
        batch=settings.engine_batch,
        queue=settings.engine_queue,
        max_prompt=settings.engine_max_prompt,
    )


def store(settings: Settings) -> Store:
    """The store that STORE_URL names; to be called within the event loop.

    Raises `OSError` for a STORE_CA that cannot be read.
    """
    if not (url := settings.store_url.get_secret_value()):
        return MemoryStore(settings.retention_s)
    from polystream.stores.redis import (
        Address,
        RedisStore,
    )  # here: its import takes time that others need not

    return RedisStore(
        Address.parse(url, settings.store_ca),
        retention_s=settings.retention_s,
        open_s=settings.generation_max_s + settings.retention_s,
        buffer=settings.store_outage_buffer,
        connect_timeout_s=settings.connect_timeout_s,
    )


def generations(settings: Settings) -> Generations:
    """The core over its engine and its store; to be called within the event loop."""
    log = LogLimits(settings.log_max_events, settings.log_max_bytes)
    limits = Limits(log, settings.generation_max_s, settings.orphan_grace_s)
    return Generations(
        store(settings),
        engine(settings),
        limits,
        replica=socket.gethostname(),
        default_model=settings.default_model,
    )


def listener(name: str, settings: Settings, readers: Readers) -> Listener:
    """The listener of one of `PROTOCOLS`, or of `model`: REST at MODEL_PORT."""
    host, largest = settings.host, settings.request_max_bytes
    if name in ("rest", "model"):
        api = http_server.app(readers, largest, settings.status_hold_s, settings.instruct_template)
        port = settings.rest_port if name == "rest" else settings.model_port
        return http_server.HttpListener(api, host, port)
    if name == "websocket":
        return websocket_server.WebSocketListener(
            readers, host, settings.websocket_port, largest, settings.heartbeat_s, settings.reader_stall_s
        )
    return grpc_server.GrpcListener(readers, host, settings.grpc_port, largest, settings.heartbeat_s)


async def serve(settings: Settings, protocols: tuple[str, ...]) -> None:
    """Serve the protocols until a signal, then drain.

    Raises `OSError` when a port is taken, `ValueError` when the store cannot be used.
    """
    core = generations(settings)
    try:
        await core.store.check()
    except StreamError as error:
        await core.store.close()
        raise ValueError(f"STORE_URL: {error}") from error
    readers = Readers(core, Pulse(settings.heartbeat_s, settings.reader_stall_s))
    servers = [listener(name, settings, readers) for name in protocols]
    for name, server in zip(protocols, servers, strict=True):
        try:
            address = await server.start()
        except OSError as error:
            raise OSError(f"{name.upper()}_PORT: {error.strerror or error}") from error
        print(f"{name} listening on {address}", flush=True)
    _tune_garbage_collection()
    await wait_for_signal()
    await drain(servers, core, settings.drain_s)


def _tune_garbage_collection() -> None:
    """What stands at start is never garbage, and logs are not cyclic: look rarely, and at less.

    Reference counts free nearly everything at once; what waits for a collection is bounded by the threshold.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def run(settings: Settings, protocols: tuple[str, ...]) -> None:
    """`serve` in an event loop of its own."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(serve(settings, protocols))
