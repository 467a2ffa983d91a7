#!/usr/bin/env python3
"""The same flags and images under podman: the same output and exit code.

Usage: test_podman.py TESSERA
"""

import e2e
import podman


class Runs(podman.Differential):
    def test_images(self):
        configs = podman.image_configs()
        self.assertGreaterEqual(len(configs), 40)
        for number, (config, args) in enumerate(configs):
            with self.subTest(config=config, args=args):
                self.compare(self.add(f"config{number}", **config), *args)

    def test_where_podman_is_not_docker(self):
        """podman makes no folder that is missing, and has 126 for a user that is missing."""
        done = self.server.run("run", "--rm", "--quiet", "-w", "/made/for/it", "plain:1", "pwd")
        self.assertEqual((done.returncode, done.stdout), (0, "/made/for/it\n"))
        for user in "nobody-knows", "app:no-such-group":
            done = self.server.run("run", "--rm", "--quiet", "-u", user, "plain:1")
            self.assertEqual((done.returncode, done.stdout), (125, ""))

    def test_command_lines(self):
        (self.server.folder / "env.list").write_text("# a comment\nFROM_FILE=1\nEMPTY=\n")
        show, shell = ("plain:1", "show"), ("plain:1", "sh", "-c")
        lines = [
            [*show],
            ["-e", "A=1", "-e", "B=two words", *show],
            ["-e", "A=1", "-e", "A=2", *show],
            ["-e", "ABSENT_HERE", *show],
            ["--env-file", self.server.folder / "env.list", "-e", "FROM_FILE=2", *show],
            ["-w", "/tmp", *show],
            ["-u", "1000", *show],
            ["-u", "app", *show],
            ["-u", "1000:7", *show],
            ["-u", "0:0", "--group-add", "44", "--group-add", "45", *show],
            ["--entrypoint", "/bin/echo", "plain:1", "a", "b c"],
            ["--entrypoint", "", *show],
            ["--hostname", "box", *shell, "hostname"],
            ["--add-host", "db:10.1.2.3", *shell, "grep db /etc/hosts | tr '\\t' ' '"],
            ["--read-only", *shell, "touch /x 2>/dev/null; echo $?; touch /dev/shm/x; echo $?"],
            ["--tmpfs", "/scratch", *shell, "stat -f -c %T /scratch; touch /scratch/x; echo $?"],
            ["--tmpfs", "/scratch:size=1m,mode=700", *shell,
             "df -k /scratch | tail -1 | awk '{print $2}'; stat -c %a /scratch"],
            ["--mount", "type=tmpfs,destination=/t", *shell, "stat -f -c %T /t"],
            ["--shm-size", "32m", *shell, "df -k /dev/shm | tail -1 | awk '{print $2}'"],
            ["--ulimit", "core=0:0", *shell, "ulimit -c"],
            ["--cap-drop", "ALL", *shell, "grep CapEff /proc/self/status"],
            ["--cap-drop", "ALL", "--cap-add", "CHOWN", *shell, "grep CapEff /proc/self/status"],
            ["--cap-drop", "ALL", *shell, "chown app /tmp 2>/dev/null; echo $?"],
            ["--security-opt", "no-new-privileges", *shell, "grep NoNewPrivs /proc/self/status"],
            ["-i", *shell, "cat"],
            ["--stop-signal", "SIGINT", *shell, "exit 6"],
            ["-l", "a=b", "--name", "named", *shell, "exit 7"],
            ["--pids-limit", "50", *shell, "echo limited"],
            [*shell, "kill -USR1 $$; sleep 1"],
            ["--pull", "never", *show],
            ["--pull", "never", "no-such-image:1"],
            ["plain:1", "/no/such/program"],
            ["plain:1", "/etc/passwd"],
            [*shell, "exit 42"],
            [*shell, "kill -9 $$"],
            [*shell, "kill -TERM $$; sleep 1"],
            [*shell, "echo out; exit 1"],
            [*shell, "echo out; echo err >&2; echo more; exit 3"],
            [*shell, "printf 'no newline' >&2"],
            [*shell, "for i in 1 2 3; do echo out $i; echo err $i >&2; done"],
            ["plain:1"],
            ["--no-such-flag", "plain:1"],
            ["-e", "=x", "plain:1"],
            ["--ipc", "private", *show],
        ]
        self.assertGreaterEqual(len(lines), 30)
        for line in lines:
            with self.subTest(line=line):
                self.compare(*line, input="typed\n" if "-i" in line else None)


if __name__ == "__main__":
    e2e.main()
