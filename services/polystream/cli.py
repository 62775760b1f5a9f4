"""The commands: each deployment is one of them."""

import argparse
import logging
import os
import signal
import sys
from pathlib import Path
from urllib.parse import urlsplit

from polystream import __version__, settings
from polystream.core.errors import StreamError


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the process's exit code."""
    options = _parser().parse_args(arguments)
    command = options.command
    knobs = settings.load()
    signal.signal(signal.SIGTERM, _interrupt)  # until a server takes it: what is half made is taken away
    if command in ("model", "up") and knobs.model and not Path(knobs.model).exists():
        print(f"polystream {command}: MODEL: {knobs.model} does not exist", file=sys.stderr)
        return 1
    if command == "convert":
        return _convert(options, knobs)
    if command == "model":
        knobs = knobs.model_copy(update={"engine_url": "ctranslate2:"})
    logging.basicConfig(
        level=knobs.log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    engine = _engine(command, knobs)
    print(f"polystream {__version__} {command}: engine {engine}", flush=True)
    if command == "up":
        from polystream.local import up  # here: no other command needs it

        return up.run(knobs, os.environ, engine)
    return _serve(command, knobs)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _serve(command: str, knobs: settings.Settings) -> int:
    from polystream import app  # here: its import takes a second, which the parts of `up` take anyway

    try:
        app.run(knobs, app.PROTOCOLS if command == "serve" else (command,))
    except (
        OSError,
        ValueError,
        StreamError,
    ) as error:  # a port that is taken, an ENGINE_URL that says nothing
        print(f"polystream {command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # before it served: a model was being loaded
        return 130
    return 0


def _convert(options: argparse.Namespace, knobs: settings.Settings) -> int:
    from polystream.models.progress import Bar  # here: no other command needs it

    bar = Bar(sys.stderr)
    code, told = 1, ""
    try:
        from polystream.models.resolve import resolve  # here: other commands run without what it needs

        model, models_dir = options.file or knobs.model, options.models_dir or knobs.models_dir
        path = resolve(model, models_dir, quantization=options.quantization, progress=bar.show)
        code, told = 0, str(path)
    except ImportError as error:
        told = f"{error}; pip install polystream[model]"
    except (OSError, ValueError) as error:  # a full disk; a file that cannot be converted
        told = " ".join(str(error).split())
    except KeyboardInterrupt:
        code, told = 130, "interrupted, nothing was left behind"
    bar.close()
    if code:
        told = f"polystream convert: {told}"
    print(told, file=sys.stderr if code else sys.stdout)
    return code


def _engine(command: str, knobs: settings.Settings) -> str:
    if knobs.engine_url == "ctranslate2:" or (command == "up" and not knobs.engine_url):
        return f"ctranslate2 ({knobs.model or 'the small model that comes with make run'})"
    if not knobs.engine_url:
        return "scripted (no model: set ENGINE_URL for one)"
    if knobs.engine_url.startswith("scripted:"):
        return "scripted (a set text, no model)"
    parts = urlsplit(knobs.engine_url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="polystream", description="Stream the answers of language models.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("rest", help="serve REST and SSE on REST_PORT")
    commands.add_parser("websocket", help="serve WebSocket on WEBSOCKET_PORT")
    commands.add_parser("grpc", help="serve gRPC on GRPC_PORT")
    commands.add_parser("model", help="serve the embedded MODEL over REST on MODEL_PORT")
    convert = commands.add_parser(
        "convert", help="make a CTranslate2 folder of a GGUF file, and say where it is"
    )
    convert.add_argument("file", nargs="?", default="", metavar="FILE", help="the GGUF file; default: MODEL")
    convert.add_argument(
        "--quantization",
        default="int8",
        metavar="TYPE",
        help="int8 (default), int8_float32, int16, float16, bfloat16 or float32",
    )
    convert.add_argument(
        "--models-dir", default="", metavar="DIR", help="where to keep it; default: MODELS_DIR"
    )
    commands.add_parser("serve", help="serve all three in one process, on one store in memory")
    commands.add_parser("up", help="serve everything on PORT: model, gateway, Envoy and nginx as processes")
    return parser
