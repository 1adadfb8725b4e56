"""The additions: what somebody would write, where, and how they would see that it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

SRC: Final = "src/foretrain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """Something new.

    Attributes:
        name: of it.
        most: files that may be touched; None for no bar.
        files: new ones, by their path.
        lines: of files that are there: the line that they follow, and the lines.
        check: Python code that fails unless the new thing works like those that were there.
    """

    name: str
    most: int | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    check: str


POLICY: Final = Addition(
    name="policy",
    files={
        f"{SRC}/jobs/policies/widest.py": '''\
"""Widest first: whoever asks for most devices runs first."""

from __future__ import annotations

from foretrain.jobs.active import Active
from foretrain.jobs.ordered import Ordering


def widest() -> Ordering:
    """Whoever asks for most devices runs first; others pass where it does not fit."""

    def key(active: Active, now: float) -> float:
        return -active.job.devices

    return Ordering(key=key, skips=True)
'''
    },
    lines={
        f"{SRC}/jobs/policies/table.py": (
            (
                "from foretrain.jobs.policies.gain import Pollux, Sia, optimus\n",
                "from foretrain.jobs.policies.widest import widest\n",
            ),
            (
                "POLICIES: Mapping[str, NamedPolicy] = {\n",
                '    "widest": NamedPolicy(says="the widest job first", make=_ordered(widest)),\n',
            ),
        )
    },
    check="""
from pathlib import Path
import foretrain
Path("queue.toml").write_text('''
[fleet]
nodes = 2
devices = 8
[jobs]
draw = 50
[simulation]
policies = ["fifo", "widest"]
''')
answer = foretrain.simulate(foretrain.read_queue_study("queue.toml"))
assert {"fifo", "widest"} == set(answer.points[0].policies), answer
""",
)

DEVICE: Final = Addition(
    name="device",
    files={
        f"{SRC}/cluster/catalogue/devices/example.toml": """family = "Example"

[sources]
sheet = "its data sheet"

[example-100]
summary = "Example 100, 96 GB"
like = "h100-sxm"
memory = { value = "96 GB", source = "sheet", confidence = "high" }
"""
    },
    check="""
from foretrain.study import catalogue
device = catalogue.device("Example 100")
assert device.memory == 96e9 and device.peak == catalogue.device("h100-sxm").peak
""",
)

CLUSTER: Final = Addition(
    name="cluster",
    files={
        f"{SRC}/cluster/catalogue/clusters/example.toml": """family = "Example systems"

[sources]
sheet = "its data sheet"

[example-node]
summary = "Four H100"
device = "h100-sxm"

[[example-node.levels]]
name = "node"
members = { value = 4, source = "sheet", confidence = "high" }

[example-node.levels.link]
technology = "nvlink"
latency = { value = "3.4 us", source = "sheet", confidence = "low" }
bandwidth = { value = "450 GB/s", source = "sheet", confidence = "high" }

[[example-node.levels]]
name = "fabric"

[example-node.levels.link]
technology = "infiniband"
latency = { value = "14 us", source = "sheet", confidence = "low" }
bandwidth = { value = "400 Gb/s", source = "sheet", confidence = "high" }
"""
    },
    check="""
from foretrain.study import catalogue
assert catalogue.cluster("example-node", 3).devices == 12
""",
)

COLLECTIVE: Final = Addition(
    name="collective",
    files={
        f"{SRC}/step/collectives/bound.py": '''\
"""Lower bound: every byte leaves and enters once, after one hop."""

from __future__ import annotations

from foretrain.step.collectives.group import Group
from foretrain.step.collectives.line import Line


def all_reduce(group: Group) -> Line:
    """No all-reduce is quicker.

    Source: patarasuk2009, section 2.
    """
    share = (group.members - 1.0) / group.members
    pace = group.most(lambda level: level.crossed / (level.below * level.alone))
    return Line(fixed=group.farthest(), per_byte=2.0 * share * pace)
'''
    },
    lines={
        f"{SRC}/step/collectives/__init__.py": (
            ("from foretrain.step.collectives import ", "bound, "),
            ("        Pattern.ALL_REDUCE: {\n", '            "bound": bound.all_reduce,\n'),
        ),
        f"{SRC}/step/collectives/network.py": (
            ("LIBRARY = frozenset(", '{"bound"}) | frozenset('),
        ),
    },
    check="""
