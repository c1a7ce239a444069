"""Looks at a cluster before a training job: prints facts of every node as one line of JSON, and judges nothing.

Run as a Ray job with Python's standard library and Ray. What to look at is in the environment variable MEMAGENT_PREFLIGHT (JSON).
"""

import hashlib
import json
import os
import shutil
import socket
import subprocess

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

RESULT = "MEMAGENT_PREFLIGHT_RESULT "
NODE_LIMIT_SECONDS = 300
PROGRAM_LIMIT_SECONDS = 60


def output_of(command):
    """(text, error) of a short program."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROGRAM_LIMIT_SECONDS)
    except FileNotFoundError:
        return None, f"{command[0]} is not there"
    except subprocess.TimeoutExpired:
        return None, f"{command[0]} did not end within {PROGRAM_LIMIT_SECONDS} s"
    if done.returncode != 0:
        return None, (done.stderr.strip() or f"exit code {done.returncode}")[:300]
    return done.stdout, None


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def file_facts(path, hashed):
    try:
        return {"bytes": os.path.getsize(path), **({"sha256": sha256(path)} if hashed else {})}
    except OSError as error:
        return {"error": error.strerror}


def checkout_facts(wanted):
    path = wanted["path"]
    if not os.path.isdir(path):
        return {"error": "no such folder"}
    git = ["git", "-c", "safe.directory=*", "-C", path]
    commit, error = output_of([*git, "rev-parse", "HEAD"])
    changed, _ = output_of([*git, "status", "--porcelain", "--untracked-files=no"])
    missing = [name for name in wanted["files"] if not os.path.exists(os.path.join(path, name))]
    facts = {"missing": missing, "changed": [line[3:] for line in (changed or "").splitlines()][:10]}
    return {**facts, **({"commit": commit.strip()} if commit is not None else {"error": error})}


def gpu_facts():
    query = ["nvidia-smi", "--query-gpu=name,memory.total,memory.used", "--format=csv,noheader,nounits"]
    text, error = output_of(query)
    if text is None:
        return {"error": error}
    rows = [line.split(", ") for line in text.splitlines() if line.strip()]
    return {"gpus": [{"name": row[0], "totalMiB": float(row[1]), "usedMiB": float(row[2])} for row in rows]}


def free_bytes(path):
    """Of the file system that holds the path, which need not be there yet."""
    while not os.path.exists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    try:
        return {"path": path, "bytes": shutil.disk_usage(path).free}
    except OSError as error:
        return {"path": path, "error": error.strerror}


def is_taken(port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return True
    return False


def marker_facts(path):
    try:
        with open(path, encoding="utf-8") as file:
            return {"text": file.read(200)}
    except OSError as error:
        return {"error": error.strerror}


def look(wanted, is_head, hashed):
    """Facts of the node it runs on; files are hashed on one node only, since all see the same storage."""
    files = wanted["model"]["files"]
    return {
        "host": socket.gethostname(),
        "checkout": checkout_facts(wanted["checkout"]),
        "model": {name: file_facts(os.path.join(wanted["model"]["folder"], name), hashed) for name in files},
        "data": file_facts(wanted["data"]["path"], hashed),
        "marker": marker_facts(wanted["marker"]["path"]),
        "disk": free_bytes(wanted["disk"]["path"]),
        "nvidia": gpu_facts() if wanted["gpus"] else {"error": "not asked for"},
        "takenPorts": [port for port in wanted["ports"] if is_head and is_taken(port)],
    }


def main():
    wanted = json.loads(os.environ["MEMAGENT_PREFLIGHT"])
    ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
    alive = sorted((node for node in ray.nodes() if node["Alive"]), key=lambda node: node["NodeID"])
    task = ray.remote(num_cpus=0, max_retries=0)(look)
    waiting = []
    for at, node in enumerate(alive):
        is_head = "node:__internal_head__" in node["Resources"]
        here = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        waiting.append((node, task.options(scheduling_strategy=here).remote(wanted, is_head, at == 0)))
    nodes = []
    for node, reference in waiting:
        try:
            facts = ray.get(reference, timeout=NODE_LIMIT_SECONDS)
        except Exception as error:  # whatever it is, it is a fact about that node
            facts = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
        nodes.append({"address": node["NodeManagerAddress"], **facts})
    total, free = ray.cluster_resources(), ray.available_resources()
    gpus = {"total": total.get("GPU", 0), "free": free.get("GPU", 0)}
    print(RESULT + json.dumps({"gpus": gpus, "nodes": nodes}), flush=True)


if __name__ == "__main__":
    main()
