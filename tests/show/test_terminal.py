"""Reports on a terminal: complete, with units, legible at 80 columns."""

import re
from dataclasses import replace
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from rich.console import Console
from tests import builders

from foretrain.app.doctor import Check, Diagnosis, Health, doctor_report
from foretrain.errors import About, Remark, assumed
from foretrain.evidence.report import validation_report
from foretrain.evidence.validate import Status
from foretrain.measured.run import Subject
from foretrain.plan.study import Limit, Objective
from foretrain.search.report.search import search_report as report_of_search
from foretrain.show.table import Column, Table
from foretrain.show.terminal import blocks, drawn
from foretrain.show.terminal import page as page_of
from foretrain.step.facts import estimate_report as report_of_estimate
from foretrain.step.result import JobParts
from foretrain.workload.workload import Precision

ESCAPE = "\x1b"


def plain(content, width=80):
    console = Console(file=StringIO(), width=width)
    console.print(content)
    return console.file.getvalue()


def drawn_estimate(study, estimate):
    return drawn(report_of_estimate(study, estimate), more=True)


def drawn_search(study, result):
    return drawn(report_of_search(study, result), more=True)


def drawn_validation(validation):
    return drawn(validation_report(validation.rows, validation))


def estimate_report(width=80, **changes):
    return plain(drawn_estimate(builders.study(), builders.estimate(**changes)), width)


def search_report(width=80, **changes):
    return plain(drawn_search(builders.study(), builders.search_result(**changes)), width)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("report", [estimate_report, search_report])
def test_no_line_is_longer_than_the_terminal(report, width):
    assert max(len(line) for line in report(width).splitlines()) <= width


@pytest.mark.parametrize("report", [estimate_report, search_report])
@pytest.mark.parametrize("width", [60, 80])
def test_nothing_is_cut_off(report, width):
    assert "…" not in report(width)


@pytest.mark.parametrize("report", [estimate_report, search_report])
def test_plain_text_has_no_colours(report):
    assert ESCAPE not in report()


def test_shares_of_a_step_add_up():
    block = estimate_report().partition("Step")[2].partition("Memory")[0]
    shares = [float(share) for share in re.findall(r"([\d.]+) %", block)]
    assert len(shares) == 10
    assert sum(shares) == pytest.approx(100, abs=1.5)


def test_estimate_says_time_memory_speed_money_energy_and_the_whole_training():
    text = estimate_report()
    for words in ("10.9 s", "10.1 to 11.9 s", "42.5 of 74.5 GiB", "tokens/s", "MFU", "USD", "kWh"):
        assert words in text
    assert "225 d" in text


def test_whole_training_names_its_amount():
    assert "GWh  (15 T tokens)" in estimate_report()
    images = replace(builders.llama(), tokens=1)
    study = builders.study(workload=replace(builders.study().workload, model=images))
    assert "GWh  (1.83 G samples)" in plain(drawn_estimate(study, builders.estimate()))


def test_estimate_without_price_amount_and_tokens_leaves_them_out():
    text = estimate_report(
        cost_per_step=None,
        energy_per_step=None,
        time_to_train=None,
        cost_to_train=None,
        tokens_per_second_per_device=None,
    )
    for words in ("USD", "kWh", "To train", "tokens/s", "None"):
        assert words not in text
    assert "samples/s" in text


def test_job_that_fails_says_its_goodput_and_how_it_saves():
    assert "Goodput" not in estimate_report()
    parts = JobParts(start=180.0, steps=9e6, checkpoints=36_000.0, lost=5e5, restarts=4e5)
    whole = builders.job(
        9e6,
        start_time=180.0,
        goodput=0.906,
        parts=parts,
        checkpoint_interval=900.0,
        checkpoint_seconds=3.5,
        failures=412.3,
    )
    text = " ".join(estimate_report(job=whole, goodput=0.906, start_time=180.0).split())
    assert "Goodput 91 % (start 3 min, checkpoints 10 h, lost 5.79 d, restarts 4.63 d" in text
    assert "412 failures)" in text
    assert "Checkpoint 920 GiB every 15 min (standing still 3.5 s)" in text


