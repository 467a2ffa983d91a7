#!/usr/bin/env python3
"""The other front doors: #SBATCH scripts and Kubernetes' manifests, on real containers."""

import json

import e2e
from e2e import IMAGE

HEAD = f"#!/bin/sh\n#SBATCH --container-image={IMAGE} --cpus-per-task=1 --mem=64\n"


class Submit(e2e.ServerTest):
    def submit(self, script, *flags, **options):
        return self.server.run("submit", *flags, input=HEAD + script, **options)

    def test_a_script_finds_what_slurm_tells(self):
        (self.server.folder / "job.sh").write_text(
            HEAD + "#SBATCH -J nightly -G 1 -n 2\n"
            "echo $SLURM_JOB_ID $SLURM_JOB_NAME $SLURM_GPUS_ON_NODE $SLURM_NTASKS "
            "$SLURM_JOB_NODELIST $SLURM_PROCID $1\n")
        number = self.server.check("submit", "--parsable", "job.sh", "argument").strip()
        self.server.check("wait", number)
        self.assertEqual(self.server.check("logs", number),
                         f"{number} nightly 1 2 node-1 0 argument\n")
        row = next(line for line in self.server.check("queue", "--all").splitlines()
                   if line.split()[0] == number)
        self.assertIn("nightly-", row)

    def test_with_wait_the_output_goes_to_files(self):
        done = self.submit("#SBATCH -a 3-4 -J sweep -o %x-%A_%a.out -e %x-%A_%a.err --wait\n"
                           "echo out $SLURM_ARRAY_TASK_ID; echo err >&2; "
                           "exit $((SLURM_ARRAY_TASK_ID - 3))\n")
        self.assertEqual(done.returncode, 1, done.stderr)
        number = done.stdout.split()[-1]
        self.assertEqual(done.stdout, f"Submitted batch job {number}\n")
        for index in 3, 4:
            stem = self.server.folder / f"sweep-{number}_{index}"
            self.assertEqual(stem.with_suffix(".out").read_text(), f"out {index}\n")
            self.assertEqual(stem.with_suffix(".err").read_text(), "err\n")
        plain = self.submit("echo plain\n", "--wait")
        number = plain.stdout.split()[-1]
        self.assertEqual((self.server.folder / f"slurm-{number}.out").read_text(), "plain\n")

    def test_dependencies_by_number(self):
        first = self.submit("sleep 0.3; exit 1\n", "--parsable").stdout.strip()
        good = self.submit("true\n", "--parsable", "-d", f"afterok:{first}").stdout.strip()
        bad = self.submit("true\n", "--parsable", "-d", f"afternotok:{first}").stdout.strip()
        self.assertEqual(self.server.run("wait", bad).returncode, 0)
        told = self.server.run("wait", good)
        self.assertNotEqual(told.returncode, 0)
        self.assertIn("DependencyNeverSatisfied", told.stderr)
        missing = self.submit("true\n", "-d", "afterok:999999")
        self.assertIn("spec.dependsOn[0].job", missing.stderr)

    def test_mistakes_are_told_by_file_and_line(self):
        (self.server.folder / "wrong.sh").write_text(HEAD + "#SBATCH --qos=high\ntrue\n")
        done = self.server.run("submit", "wrong.sh")
        self.assertEqual(done.returncode, 2)
        self.assertIn("wrong.sh: line 3: --qos: there are no qualities of service", done.stderr)
        self.assertIn("nothing was submitted",
                      self.server.check("submit", "--test-only", f"--container-image={IMAGE}",
                                        "--wrap", "true"))


class Kubernetes(e2e.ServerTest):
    def apply(self, document):
        return self.server.run("apply", "-f", "-", input=json.dumps(document))

    def test_a_job_with_accelerators_is_translated(self):
        container = {"name": "main", "image": IMAGE, "command": ["sh", "-c"],
                     "args": ["echo $(WHO) $JOB_COMPLETION_INDEX; ls /dev | grep -c sim"],
                     "env": [{"name": "WHO", "value": "me"}],
                     "resources": {"limits": {"tessera.dev/gpu": 1, "cpu": "100m",
                                              "memory": "64Mi"}}}
        job = {"apiVersion": "batch/v1", "kind": "Job",
               "metadata": {"name": "k8s", "namespace": "default"},
               "spec": {"completions": 2, "completionMode": "Indexed", "template": {"spec": {
                   "restartPolicy": "Never", "containers": [container]}}}}
        done = self.apply(job)
        self.assertEqual(done.stdout, "job/k8s created\n", done.stderr)
        self.assertEqual(self.apply(job).stdout, "job/k8s unchanged\n")
        self.server.check("wait", "k8s")
        self.assertEqual(self.server.check("logs", "--index", "1", "k8s"), "me 1\n1\n")
        self.remove_jobs("k8s")

    def test_every_field_in_the_way_is_named_at_once(self):
        done = self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
            "hostNetwork": True, "restartPolicy": "Never",
            "containers": [{"image": IMAGE, "livenessProbe": {}, "comand": ["true"]}]}})
        self.assertEqual(done.returncode, 2)
        for part in ("3 fields cannot be translated", "spec.hostNetwork",
                     "spec.containers[0].livenessProbe", "did you mean command?"):
            self.assertIn(part, done.stderr)
        self.assertNotEqual(self.server.run("get", "job", "p").returncode, 0)


if __name__ == "__main__":
    e2e.main()
