"""What the benchmarks share."""

import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))

from tessera_server import ROOT, Server, enter_private_network  # noqa: F401  (for them)


def build_folder():
    return pathlib.Path(sys.argv[1]).resolve()


def finish(name, ours, peers, unit, goal, passes):
    """Prints the result's line. `passes` says whether the two medians reach the goal."""
    value, peer = statistics.median(ours), statistics.median(peers)
    print(f"{len(ours)} runs, {unit}: {min(ours):.1f} to {max(ours):.1f}; "
          f"beside it {min(peers):.1f} to {max(peers):.1f}")
    print(json.dumps({"name": name, "value": round(value, 1), "unit": unit, "goal": goal,
                      "peer": round(peer, 1), "pass": bool(passes(value, peer))}))