def test_goodput_beside_failures_is_not_whole():
    parts = JobParts(steps=9e6, lost=2.7e4)
    whole = builders.job(9e6, goodput=0.997, parts=parts, failures=1.2)
    text = " ".join(estimate_report(job=whole, goodput=0.997).split())
    assert "Goodput 99.7 % (lost 7.5 h, 1 failure)" in text


def test_model_whose_name_is_its_size_says_it_once():
    model = replace(builders.llama(), name="a model of 25.6 M parameters")
    study = builders.study(workload=replace(builders.study().workload, model=model))
    text = plain(drawn_estimate(study, builders.estimate()))
    assert "Model      a model of 25.6 M parameters  (" in text


def test_utilisation_says_of_which_peak_where_it_is_not_the_usual_one():
    narrow = replace(builders.study().workload, precision=Precision.MXFP8)
    text = plain(drawn_estimate(builders.study(workload=narrow), builders.estimate()))
    assert " % of the fp8 peak  (" in text
    assert "peak" not in estimate_report()


def test_plan_that_does_not_fit_says_why_right_under_the_plan():
    text = estimate_report(fits=False, reason="needs 90 GiB, a device has 74.5 GiB")
    lines = text.splitlines()
    place = next(place for place, line in enumerate(lines) if line.startswith("Plan "))
    assert "Warning    This plan cannot run: needs 90 GiB" in lines[place + 1]
    assert text.count("cannot run") == 1


def test_what_was_assumed_is_said_once():
    warnings = (assumed("workload.precision: bf16"), assumed("plan.data = 16"))
    text = estimate_report(warnings=warnings)
    assert "Assumed    workload.precision: bf16; plan.data = 16" in text
    assert "Warning" not in text


def test_warnings_and_what_was_assumed_are_shown():
    text = estimate_report()
    assert "Failures are not modelled" in text
    assert "workload.precision: bf16" in text


def test_search_names_the_best_plan_in_words_and_the_reasons_of_the_rest():
    text = search_report()
    assert "16 replicas of the model compute 64 micro-batches of 1 sample each per step." in text
    assert "needs more memory than a device has" in text
    assert "of all 48,216 plans this one has the shortest step." in text


def test_plans_priced_per_second_are_told_only_where_no_limit_refused_priced_plans():
    limited = builders.study(limit=Limit(deadline=86_400.0))
    told = plain(drawn_search(limited, builders.search_result()))
    assert "298,397 plans priced/s" in " ".join(search_report().split())
    assert "9,310 plans priced, 38,906 refused; 31.2 ms of processor time\n" in told
    assert "cannot run" not in told


@pytest.mark.parametrize("objective", Objective)
def test_proof_names_the_closed_form_where_that_is_what_was_compared(objective):
    by_formula = objective is not Objective.MEMORY
    assert ("Proven by the closed form: " in search_report(objective=objective)) == by_formula


def test_search_that_was_cut_short_does_not_claim_a_proof():
    text = search_report(proven_optimal=False, unseen=12_054, gap=0.032)
    assert "Cut short after 75 % of 48,216 plans" in text
    assert "at most 3.2 % better" in text
    assert "Proven" not in text


def test_search_that_was_cut_short_may_have_found_the_best_all_the_same():
    text = search_report(proven_optimal=True, unseen=12_054, gap=0.0)
    assert "Cut short, yet proven by the closed form: of all 48,216 plans" in text


def test_columns_of_orders_and_kernels_appear_only_where_plans_differ_in_them():
    first, *rest = builders.search_result().plans
    turned = builders.plan(order=("data", "tensor", "context", "pipeline"))
    mixed = (first, replace(rest[0], plan=turned), *rest[1:])
    assert "order" not in search_report().partition("Plans that differ")[2].partition("\n\n")[0]
    assert "dtcp" in search_report(plans=mixed)


def test_tight_memory_names_the_first_plan_with_room_enough():
    tight = (Remark("memory may not suffice: 90 of 74.5 GiB", about=About.TIGHT),)
    ten = builders.search_result().plans
    two = [replace(it, estimate=replace(it.estimate, warnings=tight)) for it in ten[:2]]
    told = search_report(plans=(*two, *ten[2:]), best=two[0])
    assert "of 74.5 GiB  (plan 3 needs 68.5 GiB)" in told
    assert "GiB  (plan" not in search_report(plans=tuple(two), best=two[0])
    assert "plan 3 needs" not in search_report()


