#!/usr/bin/env python3
"""The served OpenAPI document, by public tools: is it valid, and does the server keep to it?

schemathesis and openapi-spec-validator come from PyPI into a virtual environment of their own,
which is kept in the build folder. Without them (no network) the test is skipped.
"""

import asyncio
import os
import pathlib
import subprocess
import sys
import threading
import unittest
import urllib.request
import venv

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

import tessera_server
from tessera_server import Server

PACKAGES = ("schemathesis==4.32.5", "openapi-spec-validator==0.9.0")
SKIPPED = 77
# Not asked: what answers for as long as the client wishes, or speaks another protocol after it.
STREAMS = "/(exec|attach|logs)$"
# A null stands for a field that is not given, as in Kubernetes: schemathesis' check that all is
# refused what breaks a schema (negative_data_rejection) would call that a fault.
CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,"
          "response_schema_conformance")
_program = ""


def tools():
    """The folder with the programs; None when they cannot be had."""
    folder = pathlib.Path(_program).parent / "openapi-tools"
    done = folder / "installed"
    if not done.exists() or done.read_text() != " ".join(PACKAGES):
        venv.create(folder, clear=True, with_pip=True)
        got = subprocess.run([folder / "bin/pip", "install", "--quiet", *PACKAGES],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if got.returncode != 0:
            print(f"skipped: {got.stderr.strip().splitlines()[-1]}")
            return None
        done.write_text(" ".join(PACKAGES))
    return folder / "bin"


class Forwarder:
    """A TCP port of this machine's loopback that leads to the server's Unix socket."""

    def __init__(self, path):
        self.path = str(path)
        self.loop = asyncio.new_event_loop()
        self.port = None
        self.ready = threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()
        self.ready.wait()

    def serve(self):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(
            asyncio.start_server(self.connect, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        self.loop.run_forever()

    async def connect(self, reader, writer):
        there = await asyncio.open_unix_connection(self.path)
        await asyncio.gather(self.copy(reader, there[1]), self.copy(there[0], writer))

    @staticmethod
    async def copy(source, target):
        try:
            while data := await source.read(65536):
                target.write(data)
                await target.drain()
        except OSError:
            pass
        target.close()


class OpenApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(_program, engine="sim", sim="2x Tessera-Sim-16G")
        cls.enterClassContext(cls.server)
        cls.url = f"http://127.0.0.1:{Forwarder(cls.server.socket).port}/openapi.json"

    def check(self, *words):
        done = subprocess.run([TOOLS / words[0], *words[1:]], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              cwd=self.server.folder,
                              env={**os.environ, "SCHEMATHESIS_HOOKS": "hooks",
                                   "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(done.returncode, 0, done.stdout[-20000:])

    def test_a_public_validator_accepts_the_document(self):
        document = self.server.folder / "openapi.json"
        with urllib.request.urlopen(self.url) as answer:
            document.write_bytes(answer.read())
        self.check("openapi-spec-validator", document)

    def test_the_server_keeps_to_it_whatever_it_is_sent(self):
        self.check("schemathesis", "run", self.url, "--exclude-path-regex", STREAMS, "--phases",
                   "coverage", "--seed", "1", "--checks", CHECKS, "--generation-database", "none",
                   "--no-color")


if __name__ == "__main__":
    _program = sys.argv.pop(1)
    TOOLS = tools()
    if TOOLS is None:
        sys.exit(SKIPPED)
    tessera_server.enter_private_network()
    unittest.main(verbosity=2)
