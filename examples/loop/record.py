"""Records some steps of the small model on one core with torch.profiler, for `foretrain compare`.

Usage: python examples/loop/record.py profile.json
"""

import sys
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, schedule
from transformers import AutoConfig, AutoModelForCausalLM

SAMPLES, TOKENS, STEPS = 8, 128, 2


def main(path: str) -> None:
    torch.set_num_threads(1)
    config = AutoConfig.from_pretrained(Path(__file__).parent / "small")
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    steps = schedule(wait=1, warmup=3, active=STEPS)
    with profile(activities=[ProfilerActivity.CPU], schedule=steps) as profiler:
        for _ in range(4 + STEPS):
            tokens = torch.randint(config.vocab_size, (SAMPLES, TOKENS))
            model(input_ids=tokens, labels=tokens).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
    profiler.export_chrome_trace(path)


if __name__ == "__main__":
    main(sys.argv[1])
