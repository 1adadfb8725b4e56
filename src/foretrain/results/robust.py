"""What `robust` answers: whether the best plan stays the best while a coefficient is unsure."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """One coefficient at one end of its interval.

    Attributes:
        coefficient: its name.
        end: low or high.
        value: of the coefficient.
        unit: of the value; 1 for a ratio.
        regrets: by what part each of the plans has more than the best of them has then; None for a
            plan that does not fit. [plan]
    """

    coefficient: str
    end: str
    value: float
    unit: str
    regrets: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Robust:
    """The best plans of a search, each coefficient in turn at the ends of its interval.

    Attributes:
        plans: the plans, in the order of the search.
        swings: the ends that change the distance between any two of the plans, those under which
            the best plan loses most first.
        worst: largest regret of each plan; None for one that does not fit under some end. [plan]
        choice: place of the plan with the least worst regret, counted from 0; of those that do not
            always fit the one with the least regret where it fits.
    """

    plans: tuple[Plan, ...]
    swings: tuple[Swing, ...]
    worst: tuple[float | None, ...]
    choice: int
