"""Traces of a profiler, as files: JSON, packed by gzip or not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.launch.kineto import is_profile
from foretrain.study.reading import exists, read_bytes

MOST_BYTES: Final = 2**29
"""Of a trace unpacked: some steps of a large model."""

MARKS: Final = (b'"schemaVersion"', b'"traceEvents"')
HEAD: Final = 2**16
PACKED: Final = ".json.gz"


def is_profile_file(path: Path) -> bool:
    """Whether a file is the trace of a profiler, by how it begins; False of what cannot be read.

    Nothing else that is asked about is packed JSON, so such a name is one whatever it holds.
    """
    if path.name.endswith(PACKED):
        return True
    if path.suffix != ".json" or not exists(path):
        return False
    try:
        content = read_bytes(path, most=MOST_BYTES)
    except InputError:
        return False
    return any(mark in content[:HEAD] for mark in MARKS)


def read_profile(path: Path) -> Mapping[str, Any]:
    """The trace in a file.

    Raises:
        InputError: it cannot be read, or is no trace.
    """
    content = read_bytes(path, most=MOST_BYTES)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}.") from None
    if not is_profile(found):
        raise InputError(f'{path}: is no trace; a trace of torch.profiler has "traceEvents".')
    document: Mapping[str, Any] = found
    return document
