"""What is said when all is ready: where, in front of what, and for each protocol a command to paste."""

import shlex
import shutil
import sys
from dataclasses import dataclass
from typing import Any

_PROMPT = """'{"prompt": "Hello"}'"""
_CHAT = """'{"messages": [{"role": "user", "content": "Hello"}], "stream": true}'"""
_SOCKET = """
import json
from websockets.sync.client import connect
with connect('ws://%s/v1/streams') as socket:
    socket.send(json.dumps({'type': 'start', 'ref': 'a', 'request': {'prompt': 'Hello'}}))
    for line in socket:
        print(line)
        if json.loads(line)['type'] in ('finished', 'failed', 'error'):
            break
"""
_STUBS = """
import grpc
from polystream.proto.polystream.v1 import streams_pb2, streams_pb2_grpc
streams = streams_pb2_grpc.StreamsStub(grpc.insecure_channel('%s'))
for event in streams.Start(streams_pb2.StartRequest(prompt='Hello')):
    print(event.text.text, end='', flush=True)
print()
"""


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
# gRPC; without the proxies in between at {place.grpc}
{python} -c "{_STUBS % place.front}"
{_grpcurl(place.front)}
Ctrl-C stops all of it.
"""


def _grpcurl(address: str) -> str:
    """The same by grpcurl, where it is installed."""
    command = f"grpcurl -plaintext -d {_PROMPT} {address} polystream.v1.Streams/Start\n"
    return f"# gRPC by reflection\n{command}" if shutil.which("grpcurl") else ""
