"""The transformers side of `make parity`.

Usage: parity_transformers.py JOB.json

Makes the models of `make` with transformers itself, computes the logits of all `models` (eager attention, CPU), in float32 and in
float64, and writes both, [tokens, vocabulary] sequence after sequence, as raw little-endian numbers; encodes `texts` and renders `chats` with the tokenizer.
"""

import json
import sys

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen3Config, Qwen3ForCausalLM


def make(folder, config, seed):
    """A random Qwen3, saved the way transformers saves; several shards, as large models have."""
    torch.manual_seed(seed)
    model = Qwen3ForCausalLM(Qwen3Config(**config))
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn_like(parameter)
            parameter.copy_(1 + 0.2 * noise if parameter.ndim == 1 else 0.3 * noise)
    model.save_pretrained(folder, max_shard_size="40KB")


@torch.no_grad()
def logits(folder, sequences, out, dtype, numbers):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager").eval()
    with open(out, "wb") as file:
        for tokens in sequences:
            file.write(model(torch.tensor([tokens])).logits[0].numpy().astype(numbers).tobytes())


def tokenizer_answers(folder, texts, chats):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return {
        "class": type(tokenizer).__name__,
        "ids": [tokenizer.encode(text, add_special_tokens=False) for text in texts],
        "decoded": [tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) for text in texts],
        "rendered": [tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) for chat in chats],
    }


def main():
    torch.set_num_threads(1)
    with open(sys.argv[1]) as file:
        job = json.load(file)
    for one in job["make"]:
        make(one["folder"], one["config"], one["seed"])
    for one in job["models"]:
        logits(one["folder"], one["sequences"], one["out"], torch.float32, "<f4")
        logits(one["folder"], one["sequences"], one["exact"], torch.float64, "<f8")
    answers = tokenizer_answers(**job["tokenizer"])
    answers["versions"] = {"torch": torch.__version__, "transformers": transformers.__version__}
    with open(job["answers"], "w") as file:
        json.dump(answers, file)


main()
