"""Tables of measurements: what is read, and what a bad table is told."""

import csv
import io
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import ForetrainError, InputError
from foretrain.measured.run import Subject, TableKind, UnreadRow
from foretrain.study.measurement_rows import COLUMNS, LEAST_COUNT, NUMBERS, REQUIRED
from foretrain.study.measurements import measurements_from, read_measurements, read_runs
from foretrain.study.problems import MOST_LISTED

TABLES = Path(__file__).parents[2] / "validation" / "tables"
ROW = {
    "id": "ours-0001",
    "source_id": "ours",
    "task": "pretrain",
    "model": "tiny",
    "family": "gpt",
    "layers": "2",
    "gpu_norm": "A100 SXM 80GB",
    "gpus_total": "8",
    "mbs": "4",
    "gbs": "32",
    "seq_len": "128",
    "step_time_s": "1.5",
}
MEMORY = {
    "id": "ours-0001",
    "source_id": "ours",
    "model": "tiny",
    "quantity": "GPU memory",
    "value": "2",
    "unit": "GiB",
}


def text_of(*rows: dict[str, str]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def read(*rows: dict[str, str], table: TableKind = TableKind.LLM_TRAINING):
    return measurements_from(text_of(*rows), table=table, where="table.csv")


def refused(*rows: dict[str, str], table: TableKind = TableKind.LLM_TRAINING) -> str:
    with pytest.raises(InputError) as error:
        read(*rows, table=table)
    return str(error.value)


def unread(*rows: dict[str, str], table: TableKind = TableKind.LLM_TRAINING) -> str:
    """Why rows that cannot be read cannot be."""
    return "\n".join(row.reason for row in read(*rows, table=table) if isinstance(row, UnreadRow))


def test_a_row_is_read_in_our_words():
    run = read(ROW)[0]
    assert (run.id, run.subject, run.measured) == ("ours-0001", Subject.STEP_TIME, 1.5)
    assert (run.network.layers, run.place.devices, run.layout.micro_batch) == (2, 8, 4.0)


def test_an_empty_cell_and_a_missing_column_are_blanks():
    run = read({**ROW, "layers": "", "dp": ""})[0]
    assert run.network.layers is None
    assert run.layout.data is None
    assert run.layout.tensor is None
    assert not run.precision


def test_a_batch_that_ran_together_with_the_length_of_a_sample_is_a_blank():
    run = read({**ROW, "seq_len": "512", "mbs": "51216384", "gbs": "131072"})[0]
    assert (run.layout.micro_batch, run.global_batch, run.measured) == (None, None, None)


@pytest.mark.parametrize("batch", ["128", "1284", "96128"])
def test_a_batch_that_a_device_may_take_is_read_as_it_stands(batch):
    assert read({**ROW, "mbs": batch})[0].layout.micro_batch == float(batch)


def test_a_step_lasts_as_long_as_its_tokens_where_only_their_rate_is_stated():
    run = read({**ROW, "step_time_s": "", "tokens_per_s_total": "1024"})[0]
    assert run.measured == 32 * 128 / 1024


def test_memory_is_read_in_bytes_and_shares_as_fractions():
    share = "activation memory relative to tensor-parallel baseline without recompute"
    found = read(
        MEMORY,
        {**MEMORY, "id": "b", "unit": "GB"},
        {**MEMORY, "id": "c", "quantity": share, "unit": "percent"},
        table=TableKind.MEMORY,
    )
    assert [run.measured for run in found] == [2.0 * 2**30, 2e9, 0.02]


def test_transfers_are_read_in_seconds():
    row = {"id": "a", "source_id": "ours", "collective": "all_reduce", "time_us": "20"}
    run = read(row, table=TableKind.COLLECTIVES)[0]
    assert (run.subject, run.measured) == (Subject.TRANSFER_TIME, pytest.approx(2e-5))


@pytest.mark.parametrize("name", ["llm_training", "memory"])
def test_the_shipped_tables_are_read_whole(name):
    path = TABLES / f"{name}.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [run.id for run in read_measurements(path)] == [row["id"] for row in rows]


def test_the_kind_is_taken_from_the_files_name_or_given(tmp_path):
    named, other = tmp_path / "llm_training.csv", tmp_path / "mine.csv"
    for path in (named, other):
        path.write_text(text_of(ROW))
    assert read_measurements(named) == read_measurements(other, kind="llm_training")
    with pytest.raises(InputError, match=r"not a kind of table.*--kind"):
        read_measurements(other)
    with pytest.raises(InputError, match="Did you mean 'llm_training'"):
        read_measurements(other, kind="lm_training")


def test_a_missing_file_is_told_before_its_name_is_read(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_measurements(tmp_path / "runs.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_measurements(tmp_path)


def test_a_row_that_cannot_be_read_costs_no_other_and_says_line_column_and_value():
    first, second, third = read(
        {**ROW, "layers": "two"},
        {**ROW, "id": "ours-0002"},
        {**ROW, "id": "ours-0003", "step_time_s": "fast", "mbs": "1.5"},
    )
    assert first.reason.startswith("line 2: layers is 'two', not a whole number of at least 1")
    assert (first.id, first.source_id, first.subject) == ("ours-0001", "ours", Subject.STEP_TIME)
    assert second.measured == 1.5
    assert third.reason.startswith("line 4: mbs is '1.5'")
    assert "step_time_s is 'fast', not a number of at least 0" in third.reason


def test_where_every_row_must_be_readable_the_others_are_told_at_once(tmp_path):
    path = tmp_path / "llm_training.csv"
    path.write_text(text_of({**ROW, "layers": "two"}, {**ROW, "id": "b", "mbs": "x"}))
    with pytest.raises(InputError, match="has 2 problems") as error:
        read_runs(path)
    assert "- line 2: layers is 'two'" in str(error.value)
    assert "- line 3: mbs is 'x'" in str(error.value)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ('b,"ours,pretrain,tiny', "is not CSV"),
        ("b,ours", "has 2 cells, the header has 12"),
        (f"{'b' * 200},ours{',' * 10}", "id has 200 letters; at most 100 are read"),
        (f"b,ours,{'x' * 20_000}{',' * 9}", "task has 20,000 letters; at most 10,000 are read"),
        ("ours-0001,ours" + "," * 10, "id 'ours-0001' stands in line 2 too"),
    ],
)
def test_a_broken_line_costs_no_other(broken, told):
    head, first = text_of(ROW).splitlines()
    text = "\n".join([head, first, broken, first.replace("0001", "0002")])
    found = measurements_from(text, table=TableKind.LLM_TRAINING, where="t")
    assert [row.id for row in found if not isinstance(row, UnreadRow)] == ["ours-0001", "ours-0002"]
    (wrong,) = [row for row in found if isinstance(row, UnreadRow)]
    assert wrong.line == 3
    assert wrong.reason.startswith("line 3: ")
    assert told in wrong.reason
    assert len(wrong.reason) < 300


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "1e999", "1_0", "٣", "0x1", "1,5"])
def test_what_is_not_a_finite_number_of_at_least_0_is_refused(value):
    assert "step_time_s" in unread({**ROW, "step_time_s": value})


