"""register: bring policies, collectives, devices and clusters of one's own under a name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from foretrain import plugins
from foretrain.jobs.policies.own import own_policy
from foretrain.step.collectives.group import own_algorithm
from foretrain.study.own_entries import register_entries

NONE: Mapping[str, object] = MappingProxyType({})


def register(
    *,
    policies: Mapping[str, object] = NONE,
    collectives: Mapping[str, object] = NONE,
    catalogue: Path | str | None = None,
) -> None:
    """Give what is your own names that studies may use, for as long as the process lives.

    Args:
        policies: scheduling policies: an `Ordering`, a function of a `ClusterState` or a class of
            such functions, of which every run gets another one.
        collectives: algorithms: functions of a `Group` that return a `Line` of seconds.
        catalogue: a folder with devices/*.toml and clusters/*.toml.

    Raises:
        InputError: a name is taken, a thing is not what it should be, or a file has problems.
    """
    plugins.register(plugins.POLICY, policies)
    for name in policies:
        own_policy(name)
    plugins.register(plugins.COLLECTIVE, collectives)
    for name in collectives:
        own_algorithm(name)
    if catalogue is not None:
        register_entries(catalogue)
