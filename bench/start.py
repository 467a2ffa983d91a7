#!/usr/bin/env python3
"""How long it takes from `tessera run` of a cached image to its first line of output.

Beside it, in turns: `runc run` of the same image as a bundle that is ready. That is the floor: it
has no queue, no log, no network and keeps nothing. Both times begin before the program is started
and end with the first byte that it prints.
"""

import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))

import bench

RUNS = 21
RATIO = 6  # the goal: at most so many times the floor


def first_byte_ms(words, environment):
    begin = time.monotonic_ns()
    with subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as process:
        byte = process.stdout.read(1)
        took = time.monotonic_ns() - begin
        process.stdout.read()
    if byte != b"h" or process.returncode != 0:
        raise SystemExit(f"{words} failed")
    return took / 1e6


def make_bundle(server, layout):
    """The image, unpacked, with a configuration that prints one line."""
    server.make_image(layout)
    bundle = server.folder / "bundle"
    subprocess.run(["umoci", "unpack", "--image", f"{layout}:busybox:latest", bundle], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = bundle / "config.json"
    config = json.loads(path.read_text())
    config["process"].update(terminal=False, args=["echo", "hello"], rlimits=[])
    config["linux"]["cgroupsPath"] = "/tessera-bench-floor/one"
    path.write_text(json.dumps(config))
    return bundle


def main():
    bench.enter_private_network()
    ours, floor = [], []
    with bench.Server(bench.build_folder() / "src/apps/tessera") as server:
        bundle = make_bundle(server, server.folder / "layout")
        root = server.folder / "runc"
        run = [server.program, "run", "--rm", "-q", "busybox", "echo", "hello"]
        for turn in range(RUNS + 1):
            pair = (first_byte_ms(run, server.environment),
                    first_byte_ms(["runc", "--root", root, "run", "-b", bundle, f"floor-{turn}"],
                                  server.environment))
            if turn > 0:  # the first one warms up
                ours.append(pair[0])
                floor.append(pair[1])
    bench.finish("start", ours, floor, "ms", f"<= {RATIO} x the peer",
                 lambda value, peer: value <= RATIO * peer)


if __name__ == "__main__":
    main()
