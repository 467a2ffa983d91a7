"""The rules of CONTRIBUTING.md that a program can check.

A check takes the path of a file (from the root of the repository) and its text and yields one
sentence for each breach, "LINE: what, and what to do". CHECKS lists them all; test_tidy.py runs
them and shows of each that it can fail.
"""

import re

# Which folder of src/ may include which, besides itself. The longest name that fits counts. Only
# downwards, and never a sibling.
LAYERS = {
    "base": "",
    "api": "base",
    "core": "api base",
    "wire": "api base",
    "net": "base",
    "archive": "base",
    "accel": "wire api base",
    "accel/nvidia": "accel wire api base",
    "accel/sim": "accel wire api base",
    "accel/providers": "accel/nvidia accel/sim accel api base",
    "engine": "api base",
    "engine/local/containerd": "base",
    "engine/local/images": "engine/local/containerd wire api base",
    "engine/local/log": "base",
    "engine/local": "engine/local/images engine/local/containerd engine/local/log engine accel "
                    "archive wire api base",
    "engine/sim": "engine api base",
    "store": "base",
    "monitor": "accel wire api base",
    "client": "net wire api base",
    "simulate": "core wire api base",
    "server": "core accel engine net store wire api base",
    "cli": "simulate client core archive wire api base",
    "apps": "server cli client monitor accel/providers accel/nvidia engine/local engine/sim wire "
            "api base",
}

# Headers of others, and the only files that may include them.
THIRD_PARTY = {
    "boost/": ("src/net/loop.cc", "src/net/http1.cc", "src/net/websocket_session.cc",
               "src/net/tls_context.", "src/net/tls_tunnel.cc"),
    "rapidjson/": ("src/wire/json.cc",),
    "yaml-cpp/": ("src/wire/yaml.cc",),
    "archive.h": ("src/archive/archive.cc",),
    "archive_entry.h": ("src/archive/archive.cc",),
    "sqlite3.h": ("src/store/sqlite.cc", "src/store/sqlite_store.cc"),
    "grpc": ("src/engine/local/containerd/",),
    "google/": ("src/engine/local/containerd/",),
    "containerd/": ("src/engine/local/containerd/",),
    "openssl/": ("src/base/crypto.cc", "src/net/certificate.cc", "src/net/tls_tunnel.cc"),
    "spdlog/": ("src/base/log.cc",),
    "fmt/": (),
    "gtest/": (),  # and tests
    "gmock/": (),
}
SYSTEM_FOLDERS = {"sys", "linux", "net", "netinet", "arpa", "asm"}

MAX_LINE = 100
MAX_FUNCTION = 70
MAX_FILE = 500
MAX_TEST_FILE = 1000

