"""Plans that published large runs used, beside the best that a search finds on their clusters.

    python validation/decisions.py

Every run of `tables/published_plans.toml` is compared with the best plan of the whole default
space, and with the best of what its authors' software could do. Where theirs is more than 5 %
slower than the latter, the file names what else narrowed the choice, and each such reason is
checked: the search is repeated under it. The exit status is 1 if a larger gap is left.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import median
from typing import Any

from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError, NoPlanFits
from foretrain.plan.choices import divisors
from foretrain.plan.study import Study
from foretrain.search.search import search
from foretrain.step.result import Estimate
from foretrain.study.coefficients import DEFAULT
from foretrain.study.study import study_from

TABLE = Path(__file__).parent / "tables" / "published_plans.toml"
LIMIT = 0.05
SAFE = "95 %"
"""How likely what a search proposes by default must fit; the teams' plans ran, however full."""
GIB = 2.0**30

Keys = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Reason:
    """What narrowed the authors' choice, and what checks it.

    Attributes:
        why: in words.
        kind: software, memory, practice or model.
        plan: choices that are left, as keys of [plan].
        headroom: whether the upper end of the memory's interval must fit too.
        coefficients: what the plans are priced with instead.
    """

    why: str
    kind: str
    plan: Keys
    headroom: bool
    coefficients: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Run:
    """A published run.

    Attributes:
        name: ours.
        source: where it was published.
        confidence: of what is said of it.
        measured: step time as the source has it, in words; empty if it has none.
        question: its workload and cluster, as sections of a study.
        trainer: the release of its software that the catalogue has; empty if it has none.
        published: what its source states of the plan.
        software: what its software could do, as keys of [plan].
        software_why: that in words.
        whole: keys of the default space that are changed.
        reasons: what else narrowed the choice.
    """

    name: str
    source: str
    confidence: str
    measured: str
    question: Keys
    trainer: str
    published: Keys
    software: Keys
    software_why: str
    whole: Keys
    reasons: tuple[Reason, ...]

    def study(self, plan: Keys, *, fits: str = "0 %", named: bool = False) -> Study:
        """The question with the choices of a plan, which must fit with some probability.

        Args:
            plan: keys of [plan].
            fits: the probability.
            named: whether the study names the trainer.
        """
        trainer = {"trainer": {"name": self.trainer}} if named and self.trainer else {}
        sections = {"plan": dict(plan), "search": {"fits": fits}}
        return study_from({**self.question, **trainer, **sections}, self.name)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The published plan beside the best one of a space.

    Attributes:
        space: in words.
        published: what the published plan takes, its best completion where the source is silent.
        best: what the best plan takes.
    """

    space: str
    published: Estimate
    best: Estimate

    @property
    def gap(self) -> float:
        """By what part of the best step the published plan's is longer."""
        return self.published.step_time / self.best.step_time - 1.0


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is found of a run.

    Attributes:
        run: the run.
        default: against all that a search looks at.
        trainer: against what a search proposes that knows the trainer; None if we do not.
        software: against what the software could do.
        reasons: against that, each reason added to those before.
        rule: what the plan takes that a rule of thumb chooses among what the software could do.
    """

    run: Run
    default: Comparison
    trainer: Comparison | None
    software: Comparison
    reasons: tuple[Comparison, ...]
    rule: Estimate

    @property
    def accounted_for(self) -> bool:
        """Whether no gap is left, or only a small one."""
        return any(each.gap <= LIMIT for each in (self.software, *self.reasons))

    @property
    def regret(self) -> float:
        """The gap of the rule of thumb against what the software could do."""
        return self.rule.step_time / self.software.best.step_time - 1.0


def main() -> int:
    """Prints every run and a table of all; 1 if a gap is left without a reason."""
    answers = [answer(run) for run in read_runs(TABLE)]
    for each in answers:
        print("\n".join([*lines(each), ""]))
    print("\n".join(table(answers)))
    return 0 if all(each.accounted_for for each in answers) else 1


def read_runs(path: Path) -> list[Run]:
    """The runs of a table."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Run(
            name=name,
            source=row["source"],
            confidence=row["confidence"],
            measured=row.get("measured", ""),
            question={"workload": row["workload"], "cluster": row["cluster"]},
            trainer=row.get("trainer", ""),
            published=row["published"],
            software=row["software"],
            software_why=row["software_why"],
            whole=row.get("whole", {}),
            reasons=tuple(map(_reason, row.get("reason", []))),
        )
        for name, row in document.items()
    ]


def _reason(row: Mapping[str, Any]) -> Reason:
    """One of a run's reasons."""
    return Reason(
        why=row["why"],
        kind=row["kind"],
        plan=row.get("plan", {}),
        headroom=row.get("headroom", False),
        coefficients=row.get("coefficients", {}),
    )


def answer(run: Run) -> Answer:
    """A run compared with every space."""
    return Answer(
        run=run,
        default=Comparison(
            space=_default(run.whole),
            published=best(run.study({**run.software, **run.published})),
            best=proposed(run.study(run.whole, fits=SAFE)),
        ),
        trainer=with_trainer(run) if run.trainer else None,
        software=under(run, ()),
        reasons=tuple(under(run, run.reasons[: last + 1]) for last in range(len(run.reasons))),
        rule=least_split(run),
    )


