"""How long masking takes: megabytes as they come from tools, and texts made to hurt. Exits 1 when one of the former takes too long."""

import json
import sys
import time
from collections.abc import Callable, Mapping

from machine import interpreter_start_ms

from tarsy.tools.masking import Masker
from tarsy.tools.masking.tags import session_tag

MEGABYTE = 1024 * 1024
# What a megabyte from a tool may take, in starts of an interpreter, so that machines of any speed have the same limit: about twice what it takes.
LIMIT_STARTS = 30

# What a model says at a time, in characters.
TOKEN = 4


def prose() -> str:
    sentence = "The pod payments-7d9f8b6c5-x2x4z was evicted because the disk of its node ran full; its token is still valid. "
    return (sentence * 4 + "\n\n") * 120


def logs() -> str:
    line = (
        "2026-03-01T12:00:{:02d}.123Z INFO  pod/payments-7d9f8b6c5-x2x4z request_id=7c9e6679-7425-40de-944b-e07fc1f90ae7 "
        'method=GET path=/api/v1/orders/{} status=200 duration=12ms user_agent="Mozilla/5.0 (X11; Linux x86_64)" '
        "image=registry.example.com/payments@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n"
    )
    text = "".join(line.format(n % 60, n) for n in range(4000))
    return (text + "DB_PASSWORD=hunter2 token=abc123def456ghi789\n")[-MEGABYTE:]


def secrets(encode: Callable[[object], str]) -> str:
    items = [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"secret-{n}", "namespace": "prod"},
            "data": {"username": "YWRtaW4=", "password": "aHVudGVyMg==" * 8},
        }
        for n in range(3200)
    ]
    return encode({"apiVersion": "v1", "kind": "List", "items": items})[:MEGABYTE]


def yaml_secrets() -> str:
    """As `kubectl get secrets -o yaml` prints them."""
    one = """- apiVersion: v1
  data:
    host: cG9zdGdyZXMtcHJpbWFyeS5wYXltZW50cy5zdmMuY2x1c3Rlci5sb2NhbA==
    password: {password}
    username: cGF5bWVudHMtYXBw
  kind: Secret
  metadata:
    annotations:
      reflector.v1.k8s.emberstack.com/reflection-allowed: "true"
    creationTimestamp: "2026-01-14T09:26:33Z"
    labels:
      app.kubernetes.io/managed-by: Helm
      app.kubernetes.io/name: payments
    name: payments-db-{number}
    namespace: payments
    resourceVersion: "918273645"
    uid: 0b1a2c3d-4e5f-6789-abcd-ef0123456789
  type: Opaque
"""
    value = "c3VwZXItc2VjcmV0LXBhc3N3b3JkLW9mLXRoZS1kYXRhYmFzZQ=="
    items = "".join(one.format(number=number, password=value) for number in range(2000))
    return f"apiVersion: v1\nkind: List\nitems:\n{items}"[:MEGABYTE]


REALISTIC: dict[str, Callable[[], str]] = {
    "logs": logs,
    "json secrets": lambda: secrets(json.dumps),
    "json secrets, indented": lambda: secrets(lambda value: json.dumps(value, indent=2)),
    "yaml secrets": yaml_secrets,
}
HOSTILE: dict[str, Callable[[], str]] = {
    "password=": lambda: "password=" * (MEGABYTE // 9),
    "password: ": lambda: "password: \n" * (MEGABYTE // 11),
    'password:"': lambda: 'password:"' * (MEGABYTE // 10),
    "a": lambda: "a" * MEGABYTE,
    "a@": lambda: "a@" * (MEGABYTE // 2),
    "a.": lambda: "x@" + "a." * (MEGABYTE // 2),
    "://": lambda: "://" * (MEGABYTE // 3),
    "://a:": lambda: "://a:" * (MEGABYTE // 5),
    "begin key": lambda: "-----BEGIN PRIVATE KEY-----" * (MEGABYTE // 27),
    "{ Secret": lambda: "Secret" + '{"' * (MEGABYTE // 2),
    "[ Secret": lambda: "Secret" + "[" * MEGABYTE,
    "nested": lambda: "Secret" + '{"a":' * (MEGABYTE // 5),
    "data:{ Secret": lambda: 'kind: Secret "data":{' * (MEGABYTE // 21),
    "flow": lambda: "kind: Secret data: {" * (MEGABYTE // 20),
    "spaces": lambda: "kind: Secret\n" + " " * MEGABYTE,
    "dashes": lambda: "kind: Secret\ndata:\n" + "- " * (MEGABYTE // 2),
    "dash lines": lambda: "kind: Secret\ndata:\n" + "- \n" * (MEGABYTE // 3),
    "eyJ": lambda: "eyJ" * (MEGABYTE // 3),
    "eyJ.": lambda: "eyJhbGciOi." * (MEGABYTE // 11),
    "backslashes": lambda: "\\" * MEGABYTE,
    "quotes": lambda: '"password' * (MEGABYTE // 9),
    "<token>": lambda: "<token>" * (MEGABYTE // 7),
    "--token": lambda: "--token" * (MEGABYTE // 7),
    "name: password": lambda: "name: password\n" * (MEGABYTE // 15),
    "sk-": lambda: "sk-" * (MEGABYTE // 3),
    "bearer": lambda: "Bearer " * (MEGABYTE // 7),
    "cookie": lambda: "cookie:" * (MEGABYTE // 7),
    "base64": lambda: "QUJD" * (MEGABYTE // 4),
    "base64 words": lambda: "cGFzc3dvcmQ9aHVudGVyMjIyMjI= " * (MEGABYTE // 29),
}


def milliseconds_per_megabyte(masker: Masker, text: str) -> float:
    """Processor time, the best of three: what else runs on the machine only ever makes it longer."""
    taken: list[float] = []
    for _ in range(3):
        started = time.process_time()
        masker.mask(text)
        taken.append(time.process_time() - started)
    return min(taken) * 1000 * MEGABYTE / len(text)


def streamed(masker: Masker, text: str) -> float:
    """The same for a text that comes a few characters at a time, as a model says it."""
    taken: list[float] = []
    for _ in range(3):
        stream = masker.stream()
        started = time.process_time()
        for at in range(0, len(text), TOKEN):
            stream.feed(text[at : at + TOKEN])
        stream.finish()
        taken.append(time.process_time() - started)
    return min(taken) * 1000 * MEGABYTE / len(text)


def measure(masker: Masker, samples: Mapping[str, Callable[[], str]]) -> float:
    worst = 0.0
    for name, make in samples.items():
        taken = milliseconds_per_megabyte(masker, make())
        worst = max(worst, taken)
        print(f"  {name:28} {taken:8.1f} ms/MB")
    return worst


def main() -> int:
    # With tags, as in a session.
    masker = Masker.for_group("all").tagged(session_tag(bytes(32), "bench"))
    masker.mask("warm up password=x")
    print("from tools:")
    worst = measure(masker, REALISTIC)
    print(f"  {'a model, token by token':28} {streamed(masker, prose()):8.1f} ms/MB")
    print("made to hurt:")
    measure(masker, HOSTILE)
    starts = worst / interpreter_start_ms()
    print(f"worst from tools: {worst:.0f} ms/MB = {starts:.1f} starts of an interpreter (limit {LIMIT_STARTS})")
    return int(starts > LIMIT_STARTS)


if __name__ == "__main__":
    sys.exit(main())
