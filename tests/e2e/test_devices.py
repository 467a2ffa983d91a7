#!/usr/bin/env python3
"""A container sees the accelerators that it was given, and no others."""

import json
import pathlib
import subprocess

import e2e
from e2e import IMAGE

# Tries every device: the name, and what opening it says. An allocated one has no driver behind it
# (ENXIO), any other is refused by the cgroup (EPERM), also when the container makes the node.
PROBE = """
for i in 0 1; do
  node=/dev/tessera-sim$i
  [ -e $node ] && have=given || { have=made; mknod $node c 60 $i 2>&1 || continue; }
  echo $i $have $(cat $node 2>&1 | sed 's/.*: //')
done
"""
NO_DRIVER = "No such device or address"
REFUSED = "Operation not permitted"


class Devices(e2e.ServerTest):
    def uuids(self):
        """In the order of their indices."""
        items = json.loads(self.server.check("get", "accelerators", "-o", "json"))["items"]
        items.sort(key=lambda item: item["status"].get("index", 0))
        return [item["metadata"]["name"] for item in items]

    def probe(self, *flags, image=IMAGE):
        """By index: given or made, and what opening said."""
        done = self.server.run("run", "--rm", *flags, image, "sh", "-c", PROBE)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split(" ", 2) for line in done.stdout.splitlines()]
        return {int(row[0]): tuple(row[1:]) for row in rows if row[0] in "01"}

    def assert_sees(self, seen, allocated):
        for index in 0, 1:
            if index in allocated:
                self.assertEqual(seen[index], ("given", NO_DRIVER), seen)
            elif index in seen:  # where even mknod is refused, there is nothing to open
                self.assertEqual(seen[index], ("made", REFUSED), seen)

    def test_a4_no_request_is_no_accelerator_whatever_the_image_says(self):
        archive = self.server.folder / "greedy.tar"
        self.server.make_image(archive, "--name", "greedy:latest", "--env",
                               "NVIDIA_VISIBLE_DEVICES=all")
        self.server.check("image", "import", archive)
        self.assert_sees(self.probe(image="greedy:latest"), set())
        visible = self.server.check("run", "--rm", "greedy:latest", "sh", "-c",
                                    "echo $NVIDIA_VISIBLE_DEVICES").strip()
        self.assertIn(visible, ("", "void", "none"))

    def test_one_of_two_is_that_one(self):
        for index in 0, 1:
            with self.subTest(index=index):
                self.assert_sees(self.probe("--gpus", f"device={index}"), {index})

    def test_a9_dockers_ways_to_name_devices(self):
        second = f"device={self.uuids()[1]}"
        cases = [("device=0,1", {0, 1}), ('"device=0,1"', {0, 1}), (second, {1}),
                 ("all", {0, 1}), ("2", {0, 1}), ("count=2,capabilities=compute", {0, 1})]
        for form, allocated in cases:
            with self.subTest(form=form):
                self.assert_sees(self.probe("--gpus", form), allocated)

    def test_a9_a_list_that_docker_would_take_for_a_count_is_refused(self):
        done = self.server.run("run", "--rm", "--gpus", "0,1", IMAGE, "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("device=0,1", done.stderr)

    def test_i3_no_privilege_is_needed_to_keep_an_accelerator(self):
        node = "/dev/tessera-sim1"
        name = self.server.detached("--gpus", "device=1", IMAGE, "sleep", "600")
        self.server.await_phase(name, "Running")

        def opening():
            return self.server.run("exec", name, "sh", "-c", f"cat {node} 2>&1").stdout

        self.assertIn(NO_DRIVER, opening())
        # What systemd applies anew at a daemon-reload are the rules of the container's own
        # specification: a device that someone slipped in beside them would be lost (A1).
        spec = self.specification(name)
        rules = spec["linux"]["resources"]["devices"]
        for device in spec["linux"]["devices"]:
            self.assertIn((True, device["type"], device["major"], device["minor"]),
                          [(rule["allow"], rule.get("type"), rule.get("major"), rule.get("minor"))
                           for rule in rules])
        cgroup = pathlib.Path("/sys/fs/cgroup/devices" + spec["linux"]["cgroupsPath"])
        if cgroup.exists():
            (cgroup / "devices.deny").write_text("a")
            self.assertIn(REFUSED, opening())
            for rule in rules:
                if rule["allow"]:
                    numbers = ":".join(str(rule.get(part, "*")) for part in ("major", "minor"))
                    (cgroup / "devices.allow").write_text(
                        f"{rule['type']} {numbers} {rule['access']}")
            self.assertIn(NO_DRIVER, opening())
        self.remove_jobs(name)

    def test_i3_a_privilege_is_refused_with_the_reason(self):
        done = self.server.run("run", "--rm", "--privileged", "--gpus", "1", IMAGE, "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("as good as root on the node", done.stderr)

    def specification(self, name):
        """OCI's, of the job's container, as containerd has it."""
        ctr = ["ctr", "--address", str(self.server.socket.parent / "containerd/containerd.sock"),
               "--namespace", "tessera", "containers", "info"]
        container = f"{self.server.job(name)['metadata']['uid']}-0.1"
        done = subprocess.run([*ctr, container], check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)["Spec"]

    def test_the_variables_name_what_was_given(self):
        out = self.server.check("run", "--rm", "--gpus", "device=1", IMAGE, "sh", "-c",
                                "echo $TESSERA_ACCELERATORS")
        self.assertEqual(out.strip(), self.uuids()[1])


if __name__ == "__main__":
    e2e.main()
