"""How commands are asked: about a study in a file, or about a model in one line.

The options by which questions are asked stand here once: a command takes them as a `CommandLine`.
What completes a line in a shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from foretrain.app.output import (
    AsJson,
    CoefficientsFile,
    More,
    Page,
    answered,
    check_page,
    chosen,
)
from foretrain.errors import InputError

if TYPE_CHECKING:
    from foretrain.coefficients.coefficients import Coefficients
    from foretrain.plan.study import CollectiveStudy, Study
    from foretrain.show.document import Provenance


def _models(incomplete: str) -> Iterable[str]:
    """Studies in this folder and models of the library that begin so."""
    from foretrain.workload.library.entries import entries

    files = sorted(str(each) for each in Path().glob("*.toml"))
    return [name for name in (*files, *entries()) if name.startswith(incomplete)]


def _places(incomplete: str) -> Iterable[str]:
    """Clusters and devices of the catalogue, behind the number that was typed."""
    from foretrain.study.catalogue import names

    typed = re.match(r"[0-9]+x", incomplete)
    before = typed[0] if typed else ""
    known = (*names()["clusters"], *names()["devices"])
    return [f"{before}{name}" for name in known if f"{before}{name}".startswith(incomplete)]


StudyOrModel = Annotated[
    Path,
    typer.Argument(
        metavar="STUDY",
        help="A study in TOML; files of a trainer; or a model, with --on.",
        autocompletion=_models,
    ),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="DEVICES",
        help='Without a file: "4xdgx-h100" (nodes), "8x RTX3090" (devices).',
        autocompletion=_places,
    ),
]
Batch = Annotated[int | None, typer.Option("--batch", min=1, help="Samples of a step.")]
Sequence_ = Annotated[int | None, typer.Option("--sequence", min=1, help="Tokens of a sample.")]
Image = Annotated[int | None, typer.Option("--image", min=1, help="Pixels per side of a picture.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Set a key of the study: plan.tensor=4. May be repeated."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What a line says of a question beside its study or model; what it means, its help says."""

    on: On = None
    batch: Batch = None
    sequence: Sequence_ = None
    image: Image = None
    settings: Settings = None

    @property
    def set_keys(self) -> Sequence[str]:
        """Keys of the study that are set."""
        return self.settings or ()

    @property
    def words(self) -> list[str]:
        """The same as a shell is told it."""
        said: dict[str, Any] = {
            "--on": self.on,
            "--batch": self.batch,
            "--sequence": self.sequence,
            "--image": self.image,
        }
        told = [str(word) for key, it in said.items() if it is not None for word in (key, it)]
        return [*told, *(word for each in self.set_keys for word in ("--set", each))]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """The options by which every question is asked; what they mean, their help says."""

    study: StudyOrModel
    on: On = None
    batch: Batch = None
    sequence: Sequence_ = None
    image: Image = None
    settings: Settings = None
    coefficients: CoefficientsFile = None
    as_json: AsJson = False
    html: Page = None
    more: More = False

    @property
    def said(self) -> Spoken:
        """What stands beside the study."""
        return Spoken(**{each.name: getattr(self, each.name) for each in fields(Spoken)})

    @property
    def named(self) -> str:
        """How the next command names the same question."""
        return shlex.join([str(self.study), *self.said.words])

    @property
    def known(self) -> Coefficients:
        """How well hardware and software do."""
        return chosen(self.coefficients).coefficients

    def check(self, path: Path | None = None, option: str = "--html") -> None:
        """Refuse a file that cannot be written, before the work whose answer it would hold.

        Args:
            path: of the file; that of the page if absent.
            option: that names it.

        Raises:
            InputError: it cannot.
        """
        path = self.html if option == "--html" else path
        if path is not None:
            check_page(path, self.study, option=option)

    def answered(
        self,
        question: object,
        answer: object,
        source: Provenance,
        *,
        most: int | None = None,
        named: str | None = None,
    ) -> None:
        """Show an answer as the line asks for it; at most so many lines where it asks for less."""
        answered(
            question,
            answer,
            source,
            as_json=self.as_json,
            html=self.html,
            more=self.more,
            most=most,
            named=self.named if named is None else named,
        )


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes what its first parameter holds as options, each by its name."""
    first, *own = signature(command, eval_str=True).parameters.values()
    hints = get_type_hints(first.annotation, globals(), include_extras=True)
    shared = [
        Parameter(
            each.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if each.default is MISSING else each.default,
            annotation=hints[each.name],
        )
        for each in fields(first.annotation)
    ]

    @wraps(command)
    def asked(**given: Any) -> None:  # noqa: ANN401 - of any option
        held = {each.name: given.pop(each.name) for each in shared}
        command(first.annotation(**held), **given)

    told = (each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*shared, *own))
    asked.__signature__ = signature(command).replace(parameters=[*told])  # type: ignore[attr-defined]
    asked.__annotations__ = {}
    return asked


def asked_study(study: Path, said: Spoken, *, free: bool = False) -> Study:
    """The study in a file, or that of a model which the rest of the line says.

    Args:
        study: the file, or one of a trainer, or the model.
        said: the rest of the line.
        free: whether the plan in a file of a trainer is left open, for a search.

    Raises:
        InputError: with every problem of it.
    """
    from foretrain.study.study import read_study

    found: Study = _launched(study, said, free=free) or _asked(study, said, read_study)
    return found


def asked_question(study: Path, said: Spoken) -> Study | CollectiveStudy:
    """The same; a file may ask about a transfer too.

    Raises:
        InputError: with every problem of it.
    """
    from foretrain.study.collective_study import read_question

    found: Study | CollectiveStudy = _launched(study, said) or _asked(study, said, read_question)
    return found


def _launched(study: Path, said: Spoken, *, free: bool = False) -> Study | None:
    """The study of a launch script or a configuration; None of anything else."""
    from foretrain.app.output import tell
    from foretrain.study.files import exists
    from foretrain.study.launch_files import is_launch_file, read_launch_files
    from foretrain.study.problems import told_of

    if not is_launch_file(study):
        return None
    if not exists(study):
        raise InputError(f"{study}: there is no such file.")
    from foretrain.search.import_files import import_, settings_of, with_asked

    sizes = {f"workload.{key}": it for key, it in _sizes(said).items() if it is not None}
    read = read_launch_files(study)
    with told_of(study):
        files = with_asked(read)
        settings = {**settings_of(said.set_keys), **sizes}
        found = import_(files, on=said.on or "", settings=settings)
    left = len(found.not_understood)
    few = "1 option is" if left == 1 else f"{left} options are"
    more = f"; {few} not understood: foretrain import {study}" if left else ""
    tell(f"{study}: read as {found.trainer}{more}.")
    return found.question(free=free)


def _asked(study: Path, said: Spoken, read: Callable[..., Any]) -> Any:  # noqa: ANN401 - as read
    from foretrain.study.files import exists
    from foretrain.study.settings import with_settings
    from foretrain.study.spoken import SHELL, spoken
    from foretrain.study.study import study_from
    from foretrain.workload.library.entries import known

    if said.on is not None and study.suffix == ".toml":
        raise InputError(
            f"--on {said.on}: {study} is a study, which says itself where it runs. Set that: "
            "--set cluster.name=dgx-h100 --set cluster.nodes=4."
        )
    in_file = said.on is None and (exists(study) or study.suffix == ".toml" or not said.words)
    if not in_file:
        document = spoken(
            str(study), on=said.on, batch=said.batch, sequence=said.sequence, image=said.image
        )
        return study_from(with_settings(document, said.set_keys), SHELL, folder=Path())
    if said.on is None and not exists(study) and known(str(study)) is not None:
        raise InputError(
            f"there is no file {study}; it is a model of the library. Say where and how: "
            f"{study} --on 4xdgx-h100 --batch 256 --sequence 4096."
        )
    settings = [
        *said.set_keys,
        *(f"workload.{key}={it}" for key, it in _sizes(said).items() if it is not None),
    ]
    return read(study, settings=settings) if settings else read(study)


def _sizes(said: Spoken) -> dict[str, int | None]:
    return {"global_batch": said.batch, "sequence": said.sequence, "image": said.image}
