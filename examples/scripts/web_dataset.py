"""Shards of samples in tar archives, as WebDataset lays them out; its pipeline makes batches."""

import io
import json
import tarfile
import tempfile
from functools import cache
from pathlib import Path

import members
import numpy as np
import torch

try:
    import webdataset
except ModuleNotFoundError:
    webdataset = None


@cache
def shards():
    """Three archives of ten samples: an array and a document for each key."""
    place = Path(tempfile.mkdtemp())
    for shard in range(3):
        with tarfile.open(place / f"{shard}.tar", "w") as archive:
            for number in range(10 * shard, 10 * shard + 10):
                array = io.BytesIO()
                np.save(array, np.full((2, 3), number, np.float32))
                document = json.dumps({"label": number % 3}).encode()
                for name, content in (("npy", array.getvalue()), ("json", document)):
                    entry = tarfile.TarInfo(f"{number:04}.{name}")
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))
    return [str(each) for each in sorted(place.iterdir())]


def pair(sample):
    array, document = sample
    return torch.from_numpy(array), document["label"]


def loader():
    data = webdataset.WebDataset(shards(), shardshuffle=False)
    data = data.decode().to_tuple("npy", "json").map(pair).batched(4)
    return webdataset.WebLoader(data, batch_size=None, num_workers=1)


def train(loader):
    return [
        (arrays.sum().item(), labels.tolist())
        for _ in range(members.EPOCHS)
        for arrays, labels in loader
    ]


if __name__ == "__main__":
    if webdataset is None:
        raise SystemExit("This script needs: pip install webdataset")
    members.main(loader, train, yields="batches")
