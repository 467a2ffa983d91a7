#!/usr/bin/env python3
"""The server is killed, containerd is killed: jobs end as if nothing had been."""

import os
import json
import signal

import e2e
from e2e import IMAGE, await_until


class Faults(e2e.ServerTest):
    def setUp(self):
        super().setUp()
        self.shared = self.server.folder / self._testMethodName
        self.shared.mkdir()
        project = {"apiVersion": "tessera.dev/v1", "kind": "Project",
                   "metadata": {"name": "default"}, "spec": {"hostPaths": [str(self.shared)]}}
        self.server.check("apply", "-f", "-", input=json.dumps(project))

    def files(self, kind):
        return sorted(path.name for path in self.shared.glob(f"{kind}-*"))

    def test_ten_jobs_outlive_a_kill_of_the_server_and_run_once(self):
        # Each start leaves a file of its own; each program ends when it is told to.
        script = ("echo >> /shared/started-$N; n=$(wc -l < /shared/started-$N); "
                  "while [ ! -e /shared/go ]; do sleep 0.1; done; echo end of $N; exit $((N % 3))")
        names = []
        for number in range(10):
            names.append(self.server.detached(
                "--name", f"job-{number}", "--cpus", "0.2", "-m", "64m", "-e", f"N={number}", "-v",
                f"{self.shared}:/shared", IMAGE, "sh", "-c", script))
            if number == 6:
                # In the middle: some run, some start, the rest is still to come.
                await_until("three to run", lambda: len(self.files("started")) >= 3)
                self.server.kill()
                self.server.start()
        await_until("all to have started", lambda: len(self.files("started")) == 10)
        self.server.kill()
        (self.shared / "go").touch()  # they end while nobody looks
        self.server.start()
        for number, name in enumerate(names):
            with self.subTest(job=name):
                status = self.server.finished(name)["status"]
                self.assertEqual(status["exitCode"], number % 3)
                self.assertEqual(status["phase"], "Failed" if number % 3 else "Succeeded")
                self.assertEqual(status["attempts"], 1)
                started = (self.shared / f"started-{number}").read_text()
                self.assertEqual(started.count("\n"), 1, "started more than once")
                self.assertEqual(self.server.check("logs", name), f"end of {number}\n")
        self.remove_jobs(*names)

    def test_h1_a_container_that_prints_without_end_outlives_containerd(self):
        name = self.server.detached("--name", "chatter", "-v", f"{self.shared}:/shared", IMAGE,
                                    "sh", "-c",
                                    "i=0; while [ ! -e /shared/go ]; do i=$((i+1)); "
                                    "echo line $i; echo $i > /shared/count-1; done; exit 5")
        count = self.shared / "count-1"

        def lines():
            text = count.read_text().strip() if count.exists() else ""
            return int(text) if text else 0

        await_until("it to print", lambda: lines() > 100)
        before = self.server.containerd_pid()
        os.kill(before, signal.SIGKILL)
        killed_at = lines()
        # Far more than any pipe holds: somebody reads what it prints.
        await_until("it to go on printing", lambda: lines() > killed_at + 10_000)
        await_until("a new containerd", lambda: self.server.containerd_pid() != before)
        (self.shared / "go").touch()
        status = self.server.finished(name)["status"]
        self.assertEqual((status["phase"], status["exitCode"]), ("Failed", 5))
        self.assertEqual(status["attempts"], 1)
        last = self.server.check("logs", "--tail", "1", name)
        self.assertEqual(last, f"line {lines()}\n")
        self.remove_jobs(name)

    def sleeper(self, name):
        """A job with an accelerator that counts, and ends with 4 when it is told to."""
        self.server.detached("--name", name, "--gpus", "1", "-v", f"{self.shared}:/shared", IMAGE,
                             "sh", "-c", "echo >> /shared/started-1; echo begin; "
                             "while [ ! -e /shared/go ]; do sleep 0.1; done; echo end; exit 4")
        self.server.await_phase(name, "Running")
        await_until("it to begin", lambda: self.files("started"))

    def assert_ran_once(self, name):
        (self.shared / "go").touch()
        status = self.server.finished(name)["status"]
        self.assertEqual((status["phase"], status["exitCode"]), ("Failed", 4))
        self.assertEqual(status["attempts"], 1)
        self.assertEqual((self.shared / "started-1").read_text(), "\n", "started more than once")
        self.assertEqual(self.server.check("logs", name), "begin\nend\n")
        self.remove_jobs(name)

    def test_h4_a_container_is_known_by_its_labels_when_the_engine_has_lost_its_notes(self):
        self.sleeper("labelled")
        os.kill(self.server.containerd_pid(), signal.SIGKILL)
        self.server.kill()
        notes = [path for path in (self.server.data / "engine/state").glob("*/*") if path.is_file()]
        self.assertTrue(notes)
        for path in notes:
            path.unlink()
        self.server.start()
        job = self.server.job("labelled")
        self.assertEqual(job["status"]["phase"], "Running")
        self.assertEqual(self.server.check("exec", "labelled", "echo", "here"), "here\n")
        # Nobody else gets what it holds.
        second = self.server.detached("--name", "second", "--gpus", "2", IMAGE, "true")
        self.assertEqual(self.server.phase(second), "Queued")
        self.assert_ran_once("labelled")
        self.assertEqual(self.server.finished(second)["status"]["phase"], "Succeeded")
        self.remove_jobs(second)

    def test_h4_an_engine_that_does_not_answer_for_a_while_costs_no_job(self):
        self.sleeper("patient")
        daemon = self.server.containerd_pid()
        os.kill(daemon, signal.SIGSTOP)  # as a disk does that takes no more
        try:
            await_until("the node to be told as not ready", lambda: not self.node_is_ready())
            self.assertEqual(self.server.phase("patient"), "Running")
            self.server.kill()
        finally:
            os.kill(daemon, signal.SIGCONT)
        self.server.start()
        await_until("the node to be ready", self.node_is_ready)
        self.assertEqual(self.server.phase("patient"), "Running")
        self.assert_ran_once("patient")

    def node_is_ready(self):
        node = json.loads(self.server.check("get", "node", "node-1", "-o", "json"))
        return node["status"].get("ready", False)

    def test_new_jobs_run_after_both_were_killed(self):
        os.kill(self.server.containerd_pid(), signal.SIGKILL)
        self.server.kill()
        self.server.start()
        self.assertEqual(self.server.check("run", "--rm", "--gpus", "2", IMAGE, "echo", "back"),
                         "back\n")


if __name__ == "__main__":
    e2e.main()
