"""What is said when all is ready: where, in front of what, and for each protocol a command to paste."""

import shlex
import sys
from dataclasses import dataclass
from typing import Any

_PROMPT = """'{"prompt": "Hello"}'"""
_CHAT = """'{"messages": [{"role": "user", "content": "Hello"}], "stream": true}'"""
_SOCKET = (
    "import json; from websockets.sync.client import connect; "
    "socket = connect('ws://%s/v1/streams'); "
    "socket.send(json.dumps({'type': 'start', 'ref': 'a', 'request': {'prompt': 'Hello'}})); "
    "[print(it) or json.loads(it)['type'] in ('finished', 'failed') and socket.close() for it in socket]"
)
_STUBS = (
    "import grpc; from polystream.proto.polystream.v1 import streams_pb2 as pb, streams_pb2_grpc as rpc; "
    "events = rpc.StreamsStub(grpc.insecure_channel('%s')).Start(pb.StartRequest(prompt='Hello')); "
    "[print(event.text.text, end='', flush=True) for event in events]; print()"
)


@dataclass(frozen=True, slots=True)
class Place:
    """What a client needs: host:port of the front door and of gRPC's own port, the engine in words, and what
    /readyz says.
    """

    front: str
    grpc: str
    engine: str
    state: dict[str, Any]


def summary(place: Place) -> str:
    """The lines."""
    models = ", ".join(str(model["id"]) for model in place.state["models"] if model["state"] == "ready")
    url, python = f"http://{place.front}", shlex.quote(sys.executable)
    return f"""
Polystream is ready: {url}
engine {place.engine}; model {models}; store {place.state["store"]["kind"]}

# NDJSON
curl -N {url}/v1/streams -d {_PROMPT}
# server-sent events
curl -N {url}/v1/streams -H 'Accept: text/event-stream' -d {_PROMPT}
# text
curl -N {url}/v1/streams -H 'Accept: text/plain' -d {_PROMPT}
# OpenAI chat; for SDKs: base URL {url}/v1, any key
curl -N {url}/v1/chat/completions -H 'Content-Type: application/json' -d {_CHAT}
# WebSocket
{python} -c "{_SOCKET % place.front}"
# gRPC, here and at {place.front}, where gRPC-Web is, too
{python} -c "{_STUBS % place.grpc}"
grpcurl -plaintext -d {_PROMPT} {place.grpc} polystream.v1.Streams/Start

Ctrl-C stops all of it.
"""
