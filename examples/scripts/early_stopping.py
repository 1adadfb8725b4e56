"""Two loaders in one script: training, and a validation that says when to stop."""

import multiprocessing
import sys
import uuid

from foretrain import attach, share
from foretrain.errors import missing

try:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
except ModuleNotFoundError:
    sys.exit(missing("torch", what="this example"))

EPOCHS = 6


def loaders():
    drawn = torch.Generator().manual_seed(0)
    inputs = torch.randn(48, 4, generator=drawn)
    labels = (inputs.sum(1) > 0).long()
    training = DataLoader(TensorDataset(inputs[:32], labels[:32]), batch_size=8)
    return training, DataLoader(TensorDataset(inputs[32:], labels[32:]), batch_size=16)


def train(training, validation, rate):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    history = []
    for _ in range(EPOCHS):
        for inputs, labels in training:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
        with torch.no_grad():
            right = sum((model(x).argmax(1) == y).sum().item() for x, y in validation)
        if len(history) > 1 and right <= history[-1]:
            break  # the other members go on
        history.append(right)
    return history, model.weight.tolist()


def member(names, rate, results):
    with attach(names[0], model=str(rate)) as training, attach(names[1], model=str(rate)) as held:
        results.put((rate, train(training, held, rate)))


def trained(rates):
    """What every member came to, over two streams."""
    training, validation = loaders()
    names = [f"{kind}-{uuid.uuid4().hex[:12]}" for kind in ("training", "validation")]
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["torch"])
    results = server.SimpleQueue()
    options = {"epochs": EPOCHS, "readers": len(rates)}
    with share(training, name=names[0], **options), share(validation, name=names[1], **options):
        started = [server.Process(target=member, args=(names, rate, results)) for rate in rates]
        for each in started:
            each.start()
        found = dict(results.get() for _ in rates)
        for each in started:
            each.join()
    return [found[rate] for rate in rates]


RATES = (0.001, 0.1, 1.0)

if __name__ == "__main__":
    if sys.argv[1:] == ["private"]:
        print([train(*loaders(), rate) for rate in RATES])
    else:
        print(trained(RATES))
