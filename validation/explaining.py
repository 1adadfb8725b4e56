"""Explanations of the fifteen ordinary questions: sums, gains and evidence, printed to be read.

    python -m validation.explaining

What a search proposes on each of `validation.questions` is explained. The waterfall must add up to
the step to the last bit, each lever's gain be the difference of two estimates, each finding name a
figure. The exit status is 1 if something does not; a question of which no plan is safe must say
what would fit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import accumulate
from time import process_time

from validation.questions import questions

from foretrain.app.output import lines_of
from foretrain.errors import NoPlanFits
from foretrain.search.explain.explain import Explained, explain
from foretrain.step.estimate import estimate

LINES = 40


def faults(answer: Explained) -> Iterator[str]:
    """What is wrong with an explanation."""
    here = answer.estimate
    sums = accumulate(fall.seconds for fall in answer.waterfall)
    if [*sums] != [fall.until for fall in answer.waterfall]:
        yield "the waterfall does not add up"
    if answer.waterfall[-1].until != here.step_time:
        yield "the waterfall does not end at the step"
    if nameless := [fall.name for fall in answer.waterfall if not fall.cause]:
        yield f"parts without a cause: {', '.join(nameless)}"
    for lever in answer.levers:
        there = estimate(lever.question)
        gained = here.step_time - there.step_time, here.memory.total - there.memory.total
        if gained != (lever.time, lever.memory):
            yield f"{lever.change} gains what two estimates do not say"
    for found in answer.findings:
        if not any(each.isdigit() for each in found.evidence):
            yield f"finding {found.id} names no evidence"


def main() -> int:
    """Print every explanation; 1 if something is wrong with one."""
    wrong = []
    for name, study in questions():
        start = process_time()
        print(f"\n== {name}")
        try:
            answer = explain(study)
        except NoPlanFits as error:
            print(error)
            if "What would fit" not in str(error):
                wrong.append(f"{name}: nothing is said that would fit")
            continue
        taken = process_time() - start
        print("\n".join(lines_of(study, answer, most=LINES)))
        print(f"{len(answer.levers)} levers, {len(answer.findings)} finding(s), {taken:.1f} s")
        wrong += [f"{name}: {each}" for each in faults(answer)]
    print("\n".join(["", *wrong]) if wrong else "\nevery sum, gain and finding holds")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
