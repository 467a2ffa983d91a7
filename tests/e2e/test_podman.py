#!/usr/bin/env python3
"""The same flags and images under podman: the same output and exit code.

Usage: test_podman.py TESSERA
"""

import pathlib
import subprocess
import unittest

import e2e
from podman import Podman

# Says how it was started. What each of the two adds to the environment is left out.
SHOW = r"""#!/bin/sh
for word; do echo "word: $word"; done
echo "user: $(id -u):$(id -g) groups: $(id -G)"
echo "folder: $(pwd)"
env | grep -vE '^(TESSERA_.*|NVIDIA_VISIBLE_DEVICES|container|HOSTNAME|TERM|SHLVL|_|PWD|OLDPWD)=' |
  sort
"""

# ENTRYPOINT, CMD and what the command line gives in their place.
SHOWS = ["/bin/show"]
PROGRAMS = [
    (None, SHOWS, []),
    (None, ["/bin/show", "one", "two words"], []),
    (None, ["/bin/show", "one"], ["show", "other"]),
    (SHOWS, None, []),
    (SHOWS, None, ["a", "b c", ""]),
    (SHOWS, ["default"], []),
    (SHOWS, ["default"], ["given"]),
    (["/bin/show", "always"], ["default"], []),
    (["/bin/show", "always"], ["default"], ["given", "-x", "--"]),
    (["/bin/sh", "-c", "exec show \"$0\" \"$@\""], ["x", "y"], []),
    (["show"], None, []),
    (None, None, []),
    (None, None, ["show"]),
    (["/no/such"], None, []),
    (None, ["/etc/passwd"], []),
]
USERS = ["root", "app", "1000", "0", "4242", "app:app", "1000:1000", "1000:7", "app:7", "0:0",
         "4242:4243", "0:7"]
FOLDERS = ["/", "/tmp", "/bin", "/not/there/yet", "/tmp/", "//tmp"]
ENVIRONMENTS = [["A=1"], ["A=", "B=x=y"], ["PATH=/bin"], ["HOME=/elsewhere"],
                ["EMPTY=", "SPACES= a  b "], ["A=1", "A=2"], ["UTF=grün"],
                ["TERM=dumb", "lower=x"]]


class Images:
    """Configurations of one small image, as `docker save` writes them."""

    def __init__(self, folder, server):
        self.folder = pathlib.Path(folder)
        self.layout = self.folder / "layout"
        server.make_image(self.folder / "made")
        # Under a tag that umoci takes.
        self.skopeo(f"oci:{self.folder}/made:{e2e.IMAGE}", f"oci:{self.layout}:base")
        show = self.folder / "show"
        show.write_text(SHOW)
        show.chmod(0o755)
        subprocess.run(["umoci", "insert", "--image", f"{self.layout}:base", show, "/bin/show"],
                       check=True, capture_output=True)

    def archive(self, name, entrypoint=None, cmd=None, user="", workdir="", env=()):
        flags = ["--clear=config.cmd", "--clear=config.entrypoint"]
        flags += [f"--config.entrypoint={word}" for word in entrypoint or []]
        flags += [f"--config.cmd={word}" for word in cmd or []]
        flags += [f"--config.env={entry}" for entry in env]
        if user:
            flags.append(f"--config.user={user}")
        if workdir:
            flags.append(f"--config.workingdir={workdir}")
        subprocess.run(["umoci", "config", "--image", f"{self.layout}:base", "--tag", name,
                        *flags], check=True, capture_output=True)
        out = self.folder / f"{name}.tar"
        self.skopeo(f"oci:{self.layout}:{name}", f"docker-archive:{out}:{name}:1")
        return out

    @staticmethod
    def skopeo(source, target):
        subprocess.run(["skopeo", "--insecure-policy", "copy", "--quiet", source, target],
                       check=True)


