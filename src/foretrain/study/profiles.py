"""Files of profiles: what a worker and its servers did in some steps.

A profile is a JSON document. Times are seconds since a step began, sizes bytes, rates bytes per
second; a key that the reader does not know is refused.

    {
      "schema": "foretrain/profile/1",
      "name": "two layers over 10 Gb/s",
      "nodes": 2,
      "samples": 32,
      "link": 1.25e9,
      "latency": 5e-5,
      "steps": [
        {
          "number": 0,
          "operations": [
            {"name": "pull 1", "resource": "downlink", "start": 0, "end": 0.08, "size": 1e8,
             "layer": 1},
            {"name": "forward 1", "resource": "compute", "start": 0.08, "end": 0.1,
             "after": ["pull 1"]}
          ]
        }
      ]
    }
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Final

from foretrain.measured.profile import Profile
from foretrain.study.documents import from_json
from foretrain.study.problems import Problems, validated
from foretrain.study.reading import read_text
from foretrain.study.writing import write_text
from foretrain.units import as_written

SCHEMA: Final = "foretrain/profile/1"
MOST_BYTES: Final = 2**26


def read_profile(path: Path) -> Profile:
    """The profile that a file holds.

    Raises:
        InputError: it cannot be read, or what it says cannot be; all that is wrong at once.
    """
    document = from_json(read_text(path, most=MOST_BYTES), str(path))
    problems, inside = Problems(str(path)), Problems(str(path))
    said = document.pop("schema", None)
    if said != SCHEMA:
        problems.add("schema", f"{as_written(said)} is not known. Write '{SCHEMA}'.")
    found = validated(Profile, document, path="", problems=inside, taken=("schema",))
    for key, text in inside.found:
        problems.add(key.lstrip("."), text)
    problems.check()
    assert found
    return found


def write_profile(path: Path, profile: Profile) -> None:
    """A file that `read_profile` reads.

    Raises:
        InputError: it cannot be written; what was there before still is.
    """
    write_text(path, f"{profile_document(profile)}\n")


def profile_document(profile: Profile) -> str:
    """The text of a profile's file."""
    return json.dumps({"schema": SCHEMA, **asdict(profile)}, indent=1)
