#!/usr/bin/env python3
"""How long a job of a cached image takes from its submission to its first line of output.

Without a network, in turns with `runc run` of the same image as a bundle that is ready, with limits
and a network namespace of its own: the floor, which has no queue and no log and keeps nothing. Here
the client is connected to the API already when it submits, so no start of a program is in the time
of Tessera. Then with a bridge network, in turns with `podman run`, command beside command.
"""

import json
import pathlib
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))

import bench  # and with it the folder of the next
import api

RUNS = 20
RATIO = 2  # the goal without a network: at most so many times the floor
SHARE = 0.5  # the goal with one: less than so much of podman's time
JOBS = "/api/v1/projects/default/jobs"
LIMITS = {"memory": {"limit": 1 << 30}, "cpu": {"quota": 100000, "period": 100000}}


def ask(connection, method, path, body=None):
    answer = connection.send_json(method, path, body)
    if answer.status >= 300:
        raise SystemExit(f"{method} {path}: {answer.status} {answer.read().decode()}")
    return answer


def elapsed_ms(begin):
    return (time.monotonic_ns() - begin) / 1e6


def api_ms(connection):
    """The connection is used again for the next job: the log is read to its end."""
    job = {"spec": {"image": "busybox", "args": ["echo", "hello"]}}
    begin = time.monotonic_ns()
    made = json.load(ask(connection, "POST", JOBS, job))
    log = ask(connection, "GET", f"{JOBS}/{made['metadata']['name']}/logs?follow=true")
    byte = log.read(1)
    took = elapsed_ms(begin)
    log.read()
    if byte != b"h":
        raise SystemExit(f"the log of job {made['metadata']['name']} began with {byte}")
    ask(connection, "DELETE", f"{JOBS}/{made['metadata']['name']}").read()
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


def program():
    return bench.build_folder() / "src/apps/tessera"


def without_network():
    """Medians of Tessera and of the floor."""
    ours, floor = [], []
    with bench.Server(program(), flags=["--network", "none"]) as server:
        runc = ["runc", "--root", server.folder / "runc", "run", "-b", make_bundle(server)]
        connection = api.Connection(server.socket)
        for turn in range(RUNS + 1):
            times = (api_ms(connection), program_ms([*runc, f"floor-{turn}"], server.environment))
            if turn > 0:  # the first one warms up
                ours.append(times[0])
                floor.append(times[1])
    bench.table("ms", {"no network: over the API": ours, "runc run": floor})
    return statistics.median(ours), statistics.median(floor)


def make_podman(server):
    """A podman of the benchmark's own, with the image. Its mounts go with each of its commands."""
    folder = server.folder / "podman"
    podman = ["unshare", "--mount", "podman", "--root", folder / "root", "--runroot",
              folder / "run", "--tmpdir", folder / "tmp", "--cgroup-manager", "cgroupfs",
              "--runtime", "runc"]
    subprocess.run([*podman, "load", "-q", "-i", server.folder / "image.tar"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return podman


def with_network():
    """Medians of tessera run and of podman run."""
    ours, peer = [], []
    with bench.Server(program()) as server:
        podman = make_podman(server)
        try:
            # podman's own limits may be above what this process is allowed.
            theirs = [*podman, "run", "--rm", "--ulimit", "nofile=1024:1024", "--ulimit",
                      "nproc=1024:1024", "busybox", "echo", "hello"]
            run = [server.program, "run", "--rm", "-q", "busybox", "echo", "hello"]
            for turn in range(RUNS + 1):
                times = (program_ms(run, server.environment),
                         program_ms(theirs, server.environment))
                if turn > 0:
                    ours.append(times[0])
                    peer.append(times[1])
        finally:
            # Its bridge would be taken for one of ours.
            for _, name in socket.if_nameindex():
                if "podman" in name:
                    subprocess.run(["busybox", "ip", "link", "delete", name], check=True)
    bench.table("ms", {"bridge network: tessera run": ours, "podman run": peer})
    return statistics.median(ours), statistics.median(peer)


def main():
    bench.enter_private_network()
    ours, floor = without_network()
    mine, peer = with_network()
    bench.finish("start-network", mine / peer, "x podman run", f"< {SHARE}", peer,
                 mine / peer < SHARE)
    bench.finish("start", ours / floor, "x runc run", f"<= {RATIO}", floor, ours / floor <= RATIO)


if __name__ == "__main__":
    main()
