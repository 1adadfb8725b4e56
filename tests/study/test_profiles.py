"""Files of profiles: what is written is read, and what cannot be is named with its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recorded_steps import PROFILE

from foretrain.errors import InputError
from foretrain.measured.scale_study import Profile, RecordedOperation, RecordedStep, StepResource
from foretrain.study.scale_sections import profile_document, read_profile, write_profile

seconds = st.floats(0.0, 1e6)
names = st.text(min_size=1, max_size=8)


@st.composite
def steps(draw):
    """Operations that wait for some of those before them."""
    operations = []
    for name in draw(st.lists(names, min_size=1, max_size=5, unique=True)):
        start, resource = draw(seconds), draw(st.sampled_from(StepResource))
        on_link = resource in (StepResource.DOWNLINK, StepResource.UPLINK)
        operation = RecordedOperation(
            name=name,
            resource=resource,
            start=start,
            end=start + draw(seconds),
            size=draw(st.floats(0.0, 1e12)) if on_link else 0.0,
            after=tuple(it.name for it in operations if draw(st.booleans())),
            layer=draw(st.integers(0, 99)),
        )
        operations.append(operation)
    return tuple(operations)


@given(recorded=st.lists(steps(), min_size=1, max_size=3), first=st.integers(0, 10**6))
def test_what_is_written_is_read(tmp_path_factory, recorded, first):
    profile = Profile(
        name="drawn",
        nodes=1,
        samples=8.0,
        steps=tuple(
            RecordedStep(number=number, operations=operations)
            for number, operations in enumerate(recorded, first)
        ),
    )
    path = tmp_path_factory.mktemp("profiles") / "profile.json"
    write_profile(path, profile)
    assert read_profile(path) == profile


def changed(path, change):
    document = json.loads(profile_document(PROFILE))
    change(document)
    path.write_text(json.dumps(document))
    return path


def operation(document, place=1):
    return document["steps"][0]["operations"][place]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda it: operation(it).update(after=["pul"]),
         r"steps\[0\].operations: hold 'forward', which waits for 'pul': .* Did you mean 'pull'"),
        (lambda it: operation(it).update(end=0.25),
         r"steps\[0\].operations\[1\].end: must be from its start, 1.5 s, to 1e\+30 s, got 0.25"),
        (lambda it: operation(it).update(end=1e300),
         r"steps\[0\].operations\[1\].end: must be from its start, 1.5 s, .* got 1e\+300"),
        (lambda it: operation(it).update(start=float("nan")),
         r"steps\[0\].operations\[1\].start: must be from 0 to 1e\+30 s, got nan"),
        (lambda it: it.update(samples=1e300), r"samples: must be above 0, at most 1e\+30"),
        (lambda it: operation(it).update(start="1 s"),
         r"steps\[0\].operations\[1\].start: '1 s'"),
        (lambda it: operation(it).update(resource="gpu"),
         r"steps\[0\].operations\[1\].resource: unknown 'gpu'. .*Known: compute, downlink"),
        (lambda it: it["steps"].append({**it["steps"][0], "number": 9}),
         "steps: goes from step 3 to step 9"),
        (lambda it: it.update(sampels=3), "sampels: unknown key. .*samples"),
        (lambda it: it.pop("samples"), "samples: is missing"),
        (lambda it: it.update(schema="mine"), "schema: 'mine' is not known. Write 'foretrain/"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named_with_file_and_place(tmp_path, change, message):
    path = changed(tmp_path / "bad.json", change)
    with pytest.raises(InputError, match=f"bad.json: {message}"):
        read_profile(path)


def test_all_that_is_wrong_is_told_at_once(tmp_path):
    def change(document):
        operation(document, 0).update(end=0.0)
        operation(document, 1).update(end=0.0)
        document.pop("schema")

    with pytest.raises(InputError, match="has 3 problems"):
        read_profile(changed(tmp_path / "bad.json", change))


def test_the_example_of_the_reader_is_a_profile(tmp_path):
    text = read_profile.__globals__["__doc__"].partition("    {")[2]
    path = tmp_path / "example.json"
    path.write_text("{" + text)
    profile = read_profile(path)
    assert profile.steps[0].operations[1].after == ("pull 1",)
