"""Units: what people write is what they get, or they are told what is wrong with it."""

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import ForetrainError, InputError
from foretrain.units import (
    BYTES,
    BYTES_PER_SECOND,
    DOLLARS,
    DOLLARS_PER_SECOND,
    EPOCHS,
    FLOP,
    FLOP_PER_SECOND,
    JOULES,
    KINDS,
    PARAMETERS,
    SAMPLES,
    SECONDS,
    STEPS,
    TOKENS,
    WATTS,
    as_written,
    years,
)

READ = [
    # The table of traps: what other libraries read as amperes, eight times too much, or not at all.
    (BYTES_PER_SECOND, "400Gb/s", 50e9),
    (BYTES_PER_SECOND, "3.35TB/s", 3.35e12),
    (FLOP_PER_SECOND, "989 TFLOPS", 989e12),
    (FLOP_PER_SECOND, "989 TFLOP/s", 989e12),
    (DOLLARS_PER_SECOND, "2.5 USD/hour", 2.5 / 3600),
    (BYTES, "80GiB", 80 * 2**30),
    (BYTES, "80GB", 80e9),
    (PARAMETERS, "1e9", 1e9),
    # One of each kind.
    (BYTES_PER_SECOND, "400 Gb/s", 50e9),
    (BYTES_PER_SECOND, "400 Gbps", 50e9),
    (BYTES_PER_SECOND, " 1  GiB/s ", 2**30),
    (BYTES, "80 Gb", 10e9),
    (BYTES, "1 Kib", 128),
    (SECONDS, "9 us", 9e-6),
    (SECONDS, "9 \u00b5s", 9e-6),
    (SECONDS, "3.4us", 3.4e-6),
    (SECONDS, "12 ns", 12e-9),
    (SECONDS, "2 ms", 2e-3),
    (SECONDS, "1.5 min", 90),
    (SECONDS, "30 d", 30 * 86400),
    (FLOP, "8.2 GFLOP", 8.2e9),
    (WATTS, "6.5 kW", 6500),
    (JOULES, "3 kWh", 10.8e6),
    (DOLLARS, "2 MUSD", 2e6),
    (DOLLARS_PER_SECOND, "2.5 USD/h", 2.5 / 3600),
    (TOKENS, "15 T tokens", 15e12),
    (TOKENS, "1 token", 1),
    (PARAMETERS, "25.6 M", 25.6e6),
    (EPOCHS, "90 epochs", 90),
    (STEPS, "2_000 steps", 2000),
    (SAMPLES, 1281167, 1281167),
    (SAMPLES, "1.28e6 samples", 1.28e6),
]

REFUSED = [
    (BYTES, 900, "900 has no unit; wanted a size. Write for example"),
    (BYTES, "900", "'900' has no unit"),
    (BYTES, 1e9, "has no unit"),
    (BYTES_PER_SECOND, "400 Gb", "'400 Gb' is a size; wanted a bandwidth"),
    (BYTES, "80 GB/s", "'80 GB/s' is a bandwidth; wanted a size"),
    (SECONDS, "80 GB", "is a size; wanted a time"),
    (FLOP, "989 TFLOP/s", "is a compute rate; wanted an amount of FLOP"),
    (DOLLARS_PER_SECOND, "3 USD", "is an amount of money; wanted a price per time"),
    (TOKENS, "90 epochs", "is a number of epochs; wanted a number of tokens"),
    (BYTES_PER_SECOND, "400 gb/s", "Did you mean 'GB/s' or 'Gb/s'? Capitals matter. b is a bit"),
    (FLOP_PER_SECOND, "989 tflops", "Did you mean 'TFLOPS'? Capitals matter."),
    (FLOP, "8 GFLOPs", "unknown unit 'GFLOPs'; wanted an amount of FLOP. Did you mean 'GFLOP'?"),
    (SECONDS, "3 sec", "Known: ns, us, ms, s, min, h, d."),
    (BYTES, "80 G", "unknown unit 'G'"),
    (BYTES_PER_SECOND, "1 GB/h", "unknown unit 'GB/h'"),
    (BYTES, "80 Ki", "Known: B, b; with k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi before."),
    (BYTES, "GB", "does not begin with a number"),
    (BYTES, "", "does not begin with a number"),
    (BYTES, "nan GB", "does not begin with a number"),
    (BYTES, "1,5 GB", "unknown unit"),
    (BYTES, "-80 GB", "'-80 GB' is negative"),
    (BYTES, "1e400 GB", "is not finite"),
    (BYTES, "1e308 EB", "is not finite"),
    (EPOCHS, math.nan, "nan is not finite"),
    (EPOCHS, math.inf, "inf is not finite"),
    (EPOCHS, -1, "-1 is negative"),
    (EPOCHS, 10**400, "is not finite"),
    (EPOCHS, True, "true is not a number of epochs"),
    (BYTES, ["80 GB"], "['80 GB'] is not a size"),
    (BYTES, None, "None is not a size"),
]


