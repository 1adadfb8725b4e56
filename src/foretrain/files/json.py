"""JSON: from text to keys and values, with every way in which that fails."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.files.bounds import check_bounds
from foretrain.units import as_written

SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class _Twice(ValueError):
    """A key that stands in a table twice."""


def from_json(text: str, where: str) -> dict[str, Any]:
    """The keys of a JSON document; `NaN` and `Infinity` are numbers, as in published files.

    Args:
        text: of the document.
        where: what to call it in messages.

    Raises:
        InputError: it cannot be read as JSON, is no table, or is out of all proportion.
    """
    try:
        found = json.loads(text, object_pairs_hook=_table)
    except RecursionError:
        raise InputError(f"{where}: is nested too deeply.") from None
    except _Twice as error:
        raise InputError(f"{where}: {error}") from None
    except ValueError as error:  # also a number of thousands of digits
        raise InputError(f"{where}: is not JSON: {error}.") from None
    if not isinstance(found, dict):
        raise InputError(f"{where}: is not a table of keys and values.")
    check_bounds(found, where)
    if SURROGATE.search(text) and not _is_unicode(found):
        raise InputError(f"{where}: holds a text that is not Unicode: half a surrogate pair.")
    return found


def _table(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The keys of a table, each once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise _Twice(f"the key {as_written(twice)} was written before; write it once.")
    return found


def _is_unicode(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
