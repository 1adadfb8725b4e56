"""Trains a model of a configuration on random tokens, with the Trainer of transformers.

accelerate starts it; its options are those of the Trainer and the three of `Script`.
"""

from dataclasses import dataclass

import torch
from torch import distributed
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
)

SAMPLES = 1_000_000


@dataclass
class Script:
    """What the Trainer is not told."""

    model_name_or_path: str
    max_length: int
    attn_implementation: str = "eager"


class RandomTokens(torch.utils.data.Dataset):
    """Samples of random tokens, each the same whenever it is asked for."""

    def __init__(self, vocabulary: int, length: int) -> None:
        self.vocabulary = vocabulary
        self.length = length

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        seed = torch.Generator().manual_seed(index)
        tokens = torch.randint(self.vocabulary, (self.length,), generator=seed)
        return {"input_ids": tokens, "labels": tokens}


def main() -> None:
    script, arguments = HfArgumentParser((Script, TrainingArguments)).parse_args_into_dataclasses()
    torch.set_num_threads(1)  # a process to a core
    config = AutoConfig.from_pretrained(script.model_name_or_path)
    model = AutoModelForCausalLM.from_config(config, attn_implementation=script.attn_implementation)
    data = RandomTokens(config.vocab_size, script.max_length)
    Trainer(model=model, args=arguments, train_dataset=data).train()
    if distributed.is_initialized():
        # Whoever leaves with its process group open is now and then killed on its way out.
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
