"""The page of networks prints what the library counts."""

import re
from pathlib import Path

import pytest

from foretrain.workload.library.entries import SampleKind, build, find

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "networks.md"
ROW = re.compile(r"\| (\S+) \| ([^|]+) \| ([\d,]+) \| [^|]* \| ([\d.]+) ([GM]) \|")
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))
SCALE = {"G": 1e9, "M": 1e6}


def test_page_has_rows():
    assert len(ROWS) > 50


def test_row_says_what_the_library_counts():
    for name, sample, parameters, count, unit in ROWS:
        reads = find(name).reads
        size = int(re.match(r"\d*", sample)[0] or 0)
        shape = {SampleKind.IMAGE: {"image": size}, SampleKind.TOKENS: {"sequence": size}}.get(
            reads, {}
        )
        model = build(name, **shape)
        multiply_adds = sum(part.repeats * operator.flop for part, operator in model.operators) / 2
        assert model.parameters == int(parameters.replace(",", "")), name
        assert multiply_adds / SCALE[unit] == pytest.approx(float(count), rel=6e-4), name
