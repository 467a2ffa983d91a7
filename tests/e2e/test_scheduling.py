#!/usr/bin/env python3
"""Who gives way to whom, on real containers."""

import json
import pathlib
import unittest

import e2e
from e2e import IMAGE
from tessera_server import Server

# Saves what it did when it is asked to stop, and goes on from there.
CHECKPOINTS = """
done=$(cat /saved/steps 2>/dev/null || echo 0)
trap 'echo "$done" > /saved/steps; echo saved after $done; exit 0' TERM
echo begins at $done
[ "$done" = 0 ] || exit 0
done=7
while :; do usleep 20000; done
"""


def manifest(name, **spec):
    return json.dumps({"apiVersion": "tessera.dev/v1", "kind": "Job", "metadata": {"name": name},
                       "spec": {"image": IMAGE, **spec}})


class Preemption(unittest.TestCase):
    def setUp(self):
        self.server = Server(e2e.program(), sim="2x Tessera-Sim-16G",
                             flags=("--preempt-after", "0s"))
        self.enterContext(self.server)

    def test_the_lower_priority_saves_its_work_and_comes_back(self):
        folder = f"{self.server.folder}/saved"
        self.server.check("apply", "-f", "-", input=json.dumps(
            {"apiVersion": "tessera.dev/v1", "kind": "Project", "metadata": {"name": "default"},
             "spec": {"hostPaths": [str(self.server.folder)]}}))
        pathlib.Path(folder).mkdir()
        low = {"requeue": True, "resources": {"gpus": 1},
               "volumes": [{"source": folder, "target": "/saved"}],
               "args": ["sh", "-c", CHECKPOINTS]}
        self.server.check("apply", "-f", "-", input=manifest("low", **low))
        self.server.check("run", "-d", "--name", "other", "--gpus", "1", IMAGE, "sleep", "600")
        self.server.await_phase("low", "Running")
        self.server.await_phase("other", "Running")
        e2e.await_until("the trap is set", lambda: "begins" in self.server.check("logs", "low"))

        self.server.check("apply", "-f", "-", input=manifest(
            "urgent", priority=10, resources={"gpus": 1}, args=["true"]))
        self.assertEqual(self.server.finished("urgent")["status"]["phase"], "Succeeded")
        status = self.server.finished("low")["status"]
        self.assertEqual((status["phase"], status["attempts"]), ("Succeeded", 2), status)
        self.assertIn("begins at 7", self.server.check("logs", "low"))
        events = self.server.check("events", "low")
        self.assertIn("gave way to job default/urgent, which has priority", events)
        # Who may not be requeued stays.
        self.assertEqual(self.server.phase("other"), "Running")


if __name__ == "__main__":
    e2e.main()
