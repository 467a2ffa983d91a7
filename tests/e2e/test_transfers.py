#!/usr/bin/env python3
"""What goes in and out of containers and registries: cp, port-forward, pulls.

Usage: test_transfers.py TESSERA
"""

import base64
import io
import json
import os
import re
import shutil
import socket
import subprocess
import tarfile
import unittest
import urllib.request

import e2e
from e2e import IMAGE, await_until

FOREVER = "trap 'exit 0' TERM; while :; do sleep 1; done"


class Copies(e2e.ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.detached("--name", "box", IMAGE, "sh", "-c",
                            f"mkdir -p /src/sub /dst; echo a > /src/a; echo b > /src/sub/b; "
                            f"ln -s /etc /trap; {FOREVER}")
        cls.server.await_phase("box", "Running")
        await_until("its files", lambda: cls.server.run("exec", "box", "test", "-h", "/trap")
                    .returncode == 0)

    def here(self, name):
        return self.server.folder / name

    def inside(self, path):
        return self.server.check("exec", "box", "cat", path)

    def test_out_of_it(self):
        cp = lambda *words: self.server.check("cp", *words)
        cp("box:/src/a", "file")
        self.assertEqual(self.here("file").read_text(), "a\n")
        cp("box:/src", "tree")
        self.assertEqual(self.here("tree/sub/b").read_text(), "b\n")
        self.here("folder").mkdir()
        cp("box:/src", "folder/")
        cp("box:/src/.", "folder")
        self.assertEqual(self.here("folder/src/a").read_text(), "a\n")
        self.assertEqual(self.here("folder/sub/b").read_text(), "b\n")
        cp("box:trap", "link")
        self.assertEqual(os.readlink(self.here("link")), "/etc")
        # Links in the container lead where its programs see them lead, not into the node.
        cp("box:/trap/passwd", "passwd")
        self.assertEqual(self.here("passwd").read_text(), self.inside("/etc/passwd"))

    def test_into_it(self):
        self.here("data/sub").mkdir(parents=True)
        self.here("data/one").write_text("1")
        self.here("data/sub/two").write_text("2" * 300_000)
        self.server.check("cp", "data/one", "box:/dst/renamed")
        self.assertEqual(self.inside("/dst/renamed"), "1")
        self.server.check("cp", "data", "box:/dst")
        self.assertEqual(self.inside("/dst/data/sub/two"), "2" * 300_000)
        self.server.check("cp", "data/.", "box:/dst/")
        self.assertEqual(self.inside("/dst/one"), "1")

    def test_tar_streams(self):
        done = subprocess.run([self.server.program, "cp", "box:/src", "-"], check=True,
                              stdout=subprocess.PIPE, env=self.server.environment)
        names = tarfile.open(fileobj=io.BytesIO(done.stdout)).getnames()
        self.assertEqual(sorted(names), ["src", "src/a", "src/sub", "src/sub/b"])
        subprocess.run([self.server.program, "cp", "-", "box:/dst"], check=True,
                       input=done.stdout, env=self.server.environment)
        self.assertEqual(self.inside("/dst/src/sub/b"), "b\n")

    def test_with_the_rights_of_the_user(self):
        self.server.detached("--name", "plain", "-u", "1000:1000", IMAGE, "sh", "-c", FOREVER)
        self.server.await_phase("plain", "Running")
        self.here("mine").write_text("x")
        self.server.check("cp", "mine", "plain:/tmp/mine")
        self.assertEqual(self.server.check("exec", "plain", "stat", "-c", "%u:%g", "/tmp/mine"),
                         "1000:1000\n")
        refused = self.server.run("cp", "mine", "plain:/etc/mine")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("Permission denied", refused.stderr)
        self.server.check("stop", "-t", "0", "plain")
        self.server.finished("plain")
        self.remove_jobs("plain")

    def test_what_is_wrong_is_said(self):
        self.here("dir").mkdir()
        for words, reason in [(("box:/none", "x"), "/none"), (("dir", "box:/src/a"), "no folder"),
                              (("dir/none", "box:/dst"), "there is no dir/none"),
                              (("a", "b"), "neither side"), (("box:/a", "box:/b"), "both sides"),
                              (("dir", "box:/none/deep"), "there is no folder /none"),
                              (("box:/src/a", "none/"), "there is no folder none/")]:
            with self.subTest(words):
                done = self.server.run("cp", *words)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(reason, done.stderr)


class Ports(e2e.ServerTest):
    def test_a_port_that_only_the_container_sees(self):
        self.server.detached("--name", "web", IMAGE, "sh", "-c",
                             "mkdir /tmp/w; echo page > /tmp/w/index.html; "
                             "exec httpd -f -p 127.0.0.1:8080 -h /tmp/w")
        self.server.await_phase("web", "Running")
        forward = self.server.open("port-forward", "web", ":8080", ":9")
        self.addCleanup(forward.communicate)
        self.addCleanup(forward.terminate)
        ports = [int(re.match(r"Forwarding from 127.0.0.1:(\d+) -> ", forward.stdout.readline())
                     .group(1)) for _ in range(2)]

        def fetch():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{ports[0]}/", timeout=30) as answer:
                    return answer.read()
            except OSError:
                return None
        self.assertEqual(await_until("the page", fetch), b"page\n")
        self.assertEqual([fetch() for _ in range(5)], [b"page\n"] * 5)
        # Nobody listens on the other one: the connection ends, and the reason is told.
        with socket.create_connection(("127.0.0.1", ports[1])) as other:
            self.assertEqual(other.recv(1), b"")
        forward.terminate()
        self.assertIn("nothing listens on port 9", forward.communicate()[1])
        self.server.check("stop", "-t", "0", "web")
        self.server.finished("web")
        refused = self.server.run("port-forward", "web", "8080")
        self.assertIn("does not run", refused.stderr)
        self.remove_jobs("web")


class Pulls(e2e.ServerTest):
    def test_a_stop_does_not_wait_for_the_pull(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            image = f"127.0.0.1:{silent.getsockname()[1]}/never:1"
            self.server.detached("--name", "stuck", image)
            taken, _ = silent.accept()  # skopeo asks, and hears nothing
            with taken:
                self.server.await_phase("stuck", "Starting")
                self.server.check("stop", "stuck")
                job = self.server.await_phase("stuck", "Cancelled", "Failed")
                self.assertEqual(job["status"]["phase"], "Cancelled")
                while taken.recv(4096):  # the request, then the end of skopeo
                    pass
        self.remove_jobs("stuck")

    @unittest.skipUnless(shutil.which("docker-registry") and shutil.which("htpasswd"),
                         "needs docker-registry and htpasswd")
    def test_the_projects_login_is_used(self):
        registry = self.start_registry()
        archive = self.server.folder / "private.tar"
        self.server.make_image(archive, "--name", "private:1")
        subprocess.run(["skopeo", "--insecure-policy", "copy", "--quiet",
                        "--dest-tls-verify=false", "--dest-creds", "ana:secret",
                        f"oci-archive:{archive}", f"docker://{registry}/private:1"], check=True)
        image = f"{registry}/private:1"
        refused = self.server.run("run", "--rm", image, "true")
        self.assertEqual(refused.returncode, 125)
        self.assertIn("wants a login", refused.stderr)
        login = json.dumps({"auths": {registry: {
            "auth": base64.b64encode(b"ana:secret").decode()}}})
        self.apply_secret(login)
        self.assertEqual(self.server.check("run", "--rm", "--quiet", image, "echo", "pulled"),
                         "pulled\n")
        bad = self.apply_secret("{}", check=False)
        self.assertIn("is no docker config.json", bad.stderr)

    def apply_secret(self, config, check=True):
        secret = {"apiVersion": "tessera.dev/v1", "kind": "Secret",
                  "metadata": {"name": "registry"}, "data": {".dockerconfigjson": config}}
        done = self.server.run("apply", "-f", "-", input=json.dumps(secret))
        if check:
            self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def start_registry(self):
        folder = self.server.folder
        users = subprocess.run(["htpasswd", "-Bbn", "ana", "secret"], check=True,
                               stdout=subprocess.PIPE).stdout
        (folder / "htpasswd").write_bytes(users)
        (folder / "registry.yml").write_text(
            f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {folder}/registry}}}}\n"
            "http: {addr: '127.0.0.1:0'}\n"
            f"auth: {{htpasswd: {{realm: test, path: {folder}/htpasswd}}}}\n")
        registry = subprocess.Popen(["docker-registry", "serve", folder / "registry.yml"],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(registry.communicate)
        self.addCleanup(registry.kill)
        for line in registry.stderr:  # it chose the port itself and says which
            if match := re.search(r"listening on (127\.0\.0\.1:\d+)", line):
                return match.group(1)
        raise AssertionError("the registry did not start")


if __name__ == "__main__":
    e2e.main()
