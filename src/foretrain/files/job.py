"""The section [job] of a study: how a training is started, saved and restarted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from foretrain.errors import InputError, nearest
from foretrain.files.keys import Reads
from foretrain.files.problems import Problems, validated
from foretrain.plan.job import JobPlan, Mode, Writes
from foretrain.units import SECONDS, as_written

WORDS: Final = tuple(word.value for word in Writes)


def read_writes(value: object) -> float | Writes:
    """When checkpoints are written: a time such as "30 min", or one of `Writes`.

    Raises:
        InputError: if it is neither, or a time of 0.
    """
    if isinstance(value, str) and value.strip().isalpha():
        if value not in WORDS:
            raise InputError(
                f"unknown {as_written(value)}.{nearest(value, WORDS)} Known: {', '.join(WORDS)}, "
                'or a time such as "30 min".'
            )
        return Writes(value)
    seconds = SECONDS.read(value)
    if seconds == 0:
        raise InputError(f'{as_written(value)} leaves no time to train; "never" writes none.')
    return seconds


WHEN: Final[Mapping[str, object]] = {
    "type": "string",
    "description": f'a time such as "30 min", or {" or ".join(WORDS)}',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSection:
    """The section as it is written; `JobPlan` has the meanings."""

    checkpoint: Annotated[float | Writes, Reads(read_writes, WHEN)] = Writes.OPTIMAL
    checkpoint_mode: Mode = Mode.BLOCKING
    restart: Annotated[float, SECONDS] | None = None
    start: Annotated[float, SECONDS] | None = None


def read_job(section: Mapping[str, object], problems: Problems) -> JobPlan | None:
    """How a study's job is run; None where a mistake, noted in `problems`, hides it."""
    found = validated(JobSection, section, path="job", problems=problems)
    if found is None:
        return None
    return JobPlan(
        checkpoint=found.checkpoint,
        mode=found.checkpoint_mode,
        restart=found.restart,
        start=found.start,
    )
