"""`ray start` with a dashboard that has the Jobs API and what that needs.

The full one is nine processes of 80 MB, which take longer to start on two busy cores than Ray waits for them.
"""

import sys

import ray._private.services as services
from ray.scripts.scripts import main

start = services.start_ray_process


def start_lean(command, process_type, *args, **kwargs):
    if process_type == "dashboard":
        command = [*command, "--modules-to-load=UsageStatsHead,JobHead,NodeHead"]
    return start(command, process_type, *args, **kwargs)


services.start_ray_process = start_lean
sys.exit(main())
