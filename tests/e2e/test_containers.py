#!/usr/bin/env python3
"""docker's flags and the container features behind them, on real containers.

Usage: test_containers.py TESSERA
"""

import json
import os
import pathlib
import socket
import subprocess
import urllib.request

import e2e
from e2e import IMAGE, await_until

SERVE = ("mkdir -p /tmp/w; echo served by $HOSTNAME > /tmp/w/index.html; "
         "exec httpd -f -p 8080 -h /tmp/w")
# Several of these run beside each other, on whatever machine.
SMALL = ("--cpus", "0.1", "-m", "64m")
FOREVER = "trap 'exit 0' TERM; while :; do sleep 1; done"


def fetch(address, port):
    """What a web server says; None when nobody answers."""
    try:
        with urllib.request.urlopen(f"http://{address}:{port}/", timeout=5) as answer:
            return answer.read().decode()
    except OSError:
        return None


class Flags(e2e.ServerTest):
    def out(self, *words):
        return self.server.check("run", "--rm", "--quiet", *words)

    def test_init_collects_orphans_and_passes_signals_on(self):
        self.assertEqual(self.out("--init", IMAGE, "cat", "/proc/1/comm"), "init\n")
        self.assertEqual(self.server.run("run", "--rm", "--init", IMAGE, "sh", "-c", "exit 7")
                         .returncode, 7)

    def test_d10_a_stop_reaches_the_program_behind_a_shell(self):
        script = "sh -c 'trap \"echo checkpoint; exit 0\" TERM; echo begun; " \
                 "while :; do sleep 1; done'; echo shell goes on"
        # An init ends with its first child, so there the shell has to outlive the signal.
        for name, flags, before in ("d10-all", (), ""), ("d10-init", ("--init",), "trap : TERM; "):
            with self.subTest(name):
                self.server.detached("--name", name, *flags, IMAGE, "sh", "-c", before + script)
                await_until("the program", lambda: "begun" in self.server.check("logs", name))
                self.server.check("stop", name)
                self.server.finished(name)
                self.assertIn("checkpoint", self.server.check("logs", name))
                events = self.server.check("events", name)
                self.assertIn("SIGTERM", events)
                self.assertIn("to its init" if flags else "to every process", events)
                self.assertIn("SIGKILL after 30s", events)
        self.remove_jobs("d10-all", "d10-init")

    def test_users_and_groups(self):
        self.assertEqual(self.out("-u", "1000:7", "--group-add", "44", "--group-add", "app",
                                  IMAGE, "id", "-G"), "7 44 1000\n")
        bad = self.server.run("run", "--rm", "--group-add", "nobodys", IMAGE, "true")
        self.assertEqual(bad.returncode, 125)
        self.assertIn("no group 'nobodys'", bad.stderr)

    def test_names_and_resolver(self):
        script = "hostname; grep db /etc/hosts; cat /etc/resolv.conf"
        out = self.out("-h", "box.lan", "--add-host", "db:10.9.8.7", "--dns", "10.0.0.53",
                       "--dns-search", "lan", "--dns-option", "ndots:2", IMAGE, "sh", "-c", script)
        for line in "box.lan", "10.9.8.7\tdb", "nameserver 10.0.0.53", "search lan", \
                "options ndots:2":
            self.assertIn(line + "\n", out)

    def test_read_only_and_tmpfs(self):
        script = "touch /x 2>&1; touch /run/y && df -k /run | tail -1; mount | grep ' /t '"
        out = self.out("--read-only", "--tmpfs", "/run:size=2m,mode=1777", "--mount",
                       "type=tmpfs,dst=/t,tmpfs-mode=700", IMAGE, "sh", "-c", script)
        self.assertIn("Read-only file system", out)
        self.assertIn("2048", out)
        self.assertIn("mode=700", out)

    def test_limits(self):
        out = self.out("--ulimit", "nofile=123:456", "--ulimit", "core=0", IMAGE, "sh", "-c",
                       "ulimit -Sn; ulimit -Hn; ulimit -c; cat /proc/self/status")
        self.assertEqual(out.split()[:3], ["123", "456", "0"])
        out = self.out("--cpuset-cpus", "0", IMAGE, "grep", "Cpus_allowed_list",
                       "/proc/self/status")
        self.assertEqual(out.split()[1], "0")
        out = self.out("--shm-size", "32m", IMAGE, "sh", "-c", "df -k /dev/shm | tail -1")
        self.assertIn("32768", out)

    def test_capabilities(self):
        def effective(*flags):
            line = self.out(*flags, IMAGE, "grep", "CapEff", "/proc/self/status")
            return int(line.split()[1], 16)
        default = effective()
        self.assertEqual(effective("--cap-drop", "ALL"), 0)
        self.assertEqual(effective("--cap-drop", "CHOWN"), default & ~1)
        self.assertEqual(effective("--cap-add", "IPC_LOCK"), default | 1 << 14)
        self.assertEqual(effective("--cap-drop", "all", "--cap-add", "cap_kill"), 1 << 5)

    def test_platform_pull_and_cidfile(self):
        machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
        self.out("--platform", f"linux/{machine}", IMAGE, "true")
        other = "arm64" if machine == "amd64" else "amd64"
        refused = self.server.run("run", "--rm", "--platform", f"linux/{other}", IMAGE, "true")
        self.assertEqual(refused.returncode, 125)
        self.assertIn(f"images for linux/{other} do not run on this node", refused.stderr)
        refused = self.server.run("run", "--rm", "--pull", "never", "nowhere.example/x", "true")
        self.assertEqual(refused.returncode, 125)
        self.server.check("run", "--name", "named", "--cidfile", "cid", IMAGE, "true")
        self.assertEqual((self.server.folder / "cid").read_text(), "named")
        again = self.server.run("run", "--cidfile", "cid", IMAGE, "true")
        self.assertEqual(again.returncode, 125)
        self.assertIn("exists already", again.stderr)
        self.remove_jobs("named")

    def test_a19_a_full_shm_is_told(self):
        full = self.server.run("run", "--rm", "--shm-size", "8m", IMAGE, "sh", "-c",
                               "dd if=/dev/zero of=/dev/shm/x bs=1M; exit 3")
        self.assertEqual(full.returncode, 3)
        self.assertIn("its /dev/shm of 8Mi was 100 % full", full.stderr)
        bus = self.server.run("run", "--rm", "--init", "--shm-size", "8m", IMAGE, "sh", "-c",
                              "kill -BUS $$")
        self.assertEqual(bus.returncode, 135)
        self.assertIn("a bus error is often a full /dev/shm", bus.stderr)
        plain = self.server.run("run", "--rm", IMAGE, "sh", "-c", "exit 3")
        self.assertNotIn("shm", plain.stderr)


