import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.events import Events

times = st.floats(min_value=0, max_value=1e9)
asked = st.lists(st.tuples(times, st.integers(-3, 3)), max_size=50)


def played(events, requests):
    history = []
    for place, (time, priority) in enumerate(requests):
        events.at(time, lambda place=place: history.append((events.now, place)), priority=priority)
    events.run()
    return history


@given(requests=asked)
def test_events_happen_by_time_then_priority_then_order_of_asking(requests):
    history = played(Events(), requests)
    expected = sorted(range(len(requests)), key=lambda place: (*requests[place], place))
    assert history == [(requests[place][0], place) for place in expected]


@given(requests=asked)
def test_the_same_requests_give_the_same_history(requests):
    assert played(Events(), requests) == played(Events(), requests)


@given(requests=asked, data=st.data())
def test_cancelled_events_do_not_happen_and_leave_the_others_in_order(requests, data):
    whole = played(Events(), requests)
    cancelled = data.draw(st.sets(st.integers(0, len(requests) - 1))) if requests else set()
    events, history = Events(), []
    numbers = [
        events.at(time, lambda place=place: history.append((events.now, place)), priority=priority)
        for place, (time, priority) in enumerate(requests)
    ]
    assert all(events.cancel(numbers[place]) for place in cancelled)
    events.run()
    assert history == [entry for entry in whole if entry[1] not in cancelled]


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
