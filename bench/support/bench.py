"""What the benchmarks share."""

import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))

from tessera_server import ROOT, Server, enter_private_network  # noqa: F401  (for them)


def build_folder():
    return pathlib.Path(sys.argv[1]).resolve()


def table(unit, rows):
    """Prints median, p90 and extremes of the samples of each row, by its name."""
    print(f"{unit:34}{'median':>9}{'p90':>9}{'least':>9}{'most':>9}{'samples':>9}")
    for name, samples in rows.items():
        p90 = statistics.quantiles(samples, n=10, method="inclusive")[-1]
        numbers = (statistics.median(samples), p90, min(samples), max(samples))
        print(f"{name:34}" + "".join(f"{n:9.1f}" for n in numbers) + f"{len(samples):9}")


def finish(name, value, unit, goal, peer, passes):
    """Prints the result's line."""
    print(json.dumps({"name": name, "value": round(value, 2), "unit": unit, "goal": goal,
                      "peer": round(peer, 1), "pass": bool(passes)}))
