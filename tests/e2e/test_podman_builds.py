#!/usr/bin/env python3
"""The same Dockerfiles built by both, and archives that other tools saved, as podman has them: the
same output and exit code when they run.

Usage: test_podman_builds.py TESSERA
"""

import json
import shutil
import subprocess
import unittest

import e2e
import podman

# What only a Dockerfile can say: forms for a shell, folders within folders, several stages, steps.
DOCKERFILES = [
    ("ENTRYPOINT show shell form", ["not", "passed on"]),
    ("CMD show shell form", []),
    ("CMD show shell form", ["show", "other"]),
    ("ENTRYPOINT show $0 $HOME\nCMD [\"dropped\"]", []),
    ("SHELL [\"/bin/sh\", \"-ec\"]\nCMD show of another shell", []),
    ("CMD [\"show\", \"dropped\"]\nENTRYPOINT [\"/bin/show\", \"only\"]", []),
    ("WORKDIR /made\nWORKDIR for/it\nCMD [\"/bin/show\"]", []),
    ("WORKDIR /made\nUSER app\nRUN id -u; pwd\n"
     "CMD [\"sh\", \"-c\", \"show; stat -c %u:%g .\"]", []),
    ("USER app:7\nRUN id > /tmp/id\nCMD [\"cat\", \"/tmp/id\"]", []),
    ("USER 4242\nENV HOME=/tmp\nCMD [\"/bin/show\"]", []),
    ("ARG WHO=nobody\nENV WHOM=$WHO\nCMD [\"/bin/show\"]", []),
    ("ENV A=1 B=\"two words\" C=$PATH\nENV D=${A}x E='$A'\nCMD [\"/bin/show\"]", []),
    ("RUN echo new:x:77:78::/home/new:/bin/sh >> /etc/passwd\n"
     "USER new\nWORKDIR /home/new\nCMD [\"/bin/show\"]", []),
    ("COPY --chown=1000:7 --chmod=640 . /kept\n"
     "CMD [\"stat\", \"-c\", \"%n %u:%g %a\", \"/kept/file\"]", []),
    ("RUN chmod 4755 /bin/show && mkdir -m 1777 /sticky\n"
     "CMD [\"stat\", \"-c\", \"%a\", \"/bin/show\", \"/sticky\"]", []),
    ("RUN ln -s show /bin/shown && rm /bin/vi\nENTRYPOINT [\"shown\"]", ["by a link"]),
    ("STOPSIGNAL SIGINT\nLABEL a=b\nEXPOSE 80\nCMD echo labelled", []),
]


def dockerfile(entrypoint=None, cmd=None, user="", workdir="", env=()):
    """What gives an image this configuration."""
    lines = []
    for entry in env:
        name, value = entry.split("=", 1)
        lines.append(f"ENV {name}={json.dumps(value, ensure_ascii=False)}")
    if workdir:
        lines.append(f"WORKDIR {workdir}")
    if user:
        lines.append(f"USER {user}")
    if entrypoint:
        lines.append(f"ENTRYPOINT {json.dumps(entrypoint)}")
    if cmd:
        lines.append(f"CMD {json.dumps(cmd)}")
    return "\n".join(lines)


@unittest.skipUnless(shutil.which("buildah"), "buildah is not installed")
class Builds(podman.Differential):
    def test_built_images(self):
        base = self.add("bare")
        context = self.server.folder / "context"
        context.mkdir()
        (context / "file").write_text("from the context\n")
        cases = [(dockerfile(**config), args) for config, args in podman.image_configs()]
        cases += DOCKERFILES
        self.assertGreaterEqual(len(cases), 40)
        for lines, args in cases:
            with self.subTest(dockerfile=lines, args=args):
                (context / "Dockerfile").write_text(f"FROM {base}\n{lines}\n")
                self.podman.build("built:1", context)
                self.server.check("image", "build", "-q", "-t", "built:1", context)
                self.compare("built:1", *args)


class Archives(podman.Differential):
    def test_archives_of_other_tools(self):
        config = {"entrypoint": ["/bin/show"], "cmd": ["from", "an archive"], "user": "app",
                  "workdir": "/tmp", "env": ["A=1"]}
        docker_save = self.images.archive("saved", **config)
        self.podman.load(docker_save)
        source = f"docker-archive:{docker_save}"
        folder = self.server.folder / "archives"
        folder.mkdir()
        # The tool, what it writes, and whether the archive itself says the image's name.
        cases = [
            (["skopeo", f"docker-archive:{folder}/a:saved:1"], folder / "a", True),
            (["skopeo", f"docker-archive:{folder}/b"], folder / "b", False),
            (["skopeo", f"oci-archive:{folder}/c:saved:1"], folder / "c", True),
            (["skopeo", f"oci-archive:{folder}/d"], folder / "d", False),
            (["skopeo", f"oci:{folder}/e:saved:1"], folder / "e", True),
            (["podman", "docker-archive"], folder / "f", True),
            (["podman", "oci-archive"], folder / "g", True),
            (["podman", "oci-dir"], folder / "h", True),
        ]
        for (tool, form), path, named in cases:
            with self.subTest(tool=tool, form=form):
                if tool == "skopeo":
                    self.images.skopeo(source, form)
                else:
                    self.podman.save(form, path, "saved:1")
                name = [] if named else ["--name", "saved:1"]
                self.server.check("image", "import", *name, path)
                self.compare("saved:1")
                self.compare("saved:1", "other", "words")
                self.server.check("image", "rm", "saved:1")

    def test_an_archive_of_several_images(self):
        names = [self.add(f"many{number}", cmd=["/bin/show", str(number)]) for number in range(3)]
        for name in names:
            self.server.check("image", "rm", name)
        path = self.server.folder / "many.tar"
        self.podman.save("docker-archive", path, *names)
        self.server.check("image", "import", path)
        for name in names:
            self.compare(name)


if __name__ == "__main__":
    e2e.main()
