"""Transfer times of machines that nobody fitted to, and what their intervals are worth.

    python -m validation.transfers            # fails where a bar is missed
    python -m validation.transfers --write    # terms and widths into the shipped set and the folds

Every published source of `nccl-tests` is left out in turn: terms of protocols are fitted to the
others, widths of intervals are learned from how far off these are when they are left out too. Then
each of its rows is predicted, short messages too. Bars: the median of the absolute errors over all
rows is at most 12 %, and 80 % intervals hold 75 to 87 % of what was measured. The exit status is 1
if one is missed.

Rows that are not scored (`check`) are told beside, by terms fitted without their publisher's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from types import MappingProxyType

import numpy as np
from validation.calibrate import FILE
from validation.collectives import BEFORE, terms_of, timed
from validation.fitting.collectives import LEAST, Timed
from validation.fitting.shipped_transfers import write
from validation.fitting.transfers import Missed, as_known, learned, missed, without
from validation.parts.claims import Claim, table
from validation.parts.cold import FOLDS

from foretrain.coefficients.coefficients import Coefficient, TransferErrors
from foretrain.study.coefficients import DEFAULT, PRIORS

MEDIAN = 0.12
HELD = (0.75, 0.87)
REGIMES = MappingProxyType(
    {"below 64 KiB": 0.0, "to 2 MiB": LEAST, "to 64 MiB": 2.0**21, "longer": 2.0**26}
)
"""Sizes by which errors are told, by their least bytes."""

UNSCORED = "azure-aml"
PUBLISHER = MappingProxyType({UNSCORED: ("azure-guide", UNSCORED)})
"""Sources of one publisher, which are left out together."""


def main(arguments: Sequence[str]) -> int:
    """Prints every source by size, and the bars; 1 if one is missed."""
    if "--write" in arguments:
        write_sets()
        return 0
    found = left_out()
    errors = {source: errors_without(source) for source in sources()}
    for source, its in errors.items():
        print(f"{source}: intervals learned from the others: {_said(its)}")
        print("\n".join(_lines([each for each in found if each.row.source == source], its)))
    print(f"{UNSCORED}: not scored, device inferred")
    print("\n".join(_lines(unscored(), learned(every_pair(()), PRIORS.known))))
    print("widths learned from all sources: value, interval, value of the shipped set")
    for name, term in shipped_terms().items():
        interval = f"{term.low:.3g} to {term.high:.3g}"
        print(f"  {name:24s} {term.value:.3g}  {interval}  {DEFAULT.value(name):.3g}")
    claims = list(of_transfers())
    print("\n".join(table(claims)))
    return 1 if any(claim.kept is False for claim in claims) else 0


def write_sets() -> None:
    """Terms and widths into the shipped set and the folds, whose publishers have no such rows."""
    terms = {**terms_of(tuple(timed())), **shipped_terms()}
    for path in (FILE, *sorted(FOLDS.glob("*.toml"))):
        write(path, terms)


def of_transfers() -> Iterator[Claim]:
    """What is claimed of machines that are left out."""
    found = left_out()
    for name, least in (("", 0.0), (", of 64 KiB and more", LEAST)):
        some = [each for each in found if each.row.size >= least]
        off = [abs(float(np.expm1(-each.error))) for each in some]
        held = [each.inside(errors_without(each.row.source)) for each in some]
        title = f"collectives, a source left out{name}"
        yield Claim(name=f"{title}: median", figure=float(np.median(off)), most=MEDIAN)
        low, high = HELD
        yield Claim(name=f"{title}: rows inside", figure=float(np.mean(held)), least=low, most=high)


@cache
def rows(check: bool = False) -> tuple[Timed, ...]:
    """Scored rows of all sizes; or those of the source that is not scored."""
    return tuple(timed(0.0, unscored=UNSCORED if check else ""))


def sources() -> list[str]:
    """Those that are scored."""
    return sorted({row.source for row in rows()})


@cache
def _missed(*sources: str) -> tuple[Missed, ...]:
    """Rows of some sources by terms that were fitted without them."""
    known = without(sources, rows(), priors=PRIORS.known, before=BEFORE)
    return tuple(missed([row for row in rows() if row.source in sources], known))


def left_out() -> list[Missed]:
    """Every scored row by terms that were fitted without its source."""
    return [each for source in sources() for each in _missed(source)]


def every_pair(held: Sequence[str]) -> list[Missed]:
    """What the sources teach of intervals that are not held out: by terms without both.

    Short messages are held against, but teach nothing, as they are not fitted.
    """
    if not held:
        taught: Sequence[Missed] = left_out()
    else:
        taught = [
            each
            for pair in combinations(sources(), 2)
            if set(held) <= set(pair)
            for each in _missed(*pair)
            if each.row.source not in held
        ]
    return [each for each in taught if each.row.size >= LEAST]


@cache
def errors_without(source: str) -> TransferErrors:
    """Widths that the other sources teach."""
    return learned(every_pair((source,)), PRIORS.known)


def shipped_terms() -> Mapping[str, Coefficient]:
    """Widths that all sources teach, each by terms that were fitted without it."""
    taught = every_pair(())
    return as_known(learned(taught, PRIORS.known), taught, PRIORS.known)


def unscored() -> list[Missed]:
    """Rows that are predicted alone, by terms fitted without their publisher's."""
    known = without(PUBLISHER[UNSCORED], rows(), priors=PRIORS.known, before=BEFORE)
    return list(missed(rows(check=True), known))


def _said(errors: TransferErrors) -> str:
    return f"{errors.moving:.3f} where bytes move, {errors.waiting:.3f} where all wait"


def _lines(found: Sequence[Missed], errors: TransferErrors) -> Iterator[str]:
    """A source's runs by size: rows, median error, bias, share inside."""
    bounds = [*REGIMES.values(), np.inf]
    for run in dict.fromkeys(each.row.run for each in found):
        yield f"  {run}"
        for name, low, high in zip(REGIMES, bounds, bounds[1:], strict=False):
            some = [it for it in found if it.row.run == run and low <= it.row.size < high]
            if some:
                off = np.array([np.expm1(-each.error) for each in some])
                held = np.mean([each.inside(errors) for each in some])
                yield (
                    f"    {name:14s} {len(some):2d} rows  median {np.median(np.abs(off)):6.1%}"
                    f"  bias {off.mean():+6.1%}  inside {held:4.0%}"
                )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
