#!/usr/bin/env python3
"""Completion times on the Muri traces, beside the schedulers of which they were published.

The traces (SIGCOMM 2022; 64 devices) are replayed under the accounting of their own simulator
(bench/completion/accounting.h). First FIFO and, of those published, SRTF, SRSF and Tiresias,
which must come out within 2 % of the published averages, or the accounting is wrong. Then
Tessera's orders by what they may know: how long each job runs (known) or only what was learnt of
jobs before it (unknown), alone on its devices or in turns with others (shared); one set of
parameters for all. The default row is for jobs that keep nothing when they are stopped: what is
lost is counted.

The traces are read from ../shared/traces beside the repository, or from $TESSERA_TRACES.
"""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))

import bench

TRACES = ("trace1", "trace3", "trace4")
# Averages in seconds on these traces, as published.
PUBLISHED = {"srtf": (1370603, 193082, 581983), "srsf": (980141, 185022, 487167),
             "tiresias": (3330371, 347213, 1319383)}
# The best published with the same knowledge: SRSF, Themis, Muri-S, Muri-L.
PEERS = {"known": (980141, 185022, 487167), "unknown": (1823179, 397059, 994971),
         "known-shared": (867706, 85503, 365468), "unknown-shared": (1072010, 88687, 429175)}
GOALS = {"known": (980000, 172000, 488000), "unknown": (1700000, 300000, 1000000),
         "known-shared": (640000, 78000, 306000), "unknown-shared": (880000, 84000, 350000)}
REPRODUCED = 0.02


def replay(program, folder):
    """By scheduler and trace: average, p99, makespan, p99 of waiting, preemptions, lost."""
    done = subprocess.run([program] + [folder / f"{name}.csv" for name in TRACES], check=True,
                          stdout=subprocess.PIPE, text=True)
    rows = {}
    for line in done.stdout.splitlines():
        trace, scheduler, *numbers = line.split()
        rows[scheduler, int(trace) - 1] = [float(number) for number in numbers]
    return rows


def show(rows):
    print(f"{'thousands of seconds':16}{'trace':>6}{'average':>10}{'published':>11}{'goal':>8}"
          f"{'p99':>10}{'makespan':>10}{'p99 wait':>10}{'stops':>7}{'lost':>8}")
    for (scheduler, at), (average, p99, makespan, wait, stops, lost) in rows.items():
        told = PUBLISHED.get(scheduler, PEERS.get(scheduler))
        goal = GOALS.get(scheduler)
        print(f"{scheduler:20}{TRACES[at][-1]:>2}{average / 1000:10.1f}"
              f"{told[at] / 1000 if told else '':{'11.1f' if told else '11'}}"
              f"{goal[at] / 1000 if goal else '':{'8.0f' if goal else '8'}}"
              f"{p99 / 1000:10.0f}{makespan / 1000:10.0f}{wait / 1000:10.0f}{stops:7.0f}"
              f"{lost / 1000:8.0f}")


def worst(rows, wanted):
    """The largest ratio of an average to what is wanted of it, with where it is."""
    return max((rows[scheduler, at][0] / wanted[scheduler][at], scheduler, TRACES[at])
               for scheduler in wanted for at in range(len(TRACES)))


def main():
    folder = pathlib.Path(os.environ.get("TESSERA_TRACES", bench.ROOT.parent / "shared/traces"))
    if not (folder / "muri").is_dir():
        print(f"there are no traces in {folder}: put them there or set TESSERA_TRACES")
        bench.finish("completion", 0, "times the goal", "<= 1", 0, False)
        return
    rows = replay(bench.build_folder() / "bench/bench_completion", folder / "muri")
    show(rows)
    off = max(abs(rows[name, at][0] / PUBLISHED[name][at] - 1)
              for name in PUBLISHED for at in range(len(TRACES)))
    print(f"the published averages are met within {100 * off:.4f} %")
    starved = [f"{name} on {TRACES[at]}" for name in list(GOALS) + ["default"]
               for at in range(len(TRACES)) if rows[name, at][3] > 1.1 * rows["fifo", at][3]]
    print("99 of 100 wait more than 1.1 times as long as with FIFO: "
          + (", ".join(starved) or "nowhere"))
    value, scheduler, trace = worst(rows, GOALS)
    print(f"farthest from its goal: {scheduler} on {trace}, {value:.3f} times")
    peer = max(PEERS[name][at] / GOALS[name][at] for name in GOALS for at in range(len(TRACES)))
    bench.finish("completion", value, "times the goal", "<= 1, published within 2 %", peer,
                 value <= 1 and off <= REPRODUCED and not starved)


if __name__ == "__main__":
    main()
