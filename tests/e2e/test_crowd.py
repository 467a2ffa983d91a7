#!/usr/bin/env python3
"""Many readers at once: each watch sees every change, each follower of a log every line.

Usage: test_crowd.py TESSERA
"""

import asyncio
import json
import unittest

import e2e
from e2e import IMAGE

WATCHES = 250
FOLLOWERS = 250
JOBS = 40
LINES = 500
JOB_PATH = "/api/v1/projects/default/jobs"


class Reader:
    """One connection with one streaming answer."""

    def __init__(self, server, path):
        self.server = server
        self.path = path

    async def __aenter__(self):
        self.reader, self.writer = await asyncio.open_unix_connection(str(self.server.socket))
        self.writer.write(f"GET {self.path} HTTP/1.1\r\nHost: tessera\r\n\r\n".encode())
        head = await self.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        return self

    async def __aexit__(self, *_):
        self.writer.close()

    async def chunks(self):
        while size := int(await self.reader.readline(), 16):
            yield await self.reader.readexactly(size)
            await self.reader.readline()

    async def lines(self):
        rest = b""
        async for chunk in self.chunks():
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line


async def follow(server, name, ready):
    async with Reader(server, f"{JOB_PATH}/{name}/logs?follow=true") as reader:
        await ready()
        return [line.decode() async for line in reader.lines()]


async def watch(server, ready, last):
    """Types and names of what a watch sees until the job `last` is deleted."""
    seen = []
    async with Reader(server, f"{JOB_PATH}?watch=true") as reader:
        await ready()
        async for line in reader.lines():
            change = json.loads(line)
            seen.append((change["type"], change["object"]["metadata"]["name"],
                         change["object"]["metadata"]["resourceVersion"]))
            if seen[-1][:2] == ("DELETED", last):
                return seen


class Crowd(e2e.ServerTest):

    def test_every_reader_sees_everything(self):
        talker = self.server.detached(
            "--name", "talker", IMAGE, "sh", "-c",
            "while [ ! -e /tmp/go ]; do sleep 0.1; done; "
            f"for i in $(seq {LINES}); do echo line $i; done")
        self.server.await_phase(talker, "Running")
        logs, changes = asyncio.run(self.crowd(talker))
        wanted = [f"line {i}" for i in range(1, LINES + 1)]
        for log in logs:
            self.assertEqual(log, wanted)
        # All watches began before the first change, so all see the same, in the same order.
        for seen in changes:
            self.assertEqual(seen, changes[0])
        for i in range(JOBS):
            types = [kind for kind, name, _ in changes[0] if name == f"job-{i}"]
            self.assertEqual((types[0], types[-1]), ("ADDED", "DELETED"))
        versions = [version for _, _, version in changes[0]]
        self.assertEqual(len(set(changes[0])), len(versions), "a change came twice")

    async def crowd(self, talker):
        waiting = WATCHES + FOLLOWERS
        all_there = asyncio.Event()

        async def ready():
            nonlocal waiting
            waiting -= 1
            if waiting == 0:
                all_there.set()

        last = f"job-{JOBS - 1}"
        watches = [asyncio.create_task(watch(self.server, ready, last)) for _ in range(WATCHES)]
        followers = [asyncio.create_task(follow(self.server, talker, ready))
                     for _ in range(FOLLOWERS)]
        await asyncio.wait_for(all_there.wait(), 60)
        await asyncio.to_thread(self.make_changes, talker)
        logs = await asyncio.wait_for(asyncio.gather(*followers), 120)
        return logs, await asyncio.wait_for(asyncio.gather(*watches), 120)

    def make_changes(self, talker):
        self.server.check("exec", talker, "touch", "/tmp/go")
        for i in range(JOBS):  # they wait: more than there is
            self.server.check("run", "-d", "--name", f"job-{i}", "--gpus", "3", IMAGE, "sleep",
                              "1000")
        for i in range(JOBS):
            self.server.check("delete", "job", f"job-{i}")


if __name__ == "__main__":
    e2e.main()
