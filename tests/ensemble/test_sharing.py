from dataclasses import replace
from math import inf

from hypothesis import given
from hypothesis import strategies as some
from tests.ensemble.settings import COSTS, any_costs
from tests.ensemble.test_one_node import NOTHING, PICTURES, RING, node

from foretrain.ensemble.one_node import MeasuredLoaders, private_loaders, shared_stream
from foretrain.ensemble.plan import advise_sharing, least_members


def test_eight_members_on_two_cores_should_share():
    advice = advise_sharing(node(8, costs=PICTURES, loaders=RING))
    assert advice.pays
    assert advice.verdict.startswith("Sharing pays: shared stream")
    assert advice.cpu_ratio > 4
    assert advice.rate_ratio > 4


def test_one_member_does_not_share_where_a_slot_costs_more_than_it_saves():
    loaders = replace(NOTHING, store=0.05, feed=0.01, deliver=0.001)
    advice = advise_sharing(node(1, loaders=loaders, cores=1))
    assert not advice.pays
    assert "does not pay" in advice.verdict


def test_little_to_share_does_not_pay():
    cheap = replace(COSTS, prepare=1e-5)
    loaders = MeasuredLoaders(hand=1e-5, store=2e-5, feed=1e-5, deliver=1e-5)
    advice = advise_sharing(node(4, costs=cheap, loaders=loaders))
    assert not advice.pays
    assert "too little to share" in advice.verdict


def test_a_stream_that_cannot_keep_up_does_not_pay():
    loaders = replace(NOTHING, store=2.0, feed=2.0)
    advice = advise_sharing(node(2, loaders=loaders, cores=8))
    assert not advice.pays
    assert "limits the stream" in advice.verdict


def test_a_delivery_dearer_than_preparing_never_pays():
    assert least_members(node(2, loaders=replace(NOTHING, deliver=1.0))) == inf


@given(costs=any_costs(), store=some.floats(0.5, 4), deliver=some.floats(0, 0.9))
def test_from_the_least_number_of_members_on_a_stream_takes_less_cpu_time(costs, store, deliver):
    loaders = MeasuredLoaders(
        hand=0.0, store=store * costs.prepare, feed=0.0, deliver=deliver * costs.prepare
    )
    least = int(least_members(node(1, costs=costs, loaders=loaders)))
    for members, spared in ((least, True), (least - 1, False)):
        if members:
            setting = node(members, costs=costs, loaders=loaders)
            one, many = private_loaders(setting, workers=0), shared_stream(setting, workers=1)
            assert (many.cpu < one.cpu * (1 + 1e-9)) == spared or abs(many.cpu - one.cpu) < 1e-9


def test_no_more_workers_are_tried_than_asked_for():
    advice = advise_sharing(node(2, cores=8), workers=1)
    assert [each.workers for each in advice.estimates] == [0, 1, 1, 1]
