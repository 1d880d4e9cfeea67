"""Skills in the configuration: the SKILL.md format, directories, and which agent has which."""

import re
from pathlib import Path
from typing import Any

import pytest

from support.config_directory import ConfigDirectory
from tarsy.config.load.skill_catalog import shipped_skills
from tarsy.config.load.skill_files import MAX_FILE_BYTES
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain
from tarsy.config.resolve.resolver import explain_chain, resolve_chain
from tarsy.domain.skill import SHIPPED, Skill, text_hash

HEAD = "---\nname: {name}\ndescription: Looks into {name}.\n---\n"


def write_skill(directory: ConfigDirectory, name: str, text: str | None = None, root: str = "skills") -> Path:
    path = directory.path / root / name
    path.mkdir(parents=True, exist_ok=True)
    (path / "SKILL.md").write_text(text if text is not None else HEAD.format(name=name) + f"\n# {name}\nLook first.\n", encoding="utf-8")
    return path


def own_skills(directory: ConfigDirectory, tarsy: dict[str, Any] | str = "") -> dict[str, Skill]:
    skills = directory.load(tarsy).config.skills
    return {name: skill for name, skill in skills.items() if skill.origin != SHIPPED}


def reported(directory: ConfigDirectory, tarsy: dict[str, Any] | str = "") -> list[str]:
    return [str(problem).replace(f"{directory.path}/", "") for problem in directory.problems(tarsy)]


def test_a_skill_is_a_directory_with_a_skill_md_and_what_lies_beside_it(directory: ConfigDirectory) -> None:
    head = "---\nname: dns\ndescription: >\n  Looks into\n  DNS.\nlicense: MIT\ncompatibility: Kubernetes 1.28\n"
    more = "metadata: {author: sre, version: 1}\nallowed-tools: pods_list pods_log\n---\n"
    path = write_skill(directory, "dns", f"{head}{more}\n\n# DNS\nAsk the pod.\n")
    (path / "references").mkdir()
    (path / "references" / "coredns.md").write_text("# CoreDNS\n")
    (path / ".hidden").write_text("not ours")
    assert own_skills(directory) == {
        "dns": Skill(
            name="dns",
            description="Looks into DNS.",
            origin="skills",
            files={"SKILL.md": "# DNS\nAsk the pod.", "references/coredns.md": "# CoreDNS\n"},
            license="MIT",
            compatibility="Kubernetes 1.28",
            metadata={"author": "sre", "version": "1"},
            allowed_tools=("pods_list", "pods_log"),
        )
    }


def test_a_mounted_config_map_holds_its_skills_as_links_to_flat_files(directory: ConfigDirectory) -> None:
    root = directory.path / "skills"
    (root / "..2026").mkdir(parents=True)
    (root / "..2026" / "dns").write_text(HEAD.format(name="dns") + "Ask the pod.")
    (root / "..data").symlink_to("..2026")
    (root / "dns").symlink_to("..data/dns")
    (root / "README.md").write_text("What lies here.")
    assert {name: skill.text for name, skill in own_skills(directory).items()} == {"dns": "Ask the pod."}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# No head\n", "skills/dns/SKILL.md:1: this skill has no front matter; begin with a line ---, then name and description, then a line --- and the instructions"),
        ("", "skills/dns/SKILL.md:1: this skill has no front matter; begin with a line ---, then name and description, then a line --- and the instructions"),
        ("---\ndescription: d\n---\ntext", "skills/dns/SKILL.md:2: name: name is missing; write name: dns"),
        ("---\nname: dns\n---\ntext", "skills/dns/SKILL.md:2: description: description is missing; say what the skill does and when to use it"),
        ("---\nname: dns\ndescription: d\n---\n \n", "skills/dns/SKILL.md:4: this skill has no instructions; write its instructions below the front matter"),
        ("---\ndescription: d\n\nname: other\n---\ntext", 'skills/dns/SKILL.md:4: name: the skill is called "other", but its directory "dns"; rename one of them'),
        ("---\nname: D_N_S\ndescription: d\n---\nx", 'skills/dns/SKILL.md:2: name: "D_N_S" is not the name of a skill; at most 64 lower-case letters, digits and single hyphens, such as dns'),
        (f"---\nname: dns\ndescription: {'d' * 1025}\n---\nx", "skills/dns/SKILL.md:3: description: this has 1025 characters; at most 1024 are allowed"),
        (f"---\nname: dns\ndescription: d\ncompatibility: {'c' * 501}\n---\nx", "skills/dns/SKILL.md:4: compatibility: this has 501 characters; at most 500 are allowed"),
        ("---\nname: dns\ndescription: d\nmetadata: 3\n---\nx", "skills/dns/SKILL.md:4: metadata: this is not a mapping of keys to texts"),
        ("---\nname: dns\ndescription: [d\n---\nx", "skills/dns/SKILL.md:4: this is not YAML: did not find expected ',' or ']'"),
        ("---\n- name\n---\nx", "skills/dns/SKILL.md:1: the front matter is not a mapping of keys to values; write name: … and description: …"),
    ],
)  # fmt: skip
def test_a_malformed_skill_is_a_problem_with_file_and_line(directory: ConfigDirectory, text: str, problem: str) -> None:
    write_skill(directory, "dns", text)
    # A chain that names it makes no second problem of it.
    assert reported(directory, {"agents": {"KubernetesAgent": {"skills": ["dns"]}}}) == [problem]