@pytest.mark.parametrize("value", ["1e15", "9" * 5000, "1e308"])
def test_a_count_out_of_all_proportion_is_refused(value):
    assert "layers is" in unread({**ROW, "layers": value})


def test_a_measured_value_of_0_is_refused():
    assert "must be above 0" in unread({**ROW, "step_time_s": "0"})


def test_problems_past_the_limit_are_counted(tmp_path):
    rows = [{**ROW, "id": f"ours-{i}", "layers": "x"} for i in range(MOST_LISTED + 7)]
    path = tmp_path / "llm_training.csv"
    path.write_text(text_of(*rows))
    with pytest.raises(InputError) as error:
        read_runs(path)
    message = str(error.value)
    assert message.startswith(f"{path} has {MOST_LISTED + 7} problems.\n")
    assert message.count("layers is 'x'") == MOST_LISTED
    assert message.endswith("\n- and 7 more.")


def test_a_misspelt_column_is_named_with_the_nearest_one():
    row = {("step_time" if name == "step_time_s" else name): value for name, value in ROW.items()}
    message = refused(row)
    assert "unknown column 'step_time'. Did you mean 'step_time_s'?" in message
    assert "column 'step_time_s' is missing. Is it 'step_time'?" in message


@pytest.mark.parametrize("column", REQUIRED[TableKind.LLM_TRAINING])
def test_a_missing_column_is_named(column):
    row = {name: value for name, value in ROW.items() if name != column}
    assert f"column '{column}' is missing" in refused(row)


