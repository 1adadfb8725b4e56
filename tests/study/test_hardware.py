"""Devices of the catalogue agree with their makers' sheets, and with what tables call them."""

import tomllib
from importlib import resources

import pytest

from foretrain.study.catalogue import cluster, device, find, names

# Dense TFLOP/s, GB, GB/s and W of data sheets, collected for this project in 2026 (from the makers'
# pages and stas00/ml-engineering); of a board or module where software sees several parts.
SHEETS = """
device         parts  fp32  tf32   fp16   bf16    fp8   fp4 matmul memory bandwidth power
k20x               1  3.95     -      -      -      -     -      -      6       250   235
k80                2  8.74     -      -      -      -     -      -     24       480   300
p100-sxm2          1  10.6     -   21.2      -      -     -      -     16       732   300
v100-sxm2-16gb     1  15.7     -    125      -      -     -      -     16       900   300
v100-sxm2-32gb     1  15.7     -    125      -      -     -      -     32       900   300
t4                 1   8.1     -     65      -      -     -      -     16       320    70
a10g               1    35    35     70     70      -     -      -     24       600   300
rtx-3090           1  35.6  35.6     71     71      -     -      -     24       936   350
rtx-4090           1  82.6  82.6  165.2  165.2  330.3     -      -     24      1008   450
l40s               1  91.6   183    362    362    733     -      -     48       864   350
a100-sxm-40gb      1  19.5   156    312    312      -     -  271.2     40      1555   400
a100-sxm-80gb      1  19.5   156    312    312      -     -  271.2     80      2039   400
a100-pcie-80gb     1  19.5   156    312    312      -     -  252.9     80      1935   300
h100-sxm           1    67 494.7  989.4  989.4 1978.9     -  794.5     80      3350   700
h100-pcie          1    51   378    756    756   1513     -      -     80      2000   350
h200-sxm           1    67 494.7  989.4  989.4 1978.9     -  794.5    141      4800   700
gh200              1    67 494.5    989    989   1979     -  828.6     96      4000     -
b200               1    80  1125   2250   2250   4500  9000   1745    180      8000  1000
gb200              1    80  1250   2500   2500   5000 10000   1822    186      8000  1200
b300               1    80  1125   2250   2250   4500 12600   1769    288      8000  1000
gb300              1    80  1250   2500   2500   5000 15000      -    288      8000  1400
mi250x             2  47.9     -    383    383      -     -      -    128      3277   560
mi300x             1 163.4 653.7 1307.4 1307.4 2614.9     -  668.4    192      5300   750
mi325x             1 163.4 653.7 1307.4 1307.4 2614.9     -  784.9    256      6000  1000
mi355x             1 157.3     -   2500   2500   5000 10100   1565    288      8000  1400
tpu-v4             1     -     -      -    275      -     -      -     32      1200   192
tpu-v5e            1     -     -      -    197      -     -      -     16       819     -
tpu-v5p            1     -     -      -    459    459     -      -     95      2765     -
tpu-v6e            1     -     -    918    918    918     -      -     32      1640     -
gaudi2             1     -     -      -    432    865     -  418.7     96      2460   600
gaudi3             1   229   459    459   1677   1677     -   1243    128      3700   900
trainium2          1   181   667    667    667   1299     -      -     96      2900     -
"""
HEAD, *ROWS = (line.split() for line in SHEETS.strip().splitlines())
SPELLINGS = {
    "1080 Ti": "gtx-1080-ti",
    "2080 Ti": "rtx-2080-ti",
    "2080 Ti (CUDA 10.0.130, CuDNN 7.4.2.24)": "rtx-2080-ti",
    "A100 PCIe 40GB": "a100-pcie-40gb",
    "A100 PCIe 80GB": "a100-pcie-80gb",
    "A100 SXM": "a100-sxm-40gb",
    "A100 SXM 40GB": "a100-sxm-40gb",
    "A100 SXM 80GB": "a100-sxm-80gb",
    "A30": "a30",
    "A30 24GB": "a30",
    "A40": "a40",
    "Ascend 910 Pro A": "ascend-910",
    "Ascend910": "ascend-910",
    "B200 SXM": "b200",
    "B200 SXM 180GB": "b200",
    "B300": "b300",
    "GB200": "gb200",
    "GB300": "gb300",
    "GTX Titan X (Maxwell)": "titan-x-maxwell",
    "Gaudi": "gaudi",
    "Gaudi2": "gaudi2",
    "Graphcore IPU GC200": "gc200",
    "H100 NVL": "h100-nvl",
    "H100 PCIe 80GB": "h100-pcie",
    "H100 SXM 80GB": "h100-sxm",
    "H100 SXM 96GB": "h100-sxm-96gb",
    "H200 NVL 141GB": "h200-nvl",
    "H200 SXM 141GB": "h200-sxm",
    "K80": "k80",
    "L4": "l4",
    "L40": "l40",
    "L40S": "l40s",
    "MI250X": "mi250x",
    "P100 SXM 16GB": "p100-sxm2",
    "RTX 3090": "rtx-3090",
    "RTX A5000": "rtx-a5000",
    "TPU v3": "tpu-v3",
    "TPU v4": "tpu-v4",
    "TPU v5e": "tpu-v5e",
    "TPU v5p": "tpu-v5p",
    "Titan V": "titan-v",
    "V100 SXM": "v100-sxm2-16gb",
    "V100 SXM 16GB": "v100-sxm2-16gb",
    "V100 SXM 32GB": "v100-sxm2-32gb",
    "V100S PCIe 32GB": "v100s",
}
"""How tables of published runs spell devices."""

