"""What is compared: a study with the log or the trace of its run, or with a measured row."""

import json
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOOP = ROOT / "examples/loop"
ON = ("--on", "two-processor-cores")
HEAD = (
    "id,source_id,model,gpu_norm,gpus_total,gpus_per_node,tp,pp,dp,mbs,gbs,seq_len,precision,"
    "step_time_s"
)
ROW = "mine-1,mine,GPT-3 175B,A100 SXM 80GB,512,8,8,8,8,1,512,2048,fp16,"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "llm_training.csv"
    path.write_text(f"{HEAD}\n{ROW}20.5\n")
    return path


def compared(foretrain, *words):
    ended = foretrain("compare", *words, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def test_a_log_is_compared_with_the_study_that_ran(foretrain):
    log = LOOP / "recorded/before.log"
    answer = compared(foretrain, LOOP / "train.sh", log, *ON)
    [missed] = answer["departures"]
    assert missed["what"] == "measured"
    assert answer["second"]["measured"] == pytest.approx(0.851, abs=0.002)
    assert answer["first"]["estimate"]["step_time"] + missed["time"] == pytest.approx(
        answer["second"]["measured"], rel=1e-12
    )


def test_a_trace_is_compared_class_by_class(foretrain, tmp_path):
    study, trace = LOOP / "one-core.toml", LOOP / "recorded/profile.json.gz"
    answer = compared(foretrain, study, trace)
    found = {it["kind"]: it for it in answer["operators"]}
    total = sum(it["measured"] for it in found.values())
    assert total == pytest.approx(answer["second"]["measured"], rel=1e-9)
    products = found["matrix products"]
    assert products["predicted"] == pytest.approx(products["measured"], rel=0.1)
    assert "Where the prediction is off" in foretrain("compare", study, trace).out
    both = tmp_path / "both.json"
    assert foretrain("compare", study, trace, "--timeline", both).code == 0
    events = json.loads(both.read_text())["traceEvents"]
    names = {it["args"]["name"] for it in events if it["name"] == "process_name"}
    assert names == {"stage 0", "measured, one process"}
    measured = [it for it in events if it["ph"] == "X" and it["pid"] == 1]
    assert max(it["ts"] + it["dur"] for it in measured) <= 1e6 * 0.8


def test_a_row_is_compared_with_a_study_and_with_another_row(foretrain, table):
    with table.open("a") as more:
        more.write(f"{ROW.replace('mine-1', 'mine-2')}22.0\n")
    study = ROOT / "examples/gpt-3-175b-on-512-a100.toml"
    plan = ("--set", "plan.tensor=8", "--set", "plan.pipeline=8", "--set", "plan.micro_batch=1")
    answer = compared(foretrain, study, f"{table}:mine-1", *plan)
    assert answer["second"]["measured"] == 20.5
    assert sum(it["time"] for it in answer["departures"]) == pytest.approx(answer["time"])
    rows = compared(foretrain, f"{table}:mine-1", f"{table}:mine-2")
    assert rows["time"] == pytest.approx(1.5)
    assert {it["what"] for it in rows["departures"]} <= {
        "measured",
        "what else the row says",
        "rounding",
    }


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("{table}:mine-7",), "has no row 'mine-7'. Did you mean 'mine-1'?"),
        (("nothing.csv:1",), "nothing.csv: there is no such file"),
        (("nothing.json.gz",), "nothing.json.gz: there is no such file"),
        (("nothing.log",), "nothing.log: there is no such file"),
        (("{trace}", "--timeline", "there/is/none.json"), "there is no folder"),
        (("micro_batch=4", "--timeline", "steps.json"), "no measured step to show"),
        (("{short}",), "of which 0 lie wholly behind the first 20 steps"),
    ],
)
def test_what_cannot_be_compared_is_told(foretrain, table, tmp_path, words, told):
    short = tmp_path / "short.log"
    short.write_text("iteration 1/ 5 | elapsed time per iteration (ms): 5.0\n" * 3)
    shutil.copy(LOOP / "recorded/profile.json.gz", tmp_path)
    names = {"table": table, "short": short, "trace": tmp_path / "profile.json.gz"}
    given = [each.format(**names) for each in words]
    ended = foretrain("compare", LOOP / "one-core.toml", *given)
    assert ended.code == 1
    assert told in ended.err


def test_a_log_of_a_row_is_refused(foretrain, table):
    ended = foretrain("compare", f"{table}:mine-1", LOOP / "recorded/before.log")
    assert ended.code == 1
    assert "is a row of a table" in ended.err
