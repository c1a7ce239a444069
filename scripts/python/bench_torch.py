"""The PyTorch side of `make bench`: the yardstick's own model on the engine's weights, prompts and rows, one thread.

Usage: bench_torch.py YARDSTICK_FOLDER WORKLOAD.json   (reads task names from standard input, answers one JSON line each)
"""

import json
import struct
import sys
import time

import numpy as np

sys.path.insert(0, sys.argv[1])
import lib  # noqa: E402  (the yardstick: model, generation, one thread)
import torch  # noqa: E402

EPSILON = 1e-8


def read_safetensors(path):
    """Name -> float32 tensor; the format is 8 bytes of header length, a JSON header, then the data."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = file.read()
    return {
        name: torch.from_numpy(
            np.frombuffer(data[slice(*entry["data_offsets"])], dtype="<f4").reshape(entry["shape"]).copy()
        )
        for name, entry in header.items()
        if name != "__metadata__"
    }


def load_model(folder, config):
    """The yardstick's model with the weights of a Hugging Face folder (tied head)."""
    model = lib.Model(
        L=config["layers"],
        D=config["hiddenSize"],
        H=config["heads"],
        KV=config["kvHeads"],
        hd=config["headDim"],
        I=config["intermediateSize"],
        theta=config["ropeTheta"],
    )
    tensors = read_safetensors(folder + "/model.safetensors")
    parts = {
        "n1": "input_layernorm", "n2": "post_attention_layernorm", "qn": "self_attn.q_norm", "kn": "self_attn.k_norm",
        "q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj", "o": "self_attn.o_proj",
        "g": "mlp.gate_proj", "u": "mlp.up_proj", "d": "mlp.down_proj",
    }  # fmt: skip
    state = {"emb": tensors["model.embed_tokens.weight"], "nf.weight": tensors["model.norm.weight"]}
    for layer in range(config["layers"]):
        for short, name in parts.items():
            state[f"layers.{layer}.{short}.weight"] = tensors[f"model.layers.{layer}.{name}.weight"]
    model.load_state_dict(state)
    return model


class Batch:
    """Rows padded to the longest, as the yardstick's GRPO script packs them."""

    def __init__(self, rows):
        longest = max(len(row["tokens"]) for row in rows)
        self.ids = torch.zeros(len(rows), longest, dtype=torch.long)
        self.selected = torch.zeros(len(rows), longest, dtype=torch.bool)
        for i, row in enumerate(rows):
            n = len(row["tokens"])
            self.ids[i, :n] = torch.as_tensor(row["tokens"])
            self.selected[i, n - row["responseLength"] - 1 : n - 1] = True
        flat = lambda name: torch.tensor([x for row in rows for x in row[name]])  # noqa: E731
        self.old = flat("oldLogProbs")
        self.reference = flat("refLogProbs")
        self.advantages = torch.tensor([row["advantage"] for row in rows for _ in range(row["responseLength"])])
        counts = [row["responseLength"] for row in rows]
        self.weights = torch.tensor([1 / (n * len(rows)) for n in counts for _ in range(n)])

    def log_probs(self, model):
        logits = torch.log_softmax(model.logits_at(self.ids, self.selected), -1)
        targets = self.ids[:, 1:][self.selected[:, :-1]]
        return logits.gather(1, targets[:, None])[:, 0]


def filtered(probabilities, top_p):
    """Nucleus sampling as transformers does it: sort, cumulate, drop."""
    if top_p >= 1:
        return probabilities
    ordered, index = probabilities.sort(-1, descending=True)
    ordered[ordered.cumsum(-1) - ordered >= top_p] = 0
    return torch.zeros_like(probabilities).scatter_(-1, index, ordered)


@torch.no_grad()
def generate(model, prompts, new_tokens, temperature=1.0, top_p=1.0):
    """`lib.Model.generate` with a fixed number of new tokens, so that both sides do the same work (no log-probs: it has none)."""
    count = len(prompts)
    lengths = torch.tensor([len(p) for p in prompts])
    longest = int(lengths.max())
    ids = torch.zeros(count, longest, dtype=torch.long)
    for i, prompt in enumerate(prompts):
        ids[i, : len(prompt)] = torch.as_tensor(prompt)
    cache = []
    hidden = model.hidden(ids, cache)
    logits = hidden[torch.arange(count), lengths - 1] @ model.emb.t()
    pad = lambda x: lib.F.pad(x, (0, 0, 0, new_tokens))  # noqa: E731
    keys, values = [pad(k) for k, _ in cache], [pad(v) for _, v in cache]
    position = lengths.clone()
    places = torch.arange(longest + new_tokens)
    out = []
    for step in range(new_tokens):
        probabilities = filtered(torch.softmax(logits / temperature, -1), top_p)
        chosen = torch.multinomial(probabilities, 1)[:, 0]
        out.append(chosen.tolist())
        if step == new_tokens - 1:
            break
        mask = places[None, :] <= position[:, None]
        logits = model.step(chosen, position, keys, values, mask)
        position = position + 1
    return out


class Side:
    """The tasks of the benchmark; each returns what a reader can compare with the engine's answer."""

    def __init__(self, workload):
        torch.manual_seed(0)
        self.work = workload
        self.model = load_model(workload["modelDir"], workload["config"])
        self.frozen = load_model(workload["modelDir"], workload["config"]).requires_grad_(False)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=0.0, betas=(0.9, 0.999), eps=EPSILON, weight_decay=0.0, fused=True
        )
        self.rows = [row for turn in workload["turns"] for row in turn]

    @torch.no_grad()
    def score(self):
        return float(Batch(self.rows).log_probs(self.frozen).sum())

    def train(self, batch=None):
        batch = batch or Batch(self.rows)
        log_probs = batch.log_probs(self.model)
        ratio = (log_probs - batch.old).exp()
        clipped = ratio.clamp(0.8, 1.3)
        policy = -torch.min(ratio * batch.advantages, clipped * batch.advantages)
        gap = batch.reference - log_probs
        kl = gap.exp() - gap - 1
        loss = ((policy + 0.001 * kl) * batch.weights).sum()
        self.optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return float(norm)

    def prefill(self):
        prompts = self.work["prompts"]
        for at in range(0, len(prompts), 64):
            generate(self.model, prompts[at : at + 64], 1)
        return 0

    def sample(self):
        generate(self.model, self.work["openings"], self.work["newTokens"])
        return 0

    def sample_top_p(self):
        generate(self.model, self.work["openings"], self.work["newTokens"], 0.7, 0.95)
        return 0

    def step(self):
        for turn in self.work["turns"]:
            prompts = [row["tokens"][: len(row["tokens"]) - row["responseLength"]] for row in turn]
            generate(self.model, prompts, max(row["responseLength"] for row in turn))
        batch = Batch(self.rows)
        with torch.no_grad():
            batch.reference = batch.log_probs(self.frozen)
        return self.train(batch)


def main():
    with open(sys.argv[2]) as file:
        side = Side(json.load(file))
    print(json.dumps({"versions": {"torch": torch.__version__, "python": sys.version.split()[0]}}), flush=True)
    for line in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        answer = getattr(side, line.strip())()
        spent = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "answer": answer}
        print(json.dumps(spent), flush=True)


main()
