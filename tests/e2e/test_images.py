#!/usr/bin/env python3
"""Images: what they say of themselves, which of them go, and what is built from a Dockerfile.

Usage: test_images.py TESSERA
"""

import io
import json
import pathlib
import shutil
import signal
import tarfile
import unittest

import e2e
from e2e import IMAGE, await_until


def network_namespaces(server):
    folder = server.data / "engine/net/ns"
    return [path.name for path in folder.iterdir() if path.name.startswith("build-")]


def build_cgroups():
    return list(pathlib.Path("/sys/fs/cgroup").glob("**/build-*"))


class Images(e2e.ServerTest):
    def names(self):
        return set(self.server.check("image", "ls", "-o", "name").split())

    def add(self, name, *flags):
        archive = self.server.folder / "made.tar"
        self.server.make_image(archive, "--name", name, *flags)
        self.server.check("image", "import", archive)
        archive.unlink()

    def test_inspect(self):
        self.add("looked-at:1", "--user", "app", "--env", "A=1")
        [image] = json.loads(self.server.check("image", "inspect", "looked-at:1"))
        self.assertEqual(image["RepoTags"], ["looked-at:1"])
        self.assertEqual(image["Os"], "linux")
        self.assertRegex(image["Id"], "^sha256:[0-9a-f]{64}$")
        self.assertRegex(image["RepoDigests"][0], "^looked-at@sha256:[0-9a-f]{64}$")
        self.assertEqual(image["Config"]["User"], "app")
        self.assertEqual(image["Config"]["Cmd"], ["/bin/sh"])
        self.assertIn("A=1", image["Config"]["Env"])
        self.assertEqual(len(image["RootFS"]["Layers"]), 1)
        self.assertGreater(image["Size"], 500_000)
        done = self.server.run("image", "inspect", "none:1", "looked-at:1")
        self.assertEqual(done.returncode, 4)
        self.assertEqual(len(json.loads(done.stdout)), 1, "the other one is printed all the same")
        self.assertIn("the image none:1 is not on this machine", done.stderr)
        self.server.check("image", "rm", "looked-at:1")

    def test_e10_prune_never_takes_what_jobs_need(self):
        for name in "runs:1", "waits:1", "idle:1":
            self.add(name)
        self.server.detached("--name", "runs", "--gpus", "2", "runs:1", "sleep", "1000")
        self.server.await_phase("runs", "Running")
        self.server.detached("--name", "waits", "--gpus", "1", "waits:1", "true")
        used = self.last_uses()
        self.server.kill()
        self.server.start()
        self.assertEqual(self.last_uses(), used, "kept across restarts")

        # All of them were used just now.
        self.assertEqual(self.server.check("image", "prune"), "freed 0B\n")
        would = self.server.check("image", "prune", "--all", "--dry-run")
        self.assertIn("idle:1", would)
        self.assertNotIn("runs:1", would)
        self.assertNotIn("waits:1", would)
        self.assertIn("idle:1", self.names())
        freed = self.server.check("image", "prune", "--unused-for", "0s")
        self.assertIn("idle:1", freed)
        self.assertLessEqual({"runs:1", "waits:1"}, self.names())
        self.assertNotIn("idle:1", self.names())

        self.server.check("stop", "runs")
        self.assertEqual(self.server.finished("waits")["status"]["phase"], "Succeeded")
        self.remove_jobs("runs", "waits")
        await_until("their containers to be gone", lambda: "runs:1" in self.server.check(
            "image", "prune", "--all", "--dry-run"))
        last = self.server.check("image", "prune", "-a")
        self.assertRegex(last, r"freed \d[\d.]*MB\n$")
        self.assertEqual(self.names(), set())
        self.server.check("image", "import", self.server.folder / "image.tar")

    def last_uses(self):
        listed = json.loads(self.server.check("image", "ls", "-o", "json"))["items"]
        return {image["reference"]: image["lastUsed"] for image in listed}

    def test_prune_refuses_what_contradicts_itself(self):
        done = self.server.run("image", "prune", "--all", "--unused-for", "1h")
        self.assertEqual(done.returncode, 2)
        self.assertIn("leave one of them out", done.stderr)
        self.assertEqual(self.server.run("image", "prune", "--unused-for", "soon").returncode, 2)


