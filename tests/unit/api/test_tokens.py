"""API tokens: how they are set, and the cookie that stands for one."""

from pathlib import Path

import pytest

from tarsy.api.tokens import COOKIE_SECONDS, ApiTokens, TokenSettingError, read_tokens
from tarsy.domain.access_role import AccessRole


def test_tokens_are_pairs_separated_by_commas_or_lines() -> None:
    tokens = read_tokens("alice=a-token, bot = b=token\n# nobody\n\ncarol=c-token")
    assert tokens.by_name == {"alice": "a-token", "bot": "b=token", "carol": "c-token"}


def test_an_entry_may_name_a_role_and_no_other_word_passes_for_one() -> None:
    tokens = read_tokens("alice:admin=a-token,bot=b-token,eve : viewer = c")
    assert tokens.by_name == {"alice": "a-token", "bot": "b-token", "eve": "c"}
    assert tokens.roles == {"alice": AccessRole.ADMIN, "eve": AccessRole.VIEWER}
    with pytest.raises(TokenSettingError, match="veiwer"):
        read_tokens("alice:veiwer=a-token")


def test_there_may_be_more_tokens_than_a_file_name_has_room_for() -> None:
    pairs = {f"person{number}": "x" * 40 + str(number) for number in range(200)}
    assert read_tokens(",".join(f"{name}={token}" for name, token in pairs.items())).by_name == pairs


def test_tokens_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("alice=a-token\nbot=b-token\n")
    assert set(read_tokens(str(file)).by_name) == {"alice", "bot"}


def test_no_setting_is_no_token() -> None:
    assert not read_tokens(None)
    assert not read_tokens("  ")


@pytest.mark.parametrize("setting", ["alice=", "=token", "alice=a,alice=b", "alice=a,bob=a", "nowhere/at/all", ",,a=b,c", "# =\n"])
def test_a_setting_that_cannot_be_used_is_refused_without_naming_a_token(setting: str) -> None:
    with pytest.raises(TokenSettingError) as refused:
        read_tokens(setting)
    assert "TARSY_API_TOKENS" in str(refused.value)


def test_a_token_is_known_by_its_name_and_never_printed() -> None:
    tokens = ApiTokens({"alice": "a-token", "bot": "b-token"})
    assert tokens.name_of("b-token") == "bot"
    assert tokens.name_of("b-toke") is None
    assert tokens.name_of("") is None
    assert "a-token" not in repr(tokens)


def test_a_cookie_is_good_until_it_expires_is_changed_or_loses_its_token() -> None:
    tokens = ApiTokens({"alice": "a-token", "bot": "b-token"})
    cookie = tokens.cookie_for("alice", now=1000)
    label, expires, signature = cookie.split(".")
    assert tokens.name_of_cookie(cookie, now=1000 + COOKIE_SECONDS) == "alice"
    assert tokens.name_of_cookie(cookie, now=1001 + COOKIE_SECONDS) is None
    assert tokens.name_of_cookie(f"{label}.{int(expires) + 1}.{signature}", now=1000) is None
    assert tokens.name_of_cookie(tokens.cookie_for("bot", now=1000).split(".")[0] + f".{expires}.{signature}", now=1000) is None
    assert ApiTokens({"alice": "new"}).name_of_cookie(cookie, now=1000) is None
    assert ApiTokens({"bot": "b-token"}).name_of_cookie(cookie, now=1000) is None


@pytest.mark.parametrize("cookie", ["", ".", "..", "a.b.c", "YWxpY2U.99999999999.é", "!.1.2", "a.b.c.d"])
def test_nonsense_is_no_cookie(cookie: str) -> None:
    assert ApiTokens({"alice": "a-token"}).name_of_cookie(cookie, now=0) is None