def test_narrow_terminals_are_told_which_columns_they_miss():
    text = search_report(60)
    assert "no room for: sharding" in text
    assert "no room for: sharding" not in search_report(80)


def test_costs_say_what_they_buy():
    best, front = search_report(120).split("Plans that differ")[1].split("Trade-offs")
    assert "to train" in best
    assert front.count("per step") == 2


def test_bars_keep_their_proportions_on_a_narrow_terminal():
    bars = [line.count("█") for line in estimate_report(60).splitlines() if "ward" in line]
    assert bars[1] == pytest.approx(2 * bars[0], abs=1)


def test_ascii_terminals_get_bars_of_hashes():
    stream = TextIOWrapper(BytesIO(), encoding="ascii")
    console = Console(file=stream, width=80)
    console.print(drawn_estimate(builders.study(), builders.estimate()))
    stream.flush()
    assert "####" in stream.buffer.getvalue().decode("ascii")


def test_validation_shows_errors_by_source_and_counts_what_was_not_scored():
    text = plain(drawn_validation(builders.validation()))
    assert "5 rows, 4 scored" in text
    assert "korthikanti-1t" in text
    assert "mixture of experts is not covered" in text


def test_rows_that_were_not_scored_are_named_with_the_reason():
    whole = builders.validation()
    missed = whole.rows[-1]
    more = [replace(missed, id=f"moe-{place}") for place in range(1, 6)]
    memory = replace(missed, id="llama-7", status=Status.SKIPPED, reason="not scored: from memory")
    rows = (*whole.rows[:-1], *more, memory)
    for width in (80, 140):
        text = plain(drawn_validation(replace(whole, rows=rows)), width=width)
        assert all(each in text for each in ("moe-1", "moe-2", "moe-3", "2 more", "llama-7"))
    told = validation_report(rows, replace(whole, rows=rows))
    page = page_of(told, builders.provenance())
    assert "moe-1, moe-2, moe-3 and 2 more" in page
    assert "llama-7" in page


def test_validation_tells_what_it_assumed_most_often():
    whole = builders.validation()
    row = whole.rows[0]
    remarks = [f"1 assumed: {name}" for name in ("kernel", "kernel", "batch", "order", "sends")]
    rows = tuple(replace(row, reason=remark) for remark in remarks)
    text = " ".join(plain(drawn_validation(replace(whole, rows=rows))).split())
    assert "2 1 assumed: kernel 1 1 assumed: batch 1 1 assumed: order" in text
    assert "and 1 more" in text


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        (Subject.ACTIVATION_SHARE, "62 % 66 %"),
        (Subject.STATE, "0.625 B 0.656 B"),
        (Subject.STEP_TIME, "625 ms 656 ms"),
    ],
)
def test_what_was_measured_is_written_in_the_unit_of_its_subject(subject, told):
    whole = builders.validation()
    row = replace(whole.rows[0], subject=subject, measured=0.625, predicted=0.65625, error=0.05)
    text = plain(drawn_validation(replace(whole, rows=(row,))), width=140)
    assert f"{row.id} {subject} {told} 5.0 %" in " ".join(text.split())


def test_diagnosis_says_what_to_do():
    check = Check(name="scipy", health=Health.FAIL, found="absent", advice="Install it.")
    text = plain(drawn(doctor_report(None, Diagnosis(checks=(check,)))))
    assert "fail scipy absent Install it." in " ".join(text.split())
    assert "Something needed is missing." in text


@pytest.mark.parametrize(("width", "said"), [(80, "utilisation: in use"), (20, "used: in use")])
def test_headings_are_explained_in_the_words_in_which_they_stand(width, said):
    columns = (
        Column(name="policy", short="policy"),
        Column(name="utilisation", short="used", meaning="in use", number=True),
    )
    content = Table(columns=columns, rows=(("shortest-first", "28 %"),), legend=True)
    told = " ".join(plain(blocks([content]), width=width).split())
    assert said in told
    assert told.count("in use") == 1
