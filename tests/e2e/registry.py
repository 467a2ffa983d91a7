"""A registry of a test's own on a free port of the loopback interface, open to all."""

import re
import shutil
import subprocess

from e2e import await_until


class Registry:
    """Owned by the test; one thread."""

    def __init__(self, folder):
        config = folder / "open-registry.yml"
        config.write_text(
            f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {folder}/open-registry}}}}\n"
            "http: {addr: '127.0.0.1:0'}\n")
        log = folder / "open-registry.log"
        with open(log, "wb") as sink:
            self.process = subprocess.Popen(["docker-registry", "serve", config], stdout=sink,
                                            stderr=sink)
        # It chose the port itself and says which.
        self.address = await_until("the registry to start", lambda: re.search(
            r"listening on (127\.0\.0\.1:\d+)", log.read_text())).group(1)

    def close(self):
        self.process.kill()
        self.process.wait()

    def push(self, source, name):
        """From skopeo's source; the image's reference."""
        subprocess.run(["skopeo", "--insecure-policy", "copy", "--quiet",
                        "--dest-tls-verify=false", source, f"docker://{self.address}/{name}"],
                       check=True)
        return f"{self.address}/{name}"

    @staticmethod
    def missing():
        return "" if shutil.which("docker-registry") else "docker-registry is not installed"
