"""python -m popliner: the command, with the same arguments and exit status.

It is the program that POPLINER_COMMAND names, else the one that was installed with this module,
else `popliner` of the PATH.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import os
import shutil
import signal
import sys

from ._installed import COMMAND
from ._library import next_to


def find() -> str:
    """The program to run; "" if there is none."""
    named = os.environ.get("POPLINER_COMMAND")
    if named:
        return named
    installed = next_to(COMMAND)
    if os.access(installed, os.X_OK) and os.path.isfile(installed):
        return installed
    return shutil.which("popliner") or ""


def main() -> int:
    command = find()
    if not command:
        print("python -m popliner: there is no command popliner on the PATH; set POPLINER_COMMAND "
              "to its path", file=sys.stderr)
        return 3
    os.environ.setdefault("POPLINER_PYTHON", sys.executable)  # it reads models
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # which Python ignores
    try:
        os.execv(command, [command, *sys.argv[1:]])
    except OSError as error:
        print(f"python -m popliner: {command} cannot be run: {error.strerror}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
