#!/usr/bin/env python3
"""The core is pure: what its archive asks the linker for is on a list without clocks and files.

Usage: test_core.py LIBCORE
"""

import re
import subprocess
import sys
import unittest

ARCHIVE = ""

# What a pure function needs: our own value types, memory, trees, strings, exceptions.
ALLOWED = [re.compile(pattern) for pattern in [
    r"(?!std::chrono|std::thread).*\btessera::(api|core|sched|schema)::",
    r"tessera::Value\b",
    # base/text.h, base/units.h, base/rng.h, CHECK
    r"tessera::(quoted|plural|nearest|lower|join|split|trim|contains_ignoring_case|cat|to_int)\b",
    r"tessera::(format|parse)_(milli|memory|instant|duration)\b",
    r"tessera::(Rng::|check_failed)",
    r"operator (new|delete)(\[\])?\(",
    r"(memcmp|memcpy|memmove|memset|strlen|strcmp|memchr)$",
    r"__libc_single_threaded$",  # how std::shared_ptr counts
    r"std::(_Rb_tree_|allocator<|__throw_|__detail::)|std::nothrow$",
    r"std::(__cxx11::)?basic_string<|std::(bad_alloc|logic_error|exception|length_error)",
    r"(typeinfo|vtable) for (std::|__cxxabiv1::)",
    r"__cxa_|__gxx_personality_v0$|_Unwind_Resume$|__dso_handle$|_GLOBAL_OFFSET_TABLE_$",
    r"__stack_chk_fail$|std::terminate\(\)$",
]]


def undefined_symbols(archive):
    text = subprocess.run(["nm", "-uC", archive], check=True, stdout=subprocess.PIPE, text=True)
    for line in text.stdout.splitlines():
        if match := re.match(r"\s+[Uwv] (.*)", line):
            yield match.group(1)


def breaches(symbols):
    return sorted({s for s in symbols if not any(rule.match(s) for rule in ALLOWED)})


class Core(unittest.TestCase):
    def test_asks_for_nothing_impure(self):
        symbols = list(undefined_symbols(ARCHIVE))
        self.assertTrue(symbols, f"{ARCHIVE} has no symbols")
        found = breaches(symbols)
        self.assertEqual(found, [], "the core uses these; take the value as an argument instead, "
                                    "or, if they are pure, add them to ALLOWED here")

    def test_the_list_refuses_what_is_impure(self):
        impure = ["std::chrono::_V2::system_clock::now()", "clock_gettime", "open", "write",
                  "pthread_create", "std::thread::_M_start_thread()", "tessera::wall_now()",
                  "tessera::read_file(std::string const&)", "std::random_device::_M_getval()",
                  "getenv", "std::cout", "tessera::log::info(std::string_view)"]
        self.assertEqual(breaches(impure), sorted(impure))


if __name__ == "__main__":
    ARCHIVE = sys.argv.pop(1)
    sys.exit(unittest.main())
