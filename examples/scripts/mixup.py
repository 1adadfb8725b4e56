"""Mixup and cutout written into batches, a look at the first one, a loop that is left early."""

import members
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def loader():
    drawn = torch.Generator().manual_seed(0)
    return DataLoader(
        TensorDataset(torch.randn(40, 1, 8, 8, generator=drawn), torch.arange(40) % 4), batch_size=6
    )


def train(loader):
    torch.manual_seed(0)
    images, labels = next(iter(loader))  # how large are they?
    model = nn.Sequential(nn.Flatten(), nn.Linear(images[0].numel(), 4), nn.ReLU(inplace=True))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = [labels.tolist()]
    for epoch in range(members.EPOCHS):
        for step, (images, labels) in enumerate(loader):
            if epoch == 0 and step == 3:
                break
            share, other = torch.rand(()), torch.randperm(len(images))
            images.mul_(share).add_(images[other].clone(), alpha=float(1 - share))
            images[:, :, 2:4, 2:4] = 0
            outputs = model(images)
            cross = nn.functional.cross_entropy
            loss = share * cross(outputs, labels) + (1 - share) * cross(outputs, labels[other])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


if __name__ == "__main__":
    members.main(loader, train)
