"""What a test needs beyond the package: missing here, the test skips; missing in CI, it fails."""

import importlib
import os
import shutil
from importlib.util import find_spec

import pytest


def needs(name):
    """The module of that name, or a skip with the reason; a failure where CI is set."""
    try:
        return importlib.import_module(name)
    except ImportError:
        _miss(f"{name} is not installed: pip install {name}")


def needs_installed(name):
    """The same for a module that takes long to import, and that the tests import themselves."""
    if find_spec(name) is None:
        _miss(f"{name} is not installed: pip install {name}")


def needs_command(*names):
    """The path of the first of these commands that is there, or as for a module."""
    found = filter(None, map(shutil.which, names))
    return next(found, None) or _miss(f"this machine has no command {' or '.join(names)}")


def _miss(reason):
    if os.environ.get("CI"):
        pytest.fail(f"CI must have it: {reason}", pytrace=False)
    pytest.skip(reason, allow_module_level=True)