@pytest.mark.parametrize(("quantity", "text", "value"), READ)
def test_text_becomes_the_value_inside(quantity, text, value):
    assert quantity.read(text) == value


@pytest.mark.parametrize(("quantity", "value", "message"), REFUSED)
def test_refusal_says_what_it_is_and_what_is_wanted(quantity, value, message):
    with pytest.raises(InputError) as refusal:
        quantity.read(value)
    assert message in str(refusal.value)


@pytest.mark.parametrize("quantity", KINDS, ids=lambda quantity: quantity.name)
def test_every_kind_shows_its_example_and_reads_it(quantity):
    for example in quantity.example.replace('"', "").split(" or "):
        assert quantity.read(example.partition(" (")[0]) > 0


@pytest.mark.parametrize(
    ("quantity", "value", "text"),
    [
        (BYTES, 48.1 * 2**30, "48.1 GiB"),
        (BYTES, 0, "0 B"),
        (BYTES, 1023 * 2**10, "1023 KiB"),
        (SECONDS, 1.42, "1.42 s"),
        (SECONDS, 1086, "18.1 min"),
        (SECONDS, 3.4e-6, "3.4 us"),
        (SECONDS, 0, "0 s"),
        (BYTES_PER_SECOND, 50e9, "50 GB/s"),
        (FLOP_PER_SECOND, 989.4e12, "989 TFLOP/s"),
        (JOULES, 1.8e7, "5 kWh"),
        (DOLLARS, 2.5e6, "2.5 MUSD"),
        (DOLLARS_PER_SECOND, 4 / 3600, "4 USD/h"),
        (PARAMETERS, 175e9, "175 G parameters"),
        (EPOCHS, 90, "90 epochs"),
    ],
)
def test_value_is_written_with_three_digits_and_a_fitting_unit(quantity, value, text):
    assert quantity.write(value) == text


@given(quantity=st.sampled_from(KINDS), value=st.just(0.0) | st.floats(1e-25, 1e25))
def test_what_is_written_reads_back_to_three_digits(quantity, value):
    assert quantity.read(quantity.write(value)) == pytest.approx(value, rel=5.001e-3, abs=1e-300)


@pytest.mark.parametrize("quantity", KINDS, ids=lambda each: each.name)
@pytest.mark.parametrize("number", ["1e308", "1e40", "1e-40", "4.9e-324"])
def test_number_whose_products_would_leave_the_floats_is_refused(quantity, number):
    with pytest.raises(InputError, match=r"is not (sensible|finite)"):
        quantity.read(f"{number} {next(iter(quantity.units))}")


def test_long_value_is_quoted_without_its_middle():
    text = as_written("a" * 100_000)
    assert len(text) <= 60
    assert text.startswith("'aaa")
    assert text.endswith("aaa'")
    assert "..." in text


def test_whole_number_of_any_length_is_quoted():
    assert as_written(10**10_000) == "a whole number of thousands of digits"


def test_unit_behind_many_spaces_is_refused_at_once():
    with pytest.raises(InputError):
        SECONDS.read("1 s" + " " * 100_000 + "s")


@given(quantity=st.sampled_from(KINDS), number=st.integers(1, 999), data=st.data())
def test_every_unit_is_read_in_every_spacing(quantity, number, data):
    unit = data.draw(st.sampled_from(list(quantity.units)))
    assert quantity.read(f"{number}{unit}") == quantity.read(f" {number}  {unit} ")


@given(quantity=st.sampled_from(KINDS), value=st.text() | st.floats() | st.integers() | st.none())
def test_anything_else_is_refused_in_words(quantity, value):
    with suppress(ForetrainError):
        assert quantity.read(value) >= 0


def test_larger_numbers_of_one_unit_are_larger_values():
    assert BYTES.read("2 GiB") == 2 * BYTES.read("1 GiB") > BYTES.read("1 GB")


@pytest.mark.parametrize(
    ("date", "year"),
    [
        ("2020-01", 2020 + 0.5 / 12),
        ("2020-12-24", 2020 + 11.5 / 12),
        ("2016", 2016.5),
        ("2016-2017", 2016.5),
        ("", None),
        ("June 2020", None),
    ],
)
def test_date_in_years_is_the_middle_of_what_it_says(date, year):
    assert years(date) == (None if year is None else pytest.approx(year))