@unittest.skipUnless(shutil.which("buildah"), "buildah is not installed")
class Builds(e2e.ServerTest):
    def setUp(self):
        super().setUp()
        self.context = self.server.folder / self._testMethodName
        self.context.mkdir()

    def dockerfile(self, text, name="Dockerfile"):
        (self.context / name).write_text(text)

    def build(self, *flags, name="built:1", context=None, **options):
        return self.server.run("image", "build", "-t", name, *flags,
                               context or self.context, **options)

    def check_build(self, *flags, **options):
        done = self.build(*flags, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_stages_arguments_and_files(self):
        (self.context / "data").mkdir()
        (self.context / "data/file").write_text("from the context\n")
        (self.context / "secret").write_text("not for the image\n")
        (self.context / ".dockerignore").write_text("secret\n")
        self.dockerfile(
            f"ARG BASE={IMAGE}\n"
            "FROM $BASE AS made\n"
            "ARG WHO=nobody\n"
            "RUN echo made for $WHO > /made\n"
            "FROM $BASE AS whole\n"
            "COPY . /context\n"
            "COPY --from=made /made /made\n"
            "LABEL kept=yes\n"
            "HEALTHCHECK --interval=7s CMD test -e /made\n"
            "USER app\nWORKDIR /work\nENV A=1\n"
            'CMD ["sh", "-c", "cat /made /context/data/file; ls /context; id -un; pwd; echo $A"]\n'
            "FROM whole\nRUN false\n", name="Dockerfile.app")
        done = self.check_build("-f", self.context / "Dockerfile.app", "--target", "whole",
                                "--build-arg", "WHO=you", "--label", "team=vision",
                                "-t", "example.org/team/built:2")
        self.assertEqual(done.stdout, "built:1\nexample.org/team/built:2\n")
        self.assertIn("STEP 1/3: FROM", done.stderr)
        for name in "built:1", "example.org/team/built:2":
            self.assertEqual(
                self.server.check("run", "--rm", "--quiet", name),
                "made for you\nfrom the context\nDockerfile.app\ndata\napp\n/work\n1\n")
        [image] = json.loads(self.server.check("image", "inspect", "built:1"))
        self.assertEqual(image["Config"]["Labels"]["team"], "vision")
        self.assertEqual(image["Config"]["Labels"]["kept"], "yes")
        self.assertEqual(image["Config"]["Healthcheck"],
                         {"Test": ["CMD-SHELL", "test -e /made"], "Interval": 7_000_000_000})
        [base] = json.loads(self.server.check("image", "inspect", IMAGE))
        self.assertEqual(image["RootFS"]["Layers"][0], base["RootFS"]["Layers"][0])

    def test_a_step_that_ran_is_not_run_again(self):
        self.dockerfile(f"FROM {IMAGE}\nRUN cat /proc/sys/kernel/random/uuid > /id\n")
        ids = []
        for flags in [], [], ["--no-cache"], ["--pull", "--quiet"]:
            done = self.build(*flags)
            if "--pull" in flags:  # there is no registry to ask
                self.assertEqual(done.returncode, 1)
                self.assertIn("cannot pull busybox:latest", done.stderr)
                continue
            self.assertEqual(done.returncode, 0, done.stderr)
            ids.append(self.server.check("run", "--rm", "--quiet", "built:1", "cat", "/id"))
        self.assertEqual(ids[0], ids[1])
        self.assertNotEqual(ids[0], ids[2])

    def test_from_standard_input(self):
        text = f"FROM {IMAGE}\nCMD [\"echo\", \"from a Dockerfile\"]\n"
        self.check_build(context="-", input=text)
        self.assertEqual(self.server.check("run", "--rm", "--quiet", "built:1"),
                         "from a Dockerfile\n")
        for mode in "w", "w:gz", "w:xz":
            stream = io.BytesIO()
            with tarfile.open(fileobj=stream, mode=mode) as archive:
                for name, content in ("Dockerfile", f"FROM {IMAGE}\nCOPY x /x\nCMD cat /x\n"), \
                        ("x", mode):
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content.encode()))
            packed = self.context / "context.tar"
            packed.write_bytes(stream.getvalue())
            with open(packed, "rb") as source:
                process = self.server.open("image", "build", "-t", "built:1", "-", stdin=source)
                _, said = process.communicate()
            self.assertEqual(process.returncode, 0, said)
            self.assertEqual(self.server.check("run", "--rm", "--quiet", "built:1"), mode)

    def test_a_step_that_fails(self):
        self.dockerfile(f"FROM {IMAGE}\nRUN echo before; echo why >&2; exit 3\n")
        done = self.build(name="never:1")
        self.assertEqual(done.returncode, 3, "the step's own")
        self.assertIn("before\n", done.stderr)
        self.assertIn("why\n", done.stderr)
        self.assertRegex(done.stderr, "error: the build failed: building at STEP "
                                      "\"RUN echo before.*exit status 3\n$")
        self.assertNotIn("never:1", self.server.check("image", "ls"))
        quiet = self.build("-q", name="never:1")
        self.assertEqual((quiet.returncode, quiet.stdout), (3, ""))
        self.assertIn("why\n", quiet.stderr)

    def test_a_step_reaches_nothing_of_the_machine(self):
        self.dockerfile(
            f"FROM {IMAGE}\n"
            f"RUN test ! -e {self.server.data} && test ! -e /proc/{self.server.process.pid}\n"
            "RUN test \"$(ls /proc | grep -c '^[0-9]')\" -lt 20\n"
            "RUN ! ls /dev | grep -E '^(sd|vd|nvme|mem|kmsg)'\n"
            "RUN grep -q eth0 /proc/net/dev\n"
            "RUN ! mount -t tmpfs none /mnt 2> /dev/null\n"
            "RUN ! mknod /x b 8 0 || ! head -c 1 /x 2> /dev/null\n")
        self.check_build()

    def test_ctrl_c_ends_it_and_leaves_nothing(self):
        self.dockerfile(f"FROM {IMAGE}\nRUN echo begun; sleep 1000\n")
        process = self.server.open("image", "build", "-t", "never:1", self.context)
        for line in process.stderr:
            if line == "begun\n":
                break
        process.send_signal(signal.SIGINT)
        process.communicate()
        await_until("its network to be gone", lambda: not network_namespaces(self.server))
        await_until("its folder to be gone",
                    lambda: not list((self.server.data / "engine/images").iterdir()))
        self.assertEqual(build_cgroups(), [])
        self.assertEqual(self.server.find_leaks(), [])
        # The next one finds all in order.
        self.dockerfile(f"FROM {IMAGE}\nRUN true\n")
        self.check_build()

    def test_a_build_ends_with_the_server(self):
        self.dockerfile(f"FROM {IMAGE}\nRUN echo begun; sleep 1000\n")
        process = self.server.open("image", "build", "-t", "never:1", self.context)
        for line in process.stderr:
            if line == "begun\n":
                break
        self.server.kill()
        process.communicate()
        self.assertNotEqual(process.returncode, 0)
        self.server.start()
        self.assertEqual(build_cgroups(), [])
        self.assertEqual(self.server.find_leaks(), [])
        self.dockerfile(f"FROM {IMAGE}\nRUN true\n")
        self.check_build()

    def test_what_is_refused(self):
        self.dockerfile(f"FROM {IMAGE}\n")
        outside = self.server.folder / "Dockerfile.outside"
        outside.write_text(f"FROM {IMAGE}\n")
        cases = [
            (["-t", "Bad Name", self.context], 2, "tags: "),
            (["-t", "x@sha256:" + "0" * 64, self.context], 2, "not a name to give"),
            ([self.context], 2, "--tag: is required"),
            (["-t", "x", "--platform", "linux/s390x", self.context], 1, "cannot be built here"),
            (["-t", "x", "-f", outside, self.context], 2, "is not in the context"),
            (["-t", "x", "-f", "no-such", self.context], 4, "there is no file no-such"),
            (["-t", "x", "https://example.org/x.git"], 2, "is not a folder"),
            (["-t", "x", "/no/such"], 4, "there is no folder"),
            (["-t", "x", "--build-arg", "=1", self.context], 2, "has no name"),
            (["-t", "x", "--target", "none", self.context], 1, "\"none\" was not found"),
        ]
        for words, code, sentence in cases:
            with self.subTest(words=words):
                done = self.server.run("image", "build", *words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(sentence, done.stderr)

    def test_a_link_out_of_the_context_is_not_followed(self):
        (self.context / "Dockerfile").symlink_to("/etc/passwd")
        done = self.build()
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no Dockerfile in the context", done.stderr)
        self.assertNotIn("root:", done.stderr)
        (self.context / "Dockerfile").unlink()
        (self.context / "passwd").symlink_to("/etc/passwd")
        self.dockerfile(f"FROM {IMAGE}\nCOPY passwd /got\nRUN ! grep -q daemon /got\n")
        done = self.build()
        self.assertNotIn("daemon", done.stderr)

    def test_a_base_that_is_nowhere(self):
        self.dockerfile("FROM 127.0.0.1:1/none:1\n")
        done = self.build()
        self.assertEqual(done.returncode, 1)
        self.assertIn("error: cannot pull 127.0.0.1:1/none:1", done.stderr)


if __name__ == "__main__":
    e2e.main()
