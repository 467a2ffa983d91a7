#!/usr/bin/env python3
"""How long a job of a cached image takes from its submission to its first line of output.

The client is connected to the API already when it submits, so no start of a program is in the time
of Tessera. Beside it, in turns: `runc run` of the same image as a bundle that is ready, with limits
and a network namespace of its own. That is the floor: it has no queue, no log, no network and keeps
nothing. The third row is what a person sees: `tessera run`, with the start of that program.
"""

import http.client
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))

import bench

RUNS = 20
RATIO = 4  # the goal: at most so many times the floor
JOBS = "/api/v1/projects/default/jobs"
LIMITS = {"memory": {"limit": 1 << 30}, "cpu": {"quota": 100000, "period": 100000}}


class Connection(http.client.HTTPConnection):
    """To the server's Unix socket."""

    def __init__(self, path):
        super().__init__("localhost")
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)

    def ask(self, method, path, body=None):
        headers = {"Content-Type": "application/json"} if body else {}
        self.request(method, path, body and json.dumps(body), headers)
        answer = self.getresponse()
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {answer.status} {answer.read().decode()}")
        return answer


def elapsed_ms(begin):
    return (time.monotonic_ns() - begin) / 1e6


def api_ms(connection):
    """The connection is used again for the next job: the log is read to its end."""
    job = {"spec": {"image": "busybox", "args": ["echo", "hello"]}}
    begin = time.monotonic_ns()
    made = json.load(connection.ask("POST", JOBS, job))
    log = connection.ask("GET", f"{JOBS}/{made['metadata']['name']}/logs?follow=true")
    byte = log.read(1)
    took = elapsed_ms(begin)
    log.read()
    if byte != b"h":
        raise SystemExit(f"the log of job {made['metadata']['name']} began with {byte}")
    connection.ask("DELETE", f"{JOBS}/{made['metadata']['name']}").read()
    return took


def program_ms(words, environment):
    begin = time.monotonic_ns()
    with subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as process:
        byte = process.stdout.read(1)
        took = elapsed_ms(begin)
        process.stdout.read()
    if byte != b"h" or process.returncode != 0:
        raise SystemExit(f"{words} failed")
    return took


def make_bundle(server):
    """The image, unpacked, with a configuration that prints one line."""
    layout, bundle = server.folder / "layout", server.folder / "bundle"
    server.make_image(layout)
    subprocess.run(["umoci", "unpack", "--image", f"{layout}:busybox:latest", bundle], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = bundle / "config.json"
    config = json.loads(path.read_text())
    config["process"].update(terminal=False, args=["echo", "hello"], rlimits=[])
    config["linux"].setdefault("resources", {}).update(LIMITS)
    config["linux"]["cgroupsPath"] = f"/{server.folder.name}-floor"
    path.write_text(json.dumps(config))
    return bundle


def main():
    bench.enter_private_network()
    ours, floor, command = [], [], []
    with bench.Server(bench.build_folder() / "src/apps/tessera",
                      sim="2x Tessera-Sim-16G") as server:
        runc = ["runc", "--root", server.folder / "runc", "run", "-b", make_bundle(server)]
        run = [server.program, "run", "--rm", "-q", "busybox", "echo", "hello"]
        connection = Connection(server.socket)
        for turn in range(RUNS + 1):
            times = (api_ms(connection), program_ms([*runc, f"floor-{turn}"], server.environment),
                     program_ms(run, server.environment))
            if turn > 0:  # the first one warms up
                for samples, took in zip((ours, floor, command), times):
                    samples.append(took)
    bench.table("ms", {"submission over the API": ours, "runc run": floor,
                       "tessera run (with its start)": command})
    peer = statistics.median(floor)
    ratio = statistics.median(ours) / peer
    bench.finish("start", ratio, "x runc run", f"<= {RATIO}", peer, ratio <= RATIO)


if __name__ == "__main__":
    main()
