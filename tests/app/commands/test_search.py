"""`foretrain search`."""

import json
import os
import signal
from dataclasses import replace
from importlib import import_module

import pytest
from tests import builders

from foretrain.app.progress import progress, stop_on_interrupt
from foretrain.search.result import Verdict, WhyNot


def test_json_stands_alone_on_stdout(foretrain, study):
    ended = foretrain("search", study, "--json", "--keep", 3)
    answer = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert len(answer["plans"]) == 3


def test_keep_must_be_at_least_1(foretrain, study):
    assert foretrain("search", study, "--keep", 0).code == 2


def test_page_is_written_and_named_on_stderr(foretrain, study, tmp_path):
    page = tmp_path / "page.html"
    ended = foretrain("search", study, "--html", page)
    assert ended.code == 0
    assert str(page) in ended.err
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_answer_is_shown_though_the_page_finds_no_room(foretrain, study, tmp_path, full_disk):
    page = tmp_path / "page.html"
    page.write_text("as it was")
    with full_disk():
        ended = foretrain("search", study, "--html", page, "--json")
    assert ended.code == 1
    assert json.loads(ended.out)["best"]
    assert ended.err == f"error: {page} cannot be written: File too large.\n"
    assert page.read_text() == "as it was"


@pytest.mark.parametrize(
    ("page", "told"), [("no/page.html", "there is no folder"), (".", "folder")]
)
def test_page_that_cannot_be_written_is_an_error_before_the_search(
    foretrain, study, tmp_path, monkeypatch, page, told
):
    monkeypatch.setattr(import_module("foretrain.search.search"), "search", None)
    ended = foretrain("search", study, "--html", tmp_path / page)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"error: --html {tmp_path / page}")
    assert told in ended.err


