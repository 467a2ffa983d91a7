#!/usr/bin/env python3
"""Jobs as a user has them: run, wait, look, stop, delete; on real containers."""

import json
import signal

import e2e
from e2e import IMAGE, await_until


class Run(e2e.ServerTest):
    def test_output_and_exit_code_are_the_programs(self):
        done = self.server.run("run", "--rm", "--gpus", "1", IMAGE, "sh", "-c",
                               "echo out; echo err >&2; exit 3")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual((done.stdout, done.stderr.splitlines()[0]), ("out\n", "err"))
        name = self.server.detached(IMAGE, "sh", "-c", "echo a; echo b >&2; echo c; echo d >&2")
        self.server.check("wait", name)
        logs = self.server.run("logs", name)
        self.assertEqual((logs.stdout, logs.stderr), ("a\nc\n", "b\nd\n"))
        self.remove_jobs(name)
        self.assertEqual(self.server.check("run", "--rm", IMAGE, "echo", "hello"), "hello\n")

    def test_a_killed_program_is_told_by_its_exit_code(self):
        run = self.server.open("run", "--name", "doomed", IMAGE, "sh", "-c", "echo up; sleep 600")
        self.assertEqual(run.stdout.readline(), "up\n")
        self.server.check("kill", "doomed")
        _, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 137, err)
        status = self.server.finished("doomed")["status"]
        self.assertEqual((status["phase"], status["reason"]), ("Failed", "Signal"))
        self.remove_jobs("doomed")

    def test_what_cannot_run_has_dockers_exit_codes(self):
        cases = [((IMAGE, "/no/such/program"), 127), ((IMAGE, "/etc"), 126),
                 (("--pull", "never", "no-such-image", "true"), 125), (("--no-such-flag",), 125)]
        for words, code in cases:
            with self.subTest(words=words):
                done = self.server.run("run", "--rm", *words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertTrue(done.stderr.strip())

    def test_k1_what_cannot_start_says_why_and_what_would_do(self):
        holder = self.server.detached("--gpus", "1", IMAGE, "sleep", "600")
        self.server.await_phase(holder, "Running")
        cases = [
            (("--gpus", "2"), ["waits for 2 accelerators: on node-1 1 of 2",
                               "with 1 accelerator instead of 2 it would start now"]),
            (("--gpus", "3"), ["no node can ever run it", "needs 3 accelerators",
                               "node-1 has 2", "with 1 accelerator instead of 3"]),
            (("--gpus", "1", "--gpu-memory", "99Gi"), ["no node can ever run it", "99Gi"]),
            (("-m", "9000g"), ["no node can ever run it", "9000Gi of memory", "node-1 has only"]),
            (("--cpus", "999"), ["no node can ever run it", "999 CPUs", "node-1 has only"]),
        ]
        for flags, parts in cases:
            with self.subTest(flags=flags):
                name = self.server.detached(*flags, IMAGE, "true")
                why = self.server.check("why", name)
                for part in parts:
                    self.assertIn(part, why)
                # The list and the job itself say the same.
                self.assertIn(parts[0], self.server.job(name)["status"]["waiting"]["message"])
                self.remove_jobs(name)
        # Whoever waits at the terminal is told, too.
        run = self.server.open("run", "--rm", "--gpus", "2", IMAGE, "echo", "at last")
        self.assertIn("waits for 2 accelerators", run.stderr.readline())
        self.server.check("stop", "-t", "0", holder)
        self.assertEqual(run.communicate(timeout=60)[0], "at last\n")
        self.remove_jobs(holder)

    def test_input_reaches_the_program(self):
        done = self.server.run("run", "--rm", "-i", IMAGE, "cat", input="one\ntwo\n")
        self.assertEqual((done.returncode, done.stdout), (0, "one\ntwo\n"), done.stderr)

    def test_two_signals_stop_and_leave(self):
        run = self.server.open("run", "--name", "ctrl-c", IMAGE, "sh", "-c",
                               "trap 'echo got it; exit 7' INT; echo ready; "
                               "while :; do sleep 1; done")
        self.assertEqual(run.stdout.readline(), "ready\n")
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
        self.assertIn("got it", out, err)
        self.assertEqual(run.returncode, 7, err)
        self.assertEqual(self.server.phase("ctrl-c"), "Cancelled")
        self.remove_jobs("ctrl-c")

    def test_variables_user_folder_and_volume(self):
        folder = self.server.folder / "shared"
        folder.mkdir()
        folder.chmod(0o777)
        project = {"apiVersion": "tessera.dev/v1", "kind": "Project",
                   "metadata": {"name": "default"}, "spec": {"hostPaths": [str(folder)]}}
        self.server.check("apply", "-f", "-", input=json.dumps(project))
        out = self.server.check(
            "run", "--rm", "-e", "COLOUR=red", "-u", "1000:1000", "-w", "/tmp", "-v",
            f"{folder}:/shared", IMAGE, "sh", "-c", "echo $COLOUR $(id -u) $(pwd); touch /shared/f")
        self.assertEqual(out, "red 1000 /tmp\n")
        self.assertEqual((folder / "f").stat().st_uid, 1000)
        refused = self.server.run("run", "--rm", "-v", "/etc:/host", IMAGE, "true")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("may not mount /etc", refused.stderr)


class Queue(e2e.ServerTest):
    def test_the_third_of_two_devices_waits_with_a_reason(self):
        names = ["q1", "q2", "q3"]
        for name in names:
            self.server.detached("--name", name, "--gpus", "1", IMAGE, "sh", "-c",
                                 "trap 'exit 0' TERM; while :; do sleep 1; done")
        for name in names[:2]:
            self.server.await_phase(name, "Running")
        held = [self.server.job(name)["status"]["accelerators"] for name in names[:2]]
        self.assertEqual(len({device for devices in held for device in devices}), 2)
        waiting = await_until("a reason", lambda: self.server.job("q3")["status"].get("waiting"))
        self.assertIn("accelerator", waiting["message"])
        why = self.server.check("why", "q3")
        self.assertIn("place 1 of the queue", why)
        self.assertIn("q3", self.server.check("queue"))
        self.server.check("stop", "q1")
        self.server.await_phase("q3", "Running")
        self.server.check("stop", "q2", "q3")
        for name in names:
            self.assertEqual(self.server.finished(name)["status"]["phase"], "Cancelled")
        self.remove_jobs(*names)

    def test_failed_attempts_are_tried_again(self):
        self.server.detached("--name", "again", "--retries", "1", IMAGE, "sh", "-c",
                             "echo attempt; exit 4")
        # The first back-off is 10 s; the job says so meanwhile.
        job = self.server.finished("again")
        self.assertEqual(job["status"]["phase"], "Failed")
        self.assertEqual((job["status"]["attempts"], job["status"]["exitCode"]), (2, 4))
        for flag in (), ("--previous",):
            self.assertEqual(self.server.check("logs", *flag, "again"), "attempt\n")
        self.remove_jobs("again")


class Look(e2e.ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.detached("--name", "long", "--gpus", "1", "-l", "team=vision", IMAGE, "sh", "-c",
                            "echo begun; trap 'echo ending; exit 0' TERM; "
                            "while :; do sleep 1; done")
        cls.server.await_phase("long", "Running")

    def test_exec(self):
        out = self.server.check("exec", "long", "sh", "-c", "echo inside; ls /dev | grep -c sim")
        self.assertEqual(out, "inside\n1\n")
        self.assertEqual(self.server.run("exec", "long", "sh", "-c", "exit 9").returncode, 9)
        done = self.server.run("exec", "-i", "long", "cat", input="typed\n")
        self.assertEqual(done.stdout, "typed\n", done.stderr)

    def test_objects_as_json_yaml_and_text(self):
        jobs = json.loads(self.server.check("get", "jobs", "-o", "json", "-l", "team=vision"))
        self.assertEqual((jobs["apiVersion"], jobs["kind"]), ("tessera.dev/v1", "JobList"))
        self.assertEqual([job["metadata"]["name"] for job in jobs["items"]], ["long"])
        job = jobs["items"][0]
        self.assertEqual(job["spec"]["resources"]["gpus"], 1)
        self.assertTrue({"name", "project", "uid", "resourceVersion", "creationTimestamp"}
                        <= job["metadata"].keys())
        self.assertIn("phase: Running", self.server.check("get", "job", "long", "-o", "yaml"))
        described = self.server.check("describe", "job", "long")
        for part in ("Tasks:", "Events:", job["status"]["accelerators"][0]):
            self.assertIn(part, described)
        devices = json.loads(self.server.check("get", "accelerators", "-o", "json"))["items"]
        self.assertEqual([device["status"]["simulated"] for device in devices], [True, True])
        self.assertIn("node-1", self.server.check("nodes"))
        self.assertIn("job/long", self.server.check("events", "long"))

    def test_then_logs_follow_to_the_end_and_attach_sees_it(self):
        logs = self.server.open("logs", "-f", "long")
        self.assertEqual(logs.stdout.readline(), "begun\n")
        attach = self.server.open("attach", "long")
        self.server.check("stop", "long")
        out, err = logs.communicate(timeout=60)
        self.assertIn("ending\n", out)  # the shell may say beside it that sleep ended
        self.assertEqual(logs.returncode, 0, err)
        attach.communicate(timeout=60)
        self.assertEqual(self.server.finished("long")["status"]["phase"], "Cancelled")
        self.server.check("delete", "job", "long")
        self.assertNotEqual(self.server.run("get", "job", "long").returncode, 0)


class Manifests(e2e.ServerTest):
    def test_secret_project_and_gang(self):
        (self.server.folder / "all.yaml").write_text("""
apiVersion: tessera.dev/v1
kind: Project
metadata: {name: vision}
spec: {quota: {max: 2}}
---
apiVersion: tessera.dev/v1
kind: Secret
metadata: {name: token, project: vision}
data: {key: s3cret-value}
---
apiVersion: tessera.dev/v1
kind: Job
metadata: {name: gang, project: vision}
spec:
  image: busybox:latest
  args: [sh, -c, 'echo has $TOKEN']
  replicas: 2
  resources: {gpus: 1}
  secrets: [{name: TOKEN, secret: token, key: key}]
""")
        in_vision = ("--project", "vision")
        out = self.server.check("apply", "-f", "all.yaml")
        self.assertEqual(out.count("created"), 3, out)
        self.assertIn("job/gang unchanged", self.server.check("apply", "-f", "all.yaml"))
        self.server.check("wait", *in_vision, "gang")
        self.assertIn("s3cret-value", self.server.check("logs", *in_vision, "gang"))
        self.assertNotIn("s3cret-value",
                         self.server.check("get", "secrets", *in_vision, "-o", "yaml"))
        self.server.check("delete", *in_vision, "job", "gang")
        self.server.check("delete", *in_vision, "secret", "token")
        self.server.check("delete", "project", "vision")

    def test_mistakes_are_told_by_field(self):
        job = {"apiVersion": "tessera.dev/v1", "kind": "Job", "metadata": {"name": "bad"},
               "spec": {"image": IMAGE, "resources": {"gpu": 1}}}
        done = self.server.run("apply", "-f", "-", input=json.dumps(job))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("spec.resources.gpu", done.stderr)
        self.assertIn("gpus", done.stderr)


if __name__ == "__main__":
    e2e.main()
