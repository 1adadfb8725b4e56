"""The seconds of a whole step of one plan, stage by stage."""

from tests.by_hand import meters
from tests.by_hand.networks import network

from foretrain.plan.table import table_of
from foretrain.step.held import hold
from foretrain.step.setting import setting
from foretrain.step.simulated_passes import closed_form
from foretrain.step.step import factors, step, step_times
from foretrain.trainers.software import SHARED


def known(plan, workload, *, coefficients=None, software=SHARED, **rates):
    """A setting where devices do 1 FLOP/s, unless told otherwise, and all else takes no time."""
    cluster = meters.one_level(plan.devices, **({"flop": 1.0} | rates))
    return setting(workload, cluster, meters.IDEAL.changed(coefficients or {}), software=software)


def timed(plan, *, layers=2, routed=False, **changes):
    """What happens in a step of a network, stage by stage."""
    asked = known(plan, network(layers=layers, routed=routed), **changes)
    return step_times(asked, priced(asked, plan))


def priced(asked, plan):
    """The factors of one plan."""
    return factors(asked, hold(asked, table_of([plan])))


def seconds(plan, *, layers=2, routed=False, **changes):
    """The step, and the parts of it."""
    asked = known(plan, network(layers=layers, routed=routed), **changes)
    columns = step(asked, priced(asked, plan))
    parts = {name: float(getattr(columns, name)[0]) for name in columns.__dataclass_fields__}
    return closed_form(step_times(asked, priced(asked, plan))), parts