def test_every_malformed_skill_is_reported_at_once_with_the_rest_of_the_configuration(directory: ConfigDirectory) -> None:
    write_skill(directory, "dns", "no head")
    write_skill(directory, "pods", "---\nname: nodes\ndescription: d\n---\nx")
    assert [line.partition(": ")[0] for line in reported(directory, "queue: {worker_cont: 1}")] == [
        "skills/dns/SKILL.md:1",
        "skills/pods/SKILL.md:2",
        "tarsy.yaml:1",
    ]


def test_a_key_that_the_format_does_not_have_is_a_remark(directory: ConfigDirectory) -> None:
    write_skill(directory, "dns", "---\nname: dns\ndescription: d\nlicence: MIT\n---\nx")
    [remark] = directory.load().warnings
    assert (
        str(remark)
        == f'{directory.path}/skills/dns/SKILL.md:4: licence: "licence" is not a key of the format and is ignored; did you mean "license"?'
    )


def test_a_file_that_no_agent_can_read_is_left_out_and_reported(directory: ConfigDirectory) -> None:
    path = write_skill(directory, "dns")
    (path / "logo.png").write_bytes(b"\x89PNG\xff")
    (path / "dump.txt").write_text("x" * (MAX_FILE_BYTES + 1))
    (path / "zero.txt").write_text("a\0b")
    loaded = directory.load()
    assert list(loaded.config.skills["dns"].files) == ["SKILL.md"]
    assert [remark.message for remark in loaded.warnings] == [
        "agents cannot load this file: it is larger than 64 KiB",
        "agents cannot load this file: it is not UTF-8 text",
        "agents cannot load this file: it contains a NUL character",
    ]


@pytest.mark.parametrize("link", ["skills/dns/more.md", "skills/dns/SKILL.md", "skills/dns"])
def test_a_link_that_leads_out_of_a_skill_is_refused(directory: ConfigDirectory, link: str) -> None:
    outside = directory.path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text(HEAD.format(name="dns") + "secret")
    if link != "skills/dns":
        write_skill(directory, "dns")
        (directory.path / link).unlink(missing_ok=True)
        (directory.path / link).symlink_to(outside / "SKILL.md")
    else:
        (directory.path / "skills").mkdir()
        (directory.path / link).symlink_to(outside)
    [problem] = reported(directory)
    assert problem.startswith(f"{link}: this link points outside the ")


def test_links_in_a_circle_are_reported(directory: ConfigDirectory) -> None:
    write_skill(directory, "dns")
    (directory.path / "skills/dns/more.md").symlink_to("more.md")
    (directory.path / "skills/net").mkdir()
    (directory.path / "skills/net/SKILL.md").symlink_to("SKILL.md")
    [problem] = reported(directory)
    assert problem.startswith("skills/net/SKILL.md: cannot be read: ")


def test_the_skills_of_a_further_directory_are_found_beside_the_configuration(directory: ConfigDirectory) -> None:
    write_skill(directory, "dns", root="team")
    assert own_skills(directory, {"skills": [{"path": "team"}]})["dns"].origin == "team"


