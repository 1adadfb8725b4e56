"""A trainee: model, optimizer and loss of one member, on its device, and one step of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from foretrain.ensemble.run.home import function
from foretrain.errors import InputError
from foretrain.measured.ensemble_study import Code, MemberOptimizer, Recipe

if TYPE_CHECKING:
    import torch


OPTIMIZERS: Final = {
    "sgd": "SGD",
    "adam": "Adam",
    "adamw": "AdamW",
    "rmsprop": "RMSprop",
    "adagrad": "Adagrad",
}
"""Names in a study, and the classes of `torch.optim`."""


@dataclass(frozen=True, slots=True)
class Trainee:
    """What one member trains.

    Attributes:
        model: on its device.
        optimizer: of its parameters.
        loss: of the model and a batch.
        device: where it is.
    """

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    loss: Callable[[torch.nn.Module, Any], torch.Tensor]
    device: torch.device

    def step(self, batch: object) -> torch.Tensor:
        """Train on one batch; its loss stays on the device."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.model, moved(batch, self.device))
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def state_dict(self) -> dict[str, Any]:
        """Weights, optimizer and generators, as `load_state_dict` takes them."""
        import torch

        on_device = self.device.type == "cuda"
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": torch.get_rng_state(),
            "device_generator": torch.cuda.get_rng_state(self.device) if on_device else None,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a state was taken."""
        import torch

        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["generator"])
        if state["device_generator"] is not None and self.device.type == "cuda":
            torch.cuda.set_rng_state(state["device_generator"], self.device)


def trainee(recipe: Recipe, folder: str, *, seed: int) -> Trainee:
    """A member before its first step: equal recipes and seeds start from equal weights.

    Args:
        recipe: how it is trained.
        folder: of the study's file.
        seed: of its weights.

    Raises:
        InputError: the study's code does not make a model, an optimizer or a loss of it.
    """
    import torch

    torch.manual_seed(seed)
    try:
        model = function(recipe.model, folder)(**recipe.options)
    except TypeError as error:
        told = f"{recipe.model} with options {dict(recipe.options)}"
        raise InputError(f"{told}: {error}") from error
    if not isinstance(model, torch.nn.Module):
        raise InputError(
            f"{recipe.name}: {recipe.model} returned a {type(model).__name__}; a torch.nn.Module"
            " is wanted."
        )
    place = device_of(recipe.device)
    model = model.to(place).train()
    optimizer = _optimizer(recipe.optimizer, model, folder)
    return Trainee(model, optimizer, _loss(recipe.loss, folder), place)


def device_of(name: str) -> torch.device:
    """The device of a name; "auto" is a GPU where there is one.

    Raises:
        InputError: this machine has no such device.
    """
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"device '{name}' is not known. Write cpu, auto or cuda:0.") from error
    there = torch.cuda.device_count()
    if device.type == "cuda" and (device.index or 0) >= there:
        raise InputError(f"device '{name}': this machine has {there} GPUs that torch can use.")
    return device


def moved(batch: object, device: torch.device) -> Any:
    """A batch with all its tensors on a device."""
    import torch

    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, Mapping):
        return {key: moved(value, device) for key, value in batch.items()}
    if isinstance(batch, tuple | list):
        return [moved(value, device) for value in batch]
    return batch


def on_device(transform: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    """A transform of samples that works on the device of a name.

    Random numbers that it draws there depend, like those on the CPU, on the sample alone.
    """
    place = device_of(name)
    if place.type == "cpu":
        return transform

    def there(sample: Any) -> Any:
        import torch

        torch.cuda.manual_seed(torch.initial_seed())
        return transform(moved(sample, place))

    return there


def size_of(batch: object) -> int:
    """Samples in a batch."""
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    if isinstance(batch, tuple | list):
        return size_of(batch[0])
    return len(batch) if hasattr(batch, "__len__") else 1


def _optimizer(
    chosen: MemberOptimizer, model: torch.nn.Module, folder: str
) -> torch.optim.Optimizer:
    import torch

    name = chosen.name
    make = function(name, folder) if isinstance(name, Code) else None
    make = make or getattr(torch.optim, OPTIMIZERS[str(name)])
    try:
        made = make(model.parameters(), **chosen.options)
    except (TypeError, ValueError) as error:
        raise InputError(f"optimizer {name}: {error}") from error
    if not isinstance(made, torch.optim.Optimizer):
        raise InputError(f"optimizer {name}: returned a {type(made).__name__}.")
    return made


def _loss(chosen: str | Code, folder: str) -> Callable[[torch.nn.Module, Any], torch.Tensor]:
    import torch

    if isinstance(chosen, Code):
        return function(chosen, folder)
    measure = getattr(torch.nn.functional, chosen)

    def loss(model: torch.nn.Module, batch: Any) -> torch.Tensor:
        given, wanted = batch
        return measure(model(given), wanted)

    return loss
