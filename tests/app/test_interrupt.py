"""Ctrl-C at random moments: always a valid answer, and a gap that the whole search confirms.

Only the real program tells, on a terminal: its first line there says that the search has begun. The
slow profile tries fifty moments for each question, five where it is a random tenth; `-s` shows what
came of each.
"""

import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from threading import Thread
from time import monotonic, sleep

import pytest
from tests.app.test_main import ENVIRONMENT
from tests.examples import MORE, TENTH, slow

from foretrain.search.search import search
from foretrain.step.estimate import estimate
from foretrain.study.study import study_from

pty = pytest.importorskip("pty", reason="needs a terminal")

MOMENTS = (5 if TENTH else 50) if MORE > 1 else 1
TIMED = 2 if MORE > 1 else 1
"""Runs that nobody disturbs: their time is when interrupts come."""

SEED = int(os.environ.get("INTERRUPT_SEED", random.randrange(10**6)))
TOGETHER = 0.02
"""Seconds between an interrupt and its echo."""

GPT = {
    "workload": {"model": "gpt-3-175b", "global_batch": 1536, "sequence": 2048},
    "cluster": {"name": "dgx-a100", "nodes": 64},
    "plan": {"tensor": [4, 8]},
}
TENSORS = GPT if MORE > 1 else {**GPT, "plan": {"tensor": [8]}}
CUTS = {**GPT, "plan": {"cut": ["even", "balanced"], "pipeline": [4, 8, 12]}}
LLAMA = {
    "workload": {"model": "llama-3-405b", "global_batch": 2048, "sequence": 8192},
    "cluster": {"name": "dgx-h100", "nodes": {"least": 1, "most": 2048 if MORE > 1 else 512}},
}
QUESTIONS = {
    "GPT-3, bounded": (GPT, []),
    "GPT-3, exhaustive": (TENSORS, ["--exhaustive"]),
    "GPT-3 with balanced cuts, bounded": (CUTS, []),
    "Llama-3 on up to 4,096 or 16,384 devices, bounded": (LLAMA, []),
}
NAMES = [*QUESTIONS] if MORE > 1 else [*QUESTIONS][-1:]


@dataclass(frozen=True, kw_only=True)
class Ended:
    code: int
    out: str
    seconds: float


def toml(document):
    """The sections of a study as text."""
    sections = []
    for section, keys in document.items():
        lines = [f"{key} = {inline(value)}" for key, value in keys.items()]
        sections.append("\n".join([f"[{section}]", *lines]))
    return "\n".join(sections)


def inline(value):
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {inline(each)}' for key, each in value.items())} }}"
    return json.dumps(value)


def program(study, *options, moments=()):
    """Run a search on a terminal and interrupt it so many seconds after it has begun."""
    ours, its = pty.openpty()
    command = [sys.executable, "-m", "foretrain", "search", str(study), "--json", *options]
    environment = {**ENVIRONMENT, "TERM": "xterm"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=its, text=True
    ) as running:
        os.close(its)
        os.read(ours, 1)
        begun = monotonic()
        Thread(target=drain, args=(ours,), daemon=True).start()
        answer = Thread(target=interrupt, args=(running, begun, moments))
        answer.start()
        out = running.communicate(timeout=600)[0]
        seconds = monotonic() - begun
        answer.join()
    return Ended(code=running.returncode, out=out, seconds=seconds)


def drain(terminal):
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        os.close(terminal)


def interrupt(running, begun, moments):
    for moment in moments:
        sleep(max(0.0, begun + moment - monotonic()))
        running.send_signal(signal.SIGINT)


@cache
def whole(name):
    """What the search answers that nobody interrupts."""
    document, _ = QUESTIONS[name]
    return search(study_from(document, name))


def closed_form(answer):
    """Of the best plan by the closed form."""
    return min(each["estimate"]["closed_form"] for each in answer["ranking"])


def alone(document, best):
    """The estimate of a plan that a user would write into the study."""
    cluster = {**document["cluster"], "nodes": best["nodes"]}
    return estimate(study_from({**document, "cluster": cluster, "plan": best["plan"]}, "alone"))


@slow
@pytest.mark.parametrize("name", NAMES)
def test_interrupt_is_always_answered_with_a_gap_that_the_whole_search_confirms(name, tmp_path):
    document, options = QUESTIONS[name]
    study = tmp_path / "study.toml"
    study.write_text(toml(document))
    chance = random.Random(f"{SEED} {name}")
    undisturbed = min(program(study, *options).seconds for _ in range(TIMED))
    tell(f"\n{name}: {undisturbed:.1f} s undisturbed, INTERRUPT_SEED={SEED}")
    for _ in range(MOMENTS):
        moment = chance.uniform(0.0, undisturbed)
        echo = [moment + TOGETHER] * chance.randrange(2)
        ended = program(study, *options, moments=[moment, *echo])
        assert ended.code == 0, (SEED, moment)
        answer = json.loads(ended.out)
        told = f"{ended.seconds:5.2f} s, {answer['unseen']:>12,} unseen, gap {answer['gap']:.4f}"
        tell(f"  at {moment:5.2f} s: answered at {told}")
        confirm(name, answer)


def tell(line):
    """For who asks with `-s`."""
    sys.stdout.write(f"{line}\n")


def confirm(name, answer):
    """Hold an answer against the whole search."""
    full = whole(name)
    found, least = closed_form(answer), min(each.estimate.closed_form for each in full.ranking)
    assert least <= found
    assert (1.0 - answer["gap"]) * found <= least * (1 + 1e-12)
    assert answer["proven_optimal"] == (answer["gap"] == 0.0)
    assert answer["proven_optimal"] or answer["unseen"]
    seen = answer["priced"] + answer["excluded_by_bound"] + sum(answer["rejected"].values())
    assert seen + answer["unseen"] == answer["space"] == full.space
    assert alone(QUESTIONS[name][0], answer["best"]).fits
    confirm_map(answer, full)


def confirm_map(answer, full):
    """No cell of the map hides a plan that is better than the map says."""
    best = {(cell.tensor, cell.pipeline): cell.best for cell in full.cells}
    assert sum(cell["plans"] for cell in answer["cells"]) == full.space
    for cell in answer["cells"]:
        known = [value for value in (cell["best"], cell["bound"]) if value is not None]
        there = best[cell["tensor"], cell["pipeline"]]
        assert there is None or min(known) <= there * (1 + 1e-12)
