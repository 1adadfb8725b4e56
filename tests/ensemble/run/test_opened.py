"""What a study's code must give before anything is forked."""

import os

import pytest
from tests.ensemble.run.studies import study
from tests.needs import needs

from foretrain.ensemble.run.probe import opened
from foretrain.errors import InputError

needs("torch")


def refused(asked):
    with pytest.raises(InputError) as caught, opened(asked):
        pass
    return str(caught.value)


def test_a_data_function_that_raises_is_named(tmp_path):
    told = refused(study(tmp_path, name="absent", data="absent"))
    assert "ensemble.data: tests.ensemble.run.tiny:absent raised FileNotFoundError" in told


def test_more_cores_than_there_are_are_refused(tmp_path):
    here = len(os.sched_getaffinity(0))
    told = refused(study(tmp_path, name="many", more=f"cores = {here + 1}"))
    assert f"ensemble.cores is {here + 1} and this process may use {here}" in told


def test_all_cores_are_used_where_nothing_is_said(tmp_path):
    with opened(study(tmp_path, name="all")) as found:
        assert found.cores == len(os.sched_getaffinity(0))
