"""A LightningModule, whose Trainer goes through the loader."""

import logging
import warnings

import members
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

try:
    import lightning
except ModuleNotFoundError:
    lightning = None


def loader():
    drawn = torch.Generator().manual_seed(0)
    return DataLoader(TensorDataset(torch.randn(30, 5, generator=drawn), torch.arange(30) % 3), 4)


def module():
    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer, self.losses = nn.Linear(5, 3), []

        def training_step(self, batch, number):
            inputs, labels = batch
            loss = nn.functional.cross_entropy(self.layer(inputs), labels)
            self.losses.append(loss.item())
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    return Net()


def train(loader):
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    model = module()
    trainer = lightning.Trainer(
        max_epochs=members.EPOCHS,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, train_dataloaders=loader)
    return model.losses


if __name__ == "__main__":
    if lightning is None:
        raise SystemExit("This script needs: pip install lightning")
    members.main(loader, train)
