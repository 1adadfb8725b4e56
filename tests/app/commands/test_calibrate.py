"""`foretrain calibrate`, and `--coefficients` of the other commands."""

import json
import re
from csv import DictReader, DictWriter
from itertools import cycle
from pathlib import Path

import pytest

from foretrain.app.schema import schema_of

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "calibrate-with-your-runs.md"
TABLE = Path(__file__).parents[3] / "validation" / "tables" / "llm_training.csv"


@pytest.fixture
def ran(tmp_path):
    """A study of one plan."""
    path = tmp_path / "ran.toml"
    path.write_text(
        '[workload]\nmodel = "llama-3-8b"\nglobal_batch = 64\nsequence = 4096\n'
        '[cluster]\nname = "dgx-h100"\nnodes = 2\n[plan]\ntensor = 2\nmicro_batch = 1\n'
    )
    return path


@pytest.fixture
def table(tmp_path):
    """A few runs that are slower than others of their kind."""
    path = tmp_path / "llm_training.csv"
    write(path, slower=[1.3])
    return path


def write(path, *, slower):
    """Nine published runs, as if they had taken so many times as long, in turn."""
    every = DictReader(TABLE.read_text().splitlines())
    rows = [row for row in every if row["id"].startswith("mpt-000")]
    with path.open("w") as file:
        table = DictWriter(file, rows[0])
        table.writeheader()
        for row, times in zip(rows, cycle(slower), strict=False):
            seconds, rate = float(row["step_time_s"]), float(row["tokens_per_s_total"])
            changed = {"step_time_s": times * seconds, "tokens_per_s_total": rate / times}
            table.writerow(row | changed)


@pytest.fixture
def mine(foretrain, ran, tmp_path):
    """A set anchored to a step of 2.6 s."""
    path = tmp_path / "mine.toml"
    ended = foretrain("calibrate", ran, "--step-time", "2.6 s", "--output", path)
    assert (ended.code, ended.err) == (0, f"Wrote {path}.\n")
    assert "Set mine, fitted to 1 run\n" in ended.out
    assert "step.factor" in ended.out
    return path


def test_a_measured_step_is_predicted_with_the_set_that_it_made(foretrain, ran, mine):
    ended = foretrain("estimate", ran, "--coefficients", mine, "--json")
    answer = json.loads(ended.out)
    assert answer["step_time"] == pytest.approx(2.6, rel=1e-9)
    assert answer["coefficients"] == "mine"
    assert "a measured step of 2.6 s" in answer["sources"]
    assert "coefficients were given" not in answer["confidence"]["outside"]


def test_a_rate_of_a_log_is_counted_back_to_the_step_that_it_is_of(foretrain, ran, tmp_path):
    """64 samples of 4,096 tokens on 16 devices are 16,384 tokens of a device."""
    path = tmp_path / "mine.toml"
    line = "step: 10  loss:  8.1  memory: 30.10GiB(37.90%)  tps: 6,553.6  tflops: 300.10"
    assert foretrain("calibrate", ran, "--step-time", line, "--output", path).code == 0
    answer = json.loads(foretrain("estimate", ran, "--coefficients", path, "--json").out)
    assert answer["step_time"] == pytest.approx(2.5, rel=1e-9)
    bar = foretrain("calibrate", ran, "--step-time", "10/100 [00:12<01:50, 3.20it/s]")
    assert (bar.code, "has 8 micro-batches" in bar.err) == (1, True)


def test_a_search_answers_with_the_set(foretrain, ran, mine):
    before = json.loads(foretrain("search", ran, "--json").out)
    after = json.loads(foretrain("search", ran, "--coefficients", mine, "--json").out)
    assert (before["coefficients"], after["coefficients"]) == ("2026-11", "mine")
    slower = after["best"]["estimate"]["step_time"] / before["best"]["estimate"]["step_time"]
    assert slower == pytest.approx(json.loads(factor(foretrain, ran)), rel=1e-9)


def factor(foretrain, ran):
    """How much slower a step of 2.6 s is than what is shipped says."""
    answer = json.loads(foretrain("calibrate", ran, "--step-time", "2.6 s", "--json").out)
    return str(answer["calibration"]["known"]["step.factor"]["value"])


def test_runs_are_fitted_and_validated_with_the_set(foretrain, table, tmp_path):
    own = tmp_path / "own.toml"
    ended = foretrain("calibrate", table, "--output", own, "--name", "ours", "--json")
    answer = json.loads(ended.out)
    assert ended.code == 0
    described = schema_of("calibrate")
    assert list(answer) == list(described["properties"])
    assert set(answer["moved"][0]) == set(described["$defs"]["Moved"]["properties"])
    covers = set(described["$defs"]["Covers"]["properties"])
    assert set(answer["calibration"]["covers"]) == covers
    assert answer["schema"] == "foretrain/calibrate/1"
    assert answer["coefficients"] == "2026-11"
    assert answer["calibration"]["name"] == "ours"
    assert len(answer["rows"]) == 9
    told = json.loads(foretrain("validate", table, "--coefficients", own, "--json").out)
    assert told["coefficients"] == "ours"


