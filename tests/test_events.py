import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.events import Events

times = st.floats(min_value=0, max_value=1e9)
asked = st.lists(times, max_size=50)


def played(events, requests):
    history = []
    for place, time in enumerate(requests):
        events.at(time, lambda place=place: history.append((events.now, place)))
    events.run()
    return history


@given(requests=asked)
def test_events_happen_by_time_then_order_of_asking(requests):
    history = played(Events(), requests)
    expected = sorted(range(len(requests)), key=lambda place: (requests[place], place))
    assert history == [(requests[place], place) for place in expected]


@given(requests=asked)
def test_the_same_requests_give_the_same_history(requests):
    assert played(Events(), requests) == played(Events(), requests)


@given(requests=asked, data=st.data())
def test_cancelled_events_do_not_happen_and_leave_the_others_in_order(requests, data):
    whole = played(Events(), requests)
    cancelled = data.draw(st.sets(st.integers(0, len(requests) - 1))) if requests else set()
    events, history = Events(), []
    numbers = [
        events.at(time, lambda place=place: history.append((events.now, place)))
        for place, time in enumerate(requests)
    ]
    assert all(events.cancel(numbers[place]) for place in cancelled)
    events.run()
    assert history == [entry for entry in whole if entry[1] not in cancelled]


@given(requests=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=30))
def test_what_waits_for_an_instant_to_be_over_comes_after_all_of_it(requests):
    # Each action asks so many times for another in its instant, one of which asks once more.
    events, history = Events(), []

    def act(time, more):
        history.append((time, "happens"))
        events.once_over(lambda: over(time, more))

    def over(time, more):
        history.append((time, "over"))
        for _ in range(more):
            events.at(time, lambda: history.append((time, "happens")))

    for time, more in requests:
        events.at(time, lambda time=time, more=more: act(time, more))
    events.run()
    expected = []
    for time in sorted({time for time, _ in requests}):
        here = [more for at, more in requests if at == time]
        expected += [(time, "happens")] * len(here)
        for more in here:
            expected += [(time, "over")] + [(time, "happens")] * more
    assert history == expected


def test_the_end_of_an_instant_is_awaited_though_nothing_follows_or_it_is_the_last_that_may():
    events, history = Events(), []
    events.at(1.0, lambda: events.once_over(lambda: history.append(events.now)))
    events.at(3.0, lambda: None)
    events.run(until=2.0)
    events.once_over(lambda: history.append(events.now))
    assert len(events) == 2
    events.run()
    assert (history, len(events)) == ([1.0, 2.0], 0)


@given(delays=st.lists(times, min_size=1, max_size=20))
def test_an_action_may_ask_for_more_and_the_clock_never_goes_back(delays):
    events, seen = Events(), []

    def act():
        seen.append(events.now)
        if len(seen) < len(delays):
            events.after(delays[len(seen)], act)

    events.after(delays[0], act)
    events.run()
    assert len(seen) == len(delays)
    assert seen == sorted(seen)


def test_an_event_asked_for_now_happens_after_those_already_waiting_for_now():
    events, history = Events(), []
    events.at(1.0, lambda: events.after(0.0, lambda: history.append("asked later")))
    events.at(1.0, lambda: history.append("asked before"))
    events.run()
    assert history == ["asked before", "asked later"]


def test_nothing_can_be_asked_for_in_the_past():
    events = Events()
    events.at(2.0, lambda: None)
    events.run()
    with pytest.raises(AssertionError, match="event at 1"):
        events.at(1.0, lambda: None)


@pytest.mark.parametrize("time", [float("nan"), float("inf"), -1.0])
def test_a_time_that_never_comes_is_refused(time):
    with pytest.raises(AssertionError):
        Events().at(time, lambda: None)


def test_an_event_is_cancelled_once_and_not_after_it_happened():
    events = Events()
    cancelled, happened = events.at(1.0, lambda: None), events.at(1.0, lambda: None)
    assert len(events) == 2
    assert events.cancel(cancelled)
    assert not events.cancel(cancelled)
    events.run()
    assert not events.cancel(happened)
    assert len(events) == 0


def test_running_until_a_time_includes_it_and_leaves_the_rest():
    events, history = Events(), []
    for time in (1.0, 2.0, 3.0):
        events.at(time, lambda: history.append(events.now))
    events.run(until=2.0)
    assert (history, events.now, len(events)) == ([1.0, 2.0], 2.0, 1)
    events.run(until=2.5)
    assert events.now == 2.5
    events.run()
    assert (history, events.now) == ([1.0, 2.0, 3.0], 3.0)


def test_a_cancelled_event_does_not_move_the_clock():
    events = Events()
    events.at(1.0, lambda: None)
    events.cancel(events.at(5.0, lambda: None))
    events.run()
    assert events.now == 1.0