def test_repeated_columns_are_refused():
    with pytest.raises(InputError, match="'id' occurs more than once"):
        measurements_from("id,id\n", table=TableKind.MEMORY, where="t")


def test_a_row_without_id_is_refused():
    assert "needs an id" in unread({**ROW, "id": ""})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"quantity": "GPU memry"}, "Did you mean 'GPU memory'"),
        ({"unit": "GiBs"}, "Did you mean 'GiB'"),
        ({"unit": "percent"}, "does not measure"),
    ],
)
def test_unknown_quantities_and_units_of_memory_are_refused(change, words):
    assert words in unread({**MEMORY, **change}, table=TableKind.MEMORY)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"\xff\xfe\x00", r"byte 0 \(0xff\) is not UTF-8 text"),
        (b'id,"source_id\n', "is not CSV"),
        (b"\x00\x01", "column"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, content, words):
    path = tmp_path / "llm_training.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_measurements(path)


def test_a_folder_a_missing_file_and_a_huge_one_are_refused(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="is a folder"):
        read_measurements(tmp_path, kind="memory")
    path = tmp_path / "memory.csv"
    with pytest.raises(InputError, match="there is no such file"):
        read_measurements(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_measurements(Path("a\0b"), kind="memory")
    monkeypatch.setattr("foretrain.study.measurements.MOST_BYTES", 10)
    path.write_text(text_of(MEMORY))
    with pytest.raises(InputError, match="larger than"):
        read_measurements(path)


def test_a_byte_order_mark_and_windows_line_ends_are_understood(tmp_path):
    path = tmp_path / "llm_training.csv"
    path.write_bytes(b"\xef\xbb\xbf" + text_of(ROW).encode())
    assert read_measurements(path) == read(ROW)


@pytest.mark.parametrize("table", TableKind)
def test_required_and_numeric_columns_belong_to_a_table(table):
    assert set(REQUIRED[table]) <= set(COLUMNS[table])
    every = {name for columns in COLUMNS.values() for name in columns}
    assert set(LEAST_COUNT) | NUMBERS <= every
    assert not set(LEAST_COUNT) & NUMBERS


CELL = st.one_of(st.sampled_from([*ROW.values(), *MEMORY.values(), "", '"', "1e400"]), st.text())


@given(table=st.sampled_from(TableKind), data=st.data())
def test_no_table_makes_the_reader_fail_otherwise(table, data):
    columns = st.one_of(st.sampled_from(COLUMNS[table]), st.text(max_size=8))
    names = data.draw(st.lists(columns, max_size=6))
    header = [*REQUIRED[table], *names] if data.draw(st.booleans()) else names
    lines = data.draw(st.lists(st.lists(CELL, min_size=len(header), max_size=len(header))))
    file = io.StringIO()
    csv.writer(file).writerows([header, *lines])
    with suppress(ForetrainError):
        measurements_from(file.getvalue(), table=table, where="fuzz.csv")


@given(content=st.text(), table=st.sampled_from(TableKind))
def test_no_text_makes_the_reader_fail_otherwise(content, table):
    with suppress(ForetrainError):
        measurements_from(content, table=table, where="fuzz.csv")
