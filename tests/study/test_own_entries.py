"""A folder of one's own entries: known to the study that names it, and checked as a whole."""

import pytest

from foretrain.errors import InputError
from foretrain.step.estimate import estimate
from foretrain.study import catalogue
from foretrain.study.own_entries import register_entries
from foretrain.study.queue_study import read_queue_study
from foretrain.study.study import read_study

DEVICE = '[ours]\nlike = "h100-sxm"\nmemory = "120 GiB"\naliases = ["Ours 120"]\n'
CLUSTER = """
[our-nodes]
device = "Ours 120"
price = "2 USD/h"
node_power = { value = "9 kW", source = "meter" }
[[our-nodes.levels]]
name = "node"
members = 4
link = { technology = "nvlink", latency = "3 us", bandwidth = "450 GB/s" }
[[our-nodes.levels]]
name = "fabric"
link = { technology = "infiniband", latency = "10 us", bandwidth = "400 Gb/s" }
[sources]
meter = "a meter of ours, 2026"
"""
STUDY = """
catalogue = "site"
[workload]
model = "gpt-2"
global_batch = 16
sequence = 1024
[cluster]
name = "our-nodes"
nodes = 2
[plan]
data = 8
micro_batch = 1
sharding = "none"
recompute = "none"
"""
QUEUE = 'catalogue = "site"\n[cluster]\nname = "our-nodes"\nnodes = 2\n[jobs]\ndraw = 10\n'


@pytest.fixture
def written(tmp_path):
    """Writes a folder of entries and a study beside it."""

    def write(study=STUDY, device=DEVICE, cluster=CLUSTER):
        for kind, text in (("devices", device), ("clusters", cluster)):
            (tmp_path / "site" / kind).mkdir(parents=True, exist_ok=True)
            (tmp_path / "site" / kind / "ours.toml").write_text(text)
        (tmp_path / "study.toml").write_text(study)
        return tmp_path / "study.toml"

    return write


def problems(path):
    with pytest.raises(InputError) as told:
        read_study(path)
    return str(told.value)


def test_a_study_finds_its_entries(written):
    study = read_study(written())
    assert (study.cluster.name, study.cluster.devices) == ("our-nodes", 8)
    assert study.cluster.device.memory == 120 * 2**30
    assert study.cluster.node_power == 9000.0
    assert study.cluster.device.peak == catalogue.device("h100-sxm").peak
    assert estimate(study).fits


def test_a_study_of_a_queue_finds_them_too(written):
    [nodes] = read_queue_study(written(QUEUE)).fleet.nodes
    assert (nodes.kind, nodes.count, nodes.devices) == ("ours", 2, 4)


def test_another_study_does_not_know_them(written):
    read_study(written())
    assert "our-nodes" not in catalogue.names()["clusters"]
    assert "unknown cluster 'our-nodes'" in problems(written(STUDY.replace("catalogue", "#")))


def test_everything_that_is_wrong_is_told_with_file_and_entry(written):
    told = problems(
        written(
            device=DEVICE + '[bad]\nmemory = "12 parsecs"\n[h100]\nlike = "h100-sxm"\n',
            cluster=CLUSTER + '[worse]\ndevice = "nobody"\n[[worse.levels]]\nname = "node"\n',
        )
    )
    assert "catalogue: devices/ours.toml: bad.memory: '12 parsecs' has the unknown unit" in told
    assert "catalogue: devices/ours.toml: h100: is in the catalogue already" in told
    assert "catalogue: clusters/ours.toml: worse: unknown device 'nobody'" in told


@pytest.mark.parametrize(
    ("study", "says"),
    [
        (
            STUDY.replace('"site"', '"nowhere"'),
            "has no devices/*.toml, clusters/*.toml or trainers/*.toml",
        ),
        (STUDY.replace('"site"', "3"), "catalogue: 3 is the name of a folder"),
    ],
)
def test_a_folder_that_is_none_is_told(written, study, says):
    assert says in problems(written(study))


def test_an_entry_that_is_no_table_is_told(written):
    told = problems(written(device="ours = 3\n" + DEVICE.replace("[ours]", "[others]")))
    assert "ours: is not a table" in told


@pytest.mark.parametrize("aliases", ["[{}]", '"other"', "3"])
def test_names_of_an_entry_are_texts(written, aliases):
    told = problems(written(device=DEVICE.replace('["Ours 120"]', aliases)))
    assert "catalogue: devices/ours.toml: ours.aliases: is not a list of names" in told


@pytest.mark.parametrize("sources", ["sources = 3", "[sources]\nsheet = []"])
def test_sources_are_texts(written, sources):
    told = problems(written(device=f"{sources}\n{DEVICE}"))
    assert "catalogue: devices/ours.toml: sources: is not a table of texts" in told


@pytest.mark.parametrize("levels", ["[]", '["node"]', "[[], {}]", '"node"', "[{}]"])
def test_levels_that_are_no_tables_are_told(written, levels):
    head = CLUSTER.partition("[[")[0]
    told = problems(written(cluster=f"{head}levels = {levels}\n"))
    assert "catalogue: clusters/ours.toml: our-nodes" in told


def test_registered_entries_stay(written, monkeypatch):
    monkeypatch.setattr(catalogue, "_REGISTERED", {})
    folder = written().parent / "site"
    register_entries(folder)
    assert catalogue.cluster("our-nodes", 2).devices == 8
    assert catalogue.find("devices", "OURS_120") == "ours"
    with pytest.raises(InputError, match="is in the catalogue already"):
        register_entries(folder)
