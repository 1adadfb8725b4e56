"""calibrate: which coefficients do runs of somebody's own speak for, and does it help?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foretrain.coefficients.calibration import Calibration
from foretrain.errors import InputError
from foretrain.files.coefficients import SHIPPED
from foretrain.measured.run import MeasuredRun
from foretrain.measured.unread import UnreadRow
from foretrain.plan.study import Study
from foretrain.results.calibrate import Calibrated
from foretrain.verbs.anchor import anchor
from foretrain.verbs.fit_runs import Engine, Fitting, fit_runs, fittable


def calibrate(
    ran: Sequence[MeasuredRun | UnreadRow] | Study,
    *,
    step_time: float | None = None,
    anyway: bool = False,
    called: str = "given in Python",
    name: str = "mine",
    date: str = "",
    base: Calibration = SHIPPED,
    engine: Engine = map,
    progress: Callable[[str], None] = lambda _: None,
) -> Calibrated:
    """Learn from measured runs, or from one measured step of a study.

    What cannot be believed, or does not help on runs that were left out of the fit, is answered
    with its doubts and not accepted.

    Args:
        ran: measured runs, those of a table that cannot be read left out; or a study of one plan,
            with `step_time`.
        step_time: seconds that a step of the study took.
        anyway: whether to accept what is doubted.
        called: what ran, as the set names it among its sources.
        name: of the new set.
        date: of it, year first.
        base: the set before.
        engine: applies a function to every item, in order.
        progress: told in words what is done.

    Raises:
        InputError: no run is left to fit to; or the study is not one plan, or no pace makes its
            step as long as that.
    """
    if isinstance(ran, Study):
        if step_time is None:
            raise InputError("calibrate: a study needs step_time, the seconds that its step took.")
        return anchor(ran, step_time, run=called, name=name, date=date, base=base, anyway=anyway)
    if step_time is not None:
        raise InputError("calibrate: step_time is that of a study; runs have theirs.")
    fitting = Fitting(
        free=fittable(base),
        kept_apart=frozenset(),
        publishers=None,
        name=name,
        date=date,
        command=f"foretrain calibrate {called}",
        anyway=anyway,
    )
    runs = [each for each in ran if isinstance(each, MeasuredRun)]
    return fit_runs(runs, fitting, priors=base, engine=engine, progress=progress)
