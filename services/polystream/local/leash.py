"""Becomes the command behind it, which then dies with the process that started it, however that one ends.

Only the kernel sees a `kill -9`; Linux tells the children of the dead if they asked (PR_SET_PDEATHSIG of
prctl(2), kept over exec). It is asked for here and not between the parent's fork and exec, where threads may
hold locks for ever. Elsewhere the command runs unleashed. Run as a file: the package's import takes long.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: str, number: str, *command: str) -> None:
    """Ask for the signal `number` at the death of process `parent`, and become `command`."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != int(parent):  # it died before we asked
            sys.exit(1)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main(*sys.argv[1:])
