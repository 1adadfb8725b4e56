"""Sets that somebody brings: what is written is what is read, and bad files are told whole."""

from dataclasses import replace

import pytest

from foretrain.coefficients.coefficients import Coefficient, Origin
from foretrain.errors import InputError
from foretrain.study.coefficients import PRIORS, SHIPPED, as_toml, read_calibration

ENTRY = 'value = {}\nlow = 0.5\nhigh = 0.9\nkind = "given"\nsource = "me"\n'


def mine(**changes):
    """A set in which one link was measured, by runs with odd names."""
    link = Coefficient(
        value=0.7123456789,
        unit="1",
        low=0.6,
        high=0.8,
        kind=Origin.MEASURED,
        source='"my" runs\\2026',
        rows=("a-01", "a-02", "a-03", "run..7", "1..2"),
    )
    known = {**SHIPPED.known, "links.nvlink": link}
    return replace(SHIPPED, name="mine", date="2026-11-22", known=known, **changes)


def written(folder, text):
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def problems_of(folder, text):
    with pytest.raises(InputError) as refused:
        read_calibration(written(folder, text))
    return str(refused.value)


@pytest.mark.parametrize("over", [SHIPPED, PRIORS], ids=["shipped", "priors"])
def test_what_is_written_is_what_is_read(tmp_path, over):
    text = as_toml(mine(), over=over, about="", digits=17)
    again = read_calibration(written(tmp_path, text))
    assert again == mine()
    assert again.coefficients == mine().coefficients


def test_a_set_answers_with_its_own_sources(tmp_path):
    text = as_toml(mine(), over=SHIPPED, about="", digits=12)
    coefficients = read_calibration(written(tmp_path, text)).coefficients
    assert coefficients.name == "mine"
    assert coefficients.sources["links.nvlink"] == mine().known["links.nvlink"]
    assert coefficients.sources["links.pcie"] == SHIPPED.known["links.pcie"]


def test_a_set_may_say_less_than_everything(tmp_path):
    found = read_calibration(written(tmp_path, "[links.nvlink]\n" + ENTRY.format(0.7)))
    assert (found.name, found.covers) == ("mine", SHIPPED.covers)
    assert found.known["links.nvlink"].value == 0.7
    assert found.known["links.nvlink"].unit == "1"


def test_every_problem_of_a_file_is_told_at_once(tmp_path):
    text = "\n".join(
        [
            'name = "2026-11"\nover = "2019-01"\nlinks = 3\ncovers = 4\n',
            "[memory]\nreserve = 2",
            "[link.nvlink]\n" + ENTRY.format(0.7),
            "[host.launch]\n" + ENTRY.format('"soon"'),
            "[host.gap]\nunit = 'h'\n" + ENTRY.format(0.7),
            "[matrix.sustained]\n" + ENTRY.format(0.95),
            "[matrix.best]\n" + ENTRY.format(0.7).replace("0.5", "-0.5"),
            "[overlap.tensor]\n" + ENTRY.format(0.7).replace("0.9", "inf"),
            "[step.factor]\nvalu = 1\n" + ENTRY.format(0.7).replace("source", "sauce"),
        ]
    )
    told = problems_of(tmp_path, text)
    assert "has 14 problems" in told
    for line in (
        "- name: is '2026-11'; give the set a name of its own.",
        "- over: this foretrain has no set '2019-01'. Known: 2026-11, priors.",
        "- links: unknown key. Known beside coefficients: name, date, over, covers.",
        "- covers: is 4; a table is wanted.",
        "- memory.reserve: is 2; a table with a value is wanted.",
        "- link.nvlink: unknown coefficient. Did you mean 'links.nvlink'?",
        "- host.launch.value: ",
        "- host.gap.unit: is 'h'; 's' is meant.",
        "- matrix.sustained: a coefficient must lie in its interval",
        "- matrix.best.low: is -0.5; only values above 0 have a meaning.",
        "- overlap.tensor: has an interval without an end.",
        "- step.factor.valu: unknown key.",
        "- step.factor.sauce: unknown key.",
        "- step.factor.source: is missing.",
    ):
        assert line in told


def test_rows_without_end_are_refused(tmp_path):
    entry = ENTRY.format(0.7).replace("given", "measured") + 'rows = ["a-1..a-99999999999"]\n'
    assert "links.nvlink.rows: are more than" in problems_of(tmp_path, "[links.nvlink]\n" + entry)


def test_what_is_no_set_is_refused(tmp_path):
    assert "is not TOML" in problems_of(tmp_path, "value = ")
    assert "the file is empty" in problems_of(tmp_path, "")
    with pytest.raises(InputError, match="no such file"):
        read_calibration(tmp_path / "absent.toml")
