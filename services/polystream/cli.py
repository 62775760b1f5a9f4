"""The commands: each deployment is one of them."""

import argparse
import logging
import sys
from typing import TextIO
from urllib.parse import urlsplit

from polystream import __version__, app, settings
from polystream.core.errors import StreamError


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the process's exit code."""
    options = _parser().parse_args(arguments)
    command = options.command
    knobs = settings.load()
    if command == "convert":
        return _convert(options, knobs)
    logging.basicConfig(
        level=knobs.log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    print(f"polystream {__version__} {command}: engine {_engine(knobs)}", flush=True)
    try:
        app.run(knobs, app.PROTOCOLS if command == "serve" else (command,))
    except (
        OSError,
        ValueError,
        StreamError,
    ) as error:  # a port that is taken, an ENGINE_URL that says nothing
        print(f"polystream {command}: {error}", file=sys.stderr)
        return 1
    return 0


def _convert(options: argparse.Namespace, knobs: settings.Settings) -> int:
    bar = _Bar(sys.stderr)
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


class _Bar:
    """How far a conversion is: one line that is written over on a terminal, elsewhere a line every 10 %."""

    _WIDTH = 30

    def __init__(self, stream: TextIO):
        self._stream, self._drawn = stream, stream.isatty()
        self._said: tuple[str, int] | None = None

    def show(self, stage: str, done: int, total: int) -> None:
        percent = 100 * done // total if total else 0
        now = (stage, percent if self._drawn else percent // 10)
        if now == self._said:
            return
        other = self._said is not None and self._said[0] != stage
        self._said = now
        told = f"{stage}: {percent:3d} % of {total / 1e6:.0f} MB" if total else f"{stage} ..."
        if self._drawn:
            full = self._WIDTH * percent // 100
            bar = f"[{'#' * full}{' ' * (self._WIDTH - full)}] " if total else ""
            self._stream.write(f"{chr(10) if other else ''}\r{bar}{told}\x1b[K")
        else:
            self._stream.write(f"{told}\n")
        self._stream.flush()

    def close(self) -> None:
        if self._drawn and self._said is not None:
            self._stream.write("\n")
            self._stream.flush()


def _engine(knobs: settings.Settings) -> str:
    if not knobs.engine_url or knobs.engine_url.startswith("scripted:"):
        return "scripted (no model: set ENGINE_URL for one)"
    parts = urlsplit(knobs.engine_url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="polystream", description="Stream the answers of language models.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("rest", help="serve REST and SSE on REST_PORT")
    commands.add_parser("websocket", help="serve WebSocket on WEBSOCKET_PORT")
    commands.add_parser("grpc", help="serve gRPC on GRPC_PORT")
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
    return parser
