#!/usr/bin/env python3
"""Over the network: TLS, sign-in, tokens, roles, the audit log, with the real program."""

import json
import os
import pathlib
import re
import socket
import ssl
import stat
import subprocess
import tempfile

import e2e
from e2e import IMAGE

HOST = "127.0.0.1"


class Person:
    """Someone on another machine: a home of their own, and nothing but the URL and a token."""

    def __init__(self, server, url, token, *login):
        self.server = server
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="home-", dir=server.folder))
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        self.login = self.run("login", url, "--token-stdin", *login, input=token)

    def run(self, *words, input=None, **variables):
        feed = {"input": input} if input is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run([self.server.program, *map(str, words)], text=True, timeout=120,
                              env={**self.environment, **variables}, capture_output=True,
                              cwd=self.home, **feed)


class Access(e2e.ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.process.terminate()
        server.process.wait()
        server.arguments += ["--listen", f"{HOST}:0", "--tls-name", "gpu.example"]
        server.start()
        found = re.findall(r"listens at (127\S+) with TLS; the CA's fingerprint is (\S+)",
                           server.log())
        address, cls.fingerprint = found[-1]
        cls.url = f"https://{address}"
        server.check("user", "create", "ana", "--description", "Ana")
        server.check("create", "project", "vision")
        server.check("project", "grant", "vision", "ana", "member")

    def sign_in(self, *flags, user="ana"):
        token = self.server.check("token", "create", "--user", user, "--expires", "1h")
        person = Person(self.server, self.url, token, "--ca-fingerprint", self.fingerprint, *flags)
        self.assertEqual(person.login.returncode, 0, person.login.stderr)
        return person

    def await_running(self, person, name):
        def running():
            seen = json.loads(person.run("get", "job", name, "-o", "json").stdout)
            return seen["status"]["phase"] == "Running"
        e2e.await_until(f"job {name} to run", running)

    def test_a_person_signs_in_and_works_in_their_project(self):
        ana = self.sign_in("--project", "vision")
        self.assertIn("as ana", ana.login.stdout)
        who = ana.run("whoami").stdout
        self.assertIn("user:     ana", who)
        self.assertIn("vision (member)", who)
        done = ana.run("run", "--rm", "--gpus", "1", IMAGE, "sh", "-c", "echo over TLS; exit 3")
        self.assertEqual((done.returncode, done.stdout), (3, "over TLS\n"), done.stderr)
        started = ana.run("run", "-d", "--name", "long", IMAGE, "sleep", "600")
        self.assertEqual(started.returncode, 0, started.stderr)
        self.await_running(ana, "long")
        told = ana.run("exec", "-i", "long", "cat", input="through a WebSocket")
        self.assertEqual(told.stdout, "through a WebSocket", told.stderr)
        seen = json.loads(self.server.check("--project", "vision", "get", "job", "long", "-o",
                                            "json"))
        self.assertEqual(seen["metadata"]["annotations"]["tessera.dev/user"], "ana")
        self.assertEqual(ana.run("stop", "-t", "0", "long").returncode, 0)

    def test_others_projects_and_the_cluster_are_not_theirs(self):
        ana = self.sign_in("--project", "vision")
        for words, part in [(("--project", "default", "ps"), "lacks project.view"),
                            (("cordon", "node-1"), "lacks cluster.operate"),
                            (("user", "ls"), "lacks cluster.manage"),
                            (("audit",), "lacks cluster.manage")]:
            with self.subTest(words=words):
                done = ana.run(*words)
                self.assertEqual(done.returncode, 3, done.stdout)
                self.assertIn(part, done.stderr)
        self.assertIn("node-1", ana.run("nodes").stdout)
        self.assertNotIn("default", ana.run("get", "projects").stdout)
        log = self.server.check("audit", "--refused", "--user", "ana")
        self.assertIn("patchNode", log)
        self.assertIn(HOST, log)

    def test_a_token_is_refused_once_it_is_revoked(self):
        ana = self.sign_in()
        name = re.search(r"token (token-\S+)", ana.run("whoami").stdout).group(1)
        self.server.check("token", "rm", name)
        done = ana.run("ps")
        self.assertEqual(done.returncode, 3)
        self.assertIn("was revoked", done.stderr)

    def test_nothing_secret_lies_open_on_either_side(self):
        ana = self.sign_in()
        contexts = ana.home / ".config/tessera/contexts.yaml"
        self.assertEqual(stat.S_IMODE(contexts.stat().st_mode), 0o600)
        token = re.search(r"tessera_[0-9a-f]{64}", contexts.read_text()).group()
        for file in self.server.data.glob("tessera.db*"):
            self.assertNotIn(token.encode(), file.read_bytes(), file)
        for key in ("tls/ca.key", "tls/server.key", "secrets.key"):
            self.assertEqual(stat.S_IMODE((self.server.data / key).stat().st_mode), 0o600, key)

    def test_the_ca_must_be_the_one_that_was_meant(self):
        wrong = Person(self.server, self.url, "x", "--ca-fingerprint", "SHA256:" + "0" * 64)
        self.assertEqual(wrong.login.returncode, 3)
        self.assertIn("not the given one", wrong.login.stderr)
        unknown = Person(self.server, self.url, "x")
        self.assertIn(f"is not known here: {self.fingerprint}", unknown.login.stderr)
        self.assertFalse((unknown.home / ".config").exists())

    def test_contexts_and_variables_choose_the_server(self):
        ana = self.sign_in("--name", "lab", "--project", "vision")
        self.assertIn("lab", ana.run("context", "ls").stdout)
        ana.run("context", "use", "--none")
        local = ana.run("whoami", TESSERA_SERVER=str(self.server.socket))
        self.assertIn("user:     root", local.stdout)
        for variables in ({"TESSERA_CONTEXT": "lab"}, {"TESSERA_HOST": self.url}):
            self.assertIn("user:     ana", ana.run("whoami", **variables).stdout, variables)
        token = self.server.check("token", "create", "--user", "ana").strip()
        ci = ana.run("whoami", TESSERA_HOST=self.url, TESSERA_TOKEN=token,
                     TESSERA_CA=str(self.server.data / "tls/ca.pem"), HOME="/nonexistent")
        self.assertIn("user:     ana", ci.stdout, ci.stderr)
        self.assertIn("'other'", ana.run("whoami", TESSERA_CONTEXT="other").stderr)
        ana.run("context", "rm", "lab")
        self.assertNotIn("lab", ana.run("context", "ls").stdout)

    def test_any_tls_client_can_talk_and_none_below_1_2(self):
        context = ssl.create_default_context(cafile=self.server.data / "tls/ca.pem")
        port = int(self.url.rsplit(":", 1)[1])
        for name in (HOST, "localhost", "gpu.example"):
            with socket.create_connection((HOST, port)) as raw, (
                    context.wrap_socket(raw, server_hostname=name)) as wrapped:
                wrapped.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                answer = b"".join(iter(lambda: wrapped.recv(65536), b""))
                self.assertIn(b"200 OK", answer)
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.maximum_version = ssl.TLSVersion.TLSv1_1
        with socket.create_connection((HOST, port)) as raw, self.assertRaises(ssl.SSLError):
            old.wrap_socket(raw)

    def test_secrets_outlive_a_restart_and_not_their_key(self):
        secret = {"apiVersion": "tessera.dev/v1", "kind": "Secret",
                  "metadata": {"name": "s", "project": "vision"}, "data": {"k": "hunter2"}}
        self.server.check("apply", "-f", "-", input=json.dumps(secret))
        key = self.server.data / "secrets.key"
        kept = key.read_text()
        self.server.process.terminate()
        self.server.process.wait()
        for file in self.server.data.glob("tessera.db*"):
            self.assertNotIn(b"hunter2", file.read_bytes(), file)
        key.unlink()
        refused = subprocess.run([self.server.program, "server", "--data", self.server.data,
                                  "--socket", self.server.socket, *self.server.arguments],
                                 text=True, capture_output=True, timeout=120,
                                 env=self.server.environment)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(f"{key}, is missing (restore it from a backup", refused.stderr)
        key.write_text(kept)
        # The port may have been taken meanwhile; the tests after this one use the new one.
        self.server.start()
        type(self).url = "https://" + re.findall(r"listens at (127\S+) with", self.server.log())[-1]
        job = {"apiVersion": "tessera.dev/v1", "kind": "Job",
               "metadata": {"name": "tells", "project": "vision"},
               "spec": {"image": IMAGE, "args": ["sh", "-c", "echo $K"],
                        "secrets": [{"name": "K", "secret": "s", "key": "k"}]}}
        self.server.check("apply", "-f", "-", input=json.dumps(job))
        self.server.check("--project", "vision", "wait", "tells")
        self.assertEqual(self.server.check("--project", "vision", "logs", "tells"), "hunter2\n")


if __name__ == "__main__":
    e2e.main()
