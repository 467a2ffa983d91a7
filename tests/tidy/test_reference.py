#!/usr/bin/env python3
"""The checked-in reference is what the program prints, so it cannot lag behind the code.

Usage: test_reference.py TESSERA
"""

import pathlib
import subprocess
import sys
import unittest

PROGRAM = ""
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGES = {"api": "reference/api.md", "cli": "reference/cli.md",
         "lifecycle": "reference/lifecycle.md", "openapi": "reference/openapi.json",
         "submit": "reference/submit.md", "kubernetes": "reference/kubernetes.md",
         "docker-flags": "docker-flags.md"}


def difference(checked_in, printed):
    """The first line that differs; empty when none does."""
    old, new = checked_in.splitlines(), printed.splitlines()
    for number in range(max(len(old), len(new))):
        before = old[number] if number < len(old) else "(end)"
        after = new[number] if number < len(new) else "(end)"
        if before != after:
            return f"line {number + 1} is {before!r}, should be {after!r}"
    return ""


class Reference(unittest.TestCase):
    def test_pages_are_what_the_program_prints(self):
        for page, name in PAGES.items():
            with self.subTest(page=name):
                printed = subprocess.run([PROGRAM, "reference", page], check=True, text=True,
                                         stdout=subprocess.PIPE).stdout
                path = FOLDER / name
                checked_in = path.read_text() if path.exists() else ""
                self.assertEqual(difference(checked_in, printed), "",
                                 f"docs/{name} is out of date: run scripts/reference")

    def test_a_difference_is_seen(self):
        self.assertEqual(difference("a\nb\n", "a\nb\n"), "")
        self.assertIn("line 2", difference("a\nb\n", "a\nc\n"))
        self.assertIn("line 2", difference("a\n", "a\nb\n"))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    sys.exit(unittest.main())
