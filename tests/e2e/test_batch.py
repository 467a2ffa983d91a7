#!/usr/bin/env python3
"""Jobs of several containers: gangs that talk to each other, arrays, dependencies, warnings."""

import json

import e2e
from e2e import IMAGE, await_until

# An all-reduce over the project's network, as torch.distributed begins: everyone tells the first
# rank its number and gets the sum once all have come.
ALL_REDUCE = """
if [ "$RANK" = 0 ]; then
  cat > /reduce <<'END'
#!/bin/sh
read number
echo "$number" >> /numbers
until [ "$(wc -l < /numbers)" = "$WORLD_SIZE" ]; do usleep 50000; done
awk '{sum += $1} END {print sum}' /numbers
echo answered >> /answered
END
  chmod +x /reduce
  nc -ll -p "$MASTER_PORT" -e /reduce &
fi
until sum=$(echo "$((RANK + 1))" | nc "$MASTER_ADDR" "$MASTER_PORT" 2>/dev/null) && [ "$sum" ]
do usleep 50000; done
echo "rank $RANK of $WORLD_SIZE got $sum"
# The first rank stays until all others have their answer.
[ "$RANK" != 0 ] || until [ "$(wc -l < /answered)" = "$WORLD_SIZE" ]; do usleep 50000; done
"""


def manifest(name, **spec):
    return json.dumps({"apiVersion": "tessera.dev/v1", "kind": "Job", "metadata": {"name": name},
                       "spec": {"image": IMAGE, **spec}})


class Gangs(e2e.ServerTest):
    def logs(self, name, index):
        return self.server.check("logs", "--index", str(index), name)

    def test_members_find_each_other_and_talk(self):
        self.server.check("apply", "-f", "-", input=manifest(
            "reduce", replicas=3, rendezvous={"port": 29511},
            resources={"cpus": 0.1, "memory": "64Mi"}, args=["sh", "-c", ALL_REDUCE]))
        status = self.server.finished("reduce")["status"]
        self.assertEqual(status["phase"], "Succeeded", status)
        for rank in range(3):
            self.assertEqual(self.logs("reduce", rank), f"rank {rank} of 3 got 6\n")
        self.remove_jobs("reduce")

    def test_ranks_count_processes_or_nodes_as_is_asked(self):
        names = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK",
                 "NPROC_PER_NODE", "PET_NPROC_PER_NODE", "MASTER_PORT"]
        show = "; ".join(f"echo {name}=${{{name}-}}" for name in names)
        hosts = "echo $MASTER_ADDR; cat /etc/tessera/hostfile"
        cases = {"Process": (["1", "2", "0", "1", "1", "", "", "29500"], 1),
                 "Node": (["1", "2", "", "2", "1", "2", "2", "29500"], 2)}
        for style, (values, slots) in cases.items():
            with self.subTest(ranks=style):
                name = f"by-{style.lower()}"
                rendezvous = {"ranks": style}
                if style == "Node":
                    rendezvous["processes"] = 2
                self.server.check("apply", "-f", "-", input=manifest(
                    name, replicas=2, rendezvous=rendezvous,
                    resources={"cpus": 0.1, "memory": "64Mi"},
                    args=["sh", "-c", f"{show}; {hosts}"]))
                self.server.check("wait", name)
                self.assertEqual(
                    self.logs(name, 1),
                    "".join(f"{key}={value}\n" for key, value in zip(names, values)) +
                    f"{name}-0\n{name}-0 slots={slots}\n{name}-1 slots={slots}\n")
                self.remove_jobs(name)


class Arrays(e2e.ServerTest):
    def test_each_task_runs_and_ends_on_its_own(self):
        script = ('echo "task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT, '
                  'job $SLURM_ARRAY_JOB_ID"; [ $TESSERA_INDEX != 4 ]')
        self.server.check("apply", "-f", "-", input=manifest(
            "sweep", array={"indices": "0-6:2", "parallel": 2}, slurmEnv=True,
            resources={"cpus": 0.1, "memory": "64Mi"}, args=["sh", "-c", script]))
        job = self.server.finished("sweep")
        self.assertEqual(job["status"]["array"], {"succeeded": 3, "failed": 1})
        self.assertEqual(job["status"]["message"], "task 4: exit code 1")
        number = job["status"]["number"]
        for index in 0, 2, 4, 6:
            self.assertEqual(self.server.check("logs", "--index", str(index), "sweep"),
                             f"task {index} of 4, job {number}\n")
        refused = self.server.run("logs", "--index", "1", "sweep")
        self.assertIn("its array is 0-6:2", refused.stderr)
        self.assertIn("sweep[0-6:2%2]", self.server.check("queue", "--all"))
        self.remove_jobs("sweep")

    def test_one_task_can_be_stopped(self):
        self.server.check("apply", "-f", "-", input=manifest(
            "pair", array={"indices": "1-2"}, resources={"cpus": 0.1, "memory": "64Mi"},
            args=["sh", "-c", "trap 'exit 0' TERM; while :; do usleep 100000; done"]))
        await_until("both run", lambda: self.server.job("pair")["status"]["array"]
                    .get("running") == 2)
        self.server.check("stop", "--index", "2", "pair")
        await_until("one is gone", lambda: self.server.job("pair")["status"]["array"]
                    .get("cancelled") == 1)
        self.assertEqual(self.server.phase("pair"), "Running")
        self.server.check("stop", "pair")
        self.assertEqual(self.server.finished("pair")["status"]["phase"], "Cancelled")
        self.remove_jobs("pair")


class Order(e2e.ServerTest):
    def submit(self, name, *words, **spec):
        self.server.check("apply", "-f", "-", input=manifest(
            name, resources={"cpus": 0.1, "memory": "64Mi"}, args=list(words), **spec))

    def test_dependencies_decide_by_how_the_other_ended(self):
        self.submit("first", "sh", "-c", "trap 'exit 3' USR1; while :; do usleep 100000; done")
        self.submit("good", "true", dependsOn=[{"job": "first", "condition": "afterok"}])
        self.submit("bad", "true", dependsOn=[{"job": "first", "condition": "afternotok"}])
        self.server.await_phase("first", "Running")
        waiting = await_until("a reason", lambda: self.server.job("good")["status"].get("waiting"))
        self.assertEqual(waiting["message"], "waits for job first to succeed")
        self.assertIn("waits for job first to fail", self.server.check("why", "bad"))
        self.server.check("kill", "-s", "USR1", "first")
        good, bad = self.server.finished("good"), self.server.finished("bad")
        self.assertEqual((good["status"]["phase"], good["status"]["reason"]),
                         ("Cancelled", "DependencyNeverSatisfied"))
        self.assertEqual(bad["status"]["phase"], "Succeeded")
        self.remove_jobs("first", "good", "bad")

    def test_a_signal_comes_before_the_end(self):
        words = ["sh", "-c", "trap 'echo warned; exit 0' USR1; echo ready; "
                 "while :; do usleep 100000; done"]
        warning = {"signal": "USR1", "before": "1h"}
        self.submit("warned", *words, maxRuntime="2h", endWarning=warning)
        logs = self.server.open("logs", "-f", "warned")
        self.assertEqual(logs.stdout.readline(), "ready\n")
        # With one hour less, the warning is due at once.
        self.submit("warned", *words, maxRuntime="1h", endWarning=warning)
        out, err = logs.communicate(timeout=60)
        self.assertIn("warned\n", out, err)
        status = self.server.finished("warned")["status"]
        self.assertEqual(status["phase"], "Succeeded", status)
        self.remove_jobs("warned")


if __name__ == "__main__":
    e2e.main()
