"""Finds the examples in the documentation.

A fenced block marked sh is run; one marked yaml is a manifest, or a file that the text after it
names ("Save it as `train.yaml`"), or a file of simulated accelerators. A block under the comment
<!-- test: skip because REASON --> is left out.
"""

import dataclasses
import re

SKIP = re.compile(r"<!-- test: skip because (.+?) -->")
FENCE = re.compile(r"```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SAVED = re.compile(r"\s*Save it as `([\w.-]+)`")


@dataclasses.dataclass
class Example:
    line: int
    language: str
    text: str
    saved_as: str = ""
    skipped: str = ""  # the reason


def examples_in(text):
    out = []
    for match in FENCE.finditer(text):
        before = text[:match.start()].rstrip("\n").rsplit("\n", 1)[-1]
        skip = SKIP.fullmatch(before.strip())
        saved = SAVED.match(text[match.end():])
        out.append(Example(line=text.count("\n", 0, match.start()) + 1, language=match.group(1),
                           text=match.group(2), saved_as=saved.group(1) if saved else "",
                           skipped=skip.group(1) if skip else ""))
    return out


def broken_links(text, exists):
    """Relative links that lead nowhere; `exists` says of a path whether there is a file."""
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    return [target for target in targets
            if not re.match(r"[a-z]+:", target) and not exists(target)]
