"""Studies of the tiny ensemble."""

from pathlib import Path

from foretrain.study.ensemble_study import read_ensemble_study

HEAD = """
[ensemble]
name = "{name}"
data = "tests.ensemble.run.tiny:{data}"
{shared}
batch = 5
epochs = {epochs}
input = "{input}"
loss = "mse_loss"
optimizer = {{ name = "sgd", lr = 0.05, momentum = 0.9 }}
sample = {{ prepare = "1 ms", size = "16 B", count = 24 }}
alone = {{ time = "1 ms", cpu = "1 ms", memory = "10 MB" }}
{more}
"""
PLAIN = """
[[members]]
name = "plain"
model = "tests.ensemble.run.tiny:build"
"""
WIDE = """
[[members]]
name = "wide"
model = "tests.ensemble.run.tiny:build"
options = { width = 5 }
batch = 7
private = "tests.ensemble.run.tiny:own"
"""


def study(folder, *members, name, data="points", epochs=2, input="shared", more=""):
    """A study that was read from a file in a folder; its members are PLAIN and WIDE if none."""
    text = text_of(*members, name=name, data=data, epochs=epochs, input=input, more=more)
    path = Path(folder) / f"{name}.toml"
    path.write_text(text)
    return read_ensemble_study(path)


def text_of(*members, name, data="points", epochs=2, input="shared", more=""):
    """The text of such a study."""
    shared = "" if data in ("loader", "collated") else 'shared = "tests.ensemble.run.tiny:jitter"'
    head = HEAD.format(name=name, data=data, shared=shared, epochs=epochs, input=input, more=more)
    return head + "".join(members or (PLAIN, WIDE))
