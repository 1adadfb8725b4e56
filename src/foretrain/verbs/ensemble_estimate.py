"""Whether an ensemble should share its input, and what its run will take."""

from __future__ import annotations

from collections.abc import Iterator

from foretrain.ensemble.loading import Choice
from foretrain.ensemble.one_node import LoadingEstimate
from foretrain.measured.ensemble_study import EnsembleStudy, Input
from foretrain.results.ensemble_estimate import EnsembleEstimated, Loading, MemberForecast
from foretrain.run.members.machine import limited
from foretrain.run.members.opened import Told, known, opened
from foretrain.run.members.parts import comparisons
from foretrain.verbs.ensemble_plan import Planned, planned

NOT_CALLED = (
    "The study gives every figure, so its code was not called: the data is taken for a data set"
    " with a length and an index."
)


def ensemble_estimate(study: EnsembleStudy, *, progress: Told | None = None) -> EnsembleEstimated:
    """What a run of an ensemble will take on this machine, measured briefly; trains nothing.

    Calls the code that the study names, unless the study gives every figure: then nothing is
    measured, and PyTorch is not needed.

    Args:
        study: data, members, and what the run may use.
        progress: told what is done, how much of it, of how much.

    Raises:
        InputError: code of the study is missing or does not give what it must, or a member does
            not fit this machine.
        MissingExtra: something must be measured, and PyTorch is not installed.
    """
    if study.given is not None:
        with limited(study.cores) as cores:
            return _answer(study, planned(study, study.given, cores=cores, fed=False), cores=cores)
    with opened(study) as found:
        probed = known(study, found, progress)
        plan = planned(study, probed, cores=found.cores, fed=found.fed)
        return _answer(study, plan, cores=found.cores)


def _answer(study: EnsembleStudy, plan: Planned, *, cores: int) -> EnsembleEstimated:
    choice, expected, halving = plan.choice, plan.forecast, comparisons(study)
    first = plan.parts[0].since
    return EnsembleEstimated(
        name=study.name,
        input=choice.input,
        why=choice.why,
        code=tuple(map(str, study.code)),
        members=tuple(_members(study, plan)),
        loadings=tuple(_loading(each, choice) for each in choice.estimates),
        sample=plan.probed.sample,
        handing=plan.probed.handing,
        shareable=_shareable(plan),
        cores=cores,
        waves=sum(part.since == first for part in plan.parts),
        comparisons=tuple(int(rung) for rung in halving.rungs) if halving else (),
        seconds=expected.seconds,
        cpu=expected.cpu,
        memory=expected.memory,
        saved=choice.private.cpu / choice.taken.cpu,
        measured=plan.probed.measured,
        warnings=tuple(_warnings(study, plan)),
    )


def _members(study: EnsembleStudy, plan: Planned) -> Iterator[MemberForecast]:
    for recipe in study.recipes:
        costs = plan.probed.members[recipe.name]
        yield MemberForecast(
            name=recipe.name,
            model=str(recipe.model),
            batch=recipe.batch,
            epochs=recipe.epochs,
            alone=costs.rate,
            rate=plan.forecast.rates[recipe.name],
            cpu=costs.cpu,
            memory=costs.memory,
            wave=plan.wave(recipe.name),
        )


def _loading(estimate: LoadingEstimate, choice: Choice) -> Loading:
    return Loading(
        name=estimate.name,
        shared=estimate.shared,
        workers=estimate.workers,
        cpu=estimate.cpu,
        rate=estimate.rate,
        limit=estimate.limit,
        memory=estimate.memory,
        chosen=estimate.name == choice.taken.name,
    )


def _shareable(plan: Planned) -> float:
    """What a sample costs to prepare over what a member spends on it; 0 where it spends nothing."""
    own = [each.cpu for each in plan.probed.members.values()]
    return plan.probed.sample.prepare * len(own) / sum(own) if sum(own) else 0.0


def _warnings(study: EnsembleStudy, plan: Planned) -> Iterator[str]:
    rates = [each.rate for each in plan.probed.members.values()]
    if plan.choice.input is Input.SHARED and max(rates) > 2 * min(rates):
        slowest = min(study.recipes, key=lambda each: plan.probed.members[each.name].rate)
        yield (
            f"{slowest.name} is {max(rates) / min(rates):.1f} times slower than the quickest"
            " member, and those that block wait for it: policy = 'detach' lets them go ahead."
        )
    if not plan.probed.measured:
        yield NOT_CALLED
    if plan.probed.sample.count is None:
        yield "The data does not tell how many samples it has, so times are per sample only."
