"""Exported files as their tools take them: shells, jobs, torchrun, trainers."""

import argparse
import json
import os
import subprocess
import sys
import tomllib
import warnings
from dataclasses import fields, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from tests.examples import slow
from tests.launch.test_round_trip import NEWEST, told
from tests.needs import needs, needs_command, needs_installed

from foretrain.launch.around import LAUNCHERS
from foretrain.plan.plan import Plan, Sharding
from foretrain.search.export import files_of
from foretrain.study.study import study_from
from foretrain.study.trainers import trainers


def texts(trainer, launcher="torchrun", many=3):
    return [
        {it.name: it.text for it in files_of(*pair, ("Said.",), launcher=launcher)[0]}
        for pair in told(trainer, many)
    ]


def scripts(files):
    return [text for name, text in files.items() if name.endswith((".sh", ".sbatch"))]


@pytest.mark.parametrize("launcher", ["torchrun", "slurm"])
@pytest.mark.parametrize("trainer", NEWEST)
def test_a_shell_takes_every_script(trainer, launcher):
    bash = needs_command("bash")
    for files in texts(trainer, launcher):
        assert scripts(files)
        for text in scripts(files):
            done = subprocess.run(
                [bash, "-n"], input=text, text=True, capture_output=True, check=False
            )
            assert (done.returncode, done.stderr) == (0, "")


def test_headers_of_a_batch_job_stand_before_its_first_command():
    for files in texts("megatron-core-0.18", "slurm"):
        [text] = scripts(files)
        lines = text.splitlines()
        headers = [n for n, line in enumerate(lines) if line.startswith("#SBATCH --")]
        first = next(n for n, line in enumerate(lines) if line and not line.startswith("#"))
        assert len(headers) >= 4
        assert max(headers) < first


JOB = {
    "apiVersion": str,
    "kind": str,
    "metadata": {"name": str},
    "spec": {
        "runtimeRef": {"name": str},
        "trainer": {
            "numNodes": int,
            "numProcPerNode": int,
            "resourcesPerNode": {"limits": {"nvidia.com/gpu": int}},
            "command": list,
            "args": list,
        },
    },
}
"""A TrainJob (source: kubeflow/trainer, api trainer.kubeflow.org/v1alpha1)."""

TASK = {
    "name": str,
    "num_nodes": int,
    "resources": {"accelerators": str},
    "workdir": str,
    "run": str,
}
"""A task (source: skypilot-org/skypilot, its YAML)."""


def check(value, wanted):
    if isinstance(wanted, dict):
        assert {*value} == {*wanted}
        for key, inner in wanted.items():
            check(value[key], inner)
    else:
        assert type(value) is wanted


@pytest.mark.parametrize("trainer", NEWEST)
@pytest.mark.parametrize(("launcher", "schema"), [("kubernetes", JOB), ("skypilot", TASK)])
def test_a_job_has_the_keys_of_its_schema_and_no_others(trainer, launcher, schema):
    bash = needs_command("bash")
    for files in texts(trainer, launcher):
        job = yaml.safe_load(files["train.yaml"])
        check(job, schema)
        run = job["run"] if launcher == "skypilot" else job["spec"]["trainer"]["args"][0]
        subprocess.run([bash, "-n"], input=run, text=True, check=True)


@pytest.mark.parametrize("trainer", NEWEST)
def test_a_trainjob_is_one_of_its_own_library(trainer):
    """What the library does not know it leaves out."""
    job = needs("kubeflow_trainer_api.models").TrainerV1alpha1TrainJob
    for files in texts(trainer, "kubernetes"):
        said = yaml.safe_load(files["train.yaml"])
        assert job.from_dict(said).to_dict() == said
        wrong = {**said, "spec": {**said["spec"], "nodes": 2}}
        assert job.from_dict(wrong).to_dict() != wrong


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("trainer", NEWEST)
def test_every_file_is_of_its_form(trainer, launcher):
    for files in texts(trainer, launcher):
        for name, text in files.items():
            if name.endswith(".json"):
                assert json.loads(text)
            elif name.endswith(".toml"):
                assert tomllib.loads(text)
            elif name.endswith(".yaml"):
                assert yaml.safe_load(text)


def test_files_carry_what_is_said_of_them():
    for trainer in NEWEST:
        for files in texts(trainer, many=1):
            assert all("Said." in text for text in files.values())


TWO = {
    "workload": {"model": "gpt-3-125m", "global_batch": 4, "sequence": 128, "precision": "bf16"},
    "cluster": {"name": "azure-nc80adis-h100-v5", "nodes": 1},
    "trainer": {"name": "megatron-core-0.18"},
}

PROGRAM = """
import os, sys
import torch.distributed as dist

dist.init_process_group("gloo")
total = [None] * dist.get_world_size()
dist.all_gather_object(total, os.getpid())
if dist.get_rank() == 0:
    print("ranks", dist.get_world_size(), "processes", len(set(total)))
    print(*sys.argv[1:])
dist.destroy_process_group()
"""


