"""A text that comes in pieces is masked as if it came at once, wherever the pieces end; a secret is not shown in part either."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.secret_kinds import DRESSES, KINDS, Dress, SecretKind
from tarsy.tools.masking import Masker, StreamMasker

MASKER = Masker.for_group("security")
BEFORE = ("", "Let me see what the pod was given to work with.\n\nHere it is:\n", "I found this in the log: ", "```yaml\n")
AFTER = ("", "\n\nThat is all so far; the rest of it looks as it should.\n", "\n```\nand so on", " and so on")


def surrounded(before: str, dress: Dress, kind: SecretKind, after: str) -> tuple[str, str]:
    """A text with a secret, and the end of the secret."""
    return before + dress(kind) + after, kind.value[-12:]


TEXTS = st.builds(
    surrounded,
    st.sampled_from(BEFORE),
    st.sampled_from(list(DRESSES.values())),
    st.sampled_from(KINDS),
    st.sampled_from(AFTER),
)
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBAQEFAASCBKcwggSjAgEAAo\n-----END PRIVATE KEY-----\n"


def cut(text: str, lengths: list[int]) -> Iterator[str]:
    at = 0
    while at < len(text):
        length = lengths[at % len(lengths)]
        yield text[at : at + length]
        at += length


def fed(text: str, lengths: list[int], *, by_words: bool) -> list[str]:
    """What has been shown after each piece, and at the end."""
    stream = MASKER.stream(by_words=by_words)
    shown = [""]
    for piece in cut(text, lengths):
        shown.append(shown[-1] + stream.feed(piece))
    return [*shown, shown[-1] + stream.finish()]


@settings(max_examples=150)
@given(planted=TEXTS, lengths=st.lists(st.sampled_from([1, 2, 3, 5, 9, 30, 80, 4000]), min_size=1, max_size=7), by_words=st.booleans())
def test_a_text_in_pieces_is_masked_like_the_whole(planted: tuple[str, str], lengths: list[int], by_words: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
    text, secret = planted
    shown = fed(text, lengths, by_words=by_words)
    assert shown[-1] == MASKER.mask(text)
    assert secret not in shown[-1]


@pytest.mark.parametrize("by_words", [True, False])
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("The API key is 8f14e45fceea167a5a36, rotate it.\n", "8f14e45fceea167a5a36"),
        ("export TOKEN=ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8 and go on\n", "ghp_a1B2"),
        (f"It prints\n{KEY}and stops\n", "MIIEvQIBADANBgkqhkiG9w0"),
        ("db:\n  password:\n\n    hunter2hunter2\n  user: bob\n", "hunter2"),
        ("- name: DB_PASSWORD\n  value: hunter2hunter2\n", "hunter2"),
        ("- value: hunter2hunter2\n  name: DB_PASSWORD\n", "hunter2"),
        ('{\n  "value": "hunter2hunter2",\n  "name": "DB_PASSWORD"\n}\n', "hunter2"),
        ("- value: >-\n    hunter2hunter2\n  name: DB_PASSWORD\n", "hunter2"),
        ("kind: Secret\nmetadata:\n  name: db\n\ndata:\n  host: ZGIucHJvZGZGIucHJvZA==\n", "ZGIucHJv"),
        ("```yaml\napiVersion: v1\ndata:\n  host: ZGIucHJvZGZGIucHJvZA==\nkind: Secret\n```\n", "ZGIucHJv"),
        ('{\n  "apiVersion": "v1",\n  "data": {\n    "host": "ZGIucHJvZGZGIucHJvZA=="\n  },\n  "kind": "Secret"\n}\n', "ZGIucHJv"),
        ("machine db.prod\n  login bob\n  password hunter2hunter2\n", "hunter2"),
        ('{"level":"info","message":"hello"}\n{"level":"error","message":"api key: aB3dE5fG7hJ9kL1mN2pQ4"}', "aB3dE5fG"),
        ("starting\n/var/log/app/very-long-file-name.log:secret key=aB3dE5fG7hJ9kL1mN2pQ4\n", "aB3dE5fG"),
    ],
)
def test_not_even_the_beginning_of_a_secret_is_shown_meanwhile(text: str, secret: str, by_words: bool) -> None:  # noqa: FBT001 - a parameter of the test
    for shown in fed(text, [1], by_words=by_words):
        assert secret not in shown
        assert secret[:6] not in shown


def test_harmless_words_are_shown_while_they_come() -> None:
    text = "The pod was evicted because the disk of its node ran full, and the scheduler found no other node for it. " * 3
    shown = fed(text, [4], by_words=True)
    assert len(shown[-2]) > len(text) - 64
    assert shown[-1] == text


def test_a_line_that_names_a_secret_and_says_all_about_it_is_shown_at_its_end() -> None:
    stream = StreamMasker(MASKER.mask, by_words=False)
    assert stream.feed("connecting with password=hunter2\n") == "connecting with password=[MASKED_PASSWORD]\n"
    assert stream.feed('{"kind":"Pod","data":{"level":"info"}}\n') == '{"kind":"Pod","data":{"level":"info"}}\n'
    assert stream.feed("the token is expired.\n") == "the token is expired.\n"


def test_a_key_without_end_is_neither_shown_nor_kept() -> None:
    stream = StreamMasker(MASKER.mask, by_words=False)
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n"
    shown = stream.feed("-----BEGIN PRIVATE KEY-----\n") + "".join(stream.feed(line) for _ in range(20_000)) + stream.finish()
    assert "MIIE" not in shown
    assert shown.strip() == "[MASKED_PRIVATE_KEY]"


def test_harmless_words_are_passed_on_as_they_come_and_those_of_a_doubtful_line_in_batches() -> None:
    stream = MASKER.stream(by_words=True)
    assert [stream.feed(piece) for piece in ("The pod ", "was kil", "led twice ")] == ["The pod ", "was ", "killed twice "]
    assert stream.feed("with the token ") == ""
    assert stream.finish() == "with the token "


LONG: dict[str, Callable[[int], str]] = {
    "words": lambda size: "word " * (size // 5),
    "names": lambda size: "password " * (size // 9),
    "keys": lambda size: "password:\n" * (size // 10),
    "open quotes": lambda size: "password: 'x\n" * (size // 13),
    "objects": lambda size: "kind: Secret\n" * (size // 13),
    "one word": lambda size: "x" * size,
    "fences": lambda size: "```\n" * (size // 4),
}


def test_the_work_grows_with_the_text_and_not_faster() -> None:
    inspected = 0

    def mask(text: str) -> str:
        nonlocal inspected
        inspected += len(text)
        return MASKER.mask(text)

    for name, make in LONG.items():
        text, inspected = make(12_000), 0
        stream = StreamMasker(mask, by_words=True)
        for piece in cut(text, [3]):
            stream.feed(piece)
        stream.finish()
        # Words are inspected with their context, lines with what may follow them: some characters ten times, never the whole again.
        assert inspected <= 12 * len(text), name
