"""How many values JSON has is known before it is parsed: what is inside strings does not count."""

import pytest

from tarsy.kit.json_limits import has_more_values

MOST = 100_000
MANY = MOST + 1


@pytest.mark.parametrize(
    ("line", "too_many"),
    [
        (b'{"rows":[' + b"[]," * MANY + b"[]]}", True),
        (b"[" + b'{"a":"b"},' * MANY + b"1]", True),
        (b'{"text":"' + b"x" * 2_000_000 + b'","rows":[' + b"[]," * MANY + b"[]]}", True),
        (b'{"text":"' + b"a,b,c\\n" * MANY + b'"}', False),
        (b'{"text":"' + b'\\"x\\",[{' * MANY + b'\\\\"}', False),
        (b'{"rows":[1,2,3]}', False),
    ],
    ids=["lists", "objects", "after a text", "a table as text", "quoted JSON", "few"],
)
def test_only_values_are_counted(line: bytes, too_many: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert has_more_values(line, MOST) is too_many