# What is not written, where it may be all the same, and what to write instead. Words are put
# together here so that this file does not break its own rules.
BANNED = [
    (r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b", (), "finish it, or describe the limit as it is"),
    (r"\b(sleep_for|sleep_until|usleep|nanosleep)\s*\(",
     ("src/accel/sim/provider.cc",   # a simulated slow driver is meant to be slow
      "tests/fake_nvml/script.cc",   # so is its double
      "src/engine/local/container_tests/faults_test.cc"),  # kills at different moments of a start
     "wait for the event: poll() a descriptor, or a condition variable"),
    (r"\bsystem_clock\b",
     ("src/base/clock.cc",
      "src/engine/local/containerd/",  # gRPC takes its deadlines in this clock
      "src/engine/local/log/log_files.cc",  # nanoseconds of a line
      "src/engine/local/log/log_writer.cc"),
     "use wall_now() of base/clock.h, or take `now` as an argument"),
    (r"\b(std::|::)?rand\s*\(\s*\)|\bsrand\s*\(", (), "use Rng of base/rng.h"),
    (r"\bstd::(cout|cerr|endl)\b", (), "use base/log.h, or the Console of the command line"),
    (r"\bstd::regex\b", (), "use base/text.h: std::regex is slow to compile and to run"),
    (r"\busing namespace std\s*;", (), "name what is used"),
    (r"\b(strcpy|strcat|sprintf|gets)\s*\(",
     ("src/engine/local/netns.cc",),  # "lo" into an interface request
     "use std::string and cat() of base/text.h"),
    (r"\bsystem\s*\(\s*\"", (), "use run_program of base/process.h: no shell"),
    (r"\bvolatile\b", (), "use std::atomic"),
]
# Floats and clocks, hash-ordered containers and threads stay out of the core.
BANNED_IN_CORE = [
    (r"\b(float|double)\b", "count in integers: milli-GPU, MiB, milli-CPU"),
    (r"\bunordered_(map|set)\b", "use std::map or a sorted vector: order must not hang on a hash"),
    (r"\b(steady_clock|wall_now|monotonic_ns)\b", "take `now` as an argument"),
    (r"\bstd::(thread|mutex|atomic|async|random_device)\b", "the core is pure: no threads"),
]

# Hosts that a text may name: standards, projects, and names that are reserved for examples.
HOSTS = {
    "www.apache.org", "github.com", "kubernetes.io", "opencontainers.org", "json-schema.org",
    "spec.openapis.org", "www.w3.org", "docs.docker.com", "keepachangelog.com", "semver.org",
    "localhost", "127.0.0.1", "unix", "docker.io", "index.docker.io",
    "no-color.org", "example.org", "example.com",
}
HOST_SUFFIXES = (".example", ".example.com", ".example.org", ".test", ".invalid")


def is_cpp(path):
    return path.endswith((".cc", ".h"))


def is_test(path):
    """Tests, and what only they use."""
    name = path.rsplit("/", 1)[-1]
    return (not path.startswith("src/") or name.endswith("_test.cc") or name == "test_server.h"
            or "/testing/" in path or "/container_tests/" in path or "conformance" in name)


def without_comments(text):
    """The text with comments and the insides of string literals blanked, line by line the same."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)

    def blank(match):
        kept = "\n" * match.group().count("\n")
        return '""' + kept if match.group().startswith('"') else kept

    return pattern.sub(blank, text)


def layer_of(folder):
    names = [name for name in LAYERS if folder == name or folder.startswith(name + "/")]
    return max(names, key=len, default=None)


def check_layers(path, text):
    if not path.startswith("src/") or not is_cpp(path) or is_test(path):
        return
    own = layer_of(path[len("src/"):].rsplit("/", 1)[0])
    if own is None:
        yield f"1: the folder has no place among the layers; give it one in {__name__}.LAYERS"
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'#include "([^"]+)/[^"/]+"', line)
        if not match or match.group(1).startswith("containerd/"):  # generated from its protos
            continue
        other = layer_of(match.group(1))
        if other != own and other not in LAYERS[own].split():
            yield (f"{number}: {own} may not include {match.group(1)}; it may include "
                   f"{LAYERS[own] or 'nothing'}")


def check_third_party(path, text):
    if not path.startswith("src/") or not is_cpp(path):
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'#include [<"]([^>"]+)[>"]', line)
        if not match:
            continue
        header = match.group(1)
        rule = next((prefix for prefix in THIRD_PARTY if header.startswith(prefix)), None)
        if rule is None:
            folder = header.split("/")[0] if "/" in header else ""
            if line.startswith("#include <") and folder and folder not in SYSTEM_FOLDERS:
                yield f"{number}: <{header}> is of no library that Tessera uses (ARCHITECTURE.md)"
            continue
        if is_test(path) and rule in ("gtest/", "sqlite3.h", "openssl/"):
            continue
        if not path.startswith(THIRD_PARTY[rule] or "-"):
            where = ", ".join(THIRD_PARTY[rule]) or "tests"
            yield f"{number}: <{header}> may be included by {where} alone"


def functions(lines):
    """First and last line of each function at namespace or class level, from 0. A function that is
    one table is data, not code, and left out."""
    statement = re.compile(r"\s*(if|for|while|switch|else|do|return|namespace|class|struct|enum)\b")
    for number, line in enumerate(lines):
        if not re.search(r"\).*\{$", line):
            continue
        first = number  # of the signature, which may take several lines
        while first > 0 and lines[first].startswith("    ") and (
                lines[first - 1].rstrip()[-1:] not in ("", ";", "{", "}", ":")):
            first -= 1
        indent = len(lines[first]) - len(lines[first].lstrip(" "))
        body = "".join(lines[number + 1:number + 2])
        # A described struct's fields() is a table as well.
        is_table = re.match(r" *((static )?const \w.* = \{|return std::tuple\()$", body)
        if indent > 2 or statement.match(lines[first]) or is_table:
            continue
        close = " " * indent + "}"
        for last in range(number + 1, len(lines)):
            if lines[last].startswith(close):
                yield first, last
                break


def check_function_length(path, text):
    if not is_cpp(path):
        return
    for first, last in functions(without_comments(text).splitlines()):
        if last - first + 1 > MAX_FUNCTION:
            yield (f"{first + 1}: this function has {last - first + 1} lines; at most "
                   f"{MAX_FUNCTION}: take a part out that has a name")


def check_file_length(path, text):
    limit = MAX_TEST_FILE if is_test(path) else MAX_FILE
    count = text.count("\n")
    if path.endswith((".cc", ".h", ".py")) and count > limit:
        yield f"{limit}: the file has {count} lines; at most {limit}: split it by subject"


def check_line_length(path, text):
    if not path.endswith((".cc", ".h", ".py", ".cmake", "CMakeLists.txt")) and (
            not text.startswith("#!")):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_LINE:
            yield f"{number}: {len(line)} characters; at most {MAX_LINE}"


def check_banned(path, text):
    if not is_cpp(path) and not path.endswith(".py"):
        return
    code = without_comments(text) if is_cpp(path) else text
    for pattern, allowed, instead in BANNED:
        # Words of postponement are looked for in comments, calls in code.
        where = text if pattern is BANNED[0][0] else code
        if not is_cpp(path) and pattern is not BANNED[0][0]:
            continue
        if allowed and path.startswith(allowed):
            continue
        for number, line in enumerate(where.splitlines(), 1):
            if match := re.search(pattern, line):
                yield f"{number}: {match.group().strip()} is not used here: {instead}"


def check_core(path, text):
    if not path.startswith("src/core/") or is_test(path):
        return
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        for pattern, instead in BANNED_IN_CORE:
            if match := re.search(pattern, line):
                yield f"{number}: {match.group()} has no place in the core: {instead}"


def check_header_guard(path, text):
    if path.endswith(".h") and not text.startswith("#pragma once\n"):
        yield "1: a header begins with #pragma once"


def check_places(path, text, root=""):
    """No folder of one machine, no host that is not everyone's."""
    for number, line in enumerate(text.splitlines(), 1):
        if root and root in line:
            yield f"{number}: names the folder of this checkout; write paths from its root"
        for host in re.findall(r"https?://([A-Za-z0-9.-]+)", line):
            if host not in HOSTS and not host.endswith(HOST_SUFFIXES) and "." in host:
                yield f"{number}: the host {host} is not on the list {__name__}.HOSTS"


CHECKS = [check_layers, check_third_party, check_function_length, check_file_length,
          check_line_length, check_banned, check_core, check_header_guard, check_places]
