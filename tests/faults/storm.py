#!/usr/bin/env python3
"""Kills the server and containerd again and again, at random moments, under a load of short jobs.

Every job that was accepted must end once, in the state that its program deserves; no accelerator
may have two holders; nothing may be left on the machine. The seed is printed: with it the same
jobs and pauses come again, though the machine's own pace differs.

    tests/faults/storm.py build/release/src/apps/tessera build/release/tests/faults/storm_job \\
        --server-kills 1000 --containerd-kills 100
"""

import argparse
import collections
import http.client
import json
import os
import pathlib
import random
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import api
import tessera_server
from tessera_server import Server, await_until

SKIPPED = 77
JOBS = "/api/v1/projects/default/jobs"
# So many jobs are under way at any time: more than the devices can hold, so that some wait.
UNDER_WAY = 10
# Finished jobs that are not deleted at once: the store and the logs carry some weight, too.
KEPT = 40
# A server lives for up to so long before it is killed.
SHORTEST_LIFE_S = 0.6
# Without any job ending for so long after a kill the system is stuck.
STUCK_S = 90
ENDED = ("Succeeded", "Failed", "Cancelled")

# What a job is, and how it must end. `codes`: of each attempt; `act`: what its user does to it.
# `more`: it publishes a port and gets a secret as a file.
Shape = collections.namedtuple("Shape", "gpus replicas ms codes act phase more", defaults=(False,))
SECRET = "storm"


def shape(rng):
    kind = rng.choices(("plain", "failing", "retried", "gang", "stopped", "deleted"),
                       (50, 10, 10, 8, 12, 10))[0]
    gpus = rng.choice((0, 1, 1, 2))
    ms = rng.randrange(20, 700)
    if kind == "failing":
        return Shape(gpus, 1, ms, [rng.randrange(1, 120)], "", "Failed")
    if kind == "retried":
        return Shape(gpus, 1, ms, [9, 0], "", "Succeeded")
    if kind == "gang":
        return Shape(1, 2, ms, [0], "", "Succeeded")
    if kind in ("stopped", "deleted"):
        return Shape(gpus, 1, 3_600_000, [0], kind, "Cancelled")
    return Shape(gpus, 1, ms, [0], "", "Succeeded", rng.random() < 0.3)


def phase_of(item):
    # What is as it begins is left out.
    return item.get("status", {}).get("phase", "Queued")


class Job:
    """One of the load, from its making to its verdict."""

    def __init__(self, name, what, program):
        self.name = name
        self.what = what
        self.acted = False
        self.uid = ""
        self.body = {
            "metadata": {"name": name},
            "spec": {"image": tessera_server.IMAGE, "replicas": what.replicas,
                     "command": ["/storm/" + program, "/storm", name, str(what.ms),
                                 *map(str, what.codes)],
                     "resources": {"gpus": what.gpus, "cpus": "100m", "memory": "32Mi"},
                     "retries": len(what.codes) - 1, "backoff": "100ms", "stopGrace": "2s",
                     "volumes": [{"source": "", "target": "/storm"}]}}
        if what.more:
            self.body["spec"]["ports"] = [{"port": 80}]
            self.body["spec"]["secrets"] = [
                {"path": "/run/secrets/word", "secret": SECRET, "key": "word"}]


