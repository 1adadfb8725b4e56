"""The round of the page: an exported file trains with two processes, and its log is read."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.examples import slow
from tests.needs import needs_command, needs_installed

from foretrain.coefficients.coefficients import Calibration
from foretrain.evidence.calibrate import calibrate
from foretrain.launch.log import steady, timed_lines
from foretrain.search.export import export
from foretrain.search.import_files import import_, with_asked
from foretrain.step.estimate import estimate
from foretrain.study.launch_files import read_launch_files, read_log

LOOP = Path(__file__).parents[2] / "examples" / "loop"
ON = "two-processor-cores"
STEPS = 3
BEST, BEFORE = (LOOP / "recorded" / f"{name}.log" for name in ("best", "before"))


def asked(script, *, free=False):
    return import_(with_asked(read_launch_files(script)), on=ON).question(free=free)


def exported(folder):
    """The files of the best plan, beside what they train."""
    answer = export(asked(LOOP / "train.sh", free=True), to="accelerate")
    for each in answer.files:
        (folder / each.name).write_text(each.text)
    shutil.copy(LOOP / "train.py", folder)
    shutil.copytree(LOOP / "small", folder / "small")
    return answer


def test_what_is_exported_is_read_as_the_plan_that_was_found(tmp_path):
    answer = exported(tmp_path)
    again = estimate(asked(tmp_path / "train.sh"))
    assert again.plan == answer.estimate.plan
    assert again.step_time == pytest.approx(answer.estimate.step_time, rel=1e-9)


@slow
def test_two_processes_train_from_the_exported_file_and_their_log_is_read(tmp_path):
    for name in ("torch", "transformers", "accelerate"):
        needs_installed(name)
    bash, tools = needs_command("bash"), Path(sys.executable).parent
    if not (tools / "accelerate").exists():
        pytest.skip("this environment has no command accelerate")
    exported(tmp_path)
    options = ["--use_cpu", "--max_steps", STEPS, "--save_strategy", "no", "--report_to", "none"]
    settings = {"PATH": f"{tools}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [bash, "train.sh", *map(str, options), "--output_dir", "out"],
        cwd=tmp_path,
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    # One summary, of samples of both processes: they trained together.
    rates = [each.partition(":")[2] for each in done.stdout.split(",") if "_per_second" in each]
    samples, steps = (float(each.strip(" '")) for each in rates)
    assert samples / steps == pytest.approx(16, rel=0.02)
    timed = [each for each in timed_lines(done.stdout) if each.told.value > 0]
    assert [each.step for each in timed][-1] == STEPS


def test_a_run_makes_answers_about_another_run_better():
    shipped, script = estimate(asked(LOOP / "train.sh")), asked(LOOP / "train.sh")
    ran = export(asked(LOOP / "train.sh", free=True), to="accelerate").estimate.plan
    best = asked(LOOP / "train.sh", free=True)
    told = calibrate(pinned_to(best, ran), step_time=seconds(BEST))
    assert told.accepted
    assert isinstance(told.calibration, Calibration)
    after = estimate(script, coefficients=told.calibration.coefficients)
    measured = seconds(BEFORE)
    assert abs(after.step_time / measured - 1) < 0.05
    assert abs(shipped.step_time / measured - 1) > 0.15
    assert after.step_time_low < measured < after.step_time_high
    width = (shipped.step_time_high / shipped.step_time_low) ** 0.75
    assert after.step_time_high / after.step_time_low < width


def pinned_to(study, plan):
    from foretrain.search.explain.departures import pinned

    return pinned(study, plan, study.cluster)


def seconds(log):
    return steady(read_log(log)).told.value
