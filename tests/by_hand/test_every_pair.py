"""Every strategy, schedule and memory policy alone, and every pair of them, against the ledger."""

from functools import cache
from itertools import combinations

import pytest
from tests.by_hand import ledger, meters
from tests.by_hand.networks import network
from tests.strategies.policies import POLICIES, REFUSED, combined

from foretrain.plan.plan import Plan, Recompute

OURS = {
    **POLICIES,
    "recomputation of some layers": {"recompute": Recompute.FULL, "recompute_layers": 1},
}
ROUTED = ("experts", "tensor experts")
DEEP = ("interleaved", "uneven cut")
CASES = {
    names: Plan(**fields)
    for names in [(), *((name,) for name in OURS), *combinations(OURS, 2)]
    if names not in REFUSED and names[::-1] not in REFUSED
    if (fields := combined(*names, policies=OURS)) is not None
}


def asked(names):
    return {
        "layers": 4 if any(name in DEEP for name in names) else 2,
        "routed": any(name in ROUTED for name in names),
    }


@cache
def readings():
    tables = {}
    for names, plan in CASES.items():
        what = asked(names)
        tables.setdefault((what["layers"], what["routed"], plan.devices), []).append(names)
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        meters.with_whole_products(patch)
        for (layers, routed, _), several in tables.items():
            plans = [CASES[names] for names in several]
            read = meters.read(network(layers=layers, routed=routed), plans)
            found.update(zip(several, read, strict=True))
    return found


@pytest.mark.parametrize("names", CASES, ids=lambda names: " and ".join(names) or "one device")
def test_pair_takes_what_is_counted_by_hand(names):
    by_hand = ledger.amounts(CASES[names], **asked(names))
    read = readings()[names]
    assert len(read) == len(by_hand)
    wrong = {}
    for stage, (found, expected) in enumerate(zip(read, by_hand, strict=True)):
        for name, value in expected.items():
            if found[name] != pytest.approx(value, rel=1e-9, abs=1e-9):
                wrong[stage, name] = (float(found[name]), value)
    assert not wrong