BY_RULE = {"gaudi2", *(name for name in names()["devices"] if name.startswith("tpu"))}
"""Devices whose sheet has no fp32, for which a rule gives it."""

CLUSTERED = {cluster(name, nodes=1).device.name for name in names()["clusters"]}


def sheet(row):
    """What one part of a row's board does: figures by name, those that are blank left out."""
    parts = float(row[1])
    figures = zip(HEAD[2:], row[2:], strict=True)
    return {name: float(text) / parts for name, text in figures if text != "-"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_dense_peaks_are_those_of_the_data_sheet(row):
    known, said = device(row[0]), sheet(row)
    for name in HEAD[2:8]:
        rate = getattr(known.peak, name)
        by_rule = name == "fp32" and row[0] in BY_RULE
        assert by_rule or (rate or 0.0) == pytest.approx(said.get(name, 0.0) * 1e12, rel=1e-3)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_memory_bandwidth_power_and_best_product_are_those_of_the_data_sheet(row):
    known, said = device(row[0]), sheet(row)
    assert known.memory_bandwidth == pytest.approx(said["bandwidth"] * 1e9, rel=1e-3)
    assert said["memory"] * 0.95e9 < known.memory < said["memory"] * 1.08e9
    assert (known.power or 0.0) == said.get("power", 0.0)
    # Devices that the data sheets leave out have a best product of another source, which says so.
    assert "matmul" not in said or known.matmul == pytest.approx(said["matmul"] * 1e12)


@pytest.mark.parametrize(("spelling", "name"), SPELLINGS.items())
def test_spelling_of_published_tables_finds_the_device(spelling, name):
    assert find("devices", spelling) == name


@pytest.mark.parametrize("name", sorted(set(SPELLINGS.values())))
def test_every_measured_device_has_a_cluster(name):
    assert name in CLUSTERED


@pytest.mark.parametrize("kind", ["devices", "clusters"])
def test_no_two_entries_share_a_spelling(kind):
    folder = resources.files("foretrain") / "cluster" / "catalogue" / kind
    spellings = []
    for file in folder.iterdir():
        family = tomllib.loads(file.read_text("utf-8"))
        del family["family"], family["sources"]
        for name, entry in family.items():
            assert {find(kind, spelling) for spelling in entry.get("aliases", [])} <= {name}
            spellings += [name, *entry.get("aliases", [])]
    assert len(spellings) == len(set(spellings))
