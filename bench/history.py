#!/usr/bin/env python3
"""Seconds from the start of a server whose store holds 100,000 finished jobs to its first answer.

The store gets copies of the rows of one job that has run and ended, with names, uids and times of
their own. Beside it, in turns: SQLite alone reads the same rows. Tells the bytes of disk that a job
takes, too.
"""

import pathlib
import random
import re
import shutil
import sqlite3
import statistics
import sys
import time
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))

import bench

JOBS = 100_000
ROUNDS = 5
GOAL_S = 2.0
GOAL_BYTES = 1024


def dictionary():
    """The preset dictionary of packed bodies (src/server/packed.cc)."""
    source = (bench.ROOT / "src/server/packed.cc").read_text()
    text = source[source.index("kDictionary ="):source.index(";\n\nconstexpr int kRawWindow")]
    return "".join(part.split(')"')[0] for part in text.split('R"(')[1:]).encode()


def unpack(body, words):
    stream = zlib.decompressobj(-15, words)
    return (stream.decompress(body[1:]) + stream.flush()).decode()


def pack(text, words):
    stream = zlib.compressobj(6, zlib.DEFLATED, -15, 8, 0, words)
    return b"\1" + stream.compress(text.encode()) + stream.flush()


def multiply(path):
    """Copies the one job of the store; gives the bytes that each copy takes."""
    words, rng = dictionary(), random.Random(1)
    before = path.stat().st_size
    with sqlite3.connect(path) as store:
        rows = {kind: (key, version, unpack(bytes(body), words)) for kind, key, version, body in
                store.execute("SELECT kind, key, version, CAST(body AS BLOB) FROM documents "
                              "WHERE kind IN ('Job', 'Task')")}
        uid = rows["Task"][0].rsplit("-", 1)[0]
        for i in range(JOBS):
            new_uid, name = f"{rng.getrandbits(64):016x}", f"train-{i:06d}"
            at = f"2026-01-{rng.randrange(1, 32):02d}T{rng.randrange(24):02d}"
            for kind, (key, version, text) in rows.items():
                text = text.replace(uid, new_uid).replace('"train"', f'"{name}"')
                text = re.sub(r'Time":"[^:]*:', f'Time":"{at}:', text)
                key = key.replace(uid, new_uid).replace("/train", f"/{name}")
                store.execute("INSERT INTO documents VALUES (?, ?, ?, ?)",
                              (kind, key, version, pack(text, words)))
    store.close()
    return (path.stat().st_size - before) / JOBS


def read_seconds(path):
    begin = time.monotonic()
    store = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    store.text_factory = bytes
    store.execute("SELECT kind, key, version, body FROM documents ORDER BY kind, key").fetchall()
    store.close()
    return time.monotonic() - begin


def main():
    program = bench.build_folder() / "src/apps/tessera"
    with bench.Server(program, sim="1x Tessera-Sim-16G", engine="sim") as server:
        server.check("run", "--name", "train", "--gpus", "1", "-e", "LR=0.1", "busybox", "true")
        server.kill()
        path = next(server.data.glob("*.db"))
        each = multiply(path)
        copy = shutil.copy(path, server.folder / "copy.db")
        ready, floor = [], []
        for _ in range(ROUNDS):
            begin = time.monotonic()
            server.start()
            ready.append(time.monotonic() - begin)
            server.kill()
            floor.append(read_seconds(copy))
        bench.table("seconds", {f"ready with {JOBS:,} finished jobs": ready,
                                "SQLite reads the same rows": floor})
    print(f"bytes of disk for each finished job: {each:.0f} (goal: <= {GOAL_BYTES})")
    value = statistics.median(ready)
    bench.finish("history", value, "s", f"<= {GOAL_S}", statistics.median(floor),
                 value <= GOAL_S and each <= GOAL_BYTES)


if __name__ == "__main__":
    main()
