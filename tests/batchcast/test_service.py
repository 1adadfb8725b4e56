"""The rules of a stream: whatever happens in whatever order, nothing is lost and nobody hangs."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.batchcast.played import Feeder, Played, Workers
from tests.examples import few

from batchcast.order import Order

seeds = st.integers(0, 2**32 - 1)


def play_to_the_end(played, *, keep):
    """Nobody comes or goes any more: everybody gets to the end, or it is a deadlock."""
    while not all(played.is_done(member) for member in played.members):
        moved = played.work()
        for member in list(played.members):
            moved |= played.act(member, keep=keep)
        assert moved, "deadlock"


def of_a_data_set(random):
    """A stream that workers prepare."""
    samples = random.randint(1, 40)
    bad = {each for each in range(samples) if random.random() < random.choice([0, 0, 0.2, 0.9])}
    order = Order(samples=samples, epochs=random.randint(1, 3), shuffle=True, seed=1)
    pool = Workers(random.randint(1, 3))
    return Played(order, slots=random.randint(2, 30), pool=pool, random=random, bad=bad)


def of_a_loader(random):
    """A stream that a feeder prepares."""
    epochs = random.randint(1, 3)
    order = Order(samples=None, epochs=epochs, shuffle=False, seed=0)
    lengths = [random.randint(1, 40) for _ in range(epochs)]
    pool = Feeder(
        order, lengths=lengths, batch=random.randint(1, 12), ahead=random.choice([0, 0, 5])
    )
    return Played(order, slots=random.randint(2, 30), pool=pool, random=random)


def policies_of(played):
    return ["block", "spill", "drop", *(["detach"] if played.order.samples else [])]


def join(played, random):
    start = random.choice(["epoch", "now", "next"])
    policy = random.choice(policies_of(played))
    room = random.choice([0, 3, 1000])
    played.join(batch=random.randint(1, 40), policy=policy, start=start, room=room)


def move(played, random, member):
    place = random.randint(0, played.order.epochs - 1), random.randint(0, 5)
    end = played.order.samples or min(played.pool.lengths)
    if place[1] <= end:
        played.move(member, place)


def happen(played, random, speeds):
    """One of the things that can happen."""
    chance = random.random()
    members = [member for member in played.members if not member.gone]
    if chance < 0.02 and len(members) < 6:
        join(played, random)
    elif chance < 0.03 and members:
        played.leave(random.choice(members), keep=random.random() < 0.3)
    elif chance < 0.04 and members:
        move(played, random, random.choice(members))
    elif chance < 0.3:
        played.work()
    elif members:
        member = random.choice(members)
        if random.random() < speeds[member.reader.key % len(speeds)]:
            played.act(member, keep=random.choice([0, 1, 3]))


def random_play(make, seed):
    random = Random(seed)
    played = make(random)
    with played.files:
        play(played, random)


def play(played, random):
    speeds = [random.choice([1, 1, 0.2, 0.01]) for _ in range(4)]
    for _ in range(random.randint(1, 4)):
        played.join(
            batch=random.randint(1, 40),
            policy=random.choice(policies_of(played)),
            room=random.choice([0, 3, 1000]),
        )
    for _ in range(random.randint(0, 400)):
        happen(played, random, speeds)
    play_to_the_end(played, keep=random.choice([0, 1, 10**6]))


@few(60)
@given(seed=seeds)
def test_readers_of_a_data_set_get_every_sample_once_and_in_order(seed):
    random_play(of_a_data_set, seed)


@few(40)
@given(seed=seeds)
def test_readers_of_a_loader_get_every_sample_once_and_in_order(seed):
    random_play(of_a_loader, seed)
