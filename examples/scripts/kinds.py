"""Batches of every kind: a class of the script, parts of one memory, sparse, nested, nothing."""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import members
import torch
from torch.utils.data import DataLoader

warnings.filterwarnings("ignore", "The PyTorch API of nested tensors", UserWarning)
TYPES = (torch.bool, torch.int8, torch.uint16, torch.float16, torch.bfloat16, torch.complex64)


@dataclass
class Texts:
    """A batch as an object of the script's own."""

    numbers: torch.Tensor
    lengths: list

    def to(self, device):
        return Texts(self.numbers.to(device), self.lengths)


class Point(NamedTuple):
    """A sample that PyTorch puts together field by field."""

    place: torch.Tensor
    label: int


def objects(places):
    texts = ["x" * each for each in places]
    return Texts(torch.tensor([len(each) for each in texts]), texts)


def points(places):
    from torch.utils.data import default_collate

    return default_collate([Point(torch.tensor([float(each)]), each) for each in places])


def windows(places):
    """Windows of one series: whoever writes into one sees it in the others."""
    series = torch.arange(12.0) + places[0]
    return [series[:8], series[4:], series.reshape(3, 4).t()]


def ragged(places):
    rows = [torch.arange(each + 1.0) for each in places]
    return torch.nested.nested_tensor(rows), torch.diag(torch.tensor(places)).to_sparse()


def small(places):
    values = torch.tensor(places)
    return [values[0], values[:0], *(values.to(each) for each in TYPES)]


def good(places):
    """Nothing, where no sample of a batch is good."""
    kept = [each for each in places if each % 8 < 4]
    return torch.tensor(kept) if kept else None


COLLATED = (objects, points, windows, ragged, small, good)


def loaders():
    return {
        each.__name__: DataLoader(range(12), batch_size=4, collate_fn=each) for each in COLLATED
    }


def train(loaders):
    seen = []
    for _ in range(members.EPOCHS):
        seen += [(batch.to("cpu").numbers.tolist(), batch.lengths) for batch in loaders["objects"]]
        seen += [(type(batch).__name__, batch.label.tolist()) for batch in loaders["points"]]
        for first, second, turned in loaders["windows"]:
            first[4:].zero_()
            turned[0] = -1
            seen.append((first.tolist(), second.tolist(), turned.tolist()))
        for nested, sparse in loaders["ragged"]:
            seen.append(([each.tolist() for each in nested.unbind()], sparse.to_dense().tolist()))
        for batch in loaders["small"]:
            seen.append([(str(each.dtype), each.shape, each.tolist()) for each in batch])
        seen += [None if batch is None else batch.tolist() for batch in loaders["good"]]
    return seen


if __name__ == "__main__":
    members.main(loaders, train)
