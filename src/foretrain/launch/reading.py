"""Reading: what a trainer's options say of a study, option by option, and what is not understood.

Nothing is guessed: an option that nobody knows, one that another contradicts, a variable that
nobody sets are each a line of what is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from foretrain.errors import nearest
from foretrain.launch.derived import DERIVED, Derived
from foretrain.launch.facts import NOT_TOLD, value_of
from foretrain.launch.option import RANKS, Ignored, NotUnderstood, Option, Tongues, Understood, Why
from foretrain.launch.stages import replicas_of
from foretrain.plan.plan import SAID, Plan
from foretrain.trainers.flags import Fact, Facts, Flag

NEUTRAL: Final[Facts] = {
    f"plan.{name}": value_of(getattr(Plan(), name))
    for name in SAID
    if name not in {*NOT_TOLD, "data", "micro_batch", "sends"}
}
"""What holds where neither an option nor a trainer's entry speaks of a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsRead:
    """What options say.

    Attributes:
        facts: values by key.
        places: where the option stands that gave each.
        understood: option by option.
        not_understood: likewise.
        ignored: by what they are about.
    """

    facts: Facts
    places: Mapping[str, str]
    understood: tuple[Understood, ...]
    not_understood: tuple[NotUnderstood, ...]
    ignored: tuple[Ignored, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What one option says of one key."""

    key: str
    value: Fact
    option: Option
    rank: int
    refines: bool = False
    times: bool = False


@dataclass(slots=True)
class _State:
    """What a reader has found so far."""

    facts: dict[str, Fact] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    claims: list[_Claim] = field(default_factory=list)
    understood: list[Understood] = field(default_factory=list)
    told: list[NotUnderstood] = field(default_factory=list)
    ignored: dict[str, list[str]] = field(default_factory=dict)

    def tell(self, option: Option, kind: Why, subject: str, *, taken: str = "") -> None:
        """Note an option that is not understood."""
        self.told.append(
            NotUnderstood(
                place=str(option.place),
                option=option.name,
                value=shown(option.value),
                kind=kind,
                subject=subject,
                taken=taken,
            )
        )


def shown(value: Fact) -> str:
    """A value as people read it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def read(
    options: Iterable[Option], tongues: Tongues, *, given: Iterable[Option] = ()
) -> OptionsRead:
    """What options say of a study.

    Args:
        options: of the trainer, in the order in which they are written; a later one counts.
        tongues: the dialects that it knows.
        given: options whose name is a key: of launchers, and of who asks.
    """
    state = _State()
    for place, option in enumerate(given):
        if option.unset:
            state.tell(option, Why.VARIABLE, ", ".join(option.unset))
        else:
            rank = place - RANKS
            state.claims.append(
                _Claim(key=option.name, value=option.value, option=option, rank=rank)
            )
    for option in _last(options, tongues, state):
        _claim(option, tongues, state)
    _settle(state)
    _follow(state)
    _unset(state, tongues)
    _follow(state)
    state.facts = {**NEUTRAL, **state.facts}
    data = replicas_of(state.facts)
    if data is not None:
        state.facts.setdefault("plan.data", data)
    return OptionsRead(
        facts=state.facts,
        places=state.places,
        understood=tuple(state.understood),
        not_understood=tuple(state.told),
        ignored=tuple(
            Ignored(about=about, options=tuple(dict.fromkeys(names)))
            for about, names in state.ignored.items()
        ),
    )


def _last(options: Iterable[Option], tongues: Tongues, state: _State) -> list[Option]:
    """Each option once: the last one counts, and one that says otherwise is told."""
    found: dict[str, Option] = {}
    for option in options:
        name = option.name.replace("_", "-")
        before = found.get(name)
        idle = tongues.ignored(tongues.named(option.name)) is not None
        if before is not None and before.value != option.value and not idle:
            subject = f"{option.name} at {option.place}, which comes later"
            state.tell(before, Why.CONFLICT, subject, taken=f"{option.name} {shown(option.value)}")
        found[name] = option
    return list(found.values())


def _claim(option: Option, tongues: Tongues, state: _State) -> None:
    """What an option says of keys, or why it says nothing."""
    name = tongues.named(option.name)
    flagged = tongues.flag(name)
    if flagged is not None:
        _sets(option, flagged[0], state, rank=flagged[1])
    elif (about := tongues.ignored(name)) is not None:
        state.ignored.setdefault(about, []).append(option.name)
    elif (matters := tongues.unread(name)) is not None:
        if option.value is not False:
            state.tell(option, Why.UNPRICED, matters)
    elif (other := tongues.other(name)) is not None:
        release, flag = other
        before = len(state.claims)
        if flag is not None and not option.unset:
            _sets(option, flag, state, rank=-1)
        taken = ", ".join(f"{it.key} = {shown(it.value)}" for it in state.claims[before:])
        state.tell(
            option, Why.OTHER_RELEASE, f"{release}, not of {tongues.trainer.name}", taken=taken
        )
    else:
        state.tell(option, Why.UNKNOWN, nearest(name, tongues.names()))


def _sets(option: Option, flag: Flag, state: _State, *, rank: int) -> None:
    """The keys that an option sets by what its flag says."""
    if option.unset:
        state.tell(option, Why.VARIABLE, ", ".join(option.unset))
        return
    words = {word.lower(): sets for word, sets in flag.words}
    said = shown(option.value).lower()
    pairs = words.get(said)
    if pairs is None and flag.key and _fits(flag.key, option.value):
        pairs = ((flag.key, option.value),)
    if pairs is None:
        if option.value is not False:
            known = ", ".join(word for word, _ in flag.words) or "a value"
            state.tell(option, Why.VALUE, known)
        return
    if not pairs:
        state.understood.append(_understood(option, "", "nothing that changes a step"))
    state.claims += [
        _Claim(
            key=key, value=value, option=option, rank=rank, refines=flag.refines, times=flag.times
        )
        for key, value in pairs
    ]


def _fits(key: str, value: Fact) -> bool:
    """Whether a value is of the kind of a key: a text, true or false, or a number."""
    if key in TEXTS:
        return not isinstance(value, bool)
    return isinstance(value, bool) == (key in BOOLEAN) and not isinstance(value, str)


TEXTS: Final = frozenset(
    {
        "workload.model",
        "model_family",
        "model_size",
        "layout",
        "layers_of_experts",
        "recompute_method",
    }
)
"""Keys whose value is a text."""

BOOLEAN: Final = frozenset(
    {
        *("plan.sequence_parallel", "plan.reshard"),
        *("model.gated", "model.tied", "model.bias", "model.dropout", "model.query_norms"),
        *("model.attention_bias", "model.layer_norm"),
    }
)


def _understood(option: Option, key: str, taken: str) -> Understood:
    return Understood(
        place=str(option.place), option=option.name, value=shown(option.value), key=key, taken=taken
    )


def _settle(state: _State) -> None:
    """One value of each key: factors are multiplied, what refines counts more, the rest agrees."""
    for key in dict.fromkeys(each.key for each in state.claims):
        about = [each for each in state.claims if each.key == key]
        about.sort(key=lambda it: (it.refines, it.rank))
        chosen = about[-1]
        value = chosen.value
        if all(each.times for each in about):
            value = _product([each.value for each in about])
        for each in about[:-1]:
            if each.times or chosen.refines or each.value == chosen.value:
                continue
            subject = f"{chosen.option.name} at {chosen.option.place}"
            state.tell(each.option, Why.CONFLICT, subject, taken=f"{key} = {shown(chosen.value)}")
        state.facts[key] = value
        state.places[key] = str(chosen.option.place)
        state.understood += [
            _understood(each.option, key, shown(value if each.times else each.value))
            for each in about
            if each.value == chosen.value or each.times or chosen.refines
        ]


def _product(values: Sequence[Fact]) -> Fact:
    """Factors multiplied; one that is negative takes what is left, which is not known here."""
    found = 1
    for each in values:
        if not isinstance(each, int) or each < 0:
            return -1
        found *= each
    return found


def _follow(state: _State) -> None:
    """What follows from counts that studies do not have."""
    for derived in DERIVED:
        if derived.key not in state.facts or f"done {derived.key}" in state.places:
            continue
        found = derived.into(state.facts, state.facts[derived.key])
        if found is None:
            _lacking(derived, state)
            continue
        state.places[f"done {derived.key}"] = ""
        for key, value in found.items():
            _take(state, derived, key=key, value=value)


def _take(state: _State, derived: Derived, *, key: str, value: Fact) -> None:
    """A key that follows; one that is given and says otherwise stays as it is given."""
    place = state.places.get(derived.key, "")
    known = state.facts.get(key)
    if known is not None and derived.key not in state.places:
        return  # What a trainer does unasked says nothing against what somebody wrote.
    if known is not None and known != value and key in state.places:
        state.told.append(
            NotUnderstood(
                place=place,
                option=derived.key,
                value=shown(state.facts[derived.key]),
                kind=Why.CONFLICT,
                subject=f"{key} = {shown(known)} at {state.places[key] or 'its own place'}",
                taken=f"{key} = {shown(known)}",
            )
        )
        return
    state.facts[key] = value
    state.places.setdefault(key, place)
    if known is None:
        state.understood.append(
            Understood(
                place=place,
                option=derived.key,
                value=shown(state.facts[derived.key]),
                key=key,
                taken=shown(value),
            )
        )


def _lacking(derived: Derived, state: _State) -> None:
    """Tell, once, that nothing follows from a count that somebody gave."""
    place = state.places.get(derived.key)
    if place is None or any(
        it.kind is Why.FOLLOWS and it.option == derived.key for it in state.told
    ):
        return
    lacking = [key for key in derived.needs if key not in state.facts]
    subject = ", ".join(lacking) or "degrees that go with it and the devices that take part"
    value = shown(state.facts[derived.key])
    state.told.append(
        NotUnderstood(
            place=place, option=derived.key, value=value, kind=Why.FOLLOWS, subject=subject
        )
    )


def _unset(state: _State, tongues: Tongues) -> None:
    """What is so where no option speaks of a key."""
    # What a count stood for that is known now need not be told any more.
    state.told = [it for it in state.told if it.kind is not Why.FOLLOWS]
    for key, value in tongues.trainer.dialect.unset:
        meant = state.facts.get(value, value) if isinstance(value, str) else value
        if key in state.facts or (isinstance(meant, str) and meant.startswith("plan.")):
            continue
        state.facts[key] = meant
        if key.startswith(("plan.", "workload.", "options.")):
            state.understood.append(
                Understood(place="", option="", value="", key=key, taken=shown(meant))
            )
