# SPDX-License-Identifier: Apache-2.0
"""The first program of a server's process: launcher.py PARENT SECONDS TRITONSERVER ARGUMENT...

It requests a signal at the end of the process PARENT, unless that is 0, then becomes tritonserver. A child of it kills
all processes of a server that the signal does not end within SECONDS: one with a dead stub waits without end.
"""

import ctypes
import os
import select
import signal
import sys
import time

if __name__ == "__main__":
    parent, seconds, server = int(sys.argv[1]), float(sys.argv[2]), os.getpid()
    ended = select.poll()
    if parent:
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
        ended.register(os.pidfd_open(parent), select.POLLIN)
        if os.getppid() != parent:
            sys.exit("the process that started the server is gone")
    if parent and os.fork() == 0:
        if "TRICODEC_SECRETS" in os.environ:
            os.close(int(os.environ["TRICODEC_SECRETS"]))
        while os.getppid() == server and not ended.poll(1000):
            pass
        deadline = time.monotonic() + seconds
        while os.getppid() == server and time.monotonic() < deadline:
            time.sleep(0.1)
        if os.getppid() == server:
            os.killpg(0, signal.SIGKILL)
        os._exit(0)
    libraries = [os.environ.pop("TRICODEC_PRELOAD", ""), os.environ.get("LD_PRELOAD", "")]
    if any(libraries):
        os.environ["LD_PRELOAD"] = ":".join(filter(None, libraries))
    os.execv(sys.argv[3], sys.argv[3:])
