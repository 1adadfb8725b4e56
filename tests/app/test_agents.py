"""The verbs for agents: the protocol, documents and messages as printed, and no network."""

import json
import socket
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from tests.app.test_main import ENVIRONMENT
from tests.needs import needs

from foretrain.app.agents import METHOD, PARAMS, PARSE, REQUEST, answered_message, serve
from foretrain.app.schema import schema_of
from foretrain.app.tools import TOOLS

EXAMPLES = Path(__file__).parents[2] / "examples"
LINE = {"model": "llama-3-8b", "on": "2xdgx-h100", "batch": 64, "sequence": 4096}
PLAN = ["plan.tensor=4", "plan.micro_batch=1"]
STUDY = {
    "workload": {"model": "llama-3-8b", "global_batch": 64, "sequence": 4096},
    "cluster": {"name": "dgx-h100", "nodes": 2},
    "plan": {"tensor": 4, "micro_batch": 1},
}
TABLE = EXAMPLES.parent / "validation" / "tables" / "llm_training.csv"


@pytest.fixture
def calls(tmp_path):
    """A call of every tool."""
    table = tmp_path / "llm_training.csv"
    table.write_text("\n".join(TABLE.read_text().splitlines()[:2]))
    return {
        "estimate": {**LINE, "settings": PLAN},
        "search": {**LINE, "keep": 1, "why_not": ["tp8"]},
        "explain": {"study": STUDY},
        "compare": {"study": STUDY, "plan": "tp8"},
        "scale": {"file": str(EXAMPLES / "parameter-servers.toml")},
        "simulate": {"file": str(_queue(tmp_path))},
        "validate": {"files": [str(table)]},
        "catalogue": {"name": "h100-sxm"},
        "schema": {"name": "estimate"},
    }


def _queue(folder):
    """A study of a cluster that is simulated in no time."""
    path = folder / "queue.toml"
    text = (EXAMPLES / "queue.toml").read_text()
    for long, short in (
        ("draw = 2000", "draw = 50"),
        ("seeds = 5", "seeds = 2"),
        (", most = 64", ", most = 16"),
    ):
        assert long in text
        text = text.replace(long, short)
    path.write_text(text)
    return path


def asked(method, number=1, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def reply(line):
    [found] = answered_message(line)
    assert found["jsonrpc"] == "2.0"
    return found


def call(name, **arguments):
    return reply(asked("tools/call", name=name, arguments=arguments))["result"]


def test_tools_are_listed_with_the_schemas_of_their_documents():
    listed = reply(asked("tools/list"))["result"]["tools"]
    assert [each["name"] for each in listed] == [each.name for each in TOOLS]
    for each in listed:
        assert each["inputSchema"]["type"] == "object"
        assert each["annotations"]["readOnlyHint"]
        if each["name"] != "schema":
            assert each["outputSchema"] == schema_of(each["name"])


def test_a_session_is_begun_with_a_revision_that_both_know():
    for wanted, given in (("2024-11-05", "2024-11-05"), ("2199-01-01", "2025-06-18")):
        found = reply(asked("initialize", protocolVersion=wanted))["result"]
        assert found["protocolVersion"] == given
        assert found["serverInfo"]["name"] == "foretrain"
        assert "tools" in found["capabilities"]


@pytest.mark.parametrize(
    ("name", "arguments", "command"),
    [
        (
            "estimate",
            {**LINE, "settings": PLAN},
            ["--set", PLAN[0], "--set", PLAN[1]],
        ),
        ("explain", {**LINE, "settings": PLAN}, ["--set", PLAN[0], "--set", PLAN[1]]),
        ("search", {**LINE, "keep": 2}, ["--keep", "2"]),
    ],
)
def test_a_tool_answers_the_document_of_the_command_line(foretrain, name, arguments, command):
    found = call(name, **arguments)["structuredContent"]
    line = ["--on", LINE["on"], "--batch", LINE["batch"], "--sequence", LINE["sequence"]]
    printed = json.loads(foretrain(name, LINE["model"], *line, *command, "--json").out)
    found.pop("seconds", None)
    printed.pop("seconds", None)
    assert found == printed


@pytest.mark.parametrize(
    ("settings", "told"),
    [(["plan.tensr=4"], "Did you mean 'tensor'?"), (["foo"], "Write for example plan.tensor=4")],
)
def test_bad_arguments_get_the_messages_of_the_command_line(foretrain, settings, told):
    found = call("estimate", **LINE, settings=settings)
    line = ["--on", LINE["on"], "--batch", LINE["batch"], "--sequence", LINE["sequence"]]
    ended = foretrain("estimate", LINE["model"], *line, "--set", settings[0])
    assert found["isError"]
    assert found["content"][0]["text"] == ended.err.rstrip("\n")
    assert told in ended.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"btch": 3, **LINE}, "unknown argument 'btch'. Did you mean 'batch'?"),
        ({**LINE, "batch": "many"}, "batch is 'many'; a whole number of at least 1 is wanted"),
        ({**LINE, "batch": 0}, "batch is 0; a whole number of at least 1"),
        ({**LINE, "batch": True}, "batch is True"),
        ({**LINE, "settings": [3]}, "settings is [3]; a list of texts"),
        ({}, "one of file, study and model says what is asked; none is given"),
        ({"study": STUDY, "model": "x"}, "both study and model are given"),
        ({"study": STUDY, "on": "2xdgx-h100"}, "on: stands beside a model"),
        ({"file": "/nowhere/at-all.toml"}, "/nowhere/at-all.toml"),
        ({"study": {"workload": 3}}, "study"),
    ],
)
def test_what_is_wrong_with_a_call_is_an_answer_that_says_so(arguments, told):
    found = call("estimate", **arguments)
    assert found["isError"]
    assert told in found["content"][0]["text"]
    assert "structuredContent" not in found


