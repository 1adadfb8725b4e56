"""What is shown of an ensemble, before, during and after its run."""

import io
from dataclasses import replace

from rich.console import Console

from foretrain.ensemble.result import (
    Compared,
    EnsembleRan,
    MemberNow,
    MemberResult,
    MemberState,
    Snapshot,
)
from foretrain.ensemble.train import ensemble_run_report, live
from foretrain.measured.ensemble_study import Bottleneck, Input, Stage
from foretrain.show import terminal
from foretrain.show.terminal import blocks

SLOW = Bottleneck(stage=Stage.DECODER, share=0.9, evidence="workers decode", remedy="More workers.")


def drawn(report):
    paper = io.StringIO()
    Console(file=paper, width=100, no_color=True).print(report)
    return " ".join(paper.getvalue().split())


def member(name, *, state=MemberState.DONE, loss=0.5, **more):
    return MemberResult(
        name=name,
        state=state,
        epochs=3,
        samples=300,
        seconds=2.0,
        rate=150.0,
        wait=0.25,
        loss=loss,
        cpu=0.5,
        **more,
    )


def ran(*members, compared=(), complete=True, folder="", warnings=()):
    return EnsembleRan(
        name="rates",
        input=Input.SHARED,
        why="Sharing pays.",
        code=("m:b",),
        members=members,
        seconds=2.0,
        cpu=3.0,
        memory=2.0**30,
        fill=0.5,
        bottleneck=SLOW,
        compared=compared,
        resumed=False,
        complete=complete,
        folder=folder,
        warnings=warnings,
    )


def drawn_run(answer):
    return drawn(terminal.drawn(ensemble_run_report(None, answer)))


def test_a_look_shows_every_member_and_the_stage_that_sets_the_pace():
    now = MemberNow(
        name="a", state=MemberState.TRAINING, epoch=1, samples=1200, rate=99.6, loss=0.125
    )
    shown = drawn(blocks(live(Snapshot(seconds=9.0, members=(now,), fill=0.5, bottleneck=SLOW))))
    assert "a training 1 1,200 100 0 0.0 % 0.125" in shown
    assert "9 s, 50 % of the stream's slots are full; the decoder sets the pace" in shown


def test_the_end_shows_results_and_predictions_beside_them():
    both = Compared(quantity="time", unit="s", predicted=1.0, measured=2.0, error=-0.5)
    shown = drawn_run(ran(member("a"), compared=(both,)))
    for part in ("a done 3 300 150 25 % 500 ms 0.5", "time 1 s 2 s -50 %", "1 GiB", "m:b"):
        assert part in shown
    assert "set by the decoder (workers decode. More workers.)" in shown


def test_a_run_that_was_over_at_once_does_not_claim_to_have_needed_no_memory():
    shown = drawn_run(replace(ran(member("a")), memory=None))
    assert "Memory not seen" in shown


def test_what_failed_was_lost_or_can_go_on_is_told():
    failed = member("b", state=MemberState.FAILED, loss=None, reason="no such layer", dropped=7)
    text = drawn_run(ran(member("a"), failed, complete=False, folder="kept"))
    assert "b: no such layer" in text
    assert "lost" in text
    assert "run it again with --resume (kept)" in text
