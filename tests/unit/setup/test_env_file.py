"""A `.env` gets a variable, and every other line stays."""

import io
from pathlib import Path

import pytest
from dotenv import dotenv_values

from tarsy.config.load.loader import load_config
from tarsy.settings import Settings
from tarsy.setup.files import Drafts, with_variable, write_all
from tarsy.setup.recipes import StepRefusedError

WRITTEN = """\
# The database.
DATABASE_URL=postgresql://somewhere

export OPENAI_API_KEY='old'   # of last year
MULTI="one
two"
not a line at all
"""


def read(text: str) -> dict[str, str | None]:
    return dict(dotenv_values(stream=io.StringIO(text), interpolate=False))


def test_a_new_variable_comes_last_and_everything_else_stays_as_it_is() -> None:
    text = with_variable(WRITTEN, "GOOGLE_API_KEY", "AIza-9_x")
    assert text == f"{WRITTEN}GOOGLE_API_KEY=AIza-9_x\n"
    assert with_variable("A=1", "B", "2") == "A=1\nB=2\n"
    assert with_variable("", "B", "2") == "B=2\n"


def test_an_old_value_is_replaced_in_its_place() -> None:
    text = with_variable(WRITTEN, "OPENAI_API_KEY", "sk-new")
    assert text == WRITTEN.replace("export OPENAI_API_KEY='old'   # of last year", "OPENAI_API_KEY=sk-new")
    assert with_variable("A=1\nB=2\nA=3\n", "A", "4") == "B=2\nA=4\n"
    assert with_variable(WRITTEN, "MULTI", "one") == WRITTEN.replace('"one\ntwo"', "one")


@pytest.mark.parametrize("value", ["sk-1", "a b", "$HOME/x", "a#b", 'say "hi"', "C:/x y/{z}", "http://h:1/?a=b&c"])
def test_what_was_written_is_what_is_read(value: str) -> None:
    assert read(with_variable(WRITTEN, "V", value)) == {**read(WRITTEN), "V": value}


@pytest.mark.parametrize("value", ["", "a\nB=2", "it's", "a\\b", "a\x00", "x" * 5000])
def test_what_could_break_out_of_its_line_is_refused_without_being_quoted(value: str) -> None:
    with pytest.raises(StepRefusedError) as refused:
        with_variable("", "V", value)
    assert not value or value not in str(refused.value)


def test_a_variable_is_changed_in_the_file_whose_value_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config").mkdir()
    Path("config/tarsy.yaml").touch()
    Path("config/.env").write_text("export OPENAI_API_KEY=old\n")
    (change,) = Drafts(Settings(env={}), load_config(None, {})).changes_for_key("OPENAI_API_KEY", "sk-new", "openai-default")
    assert (change.path, read(change.text)) == (Path("config/.env"), {"OPENAI_API_KEY": "sk-new"})


def test_a_file_keeps_its_own_line_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_bytes(b"# ours\r\nA=1\r\n")
    write_all(Drafts(Settings(env={}), load_config(None, {})).changes_for_key("OPENAI_API_KEY", "sk-new", "openai-default"))
    assert Path(".env").read_bytes() == b"# ours\r\nA=1\r\nOPENAI_API_KEY=sk-new\r\n"
