from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from validation.ensembles.rounds import (
    Measured,
    Operation,
    Sharing,
    predicted_round,
    sends_of_trees,
)

from foretrain.errors import InputError, MissingCoefficient

MODES = ["duplicate", "all-shared", "single-broadcast", "multi-broadcast"]
BANDWIDTH = 1e6


def ideal(start=0.0):
    """A library whose all-gather is a ring, and whose root sends to all others."""
    operations = {w: operation(w - 1, start=start) for w in range(2, 9)}
    return Measured(bandwidth=BANDWIDTH, buffered=0.0, gather=operations, broadcast=operations)


def operation(factor, *, start=0.0, root=None, cores=0.0):
    return Operation(start=start, alone=factor, root=root or factor, streamed=factor, cores=cores)


def sharing(mode="all-shared", nodes=4, preprocessors=2, **more):
    chosen = {"all-shared": nodes, "duplicate": 1}.get(mode, preprocessors)
    told = {"batch": 10, "block_bytes": 1e5, "decode_rate": 100.0, "queued": True}
    return Sharing(mode=mode, nodes=nodes, preprocessors=chosen, **told | more)


rates = st.floats(1.0, 1e4)
sizes = st.floats(1.0, 1e7)
modes = st.sampled_from(MODES)


@given(mode=modes, rate=rates, size=sizes, queued=st.booleans())
def test_free_exchange_leaves_decoding(mode, rate, size, queued):
    free = replace(ideal(), bandwidth=1e30)
    given_ = sharing(mode, decode_rate=rate, block_bytes=size, queued=queued)
    together = 1 if mode == "multi-broadcast" and not queued else given_.preprocessors
    assert predicted_round(given_, free).rate == pytest.approx(together * rate)


@given(mode=modes, rate=rates, size=sizes)
def test_queues_never_hurt(mode, rate, size):
    given_ = sharing(mode, decode_rate=rate, block_bytes=size)
    in_turn = predicted_round(replace(given_, queued=False), ideal())
    assert predicted_round(given_, ideal()).seconds <= in_turn.seconds * (1 + 1e-9)


@given(mode=modes, rate=rates, size=sizes, queued=st.booleans(), factor=st.floats(0.1, 10))
def test_all_rates_times_k_divide_the_seconds_by_k(mode, rate, size, queued, factor):
    slow = sharing(mode, decode_rate=rate, block_bytes=size, queued=queued)
    fast = replace(slow, decode_rate=factor * rate)
    quicker = replace(ideal(1e-3 / factor), bandwidth=factor * BANDWIDTH)
    seconds = predicted_round(slow, ideal(1e-3)).seconds
    assert predicted_round(fast, quicker).seconds == pytest.approx(seconds / factor)


def test_all_gather_of_four_nodes_in_turn_adds_decoding_and_three_blocks():
    assert predicted_round(sharing(queued=False), ideal()).seconds == pytest.approx(0.1 + 0.3)


def test_every_operation_takes_a_start():
    assert predicted_round(sharing(), ideal(0.01)).gather == pytest.approx(0.3 + 0.01)


def test_last_preprocessor_sends_what_it_gathers_and_what_it_broadcasts():
    found = predicted_round(sharing("single-broadcast"), ideal())
    assert found.gather == pytest.approx(0.1)
    assert found.broadcast == pytest.approx(2 * 2 * 0.1)
    assert found.link == pytest.approx((1 + 2 * 2) * 0.1)


def test_root_that_may_go_on_early_decodes_while_others_still_pass_blocks_on():
    alone = ideal()
    early = replace(alone, broadcast={4: operation(3.0, root=2.0)})
    found = predicted_round(sharing("single-broadcast", preprocessors=1, queued=False), early)
    assert found.seconds == pytest.approx(0.1 + 0.2)


def test_root_goes_on_while_its_last_bytes_wait_to_leave():
    given_ = sharing("single-broadcast", nodes=2, preprocessors=1, queued=False)
    assert predicted_round(given_, ideal()).seconds == pytest.approx(0.1 + 0.1)
    buffered = replace(ideal(), buffered=2e4)
    assert predicted_round(given_, buffered).seconds == pytest.approx(0.1 + 0.08)


def test_decoding_and_moving_bytes_share_the_cores_of_a_node():
    busy = replace(ideal(), gather={2: operation(1.0, cores=0.4)})
    given_ = sharing(nodes=2, decode_cores=1.0, cores=1.0)
    assert predicted_round(given_, busy).seconds == pytest.approx(0.1 + 0.4 * 0.1)
    assert predicted_round(replace(given_, cores=2.0), busy).seconds == pytest.approx(0.1)


def test_several_broadcasts_at_once_load_the_cores_of_a_node_each():
    busy = replace(ideal(), broadcast={4: operation(3.0, cores=0.5)})
    given_ = sharing("multi-broadcast", preprocessors=3, decode_cores=1.0, cores=1.0)
    assert predicted_round(given_, busy).processor == pytest.approx(0.1 + 3 * 0.5 * 0.3)


@given(mode=modes, busy=st.floats(0.0, 1.0), cores=st.floats(0.5, 64.0))
def test_more_cores_never_hurt(mode, busy, cores):
    few = sharing(mode, decode_cores=busy, cores=cores)
    many = replace(few, cores=2 * cores)
    assert predicted_round(many, ideal()).rate >= predicted_round(few, ideal()).rate


def test_four_trees_over_four_nodes_load_all_links_alike():
    assert sends_of_trees(4, 4) == [3, 3, 3, 3]
    assert sends_of_trees(4, 1) == [2, 1, 0, 0]


@given(nodes=st.integers(1, 40), roots=st.integers(1, 40))
def test_every_tree_sends_to_every_other_node_once(nodes, roots):
    assert sum(sends_of_trees(nodes, min(roots, nodes))) == min(roots, nodes) * (nodes - 1)


def test_operation_that_was_not_measured_is_named():
    with pytest.raises(MissingCoefficient, match="no all-gather of 9 members"):
        predicted_round(sharing(nodes=9), ideal())


def test_unknown_mode_is_refused():
    with pytest.raises(InputError, match="Known: duplicate"):
        predicted_round(replace(sharing(), mode="broadcast"), ideal())
