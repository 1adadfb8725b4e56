"""Networks that recommend: what a sample reads of their tables."""

from foretrain.workload.convolution.recommendation import deep_learning_recommendation, table


def test_rows_that_are_not_looked_up_move_nothing():
    few, many = table("few", 10, 64, looked_up=3), table("many", 10_000, 64, looked_up=3)
    assert (few.forward, few.backward) == (many.forward, many.backward)
    assert many.weights == 1000 * few.weights


def test_rows_looked_up_are_read_and_written_once():
    assert table("table", 1000, 64, looked_up=26).forward.values == 2 * 26 * 64


def test_more_rows_of_dlrm_cost_memory_and_no_products():
    small, large = (
        deep_learning_recommendation(rows=(rows,) * 26, width=128).model("dlrm")
        for rows in (100, 200)
    )
    assert large.parameters - small.parameters == 100 * 26 * 128
    flop = [sum(part.flop for _, part in model.operators) for model in (small, large)]
    assert flop[0] == flop[1]
