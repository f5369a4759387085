"""A command on terminals of its own.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading

END = b"\0"  # no command prints it


def run(command, environment, width=80, on=("stdout",)):
    """Runs a command. Its streams in `on` are terminals of this width, the others pipes.

    Returns {"stdout": text, "stderr": text} as the terminals got them, and the exit status.
    """
    pairs = {stream: pty.openpty() for stream in on}
    read = {stream: b"" for stream in on}

    def read_to_end(stream):
        # A terminal whose other side is closed may forget what is on its way: so that side stays
        # open, and a mark says where its text ends.
        while not read[stream].endswith(END):
            read[stream] += os.read(pairs[stream][0], 65536)

    for _, theirs in pairs.values():
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    readers = [threading.Thread(target=read_to_end, args=(stream,)) for stream in on]
    for reader in readers:
        reader.start()
    streams = {stream: pairs[stream][1] if stream in on else subprocess.PIPE
               for stream in ("stdout", "stderr")}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment, **streams) as process:
        printed = dict(zip(("stdout", "stderr"), process.communicate()))
    for _, theirs in pairs.values():
        os.write(theirs, END)
    for reader in readers:
        reader.join()
    for both in pairs.values():
        for terminal in both:
            os.close(terminal)
    printed.update({stream: text[:-len(END)] for stream, text in read.items()})
    return ({stream: text.decode().replace("\r\n", "\n") for stream, text in printed.items()},
            process.returncode)
