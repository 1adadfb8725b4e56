"""Gavel's traces and throughputs: what is read, and what is said of bad input."""

import gzip
import json

import pytest
from validation.scheduling.formats.gavel import read_gavel, read_throughputs

from foretrain.errors import InputError

TABLE = {
    "v100": {"('LM (batch size 5)', 1)": {"null": 20.0, "('LM (batch size 5)', 1)": [9.0, 9.0]}},
    "k80": {"('LM (batch size 5)', 1)": {"null": 0.0}},
    "v100_unconsolidated": {"('LM (batch size 5)', 1)": {"null": 10.0}},
}
LINE = "LM (batch size 5)\tpython main.py\tlm\t--steps\t1\t4000\t1\t2\t-1.000000\t30"


@pytest.fixture
def throughputs(tmp_path):
    path = tmp_path / "throughputs.json.gz"
    path.write_bytes(gzip.compress(json.dumps(TABLE).encode()))
    return read_throughputs(path)


def read(tmp_path, throughputs, *lines):
    path = tmp_path / "jobs.trace"
    path.write_text("\n".join(lines))
    return read_gavel(path, throughputs).jobs


def test_a_line_is_a_job_of_steps(tmp_path, throughputs):
    (job,) = read(tmp_path, throughputs, LINE)
    assert (job.name, job.arrival, job.work, job.devices) == ("000001", 30.0, 4000.0, 1)
    assert (job.priority, job.group) == (2.0, "LM (batch size 5)")
    assert job.curve.rate(1, nodes=1, kind="v100", done=0.0) == 20.0


def test_kinds_that_cannot_run_it_or_lie_apart_are_left_out(tmp_path, throughputs):
    (job,) = read(tmp_path, throughputs, LINE)
    assert job.kinds == ("v100",)


def test_jobs_of_one_arrival_stay_in_the_order_of_the_file(tmp_path, throughputs):
    jobs = read(tmp_path, throughputs, *[LINE] * 12)
    assert [job.name for job in jobs] == [f"{line:06d}" for line in range(1, 13)]


def test_all_bad_lines_are_told_with_their_numbers(tmp_path, throughputs):
    bad = [LINE, LINE.replace("4000", "many"), LINE.replace("LM", "XL"), "a\tb", LINE + "\tc"]
    with pytest.raises(InputError) as error:
        read(tmp_path, throughputs, *bad)
    said = str(error.value).splitlines()
    assert said[0].endswith("jobs.trace has 4 problems.")
    assert [line.partition(":")[0] for line in said[1:]] == [f"- line {n}" for n in (2, 3, 4, 5)]
    assert "nobody measured 'XL (batch size 5)' on 1 devices" in said[2]
    assert "has 2 columns instead of 10" in said[3]


def test_negative_work_is_told_with_its_line(tmp_path, throughputs):
    with pytest.raises(InputError, match="line 1: job 000001: work must be above 0"):
        read(tmp_path, throughputs, LINE.replace("4000", "-4"))


def test_an_empty_file_is_told(tmp_path, throughputs):
    with pytest.raises(InputError, match="holds no job"):
        read(tmp_path, throughputs)


def test_a_file_that_is_not_there_is_told(tmp_path, throughputs):
    with pytest.raises(InputError, match="there is no such file"):
        read_gavel(tmp_path / "none.trace", throughputs)


@pytest.mark.parametrize("text", ["{", "[]", '{"v100": {"LM": {"null": 1.0}}}', '{"v100": 3}'])
def test_what_is_no_table_of_throughputs_is_told(tmp_path, text):
    path = tmp_path / "throughputs.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"not JSON|not a table|no table of throughputs"):
        read_throughputs(path)