class Load:
    """Keeps jobs under way and judges those that have ended. Its own thread."""

    def __init__(self, server, folder, program, rng):
        self.server = server
        self.folder = folder
        self.program = program
        self.rng = rng
        self.running = {}  # by name
        self.kept = []     # ended and judged, not yet deleted
        self.containers = set()
        self.count = 0
        self.judged = 0
        self.last_event = time.monotonic()  # the end of a job, or a kill
        self.wrong = []
        self.closing = threading.Event()
        self.connection = api.Connection(server.socket)
        self.thread = threading.Thread(target=self.work)

    def ask(self, method, path, body=None, headers=None):
        """Status and text; tried again for as long as the server is away."""
        end = time.monotonic() + tessera_server.DEADLINE_S
        while True:
            try:
                answer = self.connection.send_json(method, path, body, headers)
                text = answer.read().decode()
                if answer.status != 503:
                    return answer.status, text
            except (OSError, http.client.HTTPException):
                self.connection.close()
            if time.monotonic() > end:
                raise AssertionError(f"{method} {path}: no answer for a long time")
            time.sleep(tessera_server.PAUSE_S)

    def work(self):
        try:
            while not self.closing.is_set() or self.running:
                while len(self.running) < UNDER_WAY and not self.closing.is_set():
                    self.submit()
                self.look()
                if time.monotonic() - self.last_event > STUCK_S:
                    raise AssertionError("no job has ended for a long time: " + self.describe())
                time.sleep(2 * tessera_server.PAUSE_S)
        except Exception as failure:  # told by the main thread
            self.wrong.append(f"{type(failure).__name__}: {failure}")

    def describe(self):
        _, text = self.ask("GET", JOBS)
        return json.dumps([item for item in json.loads(text)["items"]
                           if item["metadata"]["name"] in self.running])

    def submit(self):
        self.count += 1
        job = Job(f"storm-{self.count}", shape(self.rng), self.program)
        job.body["spec"]["volumes"][0]["source"] = str(self.folder)
        status, text = self.ask("POST", JOBS, job.body, {"Idempotency-Key": job.name})
        if status != 201:
            raise AssertionError(f"submission of {job.name}: {status} {text}")
        job.uid = json.loads(text)["metadata"]["uid"]
        self.containers |= {f"{job.uid}-{index}.{attempt + 1}"
                            for index in range(job.what.replicas)
                            for attempt in range(len(job.what.codes))}
        self.running[job.name] = job

    def look(self):
        _, text = self.ask("GET", JOBS)
        there = {item["metadata"]["name"]: item for item in json.loads(text)["items"]}
        for job in list(self.running.values()):
            item = there.get(job.name)
            if item is None and not (job.what.act == "deleted" and job.acted):
                self.wrong.append(f"{job.name} was accepted and is gone")
                del self.running[job.name]
            elif item is None:
                self.finish(job, None)
            elif phase_of(item) in ENDED and job.what.act != "deleted":
                self.finish(job, item)
            elif job.what.act and not job.acted:
                self.act(job, item)

    def act(self, job, item):
        # At any moment of its life: it waits, starts or runs.
        if phase_of(item) != "Running" and self.rng.random() < 0.7:
            return
        if job.what.act == "stopped":
            status, text = self.ask("POST", f"{JOBS}/{job.name}/stop", {})
        else:
            status, text = self.ask("DELETE", f"{JOBS}/{job.name}")
        # A request that is sent again because its answer was lost may find that it was carried out.
        if status >= 300 and status not in (404, 409):
            self.wrong.append(f"{job.what.act} of {job.name}: {status} {text}")
        job.acted = True

    def finish(self, job, item):
        del self.running[job.name]
        self.judged += 1
        self.last_event = time.monotonic()
        self.wrong += [f"{job.name} ({job.what}): {what}" for what in self.judge(job, item)]
        if item is None:
            return
        self.kept.append(job.name)
        if len(self.kept) > KEPT:
            self.delete(self.kept.pop(0))

    def delete(self, name):
        status, text = self.ask("DELETE", f"{JOBS}/{name}")
        if status >= 300 and status != 404:
            self.wrong.append(f"delete of {name}: {status} {text}")

    def judge(self, job, item):
        """What is wrong with the end of a job."""
        what = job.what
        path = self.folder / f"starts-{job.name}"
        starts = sorted(path.read_text().split()) if path.exists() else []
        wanted = sorted(f"{index}.{attempt + 1}" for index in range(what.replicas)
                        for attempt in range(len(what.codes)))
        may_not_have_begun = bool(what.act)
        if starts != wanted and not (may_not_have_begun and not starts):
            yield f"started {starts}, should have been {wanted}"
        if item is None:
            return
        status = item["status"]
        if status["phase"] != what.phase:
            yield f"ended as {json.dumps(status)}"
            return
        if not what.act and (status.get("exitCode"), status["attempts"]) != (what.codes[-1],
                                                                         len(what.codes)):
            yield f"ended as {json.dumps(status)}"
        if what.act or what.replicas > 1:
            return
        _, log = self.ask("GET", f"{JOBS}/{job.name}/logs")
        if log != f"begin {job.name}\nend {job.name}\n":
            yield f"its log is {log!r}"