def test_two_skills_of_one_name_are_a_problem_unless_one_of_them_is_built_in(directory: ConfigDirectory) -> None:
    write_skill(directory, "dns")
    write_skill(directory, "dns", root="team")
    assert reported(directory, {"skills": [{"path": "team"}]}) == [
        'team: dns: there are two skills "dns": one in skills, one in team; rename one of them'
    ]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ({}, "skills[0].git: this source has neither path nor git; write one of them"),
        ({"path": "nowhere"}, "skills[0]: there is no directory nowhere"),
        ({"path": "."}, "skills[0]: there is no skill in .; a skill is a directory with a SKILL.md"),
        ({"path": ".", "ref": "main"}, "skills[0].ref: ref belongs to a git source; remove it, or write it into path"),
        ({"path": ".", "git": "https://h/r"}, "skills[0].git: this source has both path and git; write two sources"),
        ({"git": "file:///srv/skills"}, "skills[0].git: skills are fetched over https and ssh only; write https://…, ssh://… or git@HOST:PATH"),
        ({"git": "http://h/r"}, "skills[0].git: skills are fetched over https and ssh only; write https://…, ssh://… or git@HOST:PATH"),
        ({"git": "ext::sh -c true"}, "skills[0].git: skills are fetched over https and ssh only; write https://…, ssh://… or git@HOST:PATH"),
        ({"git": "ssh://-oProxyCommand=true/r"}, "skills[0].git: this is not the address of a Git repository; write https://…, ssh://… or git@HOST:PATH"),
        ({"git": "https://me:token@h/r"}, "skills[0].git: the address holds credentials; remove them: Git's own credential helper, or system.github.token_env, supplies them"),
        ({"git": "https://h/r", "dir": "../x"}, "skills[0].dir: this points outside the repository; write a path within it, such as skills"),
        ({"git": "https://h/r", "ref": "--upload-pack=x"}, "skills[0].ref: this is not a commit, branch or tag"),
        ({"git": "https://h/r"}, "skills[0]: no commit of https://h/r has been accepted yet; read what `tarsy skills sync` shows, then `tarsy skills accept`, or write a commit as ref"),
        ({"git": "git@h:g/r.git", "ref": "a" * 40}, f"skills[0]: git@h:g/r.git@{'a' * 12} has not been fetched yet; run `tarsy skills sync`"),
    ],
)  # fmt: skip
def test_a_source_that_cannot_be_used_is_refused_with_the_cure(directory: ConfigDirectory, source: dict[str, str], problem: str) -> None:
    [found] = reported(directory, {"skills": [source]})
    assert found.replace(str(directory.path), ".").partition(": ")[2] == problem


def agent_of(chain: ResolvedChain) -> ResolvedAgentConfig:
    return chain.stages[0].agents[0]


def with_agent(agent: dict[str, Any], stage_agent: dict[str, Any] | None = None) -> dict[str, Any]:
    stage = {"name": "s", "agents": [{"name": "A", **(stage_agent or {})}]}
    return {"agents": {"A": agent}, "agent_chains": {"c": {"alert_types": ["t"], "stages": [stage]}}}


SERVERS = {"mcp_servers": ["kubernetes-server"]}


@pytest.mark.parametrize(
    ("agent", "stage_agent", "loadable", "required"),
    [
        # Unset: all.
        (SERVERS, {}, ("dns", "pods"), ()),
        (SERVERS | {"skills": ["dns"]}, {}, ("dns",), ()),
        (SERVERS | {"skills": []}, {}, (), ()),
        # A stage agent adds.
        (SERVERS | {"skills": ["dns"]}, {"skills": ["pods"]}, ("dns", "pods"), ()),
        (SERVERS | {"skills": []}, {"skills": ["pods"]}, ("pods",), ()),
        (SERVERS, {"skills": ["pods"]}, ("dns", "pods"), ()),
        # What the prompt holds need not be loaded.
        (SERVERS | {"required_skills": ["dns"]}, {"required_skills": ["pods", "dns"]}, (), ("dns", "pods")),
        (SERVERS | {"skills": [], "required_skills": ["dns"]}, {}, (), ("dns",)),
        # Without tool servers only what is named.
        ({}, {}, (), ()),
        ({"skills": ["dns"]}, {}, ("dns",), ()),
        ({}, {"skills": ["dns"]}, ("dns",), ()),
        ({"type": "synthesis", "required_skills": ["dns"]}, {"skills": ["pods"]}, (), ("dns",)),
    ],
)
def test_an_agent_has_the_skills_of_its_definition_and_of_its_place(
    directory: ConfigDirectory, agent: dict[str, Any], stage_agent: dict[str, Any], loadable: tuple[str, ...], required: tuple[str, ...]
) -> None:
    write_skill(directory, "dns")
    write_skill(directory, "pods")
    resolved = agent_of(resolve_chain(directory.load(with_agent(agent, stage_agent)).config, "c"))
    shipped = {name for name, skill in directory.load(with_agent(agent, stage_agent)).config.skills.items() if skill.origin == SHIPPED}
    assert tuple(name for name in resolved.skills if name not in shipped) == loadable
    assert resolved.required_skills == required


