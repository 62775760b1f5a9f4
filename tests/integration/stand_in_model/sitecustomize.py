"""On PYTHONPATH it takes the place of `python -m polystream model`: a model whose start can be watched.

It is not ready when it is asked first, and answers with the prompt and the keys that came along. Every other
command runs as it is.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Door(BaseHTTPRequestHandler):
    """What an OpenAI-compatible server has."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def do_GET(self) -> None:
        """The list of models, and readiness: only the second one who asks hears of it."""
        if self.path == "/readyz":
            Door.asked += 1
            self.answer(200 if Door.asked > 1 else 503, {"ready": Door.asked > 1})
        else:
            self.answer(200, {"object": "list", "data": [{"id": "stand-in", "object": "model"}]})

    def do_POST(self) -> None:
        """A chat answer in one chunk."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = body["messages"][-1]["content"]
        text = f"{said} {self.headers.get('authorization')} {self.headers.get('api-key')}"
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": "stop"}
        chunk = {"id": "a", "object": "chat.completion.chunk", "created": 0, "model": "stand-in"}
        events = f"data: {json.dumps(chunk | {'choices': [choice]})}\n\ndata: [DONE]\n\n"
        self.answer(200, events, "text/event-stream")

    def answer(self, status: int, body: object, form: str = "application/json") -> None:
        """Send all of it."""
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("content-type", form)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *values: object) -> None:
        """Nothing: what it prints is looked at."""


if sys.orig_argv[-2:] == ["polystream", "model"]:
    model = os.environ.get("MODEL", "")
    print(f"reading {model}: {Path(model).is_file()}", flush=True)
    server = ThreadingHTTPServer((os.environ["HOST"], int(os.environ["MODEL_PORT"])), Door)
    print(f"model listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
