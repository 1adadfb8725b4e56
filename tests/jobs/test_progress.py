"""Progress: jobs whose rate changes with what they have done."""

from math import inf

from foretrain.cluster.mixed import fleet
from foretrain.jobs.ordered import OrderedDispatcher
from foretrain.jobs.policies.fifo import fifo
from foretrain.jobs.policies.gittins import las
from foretrain.jobs.pool import CountedPool
from foretrain.jobs.progress import RateStretch
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Job, Trace
from foretrain.throughput import rigid


def halving(active, held):
    """Two units of work at a unit per second, the rest at half of that."""
    return RateStretch(1.0, 2.0) if active.done < 2.0 else RateStretch(0.5, inf)


def ended(order, *rows):
    """When jobs end on one device, from their arrival and work."""
    jobs = tuple(
        Job(name=f"j{place}", arrival=arrival, work=work, curve=rigid(1), devices=1)
        for place, (arrival, work) in enumerate(rows)
    )
    trace = Trace(name="by hand", jobs=jobs)
    dispatcher = OrderedDispatcher(order)
    return list(Simulation(trace, CountedPool(fleet(1)), dispatcher, progress=halving).run().ended)


def test_a_job_that_ends_before_its_rate_changes_never_meets_the_change():
    assert ended(fifo(), (0, 2)) == [2]


def test_work_after_the_change_goes_at_the_other_rate():
    assert ended(fifo(), (0, 5)) == [2 + 6]


def test_an_interrupted_job_goes_on_where_it_was():
    # The first works a second and falls a level; the second does its unit; the rest takes 1 + 2.
    assert ended(las((1.0,)), (0, 3), (0.5, 1)) == [5, 2]