@slow
def test_torchrun_starts_two_processes_from_an_exported_file(tmp_path):
    needs("torch")
    bash = needs_command("bash")
    folder = Path(sys.executable).parent
    if not (folder / "torchrun").exists():
        pytest.skip("this environment has no torchrun")
    plan = Plan(data=1, tensor=2, sequence_parallel=True, micro_batch=2, sharding=Sharding.NONE)
    for file in files_of(study_from(TWO, "two"), plan)[0]:
        (tmp_path / file.name).write_text(file.text)
    (tmp_path / "pretrain_gpt.py").write_text(PROGRAM)
    settings = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [bash, "train.sh", "--more"],
        cwd=tmp_path,
        env=settings,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()[-2:]
    assert first == "ranks 2 processes 2"
    assert "--tensor-model-parallel-size 2" in second
    assert second.endswith("--more")


def test_accelerate_takes_its_configuration(tmp_path):
    args = needs("accelerate.commands.config.config_args")
    for files in texts("hf-trainer-5", many=6):
        path = tmp_path / "accelerate.yaml"
        path.write_text(files["accelerate.yaml"])
        found = args.load_config_from_file(str(path))
        said = yaml.safe_load(files["accelerate.yaml"])
        assert found.num_processes == said["num_processes"]
        assert found.mixed_precision == said["mixed_precision"]


def test_deepspeed_takes_its_configuration():
    needs_installed("deepspeed")
    config = quietly("deepspeed.runtime.config")
    for files in texts("deepspeed-0.19", many=6):
        said = json.loads(files["ds_config.json"])
        del said["train_batch_size"]  # checked against the processes that run
        found = config.DeepSpeedConfig(said)
        assert found.zero_config.stage == said["zero_optimization"]["stage"]


def quietly(name):
    """A module whose packages warn of one another."""
    with warnings.catch_warnings(action="ignore"):
        return import_module(name)


@pytest.fixture
def titan_config(monkeypatch):
    """The reader of torchtitan's files alone: what the package imports beside it wants a GPU."""
    needs_installed("torchtitan")
    whole = ModuleType("torchtitan")
    whole.__path__ = [*find_spec("torchtitan").submodule_search_locations]
    monkeypatch.setitem(sys.modules, "torchtitan", whole)
    yield quietly("torchtitan.config")
    for name in [name for name in sys.modules if name.startswith("torchtitan.")]:
        del sys.modules[name]


def test_torchtitan_takes_its_configuration(titan_config, tmp_path):
    for files in texts("torchtitan-0.2", many=6):
        path = tmp_path / "train.toml"
        path.write_text(files["train.toml"])
        found = titan_config.ConfigManager().parse_args([f"--job.config_file={path}"])
        said = tomllib.loads(files["train.toml"])
        degree = found.parallelism.tensor_parallel_degree
        assert degree == said["parallelism"]["tensor_parallel_degree"]


def test_the_command_of_every_trainer_has_only_what_is_filled_in():
    known = {"nodes", "node_devices", "devices", "rank", "address", "port", "file"}
    for each in trainers():
        if each.dialect:
            each.dialect.command.format(**dict.fromkeys(known, "x"))
            form = each.dialect.form
            assert form.in_shell or "{file}" in each.dialect.command, each.name


def test_one_file_differs_where_a_plan_does():
    [(asked, plan)] = told("megatron-core-0.18", 1)
    other = replace(plan, micro_batch=2 if plan.micro_batch != 2 else 4)
    assert files_of(asked, plan) != files_of(asked, other)


def test_transformers_knows_the_options_of_its_trainer():
    transformers = needs("transformers")
    parser = transformers.HfArgumentParser((transformers.TrainingArguments,))
    of_scripts = {"--model_name_or_path", "--max_length", "--attn_implementation"}  # trl's own
    for asked, plan in told("hf-trainer-5", 6):
        text = files_of(asked, plan)[0][1].text
        words = text[text.index("ARGS=(") + 6 : text.index("\n)")].split()
        # The parser of options alone: to make the arguments of them takes accelerate.
        found, rest = argparse.ArgumentParser.parse_known_args(
            parser, [*words, "--output_dir", "out"]
        )
        assert {word for word in rest if word.startswith("--")} <= of_scripts
        assert found.per_device_train_batch_size == plan.micro_batch


# It warns of a default of its own, and of plans that it takes all the same.
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_megatron_core_takes_the_values_of_a_plan():
    needs_installed("megatron")
    config = quietly("megatron.core.transformer.transformer_config")
    known = {each.name for each in fields(config.TransformerConfig)}
    for asked, plan in told("megatron-bridge-0.5", 12):
        if asked.workload.precision.value not in ("bf16", "fp16"):
            continue  # the rest is for devices that are not here
        text = files_of(asked, plan)[0][0].text
        words = text[text.index("ARGS=(") + 6 : text.index("\n)")].split()
        pairs = (word.removeprefix("model.").split("=") for word in words if "model." in word)
        said = {name: yaml.safe_load(value) for name, value in pairs if name in known}
        activation = {"gated_linear_unit": False, "pipeline_dtype": config.torch.bfloat16}
        made = config.TransformerConfig(**{**said, **activation})
        assert made.pipeline_model_parallel_size == plan.pipeline