class Policy(e2e.ServerTest):
    """What reaches beyond the container is refused with the reason, or allowed by the project."""

    FLAGS = {
        "--privileged": "be privileged",
        "--network=host": "use the node's network",
        "--pid=host": "see the node's processes",
        "--ipc=host": "share memory with the node",
        "--security-opt=seccomp=unconfined": "filter of system calls",
        "--cap-add=SYS_ADMIN": "the capability SYS_ADMIN",
        "--device=/dev/null": "may not use /dev/null",
    }

    def allow(self, **privileges):
        (self.server.folder / "p.yaml").write_text(json.dumps(
            {"apiVersion": "tessera.dev/v1", "kind": "Project", "metadata": {"name": "default"},
             "spec": {"privileges": privileges}}))
        self.server.check("apply", "-f", "p.yaml")

    def test_a6_i1_i3_refused_with_the_reason(self):
        for flag, reason in self.FLAGS.items():
            with self.subTest(flag):
                done = self.server.run("run", "--rm", flag, IMAGE, "true")
                self.assertEqual(done.returncode, 125)
                self.assertIn(reason, done.stderr)
                self.assertIn("an admin can", done.stderr)

    def test_a6_accelerators_are_never_named(self):
        self.allow(devices=["/dev"])
        self.addCleanup(self.allow)
        done = self.server.run("run", "--rm", "--device", "/dev/nvidia0", IMAGE, "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("accelerators are allocated, not named by path", done.stderr)

    def test_a7_a_node_of_another_device_cannot_be_used(self):
        done = self.server.run("run", "--rm", "--cap-add", "MKNOD", IMAGE, "sh", "-c",
                               "mknod /dev/mine c 195 0 2>&1; mknod /dev/mem2 c 1 1 2>&1; "
                               "cat /dev/mine /dev/mem2 2>&1")
        self.assertEqual(done.stdout.count("Operation not permitted"), 2, done.stdout)

    def test_allowed_by_the_project(self):
        self.allow(hostNetwork=True, hostPid=True, hostIpc=True, privileged=True,
                   unconfined=True, capabilities=["SYS_ADMIN"], devices=["/dev/null"])
        self.addCleanup(self.allow)
        run = lambda *words: self.server.check("run", "--rm", "--quiet", *words)
        own = os.readlink("/proc/self/ns/net")
        self.assertEqual(run("--network", "host", IMAGE, "readlink", "/proc/self/ns/net").strip(),
                         own)
        self.assertNotEqual(run(IMAGE, "readlink", "/proc/self/ns/net").strip(), own)
        self.assertEqual(run("--pid", "host", IMAGE, "readlink", "/proc/self/ns/pid").strip(),
                         os.readlink("/proc/self/ns/pid"))
        self.assertEqual(run("--ipc", "host", IMAGE, "readlink", "/proc/self/ns/ipc").strip(),
                         os.readlink("/proc/self/ns/ipc"))
        mounted = run("--cap-add", "SYS_ADMIN", IMAGE, "sh", "-c",
                      "mkdir /m && mount -t tmpfs x /m && grep ' /m ' /proc/mounts")
        self.assertIn("tmpfs", mounted)
        self.assertIn("mine", run("--device", "/dev/null:/dev/mine:rw", IMAGE, "ls", "/dev"))
        # A6: privileged, and still no node but those that are allocated.
        out = run("--privileged", "--gpus", "1", IMAGE, "sh", "-c",
                  "grep CapEff /proc/self/status; ls /dev | grep -c tessera-sim || true; ls /dev")
        self.assertNotIn("nvidia", out)

    def test_network_none(self):
        out = self.server.check("run", "--rm", "--quiet", "--network", "none", IMAGE, "ls",
                                "/sys/class/net")
        self.assertEqual(out.split(), ["lo"])


class Ports(e2e.ServerTest):
    def serve(self, name, *flags):
        self.server.detached("--name", name, *SMALL, *flags, IMAGE, "sh", "-c", SERVE)
        job = self.server.await_phase(name, "Running")
        return job["status"].get("ports", [])

    def test_f4_a_port_is_bound_to_loopback_unless_an_address_is_given(self):
        ports = self.serve("loop", "-p", "8888:8080")
        self.assertEqual(ports, [{"port": 8080, "hostPort": 8888, "hostAddress": "127.0.0.1"}])
        answer = await_until("the server", lambda: fetch("127.0.0.1", 8888))
        self.assertEqual(answer, "served by loop-0\n")
        self.assertIn("127.0.0.1:8888->8080/tcp", self.server.check("ps"))
        # Another address of the node, as others would use it, does not lead there.
        elsewhere = "198.51.100.1"
        subprocess.run(["ip", "address", "add", f"{elsewhere}/32", "dev", "lo"], check=True)
        self.addCleanup(subprocess.run, ["ip", "address", "del", f"{elsewhere}/32", "dev", "lo"])
        self.assertIsNone(fetch(elsewhere, 8888))

        ports = self.serve("open", "-p", "0.0.0.0:8889:8080", "-p", "8080")
        await_until("the server", lambda: fetch(elsewhere, 8889))
        self.assertIn("0.0.0.0:8889->8080/tcp (open)", self.server.check("ps"))
        chosen = ports[1]["hostPort"]
        self.assertEqual(fetch("127.0.0.1", chosen), "served by open-0\n")
        # From another container on the project's network, by the node's address.
        inside = self.server.check("run", "--rm", "--quiet", *SMALL, IMAGE, "wget",
                                   "-qO-", f"http://{elsewhere}:8889/")
        self.assertEqual(inside, "served by open-0\n")

        taken = self.server.run("run", "--rm", *SMALL, "-p", "8888:1", IMAGE, "true")
        self.assertEqual(taken.returncode, 125)
        self.assertIn("port 127.0.0.1:8888 of the node is in use", taken.stderr)

        # They outlive the server.
        self.server.kill()
        self.assertEqual(fetch("127.0.0.1", 8888), "served by loop-0\n")
        self.server.start()
        self.assertEqual(fetch("127.0.0.1", 8888), "served by loop-0\n")
        taken = self.server.run("run", "--rm", *SMALL, "-p", "8888:1", IMAGE, "true")
        self.assertIn("in use", taken.stderr)

        self.server.check("stop", "-t", "0", "loop", "open")
        for name in "loop", "open":
            self.server.finished(name)
        await_until("the port to be free", lambda: fetch("127.0.0.1", 8888) is None)
        with socket.socket() as one:
            one.bind(("127.0.0.1", 8888))
        self.remove_jobs("loop", "open")

    def test_i1_projects_do_not_reach_each_other(self):
        (self.server.folder / "p.yaml").write_text(
            "apiVersion: tessera.dev/v1\nkind: Project\nmetadata: {name: other}\n")
        self.server.check("apply", "-f", "p.yaml")
        self.serve("private")
        address = self.server.check("exec", "private", "hostname", "-i").strip()
        near = ("run", "--rm", "--quiet", *SMALL, IMAGE, "sh", "-c",
                f"timeout 5 wget -qO- http://{address}:8080/; exit $?")
        await_until("the server", lambda: self.server.run(*near).returncode == 0)
        far = self.server.run("run", "--project", "other", *near[1:])
        self.assertNotEqual(far.returncode, 0)
        self.server.check("stop", "-t", "0", "private")
        self.server.finished("private")
        self.remove_jobs("private")


class Health(e2e.ServerTest):
    def health(self, name):
        return self.server.job(name)["status"].get("health")

    def test_checks_say_how_it_is(self):
        self.server.detached("--name", "well", "--health-cmd", "echo looked; test -e /tmp/ok",
                             "--health-interval", "300ms", "--health-retries", "2", IMAGE, "sh",
                             "-c", FOREVER)
        await_until("starting", lambda: self.health("well") in ("Starting", "Unhealthy"))
        await_until("unhealthy", lambda: self.health("well") == "Unhealthy")
        self.assertIn("(unhealthy)", self.server.check("ps"))
        self.server.check("exec", "well", "touch", "/tmp/ok")
        await_until("healthy", lambda: self.health("well") == "Healthy")
        events = self.server.check("events", "well")
        self.assertIn("its health check fails: looked", events)
        self.assertIn("its health check succeeds: looked", events)
        # A new server goes on checking.
        self.server.kill()
        self.server.start()
        self.assertEqual(self.health("well"), "Healthy")
        self.server.check("exec", "well", "rm", "/tmp/ok")
        await_until("unhealthy again", lambda: self.health("well") == "Unhealthy")
        self.server.check("stop", "-t", "1", "well")
        self.server.finished("well")
        self.assertIsNone(self.health("well"))
        self.remove_jobs("well")

    def test_a_check_that_hangs_has_failed(self):
        self.server.detached("--name", "slow", "--health-cmd", "sleep 600", "--health-interval",
                             "100ms", "--health-timeout", "300ms", "--health-retries", "1", IMAGE,
                             "sh", "-c", FOREVER)
        await_until("unhealthy", lambda: self.health("slow") == "Unhealthy")
        self.assertIn("it took longer than 300ms", self.server.check("events", "slow"))
        self.server.check("stop", "-t", "1", "slow")
        self.server.finished("slow")
        self.remove_jobs("slow")


class Restarts(e2e.ServerTest):
    def attempts(self, name):
        return self.server.job(name)["status"].get("attempts", 0)

    def test_on_failure_counts(self):
        self.server.detached("--name", "thrice", "--restart", "on-failure:2", IMAGE, "false")
        job = self.server.finished("thrice")
        self.assertEqual((job["status"]["attempts"], job["status"]["exitCode"]), (3, 1))
        self.server.detached("--name", "once", "--restart", "on-failure", IMAGE, "true")
        self.assertEqual(self.server.finished("once")["status"]["attempts"], 1)
        self.remove_jobs("thrice", "once")

    def test_always_until_stopped_and_across_a_kill_of_everything(self):
        self.server.detached("--name", "ever", "--restart", "always", IMAGE, "sh", "-c", "exit 0")
        await_until("a third attempt", lambda: self.attempts("ever") >= 3)
        self.server.check("stop", "ever")
        self.assertEqual(self.server.finished("ever")["status"]["phase"], "Cancelled")
        self.server.detached("--name", "boot", "--restart", "unless-stopped", IMAGE, "sh", "-c",
                             FOREVER)
        self.server.await_phase("boot", "Running")
        # A reboot: the server, containerd, its shims and containers are gone.
        self.server.kill_all("boot")
        self.server.start()
        await_until("another attempt", lambda: self.attempts("boot") >= 2 and
                    self.server.phase("boot") == "Running")
        self.server.check("stop", "-t", "0", "boot")
        self.server.finished("boot")
        self.remove_jobs("ever", "boot")

    def test_what_cannot_start_is_not_tried_for_ever(self):
        self.server.detached("--name", "absent", "--restart", "always", IMAGE, "/no/such")
        self.assertEqual(self.server.finished("absent")["status"]["phase"], "Failed")
        self.remove_jobs("absent")


class Secrets(e2e.ServerTest):
    def test_files_in_memory_owned_by_the_user(self):
        value = "s3cret-in-memory-only"
        (self.server.folder / "s.yaml").write_text(
            "apiVersion: tessera.dev/v1\nkind: Secret\nmetadata: {name: hub}\n"
            f"data: {{token: {value}}}\n")
        self.server.check("apply", "-f", "s.yaml")
        self.server.detached("--name", "reader", "-u", "1000", "--secret",
                             "hub:token:/run/secrets/token", IMAGE, "sh", "-c",
                             f"cat /run/secrets/token; stat -c ' %u %a' /run/secrets/token; "
                             f"grep /run/secrets /proc/mounts; {FOREVER}")
        out = await_until("its output", lambda: "tmpfs" in self.server.check("logs", "reader") and
                          self.server.check("logs", "reader"))
        self.assertIn(f"{value} 1000 400\n", out)
        # Nowhere below the data folder but in the server's own store, and on no command line.
        found = subprocess.run(["grep", "-rl", "--exclude-dir=logs", value, self.server.data],
                               stdout=subprocess.PIPE, text=True).stdout.split()
        self.assertEqual([path for path in found if "/containerd/" in path or "/engine/" in path],
                         [])
        for cmdline in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                self.assertNotIn(value.encode(), cmdline.read_bytes())
            except OSError:
                pass
        self.server.check("stop", "-t", "0", "reader")
        self.server.finished("reader")
        self.remove_jobs("reader")


class Mounts(e2e.ServerTest):
    def test_no_file_of_root_is_left_on_mounts(self):
        data = self.server.folder / "data"
        data.mkdir(mode=0o777)
        data.chmod(0o777)
        (self.server.folder / "p.yaml").write_text(
            "apiVersion: tessera.dev/v1\nkind: Project\nmetadata: {name: default}\n"
            f"spec: {{hostPaths: [{data}]}}\n")
        self.server.check("apply", "-f", "p.yaml")
        self.server.check("run", "--rm", "-u", "1234:1234", "-v", f"{data}:/data", IMAGE, "touch",
                          "/data/mine")
        self.assertEqual((data / "mine").stat().st_uid, 1234)


if __name__ == "__main__":
    e2e.main()
