"""A Python as on macOS, as far as streams care: without what Linux alone has."""

import fcntl
import mmap
import os
import select
import socket
import sys
import sysconfig
from importlib import import_module
from pkgutil import walk_packages

LINUX_ALONE = {
    fcntl: ("F_ADD_SEALS", "F_GET_SEALS", "F_SEAL_SEAL", "F_SEAL_SHRINK", "F_SEAL_GROW"),
    mmap: ("MAP_POPULATE",),
    os: (
        "memfd_create",
        "MFD_CLOEXEC",
        "MFD_ALLOW_SEALING",
        "eventfd",
        "pidfd_open",
        "pipe2",
        "posix_fallocate",
        "posix_fadvise",
        "sched_getaffinity",
        "sched_setaffinity",
        "getresuid",
        "getresgid",
        "O_PATH",
        "O_TMPFILE",
    ),
    select: ("epoll",),
    socket: ("SO_PEERCRED", "MSG_CMSG_CLOEXEC", "SOCK_CLOEXEC", "SOCK_NONBLOCK"),
}


def become() -> None:
    """Take from this process what macOS has not."""
    sysconfig.get_config_vars()  # kept in a file of this platform
    sys.platform = "darwin"
    for module, names in LINUX_ALONE.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)


def import_all(package: str) -> None:
    """Import every module of a package."""
    found = import_module(package)
    for each in walk_packages(found.__path__, f"{package}."):
        if not each.name.endswith("__main__"):
            import_module(each.name)
