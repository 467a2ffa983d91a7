"""What the end-to-end tests share: a server for each class, and how a test file is run."""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import tessera_server
from tessera_server import IMAGE, Server, await_until

SIMULATED = "2x Tessera-Sim-16G"
SKIPPED = 77  # as CMakeLists.txt tells ctest
_program = ""


def program():
    """Path of the program under test."""
    return _program


class ServerTest(unittest.TestCase):
    """One server with two simulated accelerators for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(_program, sim=SIMULATED)
        cls.enterClassContext(cls.server)

    def setUp(self):
        self.addCleanup(self.say_log)

    def say_log(self):
        """What the server said, when the test failed."""
        outcome = self._outcome.result
        if outcome and any(test is self for test, _ in outcome.errors + outcome.failures):
            print("server log:\n" + self.server.log()[-6000:], file=sys.stderr)

    def remove_jobs(self, *names):
        for name in names:
            self.server.run("delete", "job", name)


def main():
    """Runs the tests of the calling file: FILE TESSERA [UNITTEST ARGUMENTS]."""
    global _program
    _program = os.path.abspath(sys.argv.pop(1))
    missing = tessera_server.missing_for_containers()
    if missing:
        print(f"skipped: {missing}")
        sys.exit(SKIPPED)
    tessera_server.enter_private_network()
    unittest.main(module="__main__", verbosity=2)
