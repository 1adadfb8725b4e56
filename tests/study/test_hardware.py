"""Devices of the catalogue agree with their makers' sheets, and with what tables call them."""

import tomllib
from functools import cache
from importlib import resources

import pytest

from foretrain.study.catalogue import cluster, device, find, names

# Dense TFLOP/s, GB, GB/s and W of data sheets, and processors that work side by side; collected
# for this project in 2026 from stas00/ml-engineering, makers' pages and lists that quote
# TechPowerUp; of a board or module where software sees several parts.
SHEETS = """
device         parts  fp32  tf32   fp16   bf16    fp8   fp4 matmul memory bandwidth power units
k20x               1  3.95     -      -      -      -     -      -      6       250   235     -
k40                1  4.29     -      -      -      -     -      -     12       288   235    15
k80                2  8.74     -      -      -      -     -      -     24       480   300    26
titan-x-maxwell    1   6.6     -      -      -      -     -      -     12     336.5   250    24
titan-x-pascal     1 10.97     -      -      -      -     -      -     12       480   250    28
gtx-1080           1   8.9     -      -      -      -     -      -      8       320   180    20
gtx-1080-ti        1 11.34     -      -      -      -     -      -     11       484   250    28
p40                1 11.76     -      -      -      -     -      -     24       347   250    30
p100-sxm2          1  10.6     -   21.2      -      -     -      -     16       732   300    56
p100-pcie          1   9.3     -   18.7      -      -     -      -     16       732   250    56
v100-sxm2-16gb     1  15.7     -    125      -      -     -      -     16       900   300     -
v100-sxm2-32gb     1  15.7     -    125      -      -     -      -     32       900   300     -
quadro-rtx-8000    1  16.3     -  130.5      -      -     -      -     48       672   260    72
rtx-2080-ti        1  13.4     -   53.8      -      -     -      -     11       616   250    68
t4                 1   8.1     -     65      -      -     -      -     16       320    70    40
a10                1  31.2  62.5    125    125      -     -      -     24       600   150    72
a10g               1    35    35     70     70      -     -      -     24       600   300     -
a40                1  37.4  74.8  149.7  149.7      -     -      -     48       696   300    84
rtx-a5000          1  27.8  55.6  111.1  111.1      -     -      -     24       768   230    64
rtx-a6000          1  38.7  77.4  154.8  154.8      -     -      -     48       768   300    84
rtx-3090           1  35.6  35.6     71     71      -     -      -     24       936   350    82
rtx-4090           1  82.6  82.6  165.2  165.2  330.3     -      -     24      1008   450   128
rtx-5090           1 104.8 104.8  209.5  209.5    419  1676      -     32      1792   575   170
rtx-6000-ada       1  91.1   182    364    364    728     -      -     48       960   300   142
l4                 1  30.3    60    121    121    242     -      -     24       300    72    58
l40                1  90.5  90.5    181    181    362     -      -     48       864   300   142
l40s               1  91.6   183    362    362    733     -      -     48       864   350   142
a100-sxm-40gb      1  19.5   156    312    312      -     -  271.2     40      1555   400   108
a100-sxm-80gb      1  19.5   156    312    312      -     -  271.2     80      2039   400   108
a100-pcie-80gb     1  19.5   156    312    312      -     -  252.9     80      1935   300   108
a800-sxm-80gb      1  19.5   156    312    312      -     -      -     80      2039   400   108
h100-sxm           1    67 494.7  989.4  989.4 1978.9     -  794.5     80      3350   700   132
h800-sxm           1    67 494.5    989    989   1979     -      -     80      3350   700   132
h20                1    44    74    148    148    296     -      -     96      4000   400    78
h100-pcie          1    51   378    756    756   1513     -      -     80      2000   350     -
h200-sxm           1    67 494.7  989.4  989.4 1978.9     -  794.5    141      4800   700   132
gh200              1    67 494.5    989    989   1979     -  828.6     96      4000     -   132
gh200-141gb        1    67 494.5    989    989   1979     -      -    141      4800     -   132
b200               1    80  1125   2250   2250   4500  9000   1745    180      7700  1000   148
gb200              1    80  1250   2500   2500   5000 10000   1822    186      7700  1200   152
b300               1    80  1125   2250   2250   4500 12600   1769    270      7700  1100     -
gb300              1    80  1250   2500   2500   5000 15000      -    279      8000  1400     -
mi250x             2  47.9     -    383    383      -     -      -    128      3277   560     -
mi300x             1 163.4 653.7 1307.4 1307.4 2614.9     -  668.4    192      5300   750   304
mi325x             1 163.4 653.7 1307.4 1307.4 2614.9     -  784.9    256      6000  1000   304
mi355x             1 157.3     -   2500   2500   5000 10100   1565    288      8000  1400   256
tpu-v4             1     -     -      -    275      -     -      -     32      1200   192     8
tpu-v5e            1     -     -      -    197      -     -      -     16       819     -     4
tpu-v5p            1     -     -      -    459    459     -      -     95      2765     -     8
tpu-v6e            1     -     -    918    918    918     -      -     32      1640     -     2
tpu-v7x            1     -     -      -   2307   4614     -      -    192      7370     -     -
gaudi2             1     -     -      -    432    865     -  418.7     96      2460   600     2
gaudi3             1   229   459    459   1677   1677     -   1243    128      3700   900     8
trainium           1  47.5   190    190    190    190     -      -     32       820     -     2
trainium2          1   181   667    667    667   1299     -      -     96      2900     -     8
trainium3          1   183   671    671    671   2517  2517      -    144      4900     -     8
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
    "A10": "a10",
    "A100 - PCIe - 80 GB": "a100-pcie-80gb",
    "GTX 1080": "gtx-1080",
    "GTX 1080 Ti": "gtx-1080-ti",
    "Graphcore Bow IPU": "bow",
    "Graphcore IPU GC200": "gc200",
    "H100 NVL Tensor Core GPU": "h100-nvl",
    "H100-SXM4-80GB": "h100-sxm",
    "Maxwell Titan X": "titan-x-maxwell",
    "Pascal Titan X": "titan-x-pascal",
    "Quadro RTX 8000": "quadro-rtx-8000",
    "RTX 4090": "rtx-4090",
    "RTX A6000": "rtx-a6000",
    "TPU v6e": "tpu-v6e",
    "V100 (Amazon p3, CUDA 9.0.176, CuDNN 7.0.0.3)": "v100-sxm2-16gb",
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


@cache
def clustered():
    """Devices that stand in a cluster of the catalogue."""
    return {cluster(name, nodes=1).device.name for name in names()["clusters"]}


def sheet(row):
    """What one part of a row's board does: figures by name, those that are blank left out."""
    parts = float(row[1])
    figures = zip(HEAD[2:], row[2:], strict=True)
    return {name: float(text) / parts for name, text in figures if text != "-"}


