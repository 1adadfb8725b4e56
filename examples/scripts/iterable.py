"""Lines of a log that is read as it comes, dealt out among a loader's workers."""

import members
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Lines(IterableDataset):
    """Every line is a sample; each worker takes its share of them."""

    def __iter__(self):
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        for number in range(first, 30, step):
            yield torch.tensor([number, number**2], dtype=torch.float32)


def loader():
    return DataLoader(Lines(), batch_size=4, num_workers=2)


def train(loader):
    return [batch.tolist() for _ in range(members.EPOCHS) for batch in loader]


if __name__ == "__main__":
    members.main(loader, train)
