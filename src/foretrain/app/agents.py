"""The verbs for agents: a server of the Model Context Protocol over stdin and stdout.

A message is a line of JSON-RPC 2.0. The protocol is so small that it is spoken here, without a
library that could listen somewhere: nothing is opened but what a call names.

Source: mcp2025 (Model Context Protocol, revision 2025-06-18: lifecycle, tools, stdio transport).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from typing import IO, Any, Final

from foretrain.app.output import MOST_LINES, legible, lines_of
from foretrain.app.tools import TOOLS, Replied
from foretrain.errors import ForetrainError, nearest
from foretrain.show.document import installed

Message = dict[str, Any]

VERSIONS: Final = ("2025-06-18", "2025-03-26", "2024-11-05")
"""Revisions whose initialization and tools are these, the newest first."""

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
"""Codes of JSON-RPC: no JSON, no request, no such method, no such parameters."""

MOST: Final = 8 * 2**20
"""Letters of a message."""

ABOUT: Final = (
    "foretrain predicts time, memory, money and energy of distributed training before anybody "
    "trains. Ask `search` for a plan, `explain` for what limits it, `compare` for what a change "
    "costs; `schema` with name 'study' tells how a study is written. Seconds, bytes, FLOP, "
    "dollars; ratios are fractions."
)


def serve(received: IO[str], sent: IO[str]) -> None:
    """Answer messages until no more come.

    Args:
        received: a message on each line.
        sent: takes the answers.
    """
    for line in received:
        if not line.strip():
            continue
        for answer in answered_message(line):
            sent.write(json.dumps(answer, ensure_ascii=True, allow_nan=False) + "\n")
            sent.flush()


def answered_message(line: str) -> Iterator[Message]:
    """The answer to a message; nothing to a notification."""
    if len(line) > MOST:
        yield _error(None, PARSE, f"a message has at most {MOST:,} letters")
        return
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError) as error:
        yield _error(None, PARSE, f"the message is not JSON: {error}")
        return
    if not isinstance(asked, dict) or not isinstance(asked.get("method"), str):
        if not (isinstance(asked, dict) and ("result" in asked or "error" in asked)):
            number = asked.get("id") if isinstance(asked, dict) else None
            yield _error(number, REQUEST, "a message is an object with a method")
        return
    if "id" not in asked:
        return
    params = asked.get("params") or {}
    if not isinstance(params, dict):
        yield _error(asked["id"], PARAMS, "params is not an object")
        return
    yield _answer(asked["id"], asked["method"], params)


def _answer(number: object, method: str, params: Mapping[str, Any]) -> Message:
    """The answer to a request."""
    match method:
        case "initialize":
            return _result(number, _initialized(params))
        case "ping":
            return _result(number, {})
        case "tools/list":
            return _result(number, {"tools": [each.described for each in TOOLS]})
        case "tools/call":
            return _called(number, params)
        case _:
            return _error(number, METHOD, f"there is no method {method!r}")


def _initialized(params: Mapping[str, Any]) -> Message:
    """What this server is and can."""
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "foretrain", "title": "foretrain", "version": installed()},
        "instructions": ABOUT,
    }


def _called(number: object, params: Mapping[str, Any]) -> Message:
    """What a tool answers; an error that can be mended is an answer that says so."""
    name, arguments = params.get("name"), params.get("arguments") or {}
    tools = {each.name: each for each in TOOLS}
    if name not in tools:
        told = nearest(str(name), [*tools])
        return _error(number, PARAMS, f"there is no tool {name!r}.{told} Known: {', '.join(tools)}")
    if not isinstance(arguments, dict):
        return _error(number, PARAMS, "arguments is not an object")
    try:
        # Whatever a library prints must not stand between messages.
        with redirect_stdout(sys.stderr):
            found = tools[name](arguments)
            if not isinstance(found, Replied):
                return _result(number, _content(json.dumps(found), found))
            text = "\n".join(lines_of(found.question, found.answer, most=MOST_LINES))
            return _result(number, _content(text, found.document))
    except ForetrainError as error:
        told = legible(f"error: {error}")
        return _result(number, {"content": [{"type": "text", "text": told}], "isError": True})


def _content(text: str, found: Message) -> Message:
    """An answer in words and as a document."""
    content = [{"type": "text", "text": text}]
    return {"content": content, "structuredContent": found, "isError": False}


def _result(number: object, found: Message) -> Message:
    return {"jsonrpc": "2.0", "id": number, "result": found}


def _error(number: object, code: int, told: str) -> Message:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": told}}