from foretrain.step.collective import algorithms
from foretrain.step.strategies.strategy import Pattern
from foretrain.study import catalogue
from foretrain.study.coefficients import DEFAULT
sizes = [1e3, 1e6, 1e9]
chosen = algorithms(catalogue.cluster("dgx-h100", 4), DEFAULT, Pattern.ALL_REDUCE, sizes=sizes)
assert "bound" in chosen, chosen
""",
)

MODEL: Final = Addition(
    name="model of a known family",
    lines={
        f"{SRC}/workload/library/gemma.toml": (
            (
                "[group.models]\n",
                "gemma-e = { layers = 20, hidden = 2048, feed_forward = 16_384, heads = 8 }\n",
            ),
        )
    },
    check="""
from foretrain.workload.library.entries import build
new, known = (build(name, sequence=1024) for name in ("gemma-e", "gemma-2b"))
assert new.parameters > known.parameters
""",
)

FAMILY: Final = Addition(
    name="model family",
    most=3,
    files={
        f"{SRC}/workload/convolution/perceptron.py": '''\
"""Multilayer perceptrons: connected layers of one width."""

from __future__ import annotations

from foretrain.workload.convolution.operators import Picture, loss
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk


def perceptron(*, inputs: int, width: int, layers: int) -> ConvolutionalNetwork:
    """So many connected layers with an activation after each, and one score."""
    trunk = Trunk(Picture(channels=inputs, sides=(1,)))
    for layer in range(layers):
        trunk.connect(f"layer {layer}", width)
        trunk.activate(f"layer {layer} activation")
    trunk.connect("score", 1)
    trunk.append(loss(1.0))
    return trunk.finish("network")
''',
        f"{SRC}/workload/library/perceptron.toml": """[[group]]
source = "an example"
network = "perceptron"
reads = "nothing"

[group.models]
mlp-1024 = { summary = "8 layers of 1024", inputs = 100, width = 1024, layers = 8 }
""",
    },
    lines={
        f"{SRC}/workload/library/entries.py": (
            ("FAMILIES: Final = (\n", '    "perceptron",\n'),
            (
                "BUILDERS: Final = {\n",
                '    "foretrain.workload.convolution.perceptron": "perceptron",\n',
            ),
        )
    },
    check="""
from foretrain.workload.library.entries import build
model = build("mlp-1024")
assert model.parameters == 101 * 1024 + 7 * 1025 * 1024 + 1025, model.parameters
""",
)

SCHEDULE: Final = Addition(
    name="schedule",
    most=3,
    files={
        f"{SRC}/step/schedules/first_in_first_out.py": '''\
"""First in, first out: all forward passes, then all backward passes in the same order.

