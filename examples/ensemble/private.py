"""Which learning rate is best? Eight models, each with a loader of its own."""

import multiprocessing
import sys

import pictures
import torch
from torch.utils.data import DataLoader

RATES = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]
EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 4


def train(data, rate):
    torch.manual_seed(0)
    loader = DataLoader(data, batch_size=24, shuffle=True, num_workers=1)
    model = pictures.build()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    for _ in range(EPOCHS):
        total = 0.0
        for images, kinds in loader:
            loss = torch.nn.functional.cross_entropy(model(images), kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(kinds)
    print(f"rate {rate}: loss {total / len(data):.3f}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    data = pictures.Pictures()
    fork = multiprocessing.get_context("fork")
    models = [fork.Process(target=train, args=(data, rate)) for rate in RATES]
    for model in models:
        model.start()
    for model in models:
        model.join()
