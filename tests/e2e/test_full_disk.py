#!/usr/bin/env python3
"""A full disk under images, logs, builds and the store: what is told is true, nothing is lost or
left in halves, and all goes on by itself once there is room.

Usage: test_full_disk.py TESSERA
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import e2e
import tessera_server
from e2e import IMAGE, await_until
from registry import Registry

DISK_MB = 160
LAYER_MB = 24
UNITS = {"B": 1, "kB": 1000, "MB": 10**6, "GB": 10**9}


def to_bytes(text):
    number, unit = re.fullmatch(r"([\d.]+)([kMG]?B)", text).groups()
    return float(number) * UNITS[unit]


@unittest.skipIf(Registry.missing(), Registry.missing())
class FullDisk(unittest.TestCase):
    """Everything of the server is on a disk of its own; what the tests make is elsewhere."""

    @classmethod
    def setUpClass(cls):
        cls.elsewhere = pathlib.Path(tempfile.mkdtemp(prefix="tsf-", dir="/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.elsewhere, ignore_errors=True)
        cls.server = tessera_server.Server(e2e.program(), sim="")
        cls.mount(cls.server.folder, f"{DISK_MB}m")
        cls.narrow = cls.elsewhere / "narrow"
        cls.narrow.mkdir()
        cls.mount(cls.narrow, "64k")
        cls.server.environment["TMPDIR"] = str(cls.narrow)
        cls.enterClassContext(cls.server)
        cls.registry = Registry(cls.elsewhere)
        cls.addClassCleanup(cls.registry.close)
        cls.shared = cls.elsewhere / "shared"
        cls.shared.mkdir()
        project = {"apiVersion": "tessera.dev/v1", "kind": "Project",
                   "metadata": {"name": "default"}, "spec": {"hostPaths": [str(cls.shared)]}}
        cls.server.check("apply", "-f", "-", input=json.dumps(project))

    @classmethod
    def mount(cls, folder, size):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tessera-test", folder],
                       check=True)
        cls.addClassCleanup(cls.unmount, folder)

    @staticmethod
    def unmount(folder):
        subprocess.run(["umount", folder], check=True)
        folder.rmdir()

    def setUp(self):
        self.ballast = self.server.folder / "ballast"
        self.addCleanup(self.make_room)

    def free_bytes(self):
        facts = os.statvfs(self.server.folder)
        return facts.f_bavail * facts.f_frsize

    def fill(self, but_mb=0):
        """Takes all the room but so much."""
        while (size := self.free_bytes() - but_mb * 10**6) > 0:
            # The server may be faster, and take some of the room itself: then what is left.
            with open(self.ballast, "ab") as file, contextlib.suppress(OSError):
                os.posix_fallocate(file.fileno(), file.tell(), size)

    def make_room(self):
        self.ballast.unlink(missing_ok=True)

    def layout(self, name):
        """An image of LAYER_MB that do not compress, as an OCI layout."""
        layout = self.elsewhere / name
        if not layout.exists():
            self.server.make_image(self.elsewhere / "made", "--name", "made:1")
            subprocess.run(["skopeo", "--insecure-policy", "copy", "--quiet",
                            f"oci:{self.elsewhere}/made:made:1", f"oci:{layout}:1"], check=True)
            noise = self.elsewhere / "noise"
            noise.write_bytes(os.urandom(LAYER_MB * 10**6))
            subprocess.run(["umoci", "insert", "--image", f"{layout}:1", noise, "/noise"],
                           check=True, capture_output=True)
            shutil.rmtree(self.elsewhere / "made")
        return layout

    def names(self):
        return self.server.check("image", "ls", "-o", "name").split()

    def assert_nothing_in_halves(self, name):
        self.assertNotIn(name, self.names())
        self.assertEqual(self.server.find_leaks(), [])

    def test_e3_a_job_waits_for_room_for_its_image(self):
        image = self.registry.push(f"oci:{self.layout('pulled')}:1", "pulled:1")
        self.server.check("image", "import", "--name", "idle:1", self.layout("idle"))
        self.fill(but_mb=20)
        self.server.detached("--name", "waits", image, "test", "-s", "/noise")
        sentence = await_until("it to be told why", lambda: re.search(
            rf"the image {image} needs at least (\S+), (\S+) are free on (\S+)"
            r" \('tessera image prune --all' would free (\S+)\)",
            self.server.check("why", "waits")))
        needs, free, folder, would_free = sentence.groups()
        # The layer, and once more while it is copied into containerd's files.
        self.assertAlmostEqual(to_bytes(needs), 2 * LAYER_MB * 10**6, delta=3 * 10**6)
        self.assertAlmostEqual(to_bytes(free), 20 * 10**6, delta=2 * 10**6)
        self.assertTrue(folder.startswith(str(self.server.data)), folder)
        self.assert_nothing_in_halves(image)

        freed = self.server.check("image", "prune", "--all").split()[-1]
        self.assertEqual(freed, would_free, "as it was told")
        self.assertNotIn("idle:1", self.names())
        job = self.server.finished("waits")
        self.assertEqual(job["status"]["phase"], "Succeeded", "by itself, and without a retry")
        self.server.check("delete", "job", "waits")
        await_until("its container to be gone", lambda: image in self.server.check(
            "image", "prune", "--all"))
        self.make_room()
        self.server.check("image", "import", self.server.folder / "image.tar")

    def test_e3_imports_and_pulls_say_what_is_missing(self):
        image = self.registry.push(f"oci:{self.layout('pulled')}:1", "pulled:2")
        self.fill(but_mb=10)
        for words in ["pull", image], ["import", "--name", "new:1", self.layout("pulled")]:
            done = self.server.run("image", *words)
            self.assertEqual(done.returncode, 6)
            self.assertRegex(done.stderr, r"needs at least \S+, \S+ are free on /")
            self.assert_nothing_in_halves("new:1")
        self.make_room()
        for words in ["pull", image], ["import", "--name", "new:1", self.layout("pulled")]:
            self.server.check("image", *words)
        self.server.check("image", "rm", image, "new:1")

    def test_e3_a_log_on_a_full_disk_loses_lines_and_says_so(self):
        go, count = self.shared / "go", self.shared / "count"
        name = self.server.detached(
            "--name", "chatter", "-v", f"{self.shared}:/shared", IMAGE, "sh", "-c",
            "i=0; while [ ! -e /shared/go ]; do i=$((i+1)); echo line $i; "
            "echo $i > /shared/count; done")

        def lines():
            text = count.read_text().strip() if count.exists() else ""
            return int(text) if text else 0

        await_until("it to print", lambda: lines() > 100)
        self.fill()
        full_at = lines()
        await_until("it to go on all the same", lambda: lines() > full_at + 5_000)
        self.make_room()
        room_at = lines()
        await_until("a line for which there is room", lambda: lines() > room_at)
        go.touch()
        self.assertEqual(self.server.finished(name)["status"]["phase"], "Succeeded")
        log = self.server.run("logs", name)
        self.assertRegex(log.stderr, r"\[tessera: \d+ lines of output could not be written and are "
                                     r"lost: No space left on device\]")
        self.assertTrue(log.stdout.endswith(f"line {lines()}\n"))
        self.server.check("delete", "job", name)

    def test_e3_the_store_refuses_what_it_cannot_keep(self):
        accepted = []
        # There is room inside of its own files; and who asked first waits for the answer.
        while "cannot save changes" not in (refused := self.submit()).stderr:
            if refused.returncode == 0:
                accepted.append(refused.stdout.strip())
        self.assertEqual(refused.returncode, 125)
        self.assertRegex(refused.stderr, "the server cannot save changes: .*tessera.db has no room")
        self.make_room()
        await_until("it to take jobs again", lambda: self.server.run(
            "run", "--rm", "--quiet", IMAGE, "echo", "again").stdout == "again\n")
        self.server.kill()
        self.server.start()
        known = [line.split("/")[-1]
                 for line in self.server.check("get", "jobs", "-o", "name").split()]
        self.assertLessEqual(set(accepted), set(known))
        self.server.check("delete", "job", *known)

    def submit(self):
        self.fill()
        return self.server.run("run", "-d", "--gpus", "1", IMAGE, "true")

    def test_e3_a_prune_works_on_a_full_disk(self):
        self.server.check("image", "import", "--name", "idle:1", self.layout("idle"))
        self.fill()
        freed = self.server.check("image", "prune", "--all")
        self.assertIn("idle:1", freed)
        self.assertGreater(self.free_bytes(), 2 * LAYER_MB * 10**6)
        self.make_room()
        self.server.check("image", "import", self.server.folder / "image.tar")

    @unittest.skipUnless(shutil.which("buildah"), "buildah is not installed")
    def test_e3_a_build_without_room(self):
        context = self.elsewhere / "context"
        context.mkdir()
        (context / "Dockerfile").write_text(
            f"FROM {IMAGE}\nRUN dd if=/dev/urandom of=/noise bs=1M count={DISK_MB}\n")
        done = self.server.run("image", "build", "-t", "never:1", context)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr,
                         r"error: the build needs more than the \S+ that are free on /")
        self.assert_nothing_in_halves("never:1")
        (context / "Dockerfile").write_text(f"FROM {IMAGE}\nRUN echo small > /file\n")
        self.server.check("image", "build", "-t", "small:1", context)
        self.assertEqual(self.server.check("run", "--rm", "--quiet", "small:1", "cat", "/file"),
                         "small\n")
        cache = self.server.data / "engine/build"
        self.assertTrue(list(cache.iterdir()))
        self.server.check("image", "prune", "--all")
        self.assertEqual(list(cache.iterdir()), [])
        self.server.check("image", "import", self.server.folder / "image.tar")

    def test_e8_nothing_is_unpacked_elsewhere(self):
        """Where programs put what they have no place for, 64 KiB are too little for any image."""
        archive = self.elsewhere / "saved.tar"
        subprocess.run(["skopeo", "--insecure-policy", "copy", "--quiet",
                        f"oci:{self.layout('pulled')}:1", f"docker-archive:{archive}:saved:1"],
                       check=True)
        image = self.registry.push(f"oci:{self.layout('pulled')}:1", "pulled:3")
        self.server.check("image", "import", archive)
        self.server.check("image", "rm", "saved:1")
        self.server.check("image", "pull", image)
        self.server.check("image", "rm", image)
        self.assertEqual(list(self.narrow.iterdir()), [])


if __name__ == "__main__":
    tessera_server.enter_private_mounts()
    e2e.main()
