"""The server's API over its Unix socket, as a client in another language would use it."""

import http.client
import json
import socket


class Connection(http.client.HTTPConnection):
    """To the server's Unix socket; reused for the next request, and opened anew when it broke."""

    def __init__(self, path, timeout=30):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def send_json(self, method, path, body=None, headers=None):
        """Sends a request; its answer, whose body is still to be read."""
        headers = dict(headers or {})
        if body is not None:
            headers["Content-Type"] = "application/json"
        self.request(method, path, None if body is None else json.dumps(body), headers)
        return self.getresponse()
