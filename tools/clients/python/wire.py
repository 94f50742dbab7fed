"""The JSON lines that the client matrix and its clients speak (described in ../README.md)."""

import base64
import hashlib
import json
import sys
import threading

# Above this length only length and checksum are printed.
LARGE_BYTES = 4096

_lock = threading.Lock()


def unbase64(text):
    return None if text is None else base64.b64decode(text)


def read_records(path):
    """The records to produce: (partition, timestamp in ms, key, value, [(header key, header value)])."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            r = json.loads(line)
            headers = [(k, unbase64(v)) for k, v in r["headers"]]
            yield r["partition"], r["timestamp"], unbase64(r["key"]), unbase64(r["value"]), headers


def text(data):
    if data is None:
        return None
    data = bytes(data)
    if len(data) > LARGE_BYTES:
        return "sha256:%d:%s" % (len(data), hashlib.sha256(data).hexdigest())
    return base64.b64encode(data).decode()


def print_line(**line):
    with _lock:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def print_record(topic, partition, offset, timestamp, key, value, headers, member=None):
    line = dict(topic=topic, partition=partition, offset=offset, timestamp=timestamp, key=text(key), value=text(value),
                headers=[[k, text(v)] for k, v in headers or []])
    if member:
        line["member"] = member
    print_line(**line)


class Progress:
    """What the two members of a group have reached together. Safe for several threads."""

    def __init__(self, command):
        self.command = command
        self.lock = threading.Lock()
        self.assigned = {}
        self.ready = False
        self.committed = {}

    def hold(self, member, partitions):
        """Notes how many partitions a member holds now, and announces once that both hold some."""
        with self.lock:
            self.assigned[member] = partitions
            both = self.assigned.get("A", 0) and self.assigned.get("B", 0)
            if not self.ready and both and sum(self.assigned.values()) == self.command["partitions"]:
                self.ready = True
                print_line(event="ready")

    def commit(self, partition, offset):
        """Notes a committed offset."""
        with self.lock:
            print_line(event="committed", partition=partition, offset=offset)
            self.committed[partition] = offset

    def done(self):
        """True when both members worked and every partition is committed up to the wanted offset."""
        with self.lock:
            c = self.command
            return (self.ready and len(self.committed) == c["partitions"]
                    and all(o >= c["until"] for o in self.committed.values()))
