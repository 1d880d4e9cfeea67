"""What the doctor finds: a subject, a verdict, and what to do about it. Pure module."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    OK = "ok"
    # TARSy runs, but something that the operator may expect does not.
    WARN = "warn"
    # TARSy would not start, or what it was told to use cannot be used.
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    verdict: Verdict
    subject: str
    text: str
    cure: str = ""

    def __str__(self) -> str:
        first, *rest = [*self.text.splitlines(), *(f"→ {line}" for line in self.cure.splitlines())]
        margin = " " * 20
        return "\n".join([f"{self.verdict:<5} {self.subject:<13} {first}", *(margin + line for line in rest)])


def ok(subject: str, text: str) -> Finding:
    return Finding(Verdict.OK, subject, text)


def warn(subject: str, text: str, cure: str = "") -> Finding:
    return Finding(Verdict.WARN, subject, text, cure)


def fail(subject: str, text: str, cure: str = "") -> Finding:
    return Finding(Verdict.FAIL, subject, text, cure)
