"""The loop of accelerate's own page: what it is given is prepared, and the loop calls it."""

import members
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

try:
    import accelerate
except ModuleNotFoundError:
    accelerate = None


def loader():
    drawn = torch.Generator().manual_seed(0)
    return DataLoader(TensorDataset(torch.randn(30, 5, generator=drawn), torch.arange(30) % 3), 4)


def train(loader):
    torch.manual_seed(0)
    accelerator = accelerate.Accelerator(cpu=True)
    model = nn.Linear(5, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses = []
    for _ in range(members.EPOCHS):
        for inputs, labels in loader:
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            losses.append(loss.item())
    return losses


if __name__ == "__main__":
    if accelerate is None:
        raise SystemExit("This script needs: pip install accelerate")
    members.main(loader, train)
