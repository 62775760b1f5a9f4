"""The product run twice in one process, one event loop after the other: what a first run leaves shows."""

import runpy

if __name__ == "__main__":
    for _ in range(2):
        try:
            runpy.run_module("polystream", run_name="__main__")
        except SystemExit as exit:
            if exit.code:
                raise
