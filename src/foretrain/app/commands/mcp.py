"""`foretrain mcp`."""

from __future__ import annotations


def mcp() -> None:
    """Serve the verbs to an agent over stdin and stdout (Model Context Protocol)."""
    import sys

    from foretrain.app.agents import serve

    serve(sys.stdin, sys.stdout)
