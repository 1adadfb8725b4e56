"""Plans of published runs: the table is sound, and gaps are what they should be."""

import csv
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests import builders
from tests.examples import every, slow
from validation.decisions import (
    LIMIT,
    TABLE,
    Answer,
    Comparison,
    answer,
    differences,
    lines,
    read_runs,
    table,
    with_headroom,
)

from foretrain.errors import InputError

RUNS = {run.name: run for run in read_runs(TABLE)}
PAGE = Path(__file__).parents[2] / "docs/background/decisions-of-published-runs.md"
QUICK = ("gpt-3-175b-on-64", "mt-nlg-530b-on-280", "megatron-1t-on-512")
COLUMNS = {
    "tp": "tensor",
    "pp": "pipeline",
    "vpp": "interleaving",
    "dp": "data",
    "mbs": "micro_batch",
}


@cache
def answer_of(name: str) -> Answer:
    """What is found of a run, which takes some seconds."""
    return answer(RUNS[name])


def comparison(gap: float) -> Comparison:
    return Comparison(
        space="here", published=builders.estimate(1.0 + gap), best=builders.estimate()
    )


def answered(software: float, *reasons: float) -> Answer:
    return Answer(
        trainer=None,
        run=RUNS["bloom-176b"],
        default=comparison(0.5),
        software=comparison(software),
        reasons=tuple(map(comparison, reasons)),
        rule=builders.estimate(1.2),
    )


def test_the_runs_that_must_be_shown_are_there():
    told = " ".join(RUNS)
    for name in ("llama-3-405b", "mt-nlg-530b", "megatron-1t", "bloom-176b", "gpt-3-175b"):
        assert name in told


def test_rows_that_the_table_names_say_the_same():
    measured = Path(TABLE).with_name("llm_training.csv")
    rows = {row["id"]: row for row in csv.DictReader(measured.read_text().splitlines())}
    named = {
        name: rows[found[0]]
        for name, run in RUNS.items()
        if (found := re.findall(r"row ([\w-]+-\d{4})", run.source))
    }
    assert len(named) >= 7
    for name, row in named.items():
        run = RUNS[name]
        assert run.study({}).cluster.devices == int(row["gpus_total"])
        stated = {key: row[column] for column, key in COLUMNS.items() if row[column]}
        for key, value in stated.items():
            assert run.published.get(key, int(value)) == int(value), (name, key)
        if row["gbs"]:
            assert run.study({}).workload.global_batch == int(row["gbs"])


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_published_plan_is_among_what_its_software_could_do(run):
    for key, value in run.published.items():
        allowed = run.software.get(key, value)
        assert value in (allowed if isinstance(allowed, list) else [allowed])


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_every_reason_can_be_checked_and_has_a_kind(run):
    for reason in run.reasons:
        assert reason.plan or reason.headroom or reason.coefficients
        assert reason.kind in ("software", "memory", "practice", "model")


def test_a_gap_is_accounted_for_if_it_is_small_or_a_reason_makes_it_so():
    assert answered(LIMIT / 2).accounted_for
    assert answered(0.3, 0.2, LIMIT / 2).accounted_for
    assert not answered(0.3, 0.2).accounted_for
    assert "UNEXPLAINED" in "\n".join(table([answered(0.3, 0.2)]))
    assert "UNEXPLAINED" not in "\n".join(table([answered(0.3, 0.0)]))


def test_a_large_gap_tells_which_parts_differ():
    assert "differs in" in "\n".join(lines(answered(0.3)))
    assert "forward" in differences(comparison(0.3))
    assert not differences(comparison(0.0))


def test_headroom_leaves_room_for_the_upper_end_of_the_interval():
    like = builders.estimate()
    study = builders.study()
    left = with_headroom(study, like).cluster.device.memory
    assert left * like.memory.high == pytest.approx(study.cluster.device.memory * like.memory.total)


@slow
@pytest.mark.parametrize("name", ["gpt-3-175b-on-64", "megatron-1t-on-512"])
def test_a_reason_never_makes_a_gap_larger(name):
    found = answer_of(name)
    gaps = [found.software.gap, found.reasons[-1].gap]
    assert 0.05 > gaps[0] > gaps[1] >= 0.0


def test_a_pipeline_of_interleaved_chunks_cannot_run_the_batch_with_which_gpt_3_starts():
    run = RUNS["gpt-3-175b-on-1024"]
    started = {**run.question, "workload": {**run.question["workload"], "global_batch": 16}}
    begun = replace(run, question=started)
    plain = {**run.software, **run.published}
    assert begun.study(plain)
    with pytest.raises(InputError, match="interleaving"):
        begun.study({**plain, "interleaving": 3})


@slow
@pytest.mark.parametrize("name", every(3, QUICK, slow=1))
def test_the_page_shows_what_is_found(name):
    row = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| {name} |"))
    shown = [cell.strip() for cell in row.split("|") if cell.strip()]
    assert shown == list(table([answer_of(name)]))[1].split()


def test_the_page_has_every_run():
    shown = PAGE.read_text()
    assert all(f"| {name} |" in shown for name in RUNS)
