"""What PyTorch allocates for whole trainings, without a device, beside what is predicted of them.

    python -m validation.allocated             # every program
    python -m validation.allocated --tenth     # a random tenth of them
    python -m validation.allocated --record    # every program; writes recorded.toml anew

Each program is predicted, then run as rank 0 of its devices on tensors that have sizes and no
values: the modules, the sharding, the recomputation and the optimizer of PyTorch itself. Bytes by
component (weights, gradients, optimizer state, activations, everything that passes) are held
against the prediction at the peak of the second step. A total may be off by 3 %, a component by
2 % and 0.3 GiB. The exit status is 1 if one is further off that is not listed as missed, or if
what was recorded is no longer what is allocated.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.tenth import chooser
from validation.allocated.comparing import COMPONENTS, GIB, Beside, Bytes, peak, total
from validation.allocated.predicting import predicted
from validation.allocated.program import Program
from validation.allocated.programs import MISSED, PROGRAMS
from validation.allocated.running import run

RECORDED = Path(__file__).with_name("recorded.toml")
SAME = 0.001
"""By how much what is allocated may differ from what was recorded: blocks, releases of PyTorch."""


def main() -> int:
    """Runs programs and prints them beside their predictions; 1 if one is further off."""
    arguments = sys.argv[1:]
    records = "--record" in arguments
    compared = chooser([each for each in arguments if each != "--record"])
    known = {} if records else tomllib.loads(RECORDED.read_text("utf-8"))
    found: dict[str, list[Bytes]] = {}
    wrong: list[str] = []
    errors: list[float] = []
    for program in (each for each in PROGRAMS if compared()):
        told = predicted(program)
        ran = run(program)
        found[program.name] = [peak(stage.phases) for stage in ran]
        sides = [
            Beside(allocated=there, predicted=each)
            for there, each in zip(found[program.name], told, strict=True)
        ]
        print("\n".join(lines(program, sides, held=[stage.held for stage in ran])), flush=True)
        errors += [abs(side.error) for side in sides]
        off = any(side.wrong for side in sides)
        if off != (program.name in MISSED):
            wrong.append(f"{program.name} is {'further off' if off else 'no longer missed'}")
        if known and not _same(known[program.name]["stages"], found[program.name]):
            wrong.append(f"{program.name} no longer allocates what was recorded")
    if records:
        RECORDED.write_text(written(found), encoding="utf-8")
    mean = sum(errors) / max(len(errors), 1)
    print(f"{len(found)} programs of {len(errors)} stages, mean error of a total {mean:.1%}")
    print("\n".join(wrong))
    return 1 if wrong else 0


def lines(program: Program, sides: Sequence[Beside], *, held: Sequence[int]) -> Iterator[str]:
    """A program's stages as text, with what the allocator would hold beyond blocks in use."""
    for stage, (side, segments) in enumerate(zip(sides, held, strict=True)):
        beyond = segments / total(side.allocated) - 1.0
        parts = " ".join(f"{side.allocated.get(name, 0) / GIB:6.2f}" for name in COMPONENTS)
        yield (
            f"{program.name:24} stage {stage}  {total(side.allocated) / GIB:7.2f} GiB ({parts})  "
            f"held {beyond:+4.0%}  predicted {side.error:+5.1%} {' '.join(side.wrong)}"
        )


def written(found: Mapping[str, Sequence[Bytes]]) -> str:
    """The record: bytes at the peak by component, of each stage of each program."""
    text = (
        "# Bytes at the peak of a step by component; by python -m validation.allocated --record\n"
    )
    for name, stages in found.items():
        rows = ",\n".join(
            "  { " + ", ".join(f"{each} = {int(stage.get(each, 0))}" for each in COMPONENTS) + " }"
            for stage in stages
        )
        text += f"\n[{name}]\nstages = [\n{rows},\n]\n"
    return text


def _same(known: Sequence[Bytes], found: Sequence[Bytes]) -> bool:
    """Whether totals are those that were recorded."""
    return len(known) == len(found) and all(
        abs(total(now) / total(then) - 1.0) <= SAME for then, now in zip(known, found, strict=True)
    )


if __name__ == "__main__":
    sys.exit(main())
