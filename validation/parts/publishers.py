"""Reads who published what: sources that have to be left out together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from foretrain.study.documents import read_toml
from foretrain.study.problems import Problems
from foretrain.units import as_written


def read_publishers(path: Path) -> Mapping[str, str]:
    """The publisher of every source.

    Args:
        path: a TOML file with one key a publisher, a list of `source_id`.

    Raises:
        InputError: a value is not a list of texts, or a source has two publishers.
    """
    problems = Problems(str(path))
    publishers: dict[str, str] = {}
    for publisher, sources in read_toml(path, problems).items():
        if not _is_list_of_texts(sources):
            problems.add(publisher, f"{as_written(sources)} is not a list of sources.")
            continue
        for source in sources:
            if source in publishers:
                problems.add(
                    publisher,
                    f"'{source}' stands under '{publishers[source]}' too; keep one of the two.",
                )
            publishers[source] = publisher
    problems.check()
    return MappingProxyType(publishers)


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) and each for each in value)
