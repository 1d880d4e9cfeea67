"""How much processor time checking an analysis takes: an honest one, and those made to hurt. Exits 1 when one takes longer than a worker may be kept."""

import sys
import time
from collections.abc import Callable, Mapping

from tarsy.agent.evidence.review import read_answer
from tarsy.domain.evidence import Evidence

MEGABYTE = 1024 * 1024
# Checking runs in a thread beside other sessions, once or twice per agent: an honest analysis must not be felt, and none may hold a worker up.
HONEST_MS = 250
WORST_MS = 2_000


def log_of(size: int, number: int) -> str:
    line = "2026-03-01T12:00:{:02d}Z WARN pod/web-{} of run {} took {} ms: connection refused by 10.0.0.{}\n"
    text = "".join(line.format(n % 60, n % 40, number, n, n % 250) for n in range(size // 80))
    return text[:size]


def results(count: int, size: int) -> list[Evidence]:
    return [Evidence(id=f"A{number}", text=log_of(size, number), tool="cluster.log") for number in range(1, count + 1)]


def honest() -> tuple[str, list[Evidence]]:
    stated = "\n".join(f'- It was refused [A{n}: "connection refused by 10.0.0.{n}"], in 12 ms [A{n}].' for n in range(1, 31))
    verdict = "```verdict\noutcome: fault\nobject: Pod/web-1\nmechanism: refused\nconfidence: high\nevidence: [A1, A2]\n```"
    return f"## Why\n\n{stated}\n\n{verdict}", results(30, 64 * 1024)


def ten_thousand_citations() -> tuple[str, list[Evidence]]:
    return " ".join(f'[A{n % 10 + 1}: "words {n} that are nowhere"]' for n in range(10_000)), results(10, MEGABYTE)


def almost_right() -> tuple[str, list[Evidence]]:
    """Every word of these quotations stands thousands of times in what they cite."""
    stated = (f'[A{n % 10 + 1}: "connection of pod web-{n % 40} refused after {n} ms by 10.0.0.{n % 250}"]' for n in range(10_000))
    return " ".join(stated), results(10, MEGABYTE)


def open_brackets() -> tuple[str, list[Evidence]]:
    return '[A1: "' * 200_000, results(1, MEGABYTE)


def endless_sentence() -> tuple[str, list[Evidence]]:
    return f"## Why\n\n{'`name` all 12 ms, ' * 60_000}[A1]", results(1, MEGABYTE)


def one_letter() -> tuple[str, list[Evidence]]:
    text = "a" * MEGABYTE
    return " ".join(f'[A1: "{"a" * 900}{n}"]' for n in range(500)), [Evidence(id="A1", text=text)]


def many_names() -> tuple[str, list[Evidence]]:
    return f"## Why\n\n{' '.join(f'`pod-{n}-x{n}` is at {n}.5 MiB since 09:{n % 60:02}.' for n in range(20_000))}", results(20, MEGABYTE)


def deep_verdict() -> tuple[str, list[Evidence]]:
    return "```verdict\noutcome: fault\nmechanism: " + "[" * 500_000 + "\n```", results(1, 1_000)


CASES: Mapping[str, tuple[Callable[[], tuple[str, list[Evidence]]], int]] = {
    "an honest analysis of 30 results": (honest, HONEST_MS),
    "10,000 wrong citations of ten results of 1 MB": (ten_thousand_citations, WORST_MS),
    "10,000 almost right citations of ten results of 1 MB": (almost_right, WORST_MS),
    "200,000 brackets that stay open": (open_brackets, WORST_MS),
    "a sentence of a megabyte": (endless_sentence, WORST_MS),
    "a result of one letter": (one_letter, WORST_MS),
    "20,000 names and figures, and twenty results of 1 MB": (many_names, WORST_MS),
    "a verdict of brackets": (deep_verdict, WORST_MS),
}


def main() -> int:
    slow = 0
    for name, (made, limit) in CASES.items():
        answer, evidence = made()
        started = time.process_time()
        counts = read_answer(answer).review(evidence).counts
        taken = (time.process_time() - started) * 1000
        slow += taken > limit
        print(f"{name}: {taken:.0f} ms (limit {limit} ms), {counts.cited} citations, {counts.failed} failed")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