The way back is the flow shop of GPipe with the jobs in another order, which changes nothing where
all are equal.
"""

from __future__ import annotations

from foretrain.step.schedules.stages import (
    PassSequence,
    PipelineSchedule,
    in_flight,
    there_and_back,
)


def order(stage: int, passes: PassSequence) -> list[int]:
    """All forward passes, then all backward passes, the first micro-batch first.

    Args:
        stage: position in the pipeline, from 0.
        passes: all passes of the step, one chunk per stage.

    Returns:
        Numbers of the stage's passes.
    """
    forward = range(passes.forward(stage, 0), passes.forward(stage + 1, 0))
    backward = range(passes.backward(stage, 0), passes.backward(stage + 1, 0))
    return [*forward, *backward]


FIRST_IN_FIRST_OUT = PipelineSchedule(passes=there_and_back, order=order, in_flight=in_flight)
''',
    },
    lines={
        f"{SRC}/plan/plan.py": (
            (
                '    """1F1B whose gradients of weights wait and fill the bubble (ZB-H1)."""\n',
                '    FIRST_IN_FIRST_OUT = 3, "FIFO", "fifo"\n'
                '    """All forward passes, then all backward passes in the same order."""\n',
            ),
        ),
        f"{SRC}/step/schedules/__init__.py": (
            (
                "from foretrain.plan.plan import Schedule\n",
                "from foretrain.step.schedules.first_in_first_out import FIRST_IN_FIRST_OUT\n",
            ),
            (
                "        Schedule.ZERO_BUBBLE: zero_bubble.ZERO_BUBBLE,\n",
                "        Schedule.FIRST_IN_FIRST_OUT: FIRST_IN_FIRST_OUT,\n",
            ),
        ),
    },
    check='''
from pathlib import Path
import foretrain
from foretrain.study.plan import read_named
STUDY = """
[workload]
model = "gpt-3-13b"
global_batch = 64
sequence = 1024
[cluster]
name = "dgx-a100"
nodes = 2
[plan]
tensor = 2
pipeline = 4
data = 2
micro_batch = 1
recompute = "none"
schedule = "SCHEDULE"
cut = "balanced"
"""
found = {}
for schedule in ("gpipe", "fifo", "1f1b"):
    Path("study.toml").write_text(STUDY.replace("SCHEDULE", schedule))
    found[schedule] = foretrain.estimate(foretrain.read_study("study.toml"))
assert "fifo" in str(found["fifo"].plan), found["fifo"].plan
read_named(str(found["fifo"].plan), where="")
assert found["fifo"].memory.activations == found["gpipe"].memory.activations
# Its time by the event simulation, and by its closed form, within what both may differ.
for each in found.values():
    assert abs(each.step_time / each.closed_form - 1) < 0.03, (each.step_time, each.closed_form)
Path("search.toml").write_text(
    STUDY.replace('"SCHEDULE"', '["1f1b", "fifo"]').replace('cut = "balanced"', "")
)
assert foretrain.search(foretrain.read_study("search.toml")).space > 0
''',
)

ANSWER: Final = Addition(
    name="answer",
    most=2,
    files={
        f"{SRC}/step/hour.py": '''\
"""hour: what does an hour of training come to?"""

from __future__ import annotations

from dataclasses import dataclass, field

from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.study import Study
from foretrain.show.table import label
from foretrain.show.words import percent, whole
from foretrain.step.estimate import estimate
from foretrain.study.coefficients import DEFAULT
from foretrain.units import DOLLARS


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one part of a step has of the hour."""

    part: str = field(metadata=label("part"))
    share: float = field(metadata=label("share", percent, meaning="of the hour"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """An hour of training."""

    steps: int = field(metadata=label("steps", whole))
    cost: float | None = field(metadata=label("cost", DOLLARS, meaning="all devices"))
    shares: tuple[Share, ...] = field(metadata=label("where it goes"))
    devices: int


def hour(study: Study, *, coefficients: Coefficients = DEFAULT) -> Hour:
    """What an hour of training comes to."""
    found = estimate(study, coefficients=coefficients)
    steps, parts = 3600.0 / found.step_time, found.parts
    shares = [(name, getattr(parts, name) / parts.total) for name in ("forward", "backward")]
    return Hour(
        steps=int(steps),
        cost=None if found.cost_per_step is None else found.cost_per_step * steps,
        shares=tuple(Share(part=name, share=share) for name, share in shares),
        devices=found.devices,
    )
'''
    },
    lines={
        f"{SRC}/answers.py": (
            (
                "ANSWERS: Final = (\n",
                '    Answer("hour", "step.hour", "step.hour:Hour", help="What an hour is."),\n',
            ),
        )
    },
    check='''
import contextlib, io, json, sys
from pathlib import Path
import foretrain
from foretrain.app.main import run

def ask(*arguments):
    sys.argv, out = ["foretrain", *arguments], io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            run()
        except SystemExit as ended:
            assert not ended.code, (arguments, ended.code)
    return out.getvalue()

Path("study.toml").write_text("""
[workload]
model = "gpt-3-13b"
global_batch = 64
sequence = 1024
[cluster]
name = "dgx-a100"
nodes = 1
[plan]
tensor = 8
micro_batch = 1
recompute = "full"
""")
# A command that says what it does, in the terminal, as JSON of its schema, as a page; a function.
assert "What an hour is." in ask("--help")
assert "Where it goes" in ask("hour", "study.toml")
document = json.loads(ask("hour", "study.toml", "--json"))
schema = json.loads(ask("schema", "hour"))
assert list(document) == list(schema["properties"])
ask("hour", "study.toml", "--html", "page.html")
assert "<dt>Steps</dt>" in Path("page.html").read_text()
assert foretrain.hour(foretrain.read_study("study.toml")).steps == document["steps"]
assert {"hour", "Hour"} <= set(foretrain.__all__)
''',
)

ADDITIONS: Final = (POLICY, DEVICE, CLUSTER, COLLECTIVE, MODEL, FAMILY, SCHEDULE, ANSWER)
