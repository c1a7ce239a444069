"""Writes a framework's memory-agent trajectories as JSON lines, for checks outside of the framework.

Standard library only; samples are taken by their attributes, so that Relax's, slime's and VIME's classes all fit. Use it as the
rollout function:

    --rollout-function-path memagent_bridge.generate_rollout

with the framework's own function in MEMAGENT_ROLLOUT (default: Relax's or VIME's, whichever is installed) and the folder of the
files in MEMAGENT_EXPORT. Relax calls fn(args, rollout_id, data_source, data_system_client, evaluation=False), slime and VIME
without the client. What the wrapped function returns is passed on unchanged.
"""

import importlib
import json
import os

DEFAULTS = (
    "relax.engine.rollout.sglang_rollout.generate_rollout",
    "vime.rollout.vllm_rollout.generate_rollout",
    "slime.rollout.sglang_rollout.generate_rollout",
)


def generate_rollout(args, rollout_id, data_source, *rest, **named):
    """Calls the wrapped rollout function and exports what it made."""
    result = _wrapped()(args, rollout_id, data_source, *rest, **named)
    evaluation = named.get("evaluation", bool(rest) and rest[-1] is True)
    folder = os.environ.get("MEMAGENT_EXPORT")
    if folder and not evaluation:
        export(_samples(result), rollout_id, folder)
    return result


def export(samples, rollout_id, folder):
    """Writes `<folder>/rollout-NNNNNN.jsonl`, complete or not at all, and returns its path."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"rollout-{rollout_id:06d}.jsonl")
    temporary = f"{path}.partial-{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        for sample in samples:
            file.write(json.dumps(record(sample, rollout_id), ensure_ascii=False, allow_nan=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    return path


def record(sample, rollout_id):
    """One trajectory: identity, turns and reward, in plain JSON."""
    reward = _get(sample, "reward")
    train = _get(sample, "train_metadata") or {}
    metadata = _get(sample, "metadata") or {}
    turns = train.get("mem_agent_turns") or train.get("turns") or []
    status = _get(sample, "status")
    return {
        "rollout_id": rollout_id,
        "group_index": _get(sample, "group_index"),
        "index": _get(sample, "index"),
        "status": str(getattr(status, "value", status)),
        "reward": reward.get("score") if isinstance(reward, dict) else reward,
        "final_output": metadata.get("final_output"),
        "weight_versions": [str(version) for version in _get(sample, "weight_versions") or []],
        "turns": [_turn(turn) for turn in turns],
    }


def _turn(turn):
    # log-probs may be numpy or torch scalars
    return {
        "tokens": [int(token) for token in _get(turn, "tokens") or []],
        "response_length": int(_get(turn, "response_length") or 0),
        "loss_mask": [int(mask) for mask in _get(turn, "loss_mask") or []],
        "rollout_log_probs": [float(value) for value in _get(turn, "rollout_log_probs") or []],
    }


def _samples(result):
    """Flat list of samples, from a list of groups or an output object that holds one."""
    groups = getattr(result, "samples", result)
    flat = []
    for group in groups:
        flat.extend(_samples(group) if isinstance(group, (list, tuple)) else [group])
    return flat


def _get(value, name):
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _wrapped():
    named = os.environ.get("MEMAGENT_ROLLOUT")
    for path in (named,) if named else DEFAULTS:
        module, _, function = path.rpartition(".")
        try:
            return getattr(importlib.import_module(module), function)
        except ModuleNotFoundError:
            if named:
                raise
    raise RuntimeError("no rollout function: set MEMAGENT_ROLLOUT to module.function of the framework")
