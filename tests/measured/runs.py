"""Measured runs to start from, and what a test changes of them."""

from dataclasses import replace

from foretrain.measured.case import case_of
from foretrain.measured.coverage import Assumptions, circumstances_of
from foretrain.measured.place import Catalogue
from foretrain.measured.run import MeasuredRun, Place, RunLayout, Subject, TableKind, TrainedNetwork
from foretrain.study.catalogue import cluster, device
from foretrain.study.launch_files import recipes
from foretrain.study.trainers import trainers
from foretrain.trainers.trainer import recognised
from foretrain.trainers.vocabulary import OPTIONS

CATALOGUE = Catalogue(device=device, cluster=cluster, trainers=trainers, recipes=recipes)

GPT = MeasuredRun(
    id="ours-0001",
    source_id="ours",
    table=TableKind.LLM_TRAINING,
    subject=Subject.STEP_TIME,
    measured=10.0,
    framework="Megatron-LM",
    date="2022-05",
    task="pretrain",
    network=TrainedNetwork(
        name="gpt",
        family="gpt",
        layers=96,
        hidden=12288,
        feed_forward=49152,
        heads=96,
        kv_heads=96,
        vocabulary=51200,
        sequence=2048,
    ),
    place=Place(
        device="A100 SXM 80GB",
        devices=128,
        node_devices=8,
        node_link="NVLink 3",
        fabric="InfiniBand HDR 8x200Gbps per node",
    ),
    layout=RunLayout(
        data=2,
        tensor=8,
        pipeline=8,
        interleaving=3,
        context=1,
        zero_stage=0,
        micro_batch=1.0,
        recompute="selective (attention) + sequence parallel",
        attention="unfused softmax (pre-flash)",
    ),
    global_batch=64,
    precision="fp16",
)
RESNET = MeasuredRun(
    id="ours-0002",
    source_id="ours",
    table=TableKind.CNN_TRAINING,
    subject=Subject.STEP_TIME,
    measured=0.1,
    task="classification",
    network=TrainedNetwork(name="RN50v1.5"),
    place=Place(device="A100 SXM 80GB", devices=8, node_devices=8, node_link="NVLink 3"),
    layout=RunLayout(data=8, tensor=1, pipeline=1, micro_batch=128.0),
    global_batch=1024,
    precision="tf32",
)


def case(run):
    return case_of(run, CATALOGUE)


def unset(run, name):
    """What an option or a habit of the run's trainer is taken to have been."""
    at = circumstances_of(run)
    return Assumptions(recognised(at, trainers()), at).of(name).value


def words(option, value):
    """What is said of a run that is taken to have had a value of an option."""
    return OPTIONS[option].values[value].words


def network(**changes):
    return replace(GPT, network=replace(GPT.network, **changes))


def layout(**changes):
    return replace(GPT, layout=replace(GPT.layout, **changes))


def place(**changes):
    return replace(GPT, place=replace(GPT.place, **changes))
