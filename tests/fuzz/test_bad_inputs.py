#!/usr/bin/env python3
"""Bad inputs of many kinds, and the one sentence that each is answered with.

bad_inputs.txt holds a block for each input: a line "$ tessera …" or "$ METHOD /path" (then the
server is asked as a client in another language would ask it), perhaps the text for its standard
input or body, and after "> " what comes back. After a wanted change:

    tests/fuzz/test_bad_inputs.py build/release/src/apps/tessera --update
"""

import pathlib
import re
import shlex
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

import api
from tessera_server import Server

GOLDEN = HERE / "bad_inputs.txt"
LEAST_KINDS = 80
# Long enough for what, where and what to do; nobody reads more.
LONGEST = 360
# Traces of a program that did not expect the input.
LEAKED = re.compile(r"exception|std::|terminate|rapidjson|yaml-cpp|Beast|boost|\.cc:\d", re.I)
_program = ""


def parse(text):
    """Blocks: (comment lines before it, command, input lines, wanted lines)."""
    blocks = []
    for chunk in re.split(r"\n(?=\$ )", text):
        lines = chunk.rstrip("\n").split("\n")
        if not lines[0].startswith("$ "):
            blocks.append((lines, "", [], []))
            continue
        wanted = [line[2:] for line in lines[1:] if line.startswith("> ")]
        rest = [line for line in lines[1:] if not line.startswith("> ")]
        after = []  # blank lines and comments belong to the next block
        while rest and (not rest[-1] or rest[-1].startswith("# ")):
            after.insert(0, rest.pop())
        blocks.append(([], lines[0][2:], rest, wanted))
        if after:
            blocks.append((after, "", [], []))
    return blocks


def answer(server, command, lines):
    """Exit code or status, and what was said."""
    words = shlex.split(command)
    text = "\n".join(lines) + "\n" if lines else ""
    if words[0] == "tessera":
        if words[1] == "run":  # one that is taken by mistake shall not wait for its end
            words.insert(2, "-d")
        done = server.run(*words[1:], input=text)
        return done.returncode != 0, (done.stderr or done.stdout).splitlines()
    connection = api.Connection(server.socket)
    headers = {"Content-Type": "application/json"} if lines else {}
    headers.update(word.split(":", 1) for word in words[2:])
    connection.request(words[0], words[1], text.encode("latin-1").decode("unicode_escape")
                       .encode("latin-1") if lines else None, headers)
    got = connection.getresponse()
    body = got.read().decode().splitlines()
    connection.close()
    return got.status >= 400, [f"{got.status} {line}" for line in body]


class BadInputs(unittest.TestCase):
    def test_each_is_answered_with_its_sentence(self):
        blocks = parse(GOLDEN.read_text())
        commands = [block for block in blocks if block[1]]
        self.assertGreaterEqual(len(commands), LEAST_KINDS)
        with Server(_program, engine="sim", sim="2x Tessera-Sim-16G") as server:
            for _, command, lines, wanted in commands:
                with self.subTest(command=command, input=lines):
                    refused, said = answer(server, command, lines)
                    self.assertTrue(refused, said)
                    self.assertEqual(said, wanted)
                    self.assertEqual(len(said), 1, "one sentence, on one line")
                    self.assertLess(len(said[0]), LONGEST)
                    self.assertIsNone(LEAKED.search(said[0]))
            self.assertEqual(server.run("version").returncode, 0)


def update():
    out = []
    with Server(_program, engine="sim", sim="2x Tessera-Sim-16G") as server:
        for comment, command, lines, _ in parse(GOLDEN.read_text()):
            out += comment
            if command:
                said = answer(server, command, lines)[1]
                out += ["$ " + command, *lines, *("> " + line for line in said)]
    GOLDEN.write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    _program = sys.argv.pop(1)
    if "--update" in sys.argv:
        update()
    else:
        unittest.main(verbosity=2)
