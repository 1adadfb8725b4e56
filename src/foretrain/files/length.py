"""Length: the workload of a study with samples of other lengths."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from foretrain.errors import InputError
from foretrain.files.problems import Problems
from foretrain.files.workload import read_workload
from foretrain.workload.workload import Workload


def with_length(section: Mapping[str, object], tokens: int, folder: Path | None = None) -> Workload:
    """The workload of a section [workload] for samples of so many tokens, all else as written.

    An amount in tokens stays that many tokens: it is fewer samples where they are longer.

    Args:
        section: keys and values.
        tokens: of one sample.
        folder: of the study's file, where relative paths start.

    Raises:
        InputError: the model cannot have samples of that length.
    """
    if isinstance(section.get("model"), Mapping):
        raise InputError("the totals of a model are those of samples of one length.")
    problems = Problems("workload")
    workload = read_workload({**section, "sequence": tokens}, problems, folder)
    if workload is None or problems.found:
        raise InputError(" ".join(text for _, text in problems.found))
    return workload