def with_trainer(run: Run) -> Comparison:
    """A run beside what a default search proposes to whoever names the team's trainer."""
    return Comparison(
        space=f"trainer: {run.trainer}",
        published=best(run.study(run.published, named=True)),
        best=proposed(run.study({}, fits=SAFE, named=True)),
    )


def _default(changed: Keys) -> str:
    """The default space in words."""
    also = ", ".join(f"{key} = {value}" for key, value in changed.items())
    return "default: all that a search looks at" + (f", but {also}" if also else "")


def under(run: Run, reasons: Sequence[Reason]) -> Comparison:
    """A run compared with what its software could do under some reasons."""
    left, priced = dict(run.software), DEFAULT
    for each in reasons:
        left.update(each.plan)
        priced = priced.changed(each.coefficients)
    published = best(run.study({**left, **run.published}), priced)
    asked = run.study(left)
    if any(each.headroom for each in reasons):
        asked = with_headroom(asked, published)
    last = f"{reasons[-1].kind}: {reasons[-1].why}" if reasons else f"software: {run.software_why}"
    return Comparison(space=last, published=published, best=best(asked, priced))


def with_headroom(study: Study, like: Estimate) -> Study:
    """The same where plans leave room for the upper end of their memory's interval."""
    device = study.cluster.device
    room = device.memory * like.memory.total / like.memory.high
    smaller = replace(study.cluster, device=replace(device, memory=room))
    return replace(study, cluster=smaller)


def best(study: Study, coefficients: Coefficients = DEFAULT) -> Estimate:
    """What the plan takes that is predicted to have least."""
    return search(study, coefficients=coefficients, keep=1).ranking[0].estimate


def proposed(study: Study) -> Estimate:
    """What the plan takes that a search proposes."""
    return search(study).best.estimate


def least_split(run: Run) -> Estimate:
    """The rule of thumb: the best of those that fit with the least tensor x pipeline."""
    for split in divisors(run.study(run.software).cluster.devices):
        plans = [{"tensor": n, "pipeline": split // n, **run.software} for n in divisors(split)]
        found = [estimate for plan in plans if (estimate := _if_any(run, plan))]
        if found:
            return min(found, key=lambda estimate: estimate.step_time)
    raise NoPlanFits(f"{run.name}: no plan that its software could run fits.")


def _if_any(run: Run, plan: Keys) -> Estimate | None:
    """What the best of some plans takes, if one of them runs."""
    try:
        return best(run.study(plan))
    except (InputError, NoPlanFits):
        return None


def lines(found: Answer) -> Iterator[str]:
    """A run as text."""
    run = found.run
    measured = f"; measured {run.measured}" if run.measured else ""
    yield f"{run.name}: {run.source}; confidence {run.confidence}{measured}"
    yield f"  published {told(found.software.published)}"
    for each in filter(None, (found.default, found.trainer, found.software, *found.reasons)):
        yield f"    {each.gap:+7.1%} {told(each.best)}"
        yield f"            {each.space}"
    if found.software.gap > LIMIT:
        yield f"  of its software's best it differs in {differences(found.software)}"


def told(estimate: Estimate) -> str:
    """The step of a plan, how much of the memory it fills, and the plan."""
    return f"{estimate.step_time:6.2f} s {estimate.memory.total / GIB:4.1f} GiB {estimate.plan}"


def differences(found: Comparison) -> str:
    """The parts of the step that are longer or shorter by more than 1 % of it."""
    theirs, other = found.published.parts, found.best.parts
    more = {
        each.name: getattr(theirs, each.name) - getattr(other, each.name) for each in fields(theirs)
    }
    large = {name: seconds for name, seconds in more.items() if abs(seconds) > 0.01 * other.total}
    return ", ".join(f"{name} {seconds:+.2f} s" for name, seconds in large.items())


def table(answers: Sequence[Answer]) -> Iterator[str]:
    """Every gap, and that of the rule of thumb."""
    yield f"{'slower than the best by':24}  default  trainer software  reasons     rule"
    for each in answers:
        last = each.reasons[-1] if each.reasons else None
        several = (each.default, each.trainer, each.software, last)
        gaps = [None if it is None else it.gap for it in several]
        shown = " ".join(
            f"{'' if gap is None else f'{gap:.1%}':>8}" for gap in (*gaps, each.regret)
        )
        yield f"{each.run.name:24} {shown}{'' if each.accounted_for else '   UNEXPLAINED'}"
    yield f"median beside what a search proposes {median(it.default.gap for it in answers):.1%}"
    named = [(it.trainer or it.default).gap for it in answers]
    yield f"the same with the team's trainer named where we know it {median(named):.1%}"
    near = sum(each.software.gap <= LIMIT for each in answers)
    known = sum(each.accounted_for for each in answers)
    yield f"{near} of {len(answers)} within {LIMIT:.0%} of the best that their software could do,"
    yield f"{known - near} more once the reasons hold, {len(answers) - known} unexplained"


if __name__ == "__main__":
    sys.exit(main())