@unittest.skipIf(Podman.missing(), Podman.missing())
class Differential(e2e.ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.podman = cls.enterClassContext(Podman())
        cls.images = Images(cls.server.folder, cls.server)
        cls.add("plain", cmd=["/bin/show"])

    @classmethod
    def add(cls, name, **config):
        archive = cls.images.archive(name, **config)
        cls.podman.load(archive)
        cls.server.check("image", "import", archive)
        archive.unlink()
        return f"{name}:1"

    def compare(self, *words, input=None):
        theirs = self.podman.run(*words, input=input)
        ours = self.server.run("run", "--rm", "--quiet", *words, input=input)
        # What could not be started has runc's words in its log, where podman has them on stderr.
        started = theirs.returncode not in (125, 126, 127)
        self.assertEqual((ours.returncode, started and ours.stdout),
                         (theirs.returncode, started and theirs.stdout),
                         f"{words}\npodman said: {theirs.stderr}\ntessera said: {ours.stderr}")

    def test_images(self):
        configs = [({"entrypoint": entrypoint, "cmd": cmd}, args)
                   for entrypoint, cmd, args in PROGRAMS]
        configs += [({"cmd": SHOWS, "user": user}, []) for user in USERS]
        configs += [({"cmd": SHOWS, "workdir": folder}, []) for folder in FOLDERS]
        configs += [({"cmd": SHOWS, "env": env}, []) for env in ENVIRONMENTS]
        self.assertGreaterEqual(len(configs), 40)
        for number, (config, args) in enumerate(configs):
            with self.subTest(config=config, args=args):
                self.compare(self.add(f"config{number}", **config), *args)

    def test_where_podman_is_not_docker(self):
        """podman makes no folder that is missing, and has 126 for a user that is missing."""
        done = self.server.run("run", "--rm", "--quiet", "-w", "/made/for/it", "plain:1", "pwd")
        self.assertEqual((done.returncode, done.stdout), (0, "/made/for/it\n"))
        for user in "nobody-knows", "app:no-such-group":
            done = self.server.run("run", "--rm", "--quiet", "-u", user, "plain:1")
            self.assertEqual((done.returncode, done.stdout), (125, ""))

    def test_command_lines(self):
        (self.server.folder / "env.list").write_text("# a comment\nFROM_FILE=1\nEMPTY=\n")
        show, shell = ("plain:1", "show"), ("plain:1", "sh", "-c")
        lines = [
            [*show],
            ["-e", "A=1", "-e", "B=two words", *show],
            ["-e", "A=1", "-e", "A=2", *show],
            ["-e", "ABSENT_HERE", *show],
            ["--env-file", self.server.folder / "env.list", "-e", "FROM_FILE=2", *show],
            ["-w", "/tmp", *show],
            ["-u", "1000", *show],
            ["-u", "app", *show],
            ["-u", "1000:7", *show],
            ["-u", "0:0", "--group-add", "44", "--group-add", "45", *show],
            ["--entrypoint", "/bin/echo", "plain:1", "a", "b c"],
            ["--entrypoint", "", *show],
            ["--hostname", "box", *shell, "hostname"],
            ["--add-host", "db:10.1.2.3", *shell, "grep db /etc/hosts | tr '\\t' ' '"],
            ["--read-only", *shell, "touch /x 2>/dev/null; echo $?; touch /dev/shm/x; echo $?"],
            ["--tmpfs", "/scratch", *shell, "stat -f -c %T /scratch; touch /scratch/x; echo $?"],
            ["--tmpfs", "/scratch:size=1m,mode=700", *shell,
             "df -k /scratch | tail -1 | awk '{print $2}'; stat -c %a /scratch"],
            ["--mount", "type=tmpfs,destination=/t", *shell, "stat -f -c %T /t"],
            ["--shm-size", "32m", *shell, "df -k /dev/shm | tail -1 | awk '{print $2}'"],
            ["--ulimit", "core=0:0", *shell, "ulimit -c"],
            ["--cap-drop", "ALL", *shell, "grep CapEff /proc/self/status"],
            ["--cap-drop", "ALL", "--cap-add", "CHOWN", *shell, "grep CapEff /proc/self/status"],
            ["--cap-drop", "ALL", *shell, "chown app /tmp 2>/dev/null; echo $?"],
            ["--security-opt", "no-new-privileges", *shell, "grep NoNewPrivs /proc/self/status"],
            ["-i", *shell, "cat"],
            ["--stop-signal", "SIGINT", *shell, "exit 6"],
            ["-l", "a=b", "--name", "named", *shell, "exit 7"],
            ["--pids-limit", "50", *shell, "echo limited"],
            [*shell, "kill -USR1 $$; sleep 1"],
            ["--pull", "never", *show],
            ["--pull", "never", "no-such-image:1"],
            ["plain:1", "/no/such/program"],
            ["plain:1", "/etc/passwd"],
            [*shell, "exit 42"],
            [*shell, "kill -9 $$"],
            [*shell, "kill -TERM $$; sleep 1"],
            [*shell, "echo out; exit 1"],
            ["plain:1"],
            ["--no-such-flag", "plain:1"],
            ["-e", "=x", "plain:1"],
            ["--ipc", "private", *show],
        ]
        self.assertGreaterEqual(len(lines), 30)
        for line in lines:
            with self.subTest(line=line):
                self.compare(*line, input="typed\n" if "-i" in line else None)


if __name__ == "__main__":
    e2e.main()
