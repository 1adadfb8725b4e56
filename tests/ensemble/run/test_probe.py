"""What is measured before a run: samples, handing them on, and each kind of member once."""

import os
import signal
from functools import partial

import pytest
from tests.ensemble.run.studies import PLAIN, WIDE, study
from tests.examples import every
from tests.needs import needs

from batchcast.source import source_of
from foretrain.ensemble.run import home as apart
from foretrain.ensemble.run import probe
from foretrain.ensemble.run.home import Loaded
from foretrain.ensemble.run.probe import Effort, opened
from foretrain.errors import InputError

torch = needs("torch")


BRIEF = Effort(seconds=0.01, most=256, tries=1)


@pytest.mark.parametrize("data", every(2, ["loader", "points"]))
def test_samples_and_members_are_measured(tmp_path, data):
    asked = study(tmp_path, PLAIN, WIDE, name="probed", data=data)
    told = []
    with opened(asked) as ready:
        tell = lambda *now: told.append(now)  # noqa: E731
        found = probe.probe(asked, ready.home, tell, effort=BRIEF)
    assert found.measured
    assert found.sample.size == pytest.approx(20, abs=4)
    assert found.sample.count == (24 if data == "points" else None)
    assert {*found.members} == {"plain", "wide"}
    assert found.handing.store + found.handing.deliver > 0
    assert told[0] == ("probes", 0, 4)
    assert told[-1] == ("probes", 4, 4)


def test_an_empty_loader_is_refused_in_words():
    empty = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(0, 1)))
    source = source_of(empty, shared=None, seed=0, longest=None)
    with pytest.raises(InputError, match="gives no sample"):
        probe.sample_costs(0.01, Loaded(None, source))


def end():
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_apart_gives_back_what_a_function_returns_or_raises():
    assert apart.apart(partial(dict, a=[1, 2.5]), what="a list") == {"a": [1, 2.5]}
    with pytest.raises(InputError, match="one over nothing: ZeroDivisionError: "):
        apart.apart(partial(divmod, 1, 0), what="one over nothing")


def test_a_process_apart_that_is_killed_says_what_it_was_to_find_out():
    with pytest.raises(InputError, match=r"a step of net: .* was killed, perhaps"):
        apart.apart(end, what="a step of net")
