"""Logs: rows for people, and text as Prometheus reads it."""

import pytest

from foretrain.ensemble.result import MemberNow, MemberState, Snapshot
from foretrain.ensemble.run import written
from foretrain.ensemble.run.written import exposed, opened
from foretrain.errors import InputError
from foretrain.measured.ensemble_study import Logs

NOW = Snapshot(
    seconds=3.0,
    members=(
        MemberNow(
            name="a", state=MemberState.TRAINING, samples=30, rate=12.5, lag=4, wait=0.25, loss=0.5
        ),
        MemberNow(name="b"),
    ),
    fill=0.75,
    bottleneck=None,
)


def test_prometheus_gets_a_value_for_each_member_and_a_type_for_each_name():
    lines = exposed(NOW).splitlines()
    assert "# TYPE foretrain_member_rate gauge" in lines
    assert 'foretrain_member_rate{member="a"} 12.5' in lines
    assert 'foretrain_member_loss{member="a"} 0.5' in lines
    assert 'foretrain_member_loss{member="b"}' not in exposed(NOW)
    assert "foretrain_stream_fill_ratio 0.75" in lines
    names = {line.split("{")[0].split(" ")[0] for line in lines if line[0] != "#"}
    assert names == {line.split(" ")[2] for line in lines if line.startswith("# TYPE")}


def test_the_table_has_rows_of_members_that_began_and_goes_on_when_resumed(tmp_path):
    path = tmp_path / "log.csv"
    for anew in (True, False):
        with opened(Logs(csv=str(path)), anew=anew) as written:
            written.write(NOW)
    head, *rows = path.read_text().splitlines()
    assert head == "seconds,member,state,epoch,samples,rate,lag,wait,loss"
    assert rows == ["3.000,a,training,0,30,12.5,4,0.2500,0.5"] * 2


def test_a_table_that_was_cut_off_goes_on_after_its_last_whole_line(tmp_path):
    path = tmp_path / "log.csv"
    with opened(Logs(csv=str(path)), anew=True) as written:
        written.write(NOW)
    whole = path.read_text()
    path.write_text(f"{whole}6.000,a,trai")
    with opened(Logs(csv=str(path)), anew=False) as written:
        written.write(NOW)
    assert path.read_text() == whole + whole.splitlines(keepends=True)[1]


def test_a_log_that_cannot_be_written_is_refused(tmp_path):
    with (
        pytest.raises(InputError, match=r"log\.csv cannot be written: No such file"),
        opened(Logs(csv=str(tmp_path / "no" / "log.csv")), anew=True),
    ):
        pass


def test_a_log_that_takes_no_more_is_given_up_and_the_others_go_on(tmp_path, full_disk):
    table, page = tmp_path / "log.csv", tmp_path / "page"
    with opened(Logs(csv=str(table), prometheus=str(page)), anew=True) as written:
        with full_disk():
            for _ in range(200):
                written.write(NOW)
        written.write(NOW)
    assert page.read_text() == exposed(NOW)
    assert table.stat().st_size <= 4096
    [lost] = written.lost
    assert lost.startswith("logs.csv: ")
    assert "File too large" in lost


@pytest.mark.parametrize("found", [None, "there"])
def test_a_log_whose_package_is_missing_is_refused_before_anything_is_trained(monkeypatch, found):
    monkeypatch.setattr(written, "find_spec", lambda name: found)
    written.check_logs(Logs(csv="run.csv"))
    if found:
        written.check_logs(Logs(tensorboard="runs"))
    else:
        with pytest.raises(InputError, match="the package tensorboard is not installed"):
            written.check_logs(Logs(tensorboard="runs"))
