#!/usr/bin/env python3
"""Every example of the documentation works as it is written.

Usage: test_examples.py TESSERA
"""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import tessera_server
from examples import broken_links, examples_in
from tessera_server import ROOT, Server

SKIPPED = 77  # as CMakeLists.txt tells ctest
SIMULATED = "2x Tessera-Sim-16G"
PROGRAM = ""


def pages():
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


class Examples(unittest.TestCase):
    """The blocks of a page run in their order, on one server, in one folder."""

    def test_pages(self):
        for page in pages():
            wanted = [example for example in examples_in(page.read_text())
                      if example.language in ("sh", "yaml")]
            if all(example.skipped for example in wanted):
                continue
            with self.subTest(page=page.name), Server(PROGRAM, sim=SIMULATED) as server:
                binaries = server.folder / "bin"
                binaries.mkdir()
                (binaries / "tessera").symlink_to(PROGRAM)
                server.environment["PATH"] = f"{binaries}:{os.environ['PATH']}"
                for example in wanted:
                    self.run_example(server, page, example)

    def run_example(self, server, page, example):
        where = f"{page.name}:{example.line}"
        if example.skipped:
            print(f"{where}: skipped because {example.skipped}", flush=True)
            return
        if example.language == "sh":
            self.run_shell(server, where, example.text)
        elif example.saved_as:
            (server.folder / example.saved_as).write_text(example.text)
        elif "apiVersion:" in example.text:
            done = server.run("apply", "-f", "-", input=example.text)
            self.assertEqual(done.returncode, 0, f"{where}: {done.stderr}")
        else:
            with Server(PROGRAM, sim=example.text, engine="sim") as other:
                listed = other.check("get", "accelerators", "-o", "name")
                self.assertTrue(listed.strip(), f"{where}: describes no accelerators")

    def run_shell(self, server, where, text):
        # The program ends the shell together with what it has started; the output stays ours.
        done = subprocess.run(["timeout", "--kill-after=5", str(tessera_server.DEADLINE_S),
                               "bash", "-euo", "pipefail", "-c", text], cwd=server.folder,
                              env=server.environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        late = 124
        self.assertNotEqual(done.returncode, late, f"{where}: took too long:\n{text}\nsaid:\n"
                            f"{done.stdout}")
        self.assertEqual(done.returncode, 0, f"{where}:\n{text}\nsaid:\n{done.stdout}")

    def test_links_lead_somewhere(self):
        for page in pages():
            with self.subTest(page=page.name):
                found = broken_links(page.read_text(), lambda to: (page.parent / to).exists())
                self.assertEqual(found, [])


class SelfTest(unittest.TestCase):
    def test_blocks_are_found(self):
        text = ("Do\n```sh\na\nb\n```\nor\n<!-- test: skip because it takes a day -->\n```sh\nc\n"
                "```\n```yaml\nd: 1\n```\nSave it as `x.yaml`, then\n```\nplain\n```\n")
        found = examples_in(text)
        self.assertEqual([example.text for example in found],
                         ["a\nb\n", "c\n", "d: 1\n", "plain\n"])
        self.assertEqual([example.skipped for example in found], ["", "it takes a day", "", ""])
        self.assertEqual([example.saved_as for example in found], ["", "", "x.yaml", ""])
        self.assertEqual(found[0].line, 2)

    def test_a_broken_link_is_found(self):
        text = "[a](b.md) [c](https://example.org/x) [d](e.md#f)"
        self.assertEqual(broken_links(text, lambda path: path == "b.md"), ["e.md"])


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    missing = tessera_server.missing_for_containers()
    if missing:
        print(f"skipped: {missing}")
        sys.exit(SKIPPED)
    tessera_server.enter_private_network()
    unittest.main(verbosity=2)
