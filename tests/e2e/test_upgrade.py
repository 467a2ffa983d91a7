"""Stores of earlier versions: brought to this one's form with a copy beside them, and what ran
goes on. Stores of later ones: refused."""

import contextlib
import sqlite3
import unittest

import e2e
from e2e import IMAGE, Server

# What the store of each earlier schema had; there is nothing else in one of that time.
TABLES = {
    1: {"documents", "outbox", "events", "idempotency", "counters"},
    2: {"documents", "outbox", "events", "idempotency", "counters", "audit"},
}


class Upgrade(unittest.TestCase):
    def test_an_older_store(self):
        for schema, tables in TABLES.items():
            with self.subTest(schema=schema), Server(e2e.program(), sim=e2e.SIMULATED) as server:
                server.detached("--name", "train", "--gpus", "1", IMAGE, "sleep", "1000")
                before = server.await_phase("train", "Running")["status"]
                server.kill()
                self.make_older(server, schema, tables)
                server.start()
                after = server.await_phase("train", "Running")["status"]
                self.assertEqual((after["startTime"], after["attempts"]),
                                 (before["startTime"], before["attempts"]))
                copy = server.data / f"tessera.db.schema-{schema}"
                with contextlib.closing(sqlite3.connect(copy)) as kept:
                    self.assertEqual(kept.execute("PRAGMA user_version").fetchone(), (schema,))
                self.assertEqual(copy.stat().st_mode & 0o777, 0o600)
                server.check("stop", "-t", "0", "train")
                server.finished("train")
                self.assertIn("root", server.check("usage"))

    def make_older(self, server, schema, tables):
        with contextlib.closing(sqlite3.connect(server.data / "tessera.db")) as store:
            found = store.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (name,) in found:
                if name not in tables:
                    store.execute(f"DROP TABLE {name}")
            store.execute(f"PRAGMA user_version = {schema}")
            store.commit()

    def test_a_newer_store_is_refused_and_left_alone(self):
        with Server(e2e.program(), engine="sim") as server:
            server.kill()
            with contextlib.closing(sqlite3.connect(server.data / "tessera.db")) as store:
                [known] = store.execute("PRAGMA user_version").fetchone()
                store.execute("PRAGMA user_version = 999")
            server.spawn()
            self.assertNotEqual(server.process.wait(e2e.tessera_server.DEADLINE_S), 0)
            said = server.log().splitlines()[-1]
            self.assertIn(f"has schema version 999, newer than this program, which knows versions "
                          f"up to {known}", said)
            self.assertIn("start the newer program again, or restore a backup", said)


if __name__ == "__main__":
    e2e.main()