def test_an_unknown_skill_is_a_problem_where_it_is_named(directory: ConfigDirectory) -> None:
    write_skill(directory, "networking")
    assert reported(directory, with_agent({"skills": ["netwroking"]}, {"required_skills": ["networking "]})) == [
        'tarsy.yaml:4: agents.A.skills[0]: there is no skill "netwroking"; did you mean "networking"?',
        'tarsy.yaml:14: agent_chains.c.stages[0].agents[0].required_skills[0]: there is no skill "networking "; did you mean "networking"?',
    ]  # fmt: skip


def test_the_snapshot_of_a_session_names_its_texts_by_hash_and_holds_none(directory: ConfigDirectory) -> None:
    path = write_skill(directory, "dns")
    (path / "coredns.md").write_text("# CoreDNS\n" * 1_000)
    chain = resolve_chain(directory.load(with_agent({"skills": ["dns"]})).config, "c")
    assert list(chain.skills) == ["dns"]
    assert chain.skills["dns"].files == {"SKILL.md": text_hash("# dns\nLook first."), "coredns.md": text_hash("# CoreDNS\n" * 1_000)}
    assert "CoreDNS" not in chain.model_dump_json()


def test_where_the_skills_of_an_agent_come_from_is_shown(directory: ConfigDirectory) -> None:
    write_skill(directory, "dns")
    levels = explain_chain(directory.load(with_agent({"skills": ["dns"]}, {"required_skills": ["dns"]})).config, "c").agents[0].levels
    assert (levels["skills"], levels["required_skills"]) == ("agent", "stage agent")


def test_eight_skills_for_kubernetes_are_built_in_and_say_when_to_use_them() -> None:
    subjects = ("certificates", "crash-loops", "dns", "node-pressure", "pending-pods", "rollouts", "slow-services", "unreachable-services")
    skills = shipped_skills()
    assert list(skills) == [f"kubernetes-{subject}" for subject in subjects]
    assert all("Use for " in skill.description and "## Recommend, do not do" in skill.text for skill in skills.values())
    named = {name for skill in skills.values() for name in re.findall(r"kubernetes-[a-z-]+", skill.text)}
    assert named <= skills.keys(), "a skill leads only to skills that exist"


@pytest.mark.parametrize(
    ("subject", "symptoms"),
    [
        ("certificates", ["x509", "TLS errors", "certificate expiry"]),
        ("crash-loops", ["CrashLoopBackOff", "OOMKilled", "startup probes"]),
        ("dns", ["no such host", "NXDOMAIN", "port 53"]),
        ("node-pressure", ["DiskPressure", "NotReady", "Evicted"]),
        ("pending-pods", ["FailedScheduling", "without any event", "service account", "ImagePullBackOff"]),
        ("rollouts", ["ProgressDeadlineExceeded", "began with a new version"]),
        ("slow-services", ["latency", "p99", "504", "throttling", "connection pools"]),
        ("unreachable-services", ["connection refused", "connection timeouts", "502 or 503", "without endpoints", "network policy"]),
    ],
)
def test_a_symptom_leads_to_one_built_in_skill(subject: str, symptoms: list[str]) -> None:
    """An agent chooses by the description alone: words that two of them share would lead it to either."""
    descriptions = {name: skill.description for name, skill in shipped_skills().items()}
    for symptom in symptoms:
        assert [name for name, text in descriptions.items() if symptom in text] == [f"kubernetes-{subject}"], symptom
