"""podman as docker's stand-in, with folders of its own; and what is compared with it."""

import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import unittest

import e2e

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


def image_configs():
    """Keyword arguments of Images.archive(), and the words on the command line."""
    out = [({"entrypoint": entrypoint, "cmd": cmd}, args) for entrypoint, cmd, args in PROGRAMS]
    out += [({"cmd": SHOWS, "user": user}, []) for user in USERS]
    out += [({"cmd": SHOWS, "workdir": folder}, []) for folder in FOLDERS]
    out += [({"cmd": SHOWS, "env": env}, []) for env in ENVIRONMENTS]
    return out


class Podman:
    """Owned by the test; one thread."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tpm-", dir="/tmp"))
        # Its defaults are above what a machine without CAP_SYS_RESOURCE can give.
        limits = [("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC)]
        self.flags = ["--network", "none"]
        for name, number in limits:
            hard = resource.getrlimit(number)[1]
            if hard != resource.RLIM_INFINITY:
                self.flags += ["--ulimit", f"{name}={min(hard, 1024)}:{min(hard, 1024)}"]
        self.command = ["podman", "--root", self.folder / "root", "--runroot", self.folder / "run",
                        "--tmpdir", self.folder / "tmp", "--runtime", "runc",
                        "--cgroup-manager", "cgroupfs", "--storage-driver", "vfs",
                        "--events-backend", "none"]
        self.environment = dict(os.environ, HOME=str(self.folder))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self("system", "reset", "--force")
        shutil.rmtree(self.folder, ignore_errors=True)

    def __call__(self, *words, **options):
        return subprocess.run([*self.command, *map(str, words)], env=self.environment, text=True,
                              errors="replace", capture_output=True, timeout=120, **options)

    def load(self, archive):
        done = self("load", "-i", archive)
        if done.returncode != 0:
            raise AssertionError(f"podman load: {done.stderr}")

    def build(self, name, context):
        done = self("build", "--isolation", "chroot", "--network", "host", "-t", name, context)
        if done.returncode != 0:
            raise AssertionError(f"podman build: {done.stderr}")

    def save(self, form, path, *names):
        several = ["-m"] if len(names) > 1 else []
        done = self("save", *several, "--format", form, "-o", path, *names)
        if done.returncode != 0:
            raise AssertionError(f"podman save: {done.stderr}")

    def run(self, *words, **options):
        return self("run", "--rm", *self.flags, *words, **options)

    @staticmethod
    def missing():
        """Why it cannot be used here; empty when it can."""
        if not shutil.which("podman"):
            return "podman is not installed"
        return ""


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
    """podman, and a server beside it that has the same images."""

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
        # Of what could not be started each says in its own words why.
        started = theirs.returncode not in (125, 126, 127)
        said = [line for line in ours.stderr.splitlines() if not line.startswith("tessera: ")]
        self.assertEqual((ours.returncode, ours.stdout, started and said),
                         (theirs.returncode, theirs.stdout, started and theirs.stderr.splitlines()),
                         f"{words}\npodman said: {theirs.stderr}\ntessera said: {ours.stderr}")