class Storm:
    """Owned by main(); the kills come from its thread."""

    def __init__(self, server, load, rng, kills):
        self.server = server
        self.load = load
        self.rng = rng
        self.kills = kills  # a list of "server" and "containerd"
        self.rounds_s = []
        self.start_s = 0  # how long the server's last start took

    def run(self):
        for number, victim in enumerate(self.kills, 1):
            if self.load.wrong:
                return
            begin = time.monotonic()
            # At the machine's own pace: else nothing ever begins on a busy one.
            time.sleep(self.rng.uniform(0, max(SHORTEST_LIFE_S, 3 * self.start_s)))
            if victim == "containerd":
                self.kill_containerd()
            else:
                self.kill_server()
            self.load.last_event = time.monotonic()
            self.rounds_s.append(self.load.last_event - begin)
            if number % 50 == 0 or number == len(self.kills):
                print(f"{number} kills, {self.load.judged} jobs judged, "
                      f"{sum(self.rounds_s) / number:.2f} s a round", flush=True)

    def kill_containerd(self):
        try:
            os.kill(self.server.containerd_pid(), signal.SIGKILL)
        except (ProcessLookupError, FileNotFoundError, IndexError):
            pass  # it is between two lives already

    def kill_server(self):
        self.server.kill()
        # Now and then the next one does not live to its first answer either.
        while self.rng.random() < 0.2:
            self.server.spawn()
            time.sleep(self.rng.uniform(0, 0.15))
            self.server.kill()
        begin = time.monotonic()
        self.server.start()
        self.start_s = time.monotonic() - begin


def find_leaks(server, load, *flags):
    containers = [word for name in load.containers for word in ("--container", name)]
    return server.find_leaks("--idle", *flags, *containers)


def play(server, options):
    folder = server.folder / "storm"
    folder.mkdir(mode=0o777)
    program = pathlib.Path(options.job)
    (folder / program.name).write_bytes(program.read_bytes())
    (folder / program.name).chmod(0o755)
    server.check("apply", "-f", "-", input=json.dumps(
        {"apiVersion": "tessera.dev/v1", "kind": "Project", "metadata": {"name": "default"},
         "spec": {"hostPaths": [str(folder)]}}))
    server.check("apply", "-f", "-", input=json.dumps(
        {"apiVersion": "tessera.dev/v1", "kind": "Secret", "metadata": {"name": SECRET},
         "data": {"word": "of mouth"}}))
    rng = random.Random(options.seed)
    kills = ["server"] * options.server_kills + ["containerd"] * options.containerd_kills
    rng.shuffle(kills)
    load = Load(server, folder, program.name, random.Random(options.seed + 1))
    load.thread.start()
    try:
        Storm(server, load, rng, kills).run()
    finally:
        load.closing.set()
        load.thread.join()
    wrong = list(load.wrong)
    if (folder / "conflicts").exists():
        wrong.append("held by two: " + (folder / "conflicts").read_text())
    wrong += find_leaks(server, load)
    for name in load.kept:
        load.delete(name)
    wrong += [f"after all jobs were deleted: {line}" for line in find_leaks(server, load)]
    print(f"{len(kills)} kills, {load.judged} jobs judged, {len(wrong)} faults")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program", help="the tessera to run")
    parser.add_argument("job", help="the program storm_job, for the containers")
    parser.add_argument("--server-kills", type=int, default=60)
    parser.add_argument("--containerd-kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    missing = tessera_server.missing_for_containers()
    if missing:
        print(f"skipped: {missing}")
        sys.exit(SKIPPED)
    print(f"seed {options.seed}", flush=True)
    tessera_server.enter_private_network()
    with Server(os.path.abspath(options.program), sim="3x Tessera-Sim-16G") as server:
        wrong = play(server, options)
        if wrong:
            print("\n".join(wrong[:50]))
            print("server log:\n" + server.log()[-20000:])
            daemon = (server.data / "containerd/containerd.log").read_text(errors="replace")
            print("containerd's log:\n" + daemon[-20000:])
    if wrong:
        sys.exit(f"seed {options.seed}: {len(wrong)} faults")


if __name__ == "__main__":
    main()
