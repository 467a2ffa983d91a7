#!/usr/bin/env python3
"""Runs the checks over the repository, and shows of each that it can fail."""

import pathlib
import subprocess
import sys
import unittest

import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tracked_files():
    """Text files that git has or would take, as far as they are there."""
    names = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"],
                           check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    for name in names:
        path = ROOT / name
        if path.is_file() and not path.is_symlink():
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                pass  # no text


class Repository(unittest.TestCase):
    def test_rules(self):
        problems = []
        for name, text in tracked_files():
            for check in checks.CHECKS:
                if check is checks.check_places:
                    found = check(name, text, str(ROOT))
                else:
                    found = check(name, text)
                problems += [f"{name}:{problem}" for problem in found]
        if problems:
            self.fail(f"{len(problems)} breaches of the rules:\n" + "\n".join(problems))


BODY = "  call();\n"

# check, path, a text that breaks the rule, a text that keeps it, a part of what is said.
CASES = [
    (checks.check_layers, "src/net/a.cc", '#include "wire/json.h"\n', '#include "base/file.h"\n',
     "net may not include wire"),
    (checks.check_layers, "src/core/sched/a.cc", '#include "store/store.h"\n',
     '#include "core/state.h"\n', "core may not include store"),
    (checks.check_layers, "src/engine/sim/a.cc", '#include "engine/local/spec.h"\n',
     '#include "engine/engine.h"\n', "engine/sim may not include engine/local"),
    (checks.check_layers, "src/novel/a.cc", "\n", None, "no place among the layers"),
    (checks.check_third_party, "src/server/a.cc", "#include <boost/asio.hpp>\n",
     "#include <sys/stat.h>\n", "may be included by src/net/loop.cc"),
    (checks.check_third_party, "src/server/a.cc", "#include <gtest/gtest.h>\n",
     "#include <map>\n", "by tests alone"),
    (checks.check_third_party, "src/server/a.cc", "#include <abseil/strings.h>\n",
     "#include <linux/fs.h>\n", "no library"),
    (checks.check_function_length, "src/base/a.cc", "void f() {\n" + BODY * 69 + "}\n",
     "void f() {\n" + BODY * 68 + "}\n", "has 71 lines"),
    (checks.check_function_length, "src/base/a.h",
     "class A {\n  int f(int a,\n        int b) const {\n" + BODY * 68 + "  }\n};\n",
     "class A {\n  int f() const {\n" + BODY * 68 + "  }\n};\n", "has 71 lines"),
    (checks.check_file_length, "src/base/a.cc", "\n" * 501, "\n" * 500, "at most 500"),
    (checks.check_file_length, "src/base/a_test.cc", "\n" * 1001, "\n" * 1000, "at most 1000"),
    (checks.check_line_length, "src/base/a.cc", "x" * 101, "x" * 100, "101 characters"),
    (checks.check_banned, "src/base/a.cc", "// TO" "DO: later\n", "// later\n", "finish it"),
    (checks.check_banned, "src/base/a_test.cc", "std::this_thread::sleep_for(1s);\n",
     "// not sleep_for(1s)\n", "wait for the event"),
    (checks.check_banned, "src/server/a.cc", "auto t = std::chrono::system_clock::now();\n",
     'log("system_clock");\n', "wall_now"),
    (checks.check_banned, "src/base/a.cc", "int n = std::rand();\n", "int n = rng.below(3);\n",
     "use Rng"),
    (checks.check_core, "src/core/a.cc", "double share = 0;\n", "int64_t share = 0;\n", "integers"),
    (checks.check_core, "src/core/a.cc", "std::unordered_map<int, int> m;\n",
     "std::map<int, int> m;\n", "hash"),
    (checks.check_header_guard, "src/base/a.h", "#ifndef A\n", "#pragma once\n", "pragma once"),
    (checks.check_places, "docs/a.md", "see https://" "packages.corp.internal/x\n",
     "see https://github.com/x\n", "not on the list"),
]


class SelfTest(unittest.TestCase):
    def test_each_check_can_fail(self):
        for check, path, bad, good, message in CASES:
            with self.subTest(check=check.__name__, message=message):
                self.assertIn(message, "\n".join(check(path, bad)))
                if good is not None:
                    self.assertEqual(list(check(path, good)), [])

    def test_the_checkout_is_not_named(self):
        self.assertTrue(list(checks.check_places("a.md", "cd /home/me/tree\n", "/home/me/tree")))

    def test_each_check_has_a_case(self):
        self.assertEqual({case[0] for case in CASES}, set(checks.CHECKS))


if __name__ == "__main__":
    sys.exit(unittest.main())
