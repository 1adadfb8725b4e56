"""Everything that the cost model says of some plans, by name."""

from dataclasses import fields

from foretrain.plan.table import table_of
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total
from foretrain.step.step import StepColumns, factors, step, step_time


def parts_of(setting, held):
    """The parts of each plan's step, in the order in which they add up."""
    columns = step(setting, factors(setting, held))
    return {field.name: getattr(columns, field.name) for field in fields(StepColumns)}


def prices_of(setting, held):
    """Memory, seconds and parts of plans that are held already."""
    return {
        "memory": heaviest_total(setting, held),
        "seconds": step_time(setting, factors(setting, held)),
        **parts_of(setting, held),
    }


def prices(setting, plans):
    """Memory, seconds and parts of some plans."""
    return prices_of(setting, hold(setting, table_of(plans)))


def seconds(setting, *plans):
    """The step of each plan."""
    return step_time(setting, factors(setting, hold(setting, table_of(plans))))


def parts(setting, plan):
    """What the step of one plan consists of."""
    found = parts_of(setting, hold(setting, table_of([plan])))
    return {name: float(column[0]) for name, column in found.items()}
