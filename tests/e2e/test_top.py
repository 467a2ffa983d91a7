"""top: what accelerators do and for whom, through a scripted NVML and real processes."""

import json
import os
import pathlib
import subprocess
import unittest

import e2e
from e2e import IMAGE, Server, await_until

DEVICE = "GPU-aaaaaaaa-0000-0000-0000-000000000001"
SCRIPT = f"""driver 550.54.15
device {DEVICE}
  name NVIDIA H100 80GB HBM3
  pci 00000000:3B:00.0
  minor 0
  memory 81559 559 1024
  utilization 87 40
  temperature 64
  power 412 700
  pstate 0
"""


# Arguments of sleep that no other process of this machine has.
INSIDE, OUTSIDE = 10_000_000 + os.getpid(), 20_000_000 + os.getpid()


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(e2e.program())
        cls.script = cls.server.folder / "nvml"
        cls.script.write_text(SCRIPT)
        cls.server.environment["TESSERA_FAKE_NVML"] = str(cls.script)
        cls.server.arguments += ["--nvml", os.environ["FAKE_NVML"]]
        cls.enterClassContext(cls.server)

    def pid_in_container(self):
        """Of the program of the one container that runs."""
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "cmdline").read_bytes() == f"sleep\0{INSIDE}\0".encode():
                    return int(folder.name)
            except OSError:
                continue
        return None

    def test_processes_of_jobs_and_of_others(self):
        # It runs on: taking the server away ends it, as an uninstall does.
        self.server.detached("--name", "train", IMAGE, "sleep", INSIDE)
        inside = await_until("the job's program", self.pid_in_container)
        with subprocess.Popen(["sleep", str(OUTSIDE)]) as outside:
            self.script.write_text(SCRIPT + f"  process {inside} 512\n"
                                            f"  process {outside.pid} 496\n")
            top = json.loads(self.server.check("top", "-o", "json"))
            text = self.server.check("top")
            outside.kill()
        device = top["accelerators"][0]
        self.assertEqual(device["accelerator"], DEVICE)
        self.assertEqual([device[name] for name in ("utilization", "temperature", "power",
                                                    "powerLimit", "performanceState")],
                         [87, 64, 412, 700, "P0"])
        mine, foreign = device["processes"]
        self.assertEqual((mine["pid"], mine["job"], mine["command"]),
                         (inside, "default/train", f"sleep {INSIDE}"))
        self.assertEqual((foreign["pid"], foreign["user"], foreign.get("job", "")),
                         (outside.pid, "root", ""))
        lines = text.splitlines()
        self.assertEqual(lines[0].split(),
                         ["GPU", "NAME", "BUS-ID", "FAN", "TEMP", "PERF", "PWR:USAGE/CAP",
                          "MEMORY-USAGE", "GPU-UTIL", "JOB", "USER"])
        self.assertIn("412W / 700W", lines[1])
        self.assertIn("1024MiB / 81000MiB", lines[1])
        self.assertRegex(text, rf"{outside.pid} +root +496MiB +\(not Tessera's\) +sleep {OUTSIDE}")

    def test_what_nobody_tells_is_a_dash(self):
        self.script.write_text(f"device {DEVICE}\n  memory 81559 559 0\n")
        row = self.server.check("top").splitlines()[1]
        self.assertIn("- / -", row)


if __name__ == "__main__":
    e2e.main()
