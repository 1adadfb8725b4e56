"""What is proposed: plans worth running that differ, and what their safety costs."""

from __future__ import annotations

from dataclasses import dataclass, field

from foretrain.show.table import label
from foretrain.show.words import percent, whole
from foretrain.step.result import Ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Ranked):
    """A plan worth running that differs from the others that are proposed.

    Attributes:
        name: what speaks for it, such as "fastest" or "safest, least memory".
        class_: which class of equal plans it leads, counted from 0; `class` in a document.
        probability_best: how likely the plan that truly has the least is of this class, from 0 to
            1, by how published pairs of plans came out beside their predictions.
        folded: other plans of the class that were found.
        more: by what part it has more of the objective than the first that is proposed.
    """

    name: str = field(metadata=label("plan", spare=1))
    class_: int
    probability_best: float = field(
        metadata=label("best", percent, meaning="how likely the truly best plan is like this one")
    )
    folded: int = field(metadata=label("folded", whole, meaning="other plans like it", spare=9))
    more: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Safety:
    """What it costs that a plan must fit with some probability.

    Attributes:
        fits: the probability that was asked for.
        riskier: the best plan of those that are predicted to fit.
        gain: by what part it has less of the objective than the best that is safe.
    """

    fits: float
    riskier: Ranked
    gain: float