@pytest.mark.parametrize(
    "arguments",
    [
        {"model": "os:system", "on": "2xdgx-h100", "batch": 8},
        {"study": {**STUDY, "workload": {**STUDY["workload"], "model": "os:system"}}},
        {"study": STUDY, "settings": ['workload.model="os:system"']},
        {"study": STUDY, "settings": ['cluster.collectives={all-reduce="os:system"}']},
    ],
)
def test_code_that_a_study_names_is_not_run_for_an_agent(arguments):
    found = call("estimate", **arguments)
    assert "names code, which is not run for an agent" in found["content"][0]["text"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{", PARSE),
        ("[]", REQUEST),
        ("3", REQUEST),
        ('{"jsonrpc": "2.0", "id": 1}', REQUEST),
        (asked("tools/eat"), METHOD),
        (asked("server/discover"), METHOD),
        (asked("tools/call", name="serch"), PARAMS),
        (asked("tools/call", name="search", arguments=3), PARAMS),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": 3}', PARAMS),
        ("[" * 100_000, PARSE),
    ],
)
def test_what_is_no_request_is_refused_by_its_code(line, code):
    assert reply(line)["error"]["code"] == code


def test_notifications_and_answers_are_not_answered():
    assert not [*answered_message('{"jsonrpc": "2.0", "method": "notifications/initialized"}')]
    assert not [*answered_message('{"jsonrpc": "2.0", "id": 1, "result": {}}')]


def test_each_line_is_answered_by_a_line():
    lines = [asked("ping", number) for number in range(3)]
    sent = StringIO()
    serve(["\n", *(f"{each}\n" for each in lines)], sent)
    found = [json.loads(line) for line in sent.getvalue().splitlines()]
    assert [each["id"] for each in found] == [0, 1, 2]
    assert all(each["result"] == {} for each in found)


def test_nothing_listens_and_nobody_is_called(monkeypatch):
    def refused(*_arguments, **_options):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refused)
    assert not call("search", **LINE, keep=1)["isError"]


def test_no_file_is_opened_that_a_call_does_not_name(tmp_path, monkeypatch):
    (tmp_path / "study.toml").write_text("wrong")
    (tmp_path / "llama-3-8b").write_text("wrong")
    monkeypatch.chdir(tmp_path)
    opened = []
    sys.addaudithook(lambda event, given: opened.append(given[0]) if event == "open" else None)
    assert not call("estimate", **LINE, settings=PLAN)["isError"]
    outside = [each for each in opened if str(each).startswith(str(tmp_path))]
    assert not outside


def test_the_command_speaks_on_its_streams_and_ends_with_them():
    lines = [asked("initialize", protocolVersion="2025-06-18"), asked("tools/list", 2)]
    ended = subprocess.run(
        [sys.executable, "-m", "foretrain", "mcp"],
        input="\n".join(lines),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [json.loads(line)["id"] for line in ended.stdout.splitlines()] == [1, 2]
    assert ended.stderr == ""


def test_the_protocols_own_client_lists_the_tools_and_gets_an_answer_of_each(calls):
    needs("mcp")
    import anyio
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "foretrain", "mcp"], env=ENVIRONMENT
    )

    async def session():
        async with stdio_client(server) as streams, ClientSession(*streams) as client:
            await client.initialize()
            listed = await client.list_tools()
            found = {name: await client.call_tool(name, calls[name]) for name in calls}
            wrong = await client.call_tool("estimate", {**LINE, "batch": "many"})
            return listed, found, wrong

    listed, found, wrong = anyio.run(session)
    assert {each.name for each in listed.tools} == calls.keys()
    for name, each in found.items():
        told = each.model_dump(by_alias=True)
        assert not told["isError"], (name, told["content"])
        assert told["structuredContent"], name
        assert told["content"][0]["text"]
    assert wrong.model_dump(by_alias=True)["isError"]
