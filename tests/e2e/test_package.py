"""The Debian package: what is in it, and its life in a root of its own, with a server of it."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import e2e
from e2e import IMAGE, Server, await_until
from tessera_server import ROOT

# Calls of systemctl are written down in place of being made: no systemd runs in a test.
SYSTEMCTL = """#!/bin/sh
echo "$*" >> "$DPKG_ROOT/systemctl.calls"
"""


def run(*words, **options):
    done = subprocess.run(list(map(str, words)), text=True, capture_output=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tsp-", dir="/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        build = pathlib.Path(e2e.program()).parents[2]
        # Fast to pack: what is tested is not how small it gets.
        run("cpack", "-G", "DEB", "--config", build / "CPackConfig.cmake", "-B", cls.folder,
            "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
        [cls.deb] = cls.folder.glob("tessera_*.deb")
        cls.newer = cls.repack("99.0")

    @classmethod
    def repack(cls, version):
        """The same package as a later version, with a configuration file that has changed."""
        tree = cls.folder / "newer"
        run("dpkg-deb", "-R", cls.deb, tree)
        control = tree / "DEBIAN/control"
        control.write_text(re.sub(r"(?m)^Version: .*", f"Version: {version}", control.read_text()))
        with open(tree / "etc/default/tessera", "a") as settings:
            settings.write("# A new setting.\n")
        newer = cls.folder / "newer.deb"
        run("dpkg-deb", "-b", "-Znone", tree, newer)
        return newer

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="root-", dir=self.folder))
        for name in ("info", "updates", "triggers"):
            (self.root / "var/lib/dpkg" / name).mkdir(parents=True)
        (self.root / "var/lib/dpkg/status").touch()
        (self.root / "run/systemd/system").mkdir(parents=True)
        tools = self.folder / "tools"
        tools.mkdir(exist_ok=True)
        (tools / "systemctl").write_text(SYSTEMCTL)
        (tools / "systemctl").chmod(0o755)
        self.environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")

    def dpkg(self, *words):
        return run("dpkg", f"--root={self.root}", "--force-script-chrootless", "--force-depends",
                   "--force-confold", *words, env=self.environment)

    def systemctl_calls(self):
        """Since the last time."""
        calls = self.root / "systemctl.calls"
        text = calls.read_text() if calls.exists() else ""
        calls.unlink(missing_ok=True)
        return text.splitlines()

    def test_depends_on_what_runs_containers(self):
        groups = [[re.sub(r" \(.*", "", name.strip()) for name in group.split("|")]
                  for group in run("dpkg-deb", "-f", self.deb, "Depends").split(",")]
        first = {group[0] for group in groups}
        wanted = set(run(ROOT / "scripts/packages", "run").split()) - {"busybox-static"}
        self.assertLessEqual(wanted, first)
        self.assertTrue(any(name.startswith("libarchive") for name in first), "libraries, too")
        here = self.installed()
        for group in groups:
            self.assertTrue(here.intersection(group), f"the tests ran without {group}")
        self.assertIn(["containerd", "containerd.io"], groups, "a machine with Docker has this one")

    def installed(self):
        """Names of packages, and what those provide."""
        lines = run("dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}, ${Provides}\\n")
        return {re.sub(r" .*", "", name.strip()) for line in lines.splitlines()
                if line.startswith("installed ")
                for name in line.removeprefix("installed ").split(",")}

    def test_unit_is_one_that_systemd_takes(self):
        self.dpkg("-i", self.deb)
        unit = (self.root / "lib/systemd/system/tessera.service").read_text()
        self.assertIn("KillMode=process", unit, "containers outlive a restart")
        self.assertIn("Delegate=yes", unit)
        program = re.search(r"(?m)^ExecStart=(\S+)", unit)[1]
        self.assertTrue((self.root / program.lstrip("/")).exists())
        helper = (self.root / program.lstrip("/")).parent / "tessera-log-writer"
        self.assertTrue(os.access(helper, os.X_OK), "the server starts it from beside itself")
        if not shutil.which("systemd-analyze"):
            return
        own = unit.replace(program, str(self.root / program.lstrip("/")))
        (self.folder / "tessera.service").write_text(own)
        said = subprocess.run(["systemd-analyze", "verify", self.folder / "tessera.service"],
                              text=True, capture_output=True)
        about_it = [line for line in said.stderr.splitlines() if "tessera" in line]
        self.assertEqual(about_it, [])

    def test_life_of_an_installation(self):
        said = self.dpkg("-i", self.deb)
        self.assertEqual(self.systemctl_calls(), ["daemon-reload"], "nothing is started unasked")
        self.assertIn("systemctl enable --now tessera", said)

        settings = self.root / "etc/default/tessera"
        settings.write_text('TESSERA_FLAGS="--socket-group gpu"\n')
        (self.root / "var/lib/tessera").mkdir(parents=True)
        said = self.dpkg("-i", self.newer)
        self.assertEqual(self.systemctl_calls(), ["daemon-reload", "try-restart tessera.service"])
        self.assertNotIn("Next:", said)
        self.assertEqual(settings.read_text(), 'TESSERA_FLAGS="--socket-group gpu"\n')

        said = self.dpkg("-r", "tessera")
        self.assertEqual(self.systemctl_calls(), ["disable --now tessera.service", "daemon-reload"])
        self.assertIn("/var/lib/tessera stay", said)
        self.assertIn("bash /var/lib/tessera/clear-server", said)
        self.assertTrue((self.root / "var/lib/tessera/clear-server").exists())
        self.assertTrue(settings.exists())
        self.assertFalse((self.root / "usr/bin/tessera").exists())

        self.dpkg("-P", "tessera")
        self.assertFalse(settings.exists())
        self.assertTrue((self.root / "var/lib/tessera").exists(), "only the admin removes data")

    def test_an_upgrade_keeps_what_runs(self):
        self.dpkg("-i", self.deb)
        with Server(self.root / "usr/bin/tessera", sim=e2e.SIMULATED) as server:
            server.detached("--name", "train", "--gpus", "1", IMAGE, "sh", "-c",
                            "i=0; while :; do echo $((i += 1)); sleep 0.1; done")
            await_until("its output", lambda: server.run("logs", "train").stdout)
            before = server.job("train")["status"]
            self.dpkg("-i", self.newer)
            server.process.terminate()  # what systemctl restart does
            server.process.wait(30)
            server.start()
            after = server.await_phase("train", "Running")["status"]
            self.assertEqual((after["startTime"], after["attempts"]),
                             (before["startTime"], before["attempts"]))
            lines = server.run("logs", "train").stdout.split()
            await_until("more of it", lambda: len(server.run("logs", "train").stdout.split()) >
                        len(lines))
            self.assertEqual(lines, [str(i + 1) for i in range(len(lines))], "without a gap")
            server.check("run", "--rm", IMAGE, "true")
            server.check("stop", "-t", "1", "train")


if __name__ == "__main__":
    e2e.main()
