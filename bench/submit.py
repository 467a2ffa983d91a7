#!/usr/bin/env python3
"""How many jobs are durably accepted in a second, from 8 clients on the Unix socket.

The engine is simulated and its one device is held, so every job waits: what is measured is HTTP,
validation, the brain, the planner and the store. The queue grows from round to round, to more than
5,000; then the same with 100,000 in the queue. Beside it, in turns: one thread that commits the
same rows to a store of its own on the same
disk, eight jobs a commit, as a perfect group commit would (bench/submit.cc does both).
"""

import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))

import bench

GOAL = 8000  # jobs in a second
GOAL_P99_MS = 20
GOAL_LONG = 0.8  # of that rate with 100,000 in the queue


def main():
    folder = bench.build_folder()
    with bench.Server(folder / "src/apps/tessera", sim="1x Tessera-Sim-16G",
                      engine="sim") as server:
        server.detached("--gpus", "1", "busybox", "sleep", "100000")
        done = subprocess.run([folder / "bench/bench_submit", server.socket, server.folder],
                              check=True, stdout=subprocess.PIPE, text=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    ours, floor, post, get, long, long_post, long_get = (
        [float(number) for what, number in rows if what == name]
        for name in ("submit", "store", "post", "get", "long-submit", "long-post", "long-get"))
    bench.table("jobs/s", {"submissions": ours, "with 100,000 in the queue": long,
                           "commits of 8 jobs each": floor})
    print("by round, as the queue grows: " + " ".join(f"{rate:.0f}" for rate in ours))
    bench.table("99 of 100 answers within ms",
                {"submissions": post, "reads of a job": get,
                 "submissions, 100,000 queued": long_post, "reads, 100,000 queued": long_get})
    value = statistics.median(ours)
    slowest = max(statistics.median(times) for times in (post, get, long_post, long_get))
    steady = statistics.median(long) >= GOAL_LONG * value
    bench.finish("submit", value, "jobs/s",
                 f">= {GOAL}, {GOAL_LONG} of it with 100,000 queued, p99 <= {GOAL_P99_MS} ms",
                 statistics.median(floor), value >= GOAL and steady and slowest <= GOAL_P99_MS)


if __name__ == "__main__":
    main()
