"""The `skills` section: sources of skills besides the `skills` directory and the built-in ones."""

import re
from pathlib import PurePosixPath
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from tarsy.config.schema.values import Name, Section, refuse

# `git@host:group/repository.git`; ssh would take a leading dash for an option.
_SCP_LIKE = re.compile(r"[A-Za-z0-9_][\w.-]*@[A-Za-z0-9][\w.-]*:(?!/{2})[^\s:-][^\s]*")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_ONLY = "write https://…, ssh://… or git@HOST:PATH"


def _git_address(value: str) -> str:
    if _SCP_LIKE.fullmatch(value):
        return value
    try:
        parts = urlsplit(value)
        host = parts.hostname or ""
    except ValueError:
        raise refuse("this is not the address of a Git repository", _ONLY) from None
    if parts.scheme not in {"https", "ssh"}:
        raise refuse("skills are fetched over https and ssh only", _ONLY)
    if not host or host.startswith("-") or not parts.path.strip("/") or any(character.isspace() for character in value):
        raise refuse("this is not the address of a Git repository", _ONLY)
    if parts.password is not None or (parts.scheme == "https" and parts.username):
        raise refuse("the address holds credentials", "remove them: Git's own credential helper, or system.github.token_env, supplies them")
    return value


def _git_ref(value: str) -> str:
    if value.startswith("-") or any(character in value for character in " ~^:?*[\\") or ".." in value:
        raise refuse("this is not a commit, branch or tag")
    return value


def _within(value: str) -> str:
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts:
        raise refuse("this points outside the repository", "write a path within it, such as skills")
    return path.as_posix()


GitAddress = Annotated[Name, AfterValidator(_git_address)]
GitRef = Annotated[Name, AfterValidator(_git_ref)]
Subdirectory = Annotated[Name, AfterValidator(_within)]


def is_commit(ref: str) -> bool:
    """Return whether a ref is a commit, which never changes, and no branch or tag."""
    return _COMMIT.fullmatch(ref) is not None


class SkillSourceConfig(Section):
    path: Name | None = Field(
        default=None, description="A directory of skills on this machine; a relative path starts at the configuration directory."
    )
    git: GitAddress | None = Field(
        default=None, validate_default=True, description="A Git repository: `https://…`, `ssh://…` or `git@HOST:PATH`."
    )
    ref: GitRef | None = Field(
        default=None,
        description="Git: the commit to use, or a branch or tag whose new commits wait for `tarsy skills accept`; unset: the default branch.",
    )
    dir: Subdirectory = Field(default=".", description="Git: the directory within the repository that holds the skills.")

    @field_validator("git")
    @classmethod
    def _one_of_both(cls, git: str | None, info: ValidationInfo) -> str | None:
        if git is None and info.data.get("path") is None:
            raise refuse("this source has neither path nor git", "write one of them")
        if git is not None and info.data.get("path") is not None:
            raise refuse("this source has both path and git", "write two sources")
        return git

    @field_validator("ref", "dir")
    @classmethod
    def _only_for_git(cls, value: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("path") is not None:
            raise refuse(f"{info.field_name} belongs to a git source", "remove it, or write it into path")
        return value