def test_dense_peaks_are_those_of_the_data_sheet():
    for row in ROWS:
        known, said = device(row[0]), sheet(row)
        for name in HEAD[2:8]:
            rate = getattr(known.peak, name)
            by_rule = name == "fp32" and row[0] in BY_RULE
            stated = said.get(name, 0.0) * 1e12
            assert by_rule or (rate or 0.0) == pytest.approx(stated, rel=1e-3), row[0][0]


def test_memory_bandwidth_power_and_best_product_are_those_of_the_data_sheet():
    for row in ROWS:
        known, said = device(row[0]), sheet(row)
        assert known.memory_bandwidth == pytest.approx(said["bandwidth"] * 1e9, rel=1e-3), row[0]
        assert said["memory"] * 0.95e9 < known.memory < said["memory"] * 1.08e9, row[0]
        assert (known.power or 0.0) == said.get("power", 0.0), row[0]
        # Devices that data sheets leave out have a best product of another source, which says so.
        assert "matmul" not in said or known.matmul == pytest.approx(said["matmul"] * 1e12), row[0]


def test_processors_that_work_side_by_side_are_those_that_were_counted():
    for row in ROWS:
        said = sheet(row)
        assert "units" not in said or device(row[0]).units == said["units"], row[0]


@pytest.mark.parametrize("name", ["b300", "gb300"])
def test_blackwell_ultra_has_at_most_the_units_of_its_full_chip(name):
    assert device(name).units <= 160


@pytest.mark.parametrize(("spelling", "name"), SPELLINGS.items())
def test_spelling_of_published_tables_finds_the_device(spelling, name):
    assert find("devices", spelling) == name


MEASURED_ALONE = {"gtx-1080", "quadro-rtx-8000"}


@pytest.mark.parametrize("name", sorted(set(SPELLINGS.values()) - MEASURED_ALONE))
def test_every_device_that_is_measured_with_others_has_a_cluster(name):
    assert name in clustered()


LINKS = {
    # GB/s of a device to the others of its node, one direction: the column of links of the sheets.
    "hgx-a800": 200,
    "hgx-h800": 200,
    "hgx-h20": 450,
    "gh200-node": 450,
    "hgx-b200": 900,
    "hgx-b300": 900,
    "gb200-nvl72": 900,
    "gb300-nvl72": 900,
    "mi300x-node": 448,
    "mi325x-node": 448,
    "mi355x-node": 535.5,
    "gaudi2-node": 21 * 12.5,
    "gaudi3-node": 525,
    "trn2": 640,
    "tpu-v5e-pod": 200,
    "tpu-v5p-pod": 600,
    "tpu-v6e-pod": 400,
    "tpu-v7x-pod": 600,
    "aws-p6-b300-48xlarge": 900,
}


@pytest.mark.parametrize("name", LINKS)
def test_links_of_a_node_are_those_of_the_sheets(name):
    node = cluster(name, nodes=2).levels[0]
    assert node.link.bandwidth == pytest.approx(LINKS[name] * 1e9)


@pytest.mark.parametrize(
    ("name", "adapters", "each"),
    [
        ("aws-p4d-24xlarge", 4, 100),
        ("aws-p5-48xlarge", 32, 100),
        ("aws-p5en-48xlarge", 16, 200),
        ("aws-p6-b200-48xlarge", 8, 400),
        ("aws-p6-b300-48xlarge", 16, 400),
        ("gcp-a3-highgpu-8g", 4, 200),
        ("gcp-a3-megagpu-8g", 8, 200),
        ("hgx-b300", 8, 800),
        ("gaudi3-node", 8 * 3, 200),
    ],
)
def test_adapters_of_a_node_are_those_of_the_network_chapter(name, adapters, each):
    """Gb/s that leave a node in stas00/ml-engineering; of Gaudi 3 in docs.habana.ai."""
    fabric = cluster(name, nodes=2).levels[-1]
    assert fabric.link.capacity == pytest.approx(adapters * each * 1e9 / 8)


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
