#!/usr/bin/env python3
"""How much of a cluster's accelerators the planner can give away before nothing fits any more.

The five lists of pods of the openb trace (1,213 nodes, 6,212 GPUs) under the protocol of FGD
(USENIX ATC'23): pods come one by one, none leaves, one that does not fit is dropped; the figure is
the allocated part of all accelerators, the mean over the seeds 42 to 51. Beside what was published
stand the same policies written anew (bench/packing.cc), which shows that the protocol is right, and
Tessera's default placement, which is told nothing about the list. The traces are read from
../shared/traces, or from the folder that TESSERA_TRACES names.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))

import bench

SEEDS = 10
POLICIES = ("random", "bestfit", "fgd", "tessera")
# Published means, and what Tessera should reach.
PUBLISHED = {
    "default": {"random": 87.47, "bestfit": 93.08, "fgd": 95.39},
    "cpu250": {"random": 80.42, "bestfit": 91.45, "fgd": 93.41},
    "gpushare100": {"random": 79.44, "bestfit": 85.01, "fgd": 86.90},
    "gpuspec33": {"random": 86.46, "bestfit": 93.09, "fgd": 94.55},
    "multigpu50": {"random": 90.27, "bestfit": 95.74, "fgd": 97.18},
}
GOALS = {"default": 95.9, "cpu250": 94.7, "gpushare100": 87.3, "gpuspec33": 95.9,
         "multigpu50": 97.5}
NEAR = 0.3  # how far a policy written anew may be from what was published


def finish(value, peer, passes):
    print(json.dumps({"name": "packing", "value": value, "unit": "% allocated, mean of five lists",
                      "goal": "on each list the goal of the table", "peer": peer,
                      "pass": passes}))


def main():
    folder = pathlib.Path(os.environ.get("TESSERA_TRACES", bench.ROOT.parent / "shared/traces"))
    if not (folder / "openb").is_dir():
        print(f"there is no folder {folder / 'openb'}: set TESSERA_TRACES to where the traces are")
        finish(None, None, False)
        return
    print(f"{'% of accelerators allocated':28}" + "".join(f"{name:>13}" for name in PUBLISHED))
    for policy in POLICIES[:-1]:
        row = "".join(f"{published[policy]:13.2f}" for published in PUBLISHED.values())
        print(f"{policy + ', published':28}{row}")
    means = {policy: {} for policy in POLICIES}
    spread = {}
    program = bench.build_folder() / "bench/bench_packing"
    for name in PUBLISHED:
        done = subprocess.run([program, folder / "openb", name, str(SEEDS), *POLICIES], check=True,
                              stdout=subprocess.PIPE, text=True)
        for line in done.stdout.splitlines():
            _, policy, *figures = line.split()
            figures = [float(figure) for figure in figures]
            means[policy][name] = statistics.mean(figures)
            if policy == "tessera":
                spread[name] = statistics.stdev(figures)
    for policy in POLICIES:
        row = "".join(f"{means[policy][name]:13.2f}" for name in PUBLISHED)
        print(f"{policy + (' (default)' if policy == 'tessera' else ', anew'):28}{row}")
    print(f"{'  standard deviation':28}" + "".join(f"{spread[name]:13.2f}" for name in PUBLISHED))
    print(f"{'  goal':28}" + "".join(f"{goal:13.2f}" for goal in GOALS.values()))
    ours = means["tessera"]
    protocol = all(abs(means[policy][name] - figure) <= NEAR
                   for name, published in PUBLISHED.items()
                   for policy, figure in published.items())
    above = all(ours[name] > PUBLISHED[name]["fgd"] for name in PUBLISHED)
    goals = all(ours[name] >= goal for name, goal in GOALS.items())
    for what, holds in ((f"policies written anew within {NEAR} of what was published", protocol),
                        ("above FGD on every list", above), ("every goal reached", goals)):
        print(f"{what}: {'yes' if holds else 'no'}")
    finish(round(statistics.mean(ours.values()), 2),
           round(statistics.mean(one["fgd"] for one in PUBLISHED.values()), 2),
           protocol and above and goals)


if __name__ == "__main__":
    main()
