#!/usr/bin/env python3
"""Runs libFuzzer with AddressSanitizer on every target, from its seeds, for some seconds each.

    build/fuzz: cmake --preset fuzz && cmake --build --preset fuzz
    tests/fuzz/test_fuzz.py build/fuzz/tests/fuzz/fuzz --seconds 600 manifest sbatch

An input that breaks something is kept in build/fuzz/findings, and its path is printed: once it is
mended it belongs into seeds/.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SEEDS = pathlib.Path(__file__).resolve().parent / "seeds"
LONGEST = 4096  # bytes of an input: longer ones only take time
# One input that takes so long is a hang; on a machine that is busy with other tests a good one
# takes hundredths of it.
HANG_S = 25


def fuzz(program, seeds, options):
    """What libFuzzer said at its end, and whether it found nothing."""
    findings = program.parents[2] / "findings"
    findings.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tessera-fuzz-") as corpus:
        done = subprocess.run(
            [program, f"-max_total_time={options.seconds}", f"-max_len={LONGEST}",
             f"-seed={options.seed}", f"-timeout={HANG_S}", "-print_final_stats=1",
             f"-artifact_prefix={findings}/{seeds.name}-", corpus, seeds],
            env={**os.environ, "TESSERA_FUZZ_TARGET": seeds.name, "TMPDIR": corpus},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            errors="replace")
    return done.stderr, done.returncode == 0


def report(name, said, well):
    runs = re.search(r"number_of_executed_units: (\d+)", said)
    covered = re.findall(r" cov: (\d+) ", said)
    if not well or not runs:
        print("\n".join(said.splitlines()[-60:]))
        print(f"{name}: broken", flush=True)
        return False
    print(f"{name}: {runs.group(1)} inputs, {covered[-1] if covered else 0} edges", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--seconds", type=int,
                        default=int(os.environ.get("TESSERA_FUZZ_SECONDS", "10")),
                        help="for each target; 10, or TESSERA_FUZZ_SECONDS")
    parser.add_argument("--seed", type=int, default=1, help="of the chances that are taken")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="targets at a time")
    parser.add_argument("targets", nargs="*", help="all when none is named")
    options = parser.parse_args()
    options.program = options.program.resolve()
    folders = [seeds for seeds in sorted(SEEDS.iterdir())
               if not options.targets or seeds.name in options.targets]
    broken = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = [(seeds.name, pool.submit(fuzz, options.program, seeds, options))
                for seeds in folders]
        for name, run in runs:
            if not report(name, *run.result()):
                broken.append(name)
    sys.exit(f"broken: {' '.join(broken)}" if broken else 0)


if __name__ == "__main__":
    main()
