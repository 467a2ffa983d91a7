"""podman as docker's stand-in, with folders of its own."""

import os
import pathlib
import resource
import shutil
import subprocess
import tempfile


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

    def run(self, *words, **options):
        return self("run", "--rm", *self.flags, *words, **options)

    @staticmethod
    def missing():
        """Why it cannot be used here; empty when it can."""
        if not shutil.which("podman"):
            return "podman is not installed"
        return ""
