"""A Tessera of a test's own: folders under /tmp, a socket, a network namespace; gone afterwards.

    with Server(program, sim="2x Tessera-Sim-16G") as server:
        server.run("run", "--gpus", "1", "busybox", "true")
"""

import ctypes
import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGE = "busybox:latest"
# For whatever a test waits for. Far beyond what a loaded machine needs; a hang still ends.
DEADLINE_S = 120
# Between two looks at something that cannot be waited for.
PAUSE_S = 0.05


def await_until(what, condition):
    """Waits until the condition gives something true, and returns that."""
    end = time.monotonic() + DEADLINE_S
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {DEADLINE_S} s in vain: {what}")
        time.sleep(PAUSE_S)


def missing_for_containers():
    """Why containers cannot run here; empty when they can."""
    if os.geteuid() != 0:
        return "containers need root"
    for name in ("containerd", "runc", "umoci", "busybox", "nft"):
        if not shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin"):
            return f"{name} is not installed"
    return ""


def enter_private_network():
    """Moves this process, and what it starts, into a network namespace with its loopback only, so
    that bridges and firewall rules of a test are nobody else's."""
    clone_newnet = 0x40000000
    if ctypes.CDLL(None, use_errno=True).unshare(clone_newnet) != 0:
        raise OSError(ctypes.get_errno(), "cannot make a network namespace")
    siocsifflags, up_and_running = 0x8914, 0x41
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, siocsifflags, struct.pack("16sh14x", b"lo", up_and_running))


def enter_private_mounts():
    """Moves this process, and what it starts, into a mount namespace of its own: nothing that a
    test mounts there is seen outside, or stays."""
    libc = ctypes.CDLL(None, use_errno=True)
    clone_newns, ms_rec, ms_private = 0x20000, 0x4000, 0x40000
    if libc.unshare(clone_newns) != 0 or libc.mount(b"none", b"/", None, ms_rec | ms_private, None):
        raise OSError(ctypes.get_errno(), "cannot make a mount namespace")


def processes_naming(word):
    """Command lines of the processes that have the word in theirs."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line and int(folder.name) != os.getpid():
            found[int(folder.name)] = line.strip()
    return found


class Server:
    """Owned by the test; one thread."""

    def __init__(self, program, sim="", engine="local", image=True, flags=()):
        self.program = str(program)
        self.engine = engine
        # Short: the path of a socket has at most 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tse-", dir="/tmp"))
        self.data = self.folder / "d"
        self.socket = self.folder / "r" / "s"
        self.environment = dict(os.environ, TESSERA_SERVER=str(self.socket), HOME=str(self.folder),
                                XDG_CONFIG_HOME=str(self.folder / "config"))
        for name in ("PROJECT", "HOST", "CONTEXT", "TOKEN", "CA"):
            self.environment.pop(f"TESSERA_{name}", None)
        self.with_image = image and engine == "local"
        self.process = None
        self.arguments = ["--engine", engine, "--node-name", "node-1", *flags]
        if sim:
            (self.folder / "sim.yaml").write_text(sim + "\n")
            self.arguments += ["--sim", str(self.folder / "sim.yaml")]

    def __enter__(self):
        try:
            self.start()
            if self.with_image:
                archive = self.folder / "image.tar"
                self.make_image(archive)
                self.check("image", "import", archive)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def make_image(self, path, *flags):
        subprocess.run([ROOT / "scripts/make-image", *flags, path], check=True,
                       stdout=subprocess.DEVNULL)

    def start(self):
        self.spawn()
        await_until("the server to answer", self.answers)

    def spawn(self):
        """Starts it and does not wait for its first answer."""
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "server", "--data", str(self.data), "--socket", str(self.socket),
                 *self.arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env=self.environment)

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended:\n{self.log()[-4000:]}")
        return self.run("version").returncode == 0

    def kill(self):
        """Ends the server as a crash does: no word, no last write."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def kill_all(self, *jobs):
        """Ends the server, containerd and these jobs' containers, as a loss of power does."""
        uids = [self.job(name)["metadata"]["uid"] for name in jobs]
        self.kill()
        for pid in processes_naming(str(self.folder) + "/"):  # containerd, shims, log writers
            os.kill(pid, signal.SIGKILL)
        for cgroups in pathlib.Path("/proc").glob("[0-9]*/cgroup"):
            try:
                if any(uid in cgroups.read_text() for uid in uids):
                    os.kill(int(cgroups.parent.name), signal.SIGKILL)
            except OSError:
                pass

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def containerd_pid(self):
        return int((self.data / "containerd/containerd.pid").read_text().split()[0])

    def close(self):
        """Ends everything and takes it away; what a run leaves behind in spite of that fails."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
        if self.engine == "local" and self.data.exists():
            subprocess.run([ROOT / "scripts/clear-server", "--data", self.data, "--socket",
                            self.socket], check=True, stdout=subprocess.DEVNULL)
        # The kernel takes a namespace's interfaces away some time after its last process.
        for _ in range(100):
            left = self.leaks()
            if not left:
                break
            time.sleep(PAUSE_S)
        shutil.rmtree(self.folder, ignore_errors=True)
        if left:
            raise AssertionError("left behind:\n" + "\n".join(left))

    def find_leaks(self, *flags):
        """What no job needs, as scripts/find-leaks tells it, a line each."""
        done = subprocess.run([ROOT / "scripts/find-leaks", "--data", self.data, "--socket",
                               self.socket, "--program", self.program, *flags], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
        if done.returncode > 1:
            raise AssertionError(f"find-leaks: {done.stderr}")
        return done.stdout.splitlines()

    def leaks(self):
        """After all was taken away."""
        left = [f"process {pid}: {line}"
                for pid, line in processes_naming(str(self.folder) + "/").items()]
        left += self.find_leaks("--gone")
        if self.engine == "local":
            left += [f"interface {name}" for _, name in socket.if_nameindex() if name != "lo"]
            rules = subprocess.run(["nft", "list", "tables"], stdout=subprocess.PIPE, text=True)
            left += [f"rules {line}" for line in rules.stdout.splitlines() if "tessera_" in line]
        return left

    # The command line.

    def run(self, *words, input=None, **options):
        """Runs `tessera WORDS`; the result has returncode, stdout and stderr."""
        feed = {"input": input} if input is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run([self.program, *map(str, words)], env=self.environment, text=True,
                              errors="replace", capture_output=True, timeout=DEADLINE_S,
                              cwd=self.folder, **feed, **options)

    def check(self, *words, **options):
        """The same, and its output; another exit code than 0 fails."""
        done = self.run(*words, **options)
        if done.returncode != 0:
            raise AssertionError(f"tessera {' '.join(map(str, words))}: exit code "
                                 f"{done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def open(self, *words, **options):
        """Starts `tessera WORDS` and leaves it running, its output in pipes."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **options}
        return subprocess.Popen([self.program, *map(str, words)], env=self.environment, text=True,
                                cwd=self.folder, **options)

    def detached(self, *words):
        """Submits a job; its name."""
        return self.check("run", "-d", *words).strip()

    def job(self, name):
        return json.loads(self.check("get", "job", name, "-o", "json"))

    def phase(self, name):
        return self.job(name)["status"]["phase"]

    def await_phase(self, name, *phases):
        """Waits until the job is in one of the phases; the job."""
        def look():
            job = self.job(name)
            return job if job["status"]["phase"] in phases else None
        return await_until(f"job {name} to be {' or '.join(phases)}", look)

    def finished(self, name):
        """Waits until the job has ended; the job."""
        self.run("wait", name)
        return self.job(name)
