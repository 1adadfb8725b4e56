"""Pictures in a folder for each class, as torchvision's ImageFolder reads them."""

import tempfile
from functools import cache
from pathlib import Path

import members
import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

SIDE = 32


@cache
def folder():
    """Twelve pictures of each of two classes."""
    place = Path(tempfile.mkdtemp())
    drawn = np.random.default_rng(0)
    for name in ("cats", "dogs"):
        (place / name).mkdir()
        for number in range(12):
            pixels = drawn.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(place / name / f"{number:03}.png")
    return place


class ImageFolder(Dataset):
    """Pictures and the numbers of their folders."""

    def __init__(self, root, transform):
        self.classes = sorted(each.name for each in root.iterdir())
        self.samples = [
            (path, label)
            for label, name in enumerate(self.classes)
            for path in sorted((root / name).iterdir())
        ]
        self.transform = transform

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        with Image.open(path) as image:
            return self.transform(image.convert("RGB")), label


def to_tensor(image):
    """As torchvision's ToTensor and Normalize(inplace=True)."""
    tensor = torch.from_numpy(np.array(image)).permute(2, 0, 1).float().div_(255)
    return tensor.sub_(0.45).div_(0.22)


def loader():
    return DataLoader(ImageFolder(folder(), to_tensor), batch_size=5, num_workers=2)


def train(loader):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 5, stride=4), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(4 * 49, 2)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(members.EPOCHS):
        for images, labels in loader:
            images.mul_(0.5)  # a batch is the script's own
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


if __name__ == "__main__":
    members.main(loader, train)