@pytest.mark.parametrize("name", ["question.toml", "./question.toml", "other.toml"])
def test_page_never_replaces_the_study(foretrain, study, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    question = tmp_path / "question.toml"
    question.write_text("as it was")
    (tmp_path / "other.toml").symlink_to(question)
    ended = foretrain("search", question, "--html", name)
    assert (ended.code, ended.out) == (1, "")
    assert "is the study itself" in ended.err
    assert question.read_text() == "as it was"


def test_interrupted_search_answers_with_what_was_found(foretrain, study, monkeypatch):
    def interrupted(study, *, keep, exhaustive, progress, stop, **_):
        assert not stop()
        os.kill(os.getpid(), signal.SIGINT)
        assert stop()
        return builders.search_result(keep=keep, proven_optimal=False, unseen=10, gap=0.2)

    monkeypatch.setattr(import_module("foretrain.search.search"), "search", interrupted)
    ended = foretrain("search", study, "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["proven_optimal"] is False
    assert "cut short" in ended.err


def test_second_interrupt_ends_the_search(foretrain, study, monkeypatch):
    def stubborn(study, *, keep, exhaustive, progress, stop, **_):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("foretrain.app.progress.TOGETHER", 0.0)
    monkeypatch.setattr(import_module("foretrain.search.search"), "search", stubborn)
    ended = foretrain("search", study)
    assert (ended.code, ended.out, ended.err) == (130, "", "")


def test_interrupt_that_arrives_twice_is_one():
    with stop_on_interrupt() as stop:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
        assert stop()


def test_answer_that_is_being_written_is_not_lost_to_an_interrupt(foretrain, study, monkeypatch):
    def late(*_arguments, **_named):
        os.kill(os.getpid(), signal.SIGINT)
        return builders.provenance()

    monkeypatch.setattr("foretrain.show.document.of_study", late)
    ended = foretrain("search", study, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out)["proven_optimal"] is True


@pytest.mark.parametrize(("options", "wanted"), [([], False), (["--exhaustive"], True)])
def test_search_is_exhaustive_only_on_request(foretrain, study, monkeypatch, options, wanted):
    def answered(study, *, keep, exhaustive, progress, stop, **_):
        assert exhaustive is wanted
        return builders.search_result(keep=keep)

    monkeypatch.setattr(import_module("foretrain.search.search"), "search", answered)
    assert foretrain("search", study, *options).code == 0


def test_interrupts_are_as_before_after_a_search():
    before = signal.getsignal(signal.SIGINT)
    with stop_on_interrupt() as stop:
        assert not stop()
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_is_silent_where_stderr_is_no_terminal(capsys):
    with progress(lambda: False) as tell:
        assert tell is None
    assert capsys.readouterr().err == ""


def test_progress_tells_share_best_and_gap_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    pressed = []
    with progress(lambda: bool(pressed)) as tell:
        tell(builders.progress(settled=430, space=1000))
        pressed.append(True)
    told = capsys.readouterr()
    assert told.out == ""
    assert "43 %" in told.err
    assert "best so far 10.9 s, at most 3.1 % better exists: tp8" in told.err
    assert "Ctrl-C: stopping" in told.err


def test_both_faces_of_the_same_answer_have_the_same_fingerprint(foretrain, study, tmp_path):
    page = tmp_path / "page.html"
    ended = foretrain("search", study, "--json", "--html", page)
    assert json.loads(ended.out)["inputs"] in page.read_text(encoding="utf-8")


def test_doubts_are_answered_below_the_answer(foretrain, study, monkeypatch):
    def answered(study, *, keep, why_not, **_):
        found = (
            WhyNot(asked=text, verdict=Verdict.ILLEGAL, rules=("plan.tensor: 3 is odd.",))
            for text in why_not
        )
        return replace(builders.search_result(keep=keep), why_not=tuple(found))

    monkeypatch.setattr(import_module("foretrain.search.search"), "search", answered)
    ended = foretrain("search", study, "--why-not", "tp3", "--why-not", "tensor=5")
    assert ended.out.index("Why not tp3?") < ended.out.index("Why not tensor=5?")
    assert "Why not tp3?\nIt is not legal: plan.tensor: 3 is odd." in ended.out
    told = json.loads(foretrain("search", study, "--json", "--why-not", "tp3").out)
    assert [each["verdict"] for each in told["why_not"]] == ["not legal"]


def test_doubt_that_cannot_be_read_is_refused_before_the_search(foretrain, study, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr("foretrain.study.study.read_study", lambda path: builders.study())
    monkeypatch.setattr(import_module("foretrain.search.search"), "best_plans", None)
    ended = foretrain("search", study, "--why-not", "tensr=3")
    assert ended.code == 1
    assert ended.err.startswith(
        "error: study.toml: why_not: plan.tensr: unknown key. Did you mean 'tensor'?"
    )


LARGEST = """
[workload]
model = "llama-3-8b"
global_batch = 16
sequence = 4096

[cluster]
name = "dgx-h100"
nodes = 1

[plan]
context = [1, 2]
recompute = "full"
sharding = "parameters"

[search]
maximise = "{maximise}"
"""


@pytest.mark.parametrize(
    ("maximise", "title"),
    [
        ("micro_batch", "Largest micro-batch that fits: 16 samples"),
        ("sequence", "Longest sequence that fits: "),
        ("parameters", "Largest model that fits: "),
    ],
)
def test_study_that_maximises_is_answered_with_the_largest(foretrain, tmp_path, maximise, title):
    study = tmp_path / "largest.toml"
    study.write_text(LARGEST.format(maximise=maximise))
    page = tmp_path / "page.html"
    told = foretrain("search", study, "--html", page)
    assert (told.code, told.out.startswith(title)) == (0, True)
    assert title in page.read_text(encoding="utf-8")
    answer = json.loads(foretrain("search", study, "--json").out)
    assert (answer["schema"], answer["maximise"]) == ("foretrain/largest/1", maximise)
    assert answer["search"]["best"]["estimate"]["fits"]


@pytest.mark.parametrize("option", ["exhaustive", "robust"])
def test_options_of_one_ranking_are_refused_where_there_is_none(foretrain, tmp_path, option):
    study = tmp_path / "largest.toml"
    study.write_text(LARGEST.format(maximise="sequence"))
    ended = foretrain("search", study, f"--{option}")
    assert ended.code == 1
    assert ended.err.startswith(
        f"error: {study}: {option}: only for one size on one kind of devices, but "
    )


def test_why_not_and_maximise_are_two_questions(foretrain, tmp_path):
    study = tmp_path / "largest.toml"
    study.write_text(LARGEST.format(maximise="sequence"))
    ended = foretrain("search", study, "--why-not", "tp8")
    assert ended.code == 1
    assert "why_not: only for one size" in ended.err


def test_image_has_no_sequence_to_maximise(foretrain, tmp_path):
    study = tmp_path / "largest.toml"
    study.write_text(
        '[workload]\nmodel = "resnet-50"\nglobal_batch = 64\nimage = 224\n'
        '[cluster]\nname = "dgx-h100"\nnodes = 1\n[search]\nmaximise = "sequence"\n'
    )
    ended = foretrain("search", study)
    assert ended.code == 1
    assert "search.maximise: the samples of resnet-50 cannot have any length" in ended.err
    assert "reads images" in ended.err
