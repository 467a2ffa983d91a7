"""usage: who held how much for how long, on real containers and over a restart."""

import csv
import io
import json
import unittest

import e2e
from e2e import IMAGE, ServerTest


class Usage(ServerTest):
    def rows(self, *flags):
        report = json.loads(self.server.check("usage", "-o", "json", *flags))
        return report["items"]

    def test_a_job_over_its_life_and_after_it(self):
        server = self.server
        server.check("create", "project", "vision")
        server.detached("--project", "vision", "--name", "half", "--gpus", "0.5", "--cpus", "0.25",
                        "--memory", "64m", IMAGE, "sh", "-c",
                        "trap 'exit 3' TERM; while :; do sleep 0.1; done")
        e2e.await_until("the job to run", lambda: self.rows("--project", "vision"))
        running = self.rows("--project", "vision")
        self.assertEqual([(row["user"], row["jobs"]) for row in running], [("root", 0)])

        server.kill()
        server.start()
        later = self.rows("--project", "vision")
        self.assertGreater(later[0]["acceleratorMs"], running[0]["acceleratorMs"],
                           "it ran on while the server was away")

        server.check("stop", "--project", "vision", "half")
        server.run("wait", "--project", "vision", "half")
        [row] = self.rows("--project", "vision")
        self.assertEqual((row["jobs"], row["failed"]), (1, 0))
        self.assertLessEqual(abs(row["acceleratorMs"] - row["cpuMs"] * 2), 1)
        self.assertLessEqual(abs(row["memoryMibSeconds"] - row["cpuMs"] * 4 * 64 / 1000), 1)

        server.check("delete", "job", "--project", "vision", "half")
        server.check("delete", "project", "vision")
        self.assertEqual(self.rows("--project", "vision"), [row], "kept for ever")

    def test_formats(self):
        self.server.run("run", "--rm", "--name", "bad", IMAGE, "false")
        table = self.server.check("usage", "--by", "user,day")
        self.assertIn("GPU-HOURS", table)
        lines = list(csv.DictReader(io.StringIO(
            self.server.check("usage", "--by", "project", "-o", "csv"))))
        [mine] = [line for line in lines if line["project"] == "default"]
        self.assertEqual((mine["jobs"], mine["failed"]), ("1", "1"))
        self.assertGreater(float(mine["cpu_hours"]), 0)
        self.assertIn("Nothing was used", self.server.check("usage", "--since", "2999-01-01"))


if __name__ == "__main__":
    e2e.main()
