"""What the readers of a run logged, held against what they should have got."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from validation.faults.plan import Plan
from validation.faults.roles import events_of, read
from validation.faults.run import Member


@dataclass(slots=True)
class Books:
    """Samples of all readers of a run.

    Attributes:
        got: samples.
        lost: that a reader should have got.
        doubled: that a reader got twice in an epoch.
        wrong: in words.
    """

    got: int
    lost: int
    doubled: int
    wrong: list[str]


def books(plan: Plan, members: list[Member]) -> Books:
    """Every reader's epochs: whole, each sample once, in one order for all."""
    kept = Books(0, 0, 0, [])
    epochs = {member.path.name: _epochs(member) for member in members}
    orders: dict[int, list[int]] = {}
    for got in epochs.values():
        for epoch, ids in got.items():
            if len(ids) == len(set(ids)) == plan.samples:
                orders.setdefault(epoch, ids)
    for member in members:
        _check(plan, member, epochs[member.path.name], orders=orders, kept=kept)
    return kept


def _epochs(member: Member) -> dict[int, list[int]]:
    return {
        epoch: [sample for line in of_epoch for sample in line["ids"]]
        for epoch, of_epoch in groupby(read(member.path), key=lambda line: line["epoch"])
    }


def _check(
    plan: Plan,
    member: Member,
    got: dict[int, list[int]],
    *,
    orders: dict[int, list[int]],
    kept: Books,
) -> None:
    name, part = member.path.name, member.part
    came_late = part.late > 0 or member.anew > 0
    first = min(got, default=plan.epochs)
    passes_over = part.policy == "drop"  # samples, and with them whole epochs
    whole_epochs = _not_told if passes_over else _not_seen
    kept.lost += whole_epochs(plan, member, got) if member.over == "done" else 0
    for epoch, ids in sorted(got.items()):
        kept.got += len(ids)
        kept.doubled += len(ids) - len(set(ids))
        order = orders.get(epoch)
        starts_late = epoch == first and came_late
        ends_early = epoch == max(got) and member.over != "done"
        if order is not None and not _in_order(ids, order):
            kept.wrong.append(f"{name} has another order in epoch {epoch}")
        if passes_over:
            continue
        if order is not None and (starts_late or ends_early):
            begin = order.index(ids[0])
            whole = len(order) - begin if not ends_early else len(ids)
            kept.lost += 0 if order[begin : begin + len(ids)] == ids else 1
            kept.lost += max(0, whole - len(ids))
        elif not starts_late and not ends_early:
            kept.lost += plan.samples - len(set(ids))


def _not_seen(plan: Plan, member: Member, got: dict[int, list[int]]) -> int:
    """Samples of epochs of which a reader that is done has none."""
    first = min(got, default=plan.epochs)
    came_late = member.part.late > 0 or member.anew > 0
    before = 0 if came_late else first * plan.samples
    between = bool(got) and set(got) != set(range(first, plan.epochs))
    return before + (plan.samples if between else 0)


def _not_told(plan: Plan, member: Member, got: dict[int, list[int]]) -> int:
    """Samples that a reader neither got nor was told that it dropped, or too many of them."""
    if not _is_undisturbed(plan, member):
        return 0
    dropped: int = read(events_of(member.path))[-1].get("dropped", 0)
    return abs(plan.samples * plan.epochs - sum(map(len, got.values())) - dropped)


def _is_undisturbed(plan: Plan, member: Member) -> bool:
    """Whether a reader was there from beginning to end of one stream, which counted its drops."""
    disturbed = any(each.kills and each.role not in {"worker", "template"} for each in plan.faults)
    return not (disturbed or member.part.late or member.anew)


def _in_order(ids: list[int], order: list[int]) -> bool:
    place = {sample: index for index, sample in enumerate(order)}
    places = [place[sample] for sample in ids]
    return places == sorted(places)
