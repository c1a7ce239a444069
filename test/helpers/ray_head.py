"""`ray start` with a dashboard that has the Jobs API and what that needs.

The full one is nine processes of 80 MB, which take longer to start on two busy cores than Ray waits for them; and Ray's wait of
20 seconds begins only once this one takes connections.
"""

import socket
import sys
import time

import ray._private.services as services
from ray.scripts.scripts import main

start = services.start_ray_process
LONGEST_START = 100


def start_lean(command, process_type, *args, **kwargs):
    if process_type != "dashboard":
        return start(command, process_type, *args, **kwargs)
    started = start([*command, "--modules-to-load=UsageStatsHead,JobHead,NodeHead"], process_type, *args, **kwargs)
    port = next(int(word.partition("=")[2]) for word in command if word.startswith("--port="))
    wait_until_it_listens(started.process, port)
    return started


def wait_until_it_listens(process, port):
    deadline = time.monotonic() + LONGEST_START
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)


services.start_ray_process = start_lean
sys.exit(main())