def test_figure_that_is_hard_to_believe_is_told_and_makes_no_set(foretrain, ran, tmp_path):
    path = tmp_path / "mine.toml"
    ended = foretrain("calibrate", ran, "--step-time", "2150 s", "--output", path)
    assert (ended.code, path.exists()) == (1, False)
    assert f"error: {ran}: no set is made.\nstep time: 35.8 min is " in ended.err
    assert "seconds written for milliseconds" in ended.err
    assert ended.err.endswith("say --anyway.\n")
    told = json.loads(foretrain("calibrate", ran, "--step-time", "2150 s", "--json").out)
    assert (told["accepted"], len(told["doubts"]), told["odd"][0]["measured"]) == (False, 1, 2150)
    ended = foretrain("calibrate", ran, "--step-time", "2150 s", "--output", path, "--anyway")
    assert (ended.code, path.exists()) == (0, True)


def test_fit_that_does_not_help_is_told_and_makes_no_set(foretrain, table, tmp_path):
    path = tmp_path / "own.toml"
    write(table, slower=[0.7, 1.8, 1.8])
    ended = foretrain("calibrate", table, "--output", path)
    assert (ended.code, path.exists()) == (1, False)
    assert "On runs left out of it, each once: " in ended.out
    assert f"error: {table}: no set is made.\nit does not help: runs that were left" in ended.err
    assert foretrain("calibrate", table, "--output", path, "--anyway").code == 0
    assert path.exists()


def test_a_table_without_a_step_time_is_refused(foretrain, table):
    table.write_text(table.read_text().splitlines()[0] + "\n")
    ended = foretrain("calibrate", table)
    assert ended.code == 1
    assert ended.err.startswith(f"error: {table}: ")
    assert "Runs need a measured step time." in ended.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--step-time", "3.5"], "--step-time: '3.5' has no unit"),
        (["--step-time", "0 s"], "must be above 0 s"),
        (["--step-time", "1 s", "--kind", "memory"], "Leave one of them out."),
        (["--step-time", "1 s", "--name", "2026-11"], "such a set is shipped"),
        (["--step-time", "1 s", "--output", "/no/folder/mine.toml"], "--output /no/folder"),
        (["--step-time", "1 s", "--coefficients", "absent.toml"], "there is no such file"),
        (["second.toml", "--step-time", "1 s"], "that of one study, got 2 files"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_options_are_refused(foretrain, ran, options, told):
    ended = foretrain("calibrate", ran, *options)
    assert (ended.code, ended.out) == (1, "")
    assert told in ended.err


def test_the_line_that_the_page_quotes_is_accepted(foretrain, tmp_path):
    text = PAGE.read_text()
    line = re.search(r"The log says `([^`]+)`", text)[1]
    ran = tmp_path / "ran.toml"
    ran.write_text(re.search(r'```toml title="ran.toml"\n(.*?)```', text, re.DOTALL)[1])
    ended = foretrain("calibrate", ran, "--step-time", line, "--output", tmp_path / "mine.toml")
    same = foretrain("calibrate", ran, "--step-time", "2150 ms", "--name", "mine")
    assert ended.code == 0
    assert ended.out == same.out


def log_of(path, steps, *, took=2.6):
    """As Megatron-LM prints every step; the first is slow."""
    lines = (
        f" iteration {step:8d}/     500 | elapsed time per iteration (ms): "
        f"{1e3 * (took + 30.0 * (step == 1)):.1f} | global batch size:    64 |"
        for step in range(1, steps + 1)
    )
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_log_of_a_run_says_what_its_step_took(foretrain, ran, tmp_path):
    path, log = tmp_path / "mine.toml", log_of(tmp_path / "run.log", 60)
    for files in ((ran, log), (log, ran)):
        ended = foretrain("calibrate", *files, "--output", path)
        assert ended.code == 0, ended.err
        assert f"{log}: the median of 40 figures of lines 21 to 60" in ended.err
        answer = json.loads(foretrain("estimate", ran, "--coefficients", path, "--json").out)
        assert answer["step_time"] == pytest.approx(2.6, rel=1e-9)


def test_logs_that_tell_no_steady_time_make_no_set(foretrain, ran, tmp_path):
    path = tmp_path / "mine.toml"
    short = log_of(tmp_path / "run.log", 22)
    told = foretrain("calibrate", ran, short, "--output", path)
    assert told.code == 1
    assert "22 figures of lines 1 to 22, of which 2 lie wholly behind the first 20" in told.err
    assert "Traceback" not in told.err
    (tmp_path / "torn.out").write_bytes(b"\xff\xfe not a log \x00\n")
    told = foretrain("calibrate", ran, tmp_path / "torn.out")
    assert (told.code, "no line says how long a step took" in told.err) == (1, True)
    assert not path.exists()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ([], "Name the study that ran too"),
        (["other.log"], "one log, or --step-time"),
        (["--step-time", "2 s"], "one log, or --step-time"),
        (["gone.toml", "--kind", "llm_training"], "--kind is of tables"),
    ],
)
def test_a_log_goes_with_one_study(foretrain, tmp_path, more, told):
    log = log_of(tmp_path / "run.log", 60)
    ended = foretrain("calibrate", log, *more)
    assert ended.code == 1
    assert told in ended.err
