"""Texts of a Hugging Face data set, padded batch by batch as its tokenizer's collator does it."""

import members
import torch
from torch.utils.data import DataLoader

try:
    import datasets
except ModuleNotFoundError:
    datasets = None

WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "a",
    "lazy",
    "dog",
    "and",
    "runs",
    "away",
    "from",
    "it",
    "all",
    "day",
    "long",
]


def tokenized(example):
    """A word's number is its place."""
    return {"input_ids": [1 + WORDS.index(word) for word in example["text"].split()]}


def pad(examples):
    """As long as the longest of the batch."""
    longest = max(len(each["input_ids"]) for each in examples)
    rows = [each["input_ids"] + [0] * (longest - len(each["input_ids"])) for each in examples]
    ids = torch.tensor(rows)
    labels = torch.tensor([each["label"] for each in examples])
    return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": labels}


def loader():
    texts = [" ".join(WORDS[n % 7 : n % 7 + 2 + n % 9]) for n in range(22)]
    data = datasets.Dataset.from_dict({"text": texts, "label": [n % 2 for n in range(22)]})
    data = data.map(tokenized, remove_columns=["text"], load_from_cache_file=False)
    return DataLoader(data, batch_size=4, collate_fn=pad)


def train(loader):
    torch.manual_seed(0)
    table = torch.nn.EmbeddingBag(1 + len(WORDS), 2, mode="mean", padding_idx=0)
    optimizer = torch.optim.Adam(table.parameters(), lr=0.01)
    losses = []
    for _ in range(members.EPOCHS):
        for batch in loader:
            labels = batch.pop("labels")  # a batch may be taken apart
            loss = torch.nn.functional.cross_entropy(table(batch["input_ids"]), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append((loss.item(), tuple(batch["attention_mask"].shape)))
    return losses


if __name__ == "__main__":
    if datasets is None:
        raise SystemExit("This script needs: pip install datasets")
    members.main(loader, train)
