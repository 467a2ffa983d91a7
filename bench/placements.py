#!/usr/bin/env python3
"""How many placements the planner decides in a second, by the size of the cluster.

One core, the default policy, eight accelerators a node: one task after the other is placed on a
cluster that is nine tenths full, where another ends first. In turns with the same decisions found
by a look at every node. Then whole plans: 100,000 jobs wait, with gangs among them, for an empty
cluster and for a full one (bench/placements.cc).
"""

import math
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))

import bench

GOAL = 50_000  # placements in a second, at
GOAL_NODES = 5_000


def slope(points):
    """Of the line through log(x), log(y) with the least squares."""
    xs, ys = ([math.log(value) for value in axis] for axis in zip(*points))
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return (sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys))
            / sum((x - mean_x) ** 2 for x in xs))


def main():
    program = bench.build_folder() / "bench/bench_placements"
    done = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    print(f"{'nodes x 8':>10} {'mix':8}{'placements/s':>14}{'p99 us':>9}{'all nodes/s':>13}")
    speed, scan, growth = {}, {}, {}
    for _, nodes, mix, ours, p99, theirs in (row for row in rows if row[0] == "decisions"):
        print(f"{nodes:>10} {mix:8}{ours:>14}{p99:>9}{theirs:>13}")
        speed[mix, int(nodes)] = float(ours)
        scan[mix, int(nodes)] = float(theirs)
        growth.setdefault(mix, []).append((int(nodes), 1 / float(ours)))
    print(f"{'nodes x 8':>10} {'started':>8}{'plan ms':>14}{'tick us':>9}   with 100,000 waiting")
    ticks = {row[1]: row[2] for row in rows if row[0] == "tick"}
    for _, nodes, started, milliseconds in (row for row in rows if row[0] == "plan"):
        print(f"{nodes:>10} {started:>8}{milliseconds:>14}{ticks[nodes]:>9}")
    exponents = {mix: slope(points) for mix, points in growth.items()}
    print("time of a decision grows with nodes to the power of "
          + ", ".join(f"{value:.2f} ({mix})" for mix, value in exponents.items()))
    # As fast as log(nodes) grows over these sizes.
    allowed = slope([(nodes, math.log(nodes)) for nodes, _ in growth["both"]])
    print(f"log(nodes) grows over these sizes to the power of {allowed:.2f}")
    value = speed["both", GOAL_NODES]
    bench.finish("placements", value, "placements/s at 5,000 nodes, whole and sliced",
                 f">= {GOAL}, growth no faster than log(nodes)", scan["both", GOAL_NODES],
                 value >= GOAL and max(exponents.values()) <= allowed)


if __name__ == "__main__":
    main()
