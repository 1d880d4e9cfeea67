"""A configuration may be split over `tarsy.d/*.yaml`; it is put together and checked as one."""

from pathlib import Path

import pytest

from support.config_directory import ConfigDirectory
from tarsy.config.load.loader import load_config
from tarsy.config.load.source import Source, join_sources, parse_source
from tarsy.config.problems import ConfigError


def test_sections_of_all_files_come_together(directory: ConfigDirectory) -> None:
    directory.write_piece("web.yaml", "agents: {WebAgent: {mcp_servers: [kubernetes-server]}}\ndefaults: {max_iterations: 7}\n")
    directory.write_piece("chains.yaml", "agent_chains: {web: {alert_types: [web], stages: [{name: s, agents: [{name: WebAgent}]}]}}\n")
    loaded = directory.load("defaults: {alert_type: web}\n")
    assert loaded.config.chains.id_for("web") == "web"
    assert (loaded.config.defaults.alert_type, loaded.config.defaults.max_iterations) == ("web", 7)
    assert loaded.place == f"{directory.path} with tarsy.d/chains.yaml, tarsy.d/web.yaml"


def test_a_problem_names_the_file_and_the_line_where_it_stands(directory: ConfigDirectory) -> None:
    directory.write_piece("a.yaml", "agents:\n  A:\n    mcp_servers: [nowhere]\n")
    directory.write_piece("b.yaml", "\nqueue:\n  worker_cont: 1\n")
    problems = directory.problems("defaults:\n  alert_typ: web\n")
    places = [(Path(problem.file).name, problem.line, problem.path) for problem in problems]
    assert places == [("a.yaml", 3, "agents.A.mcp_servers[0]"), ("b.yaml", 3, "queue.worker_cont"), ("tarsy.yaml", 2, "defaults.alert_typ")]


def test_an_entry_that_stands_in_two_files_is_a_problem_that_names_both(directory: ConfigDirectory) -> None:
    directory.write_piece("a.yaml", "agents:\n  A: {}\ndefaults: {max_iterations: 3}\n")
    directory.write_piece("b.yaml", "agents:\n  B: {}\n  A: {}\n")
    reported = [str(problem) for problem in directory.problems("defaults:\n  max_iterations: 4\n")]
    assert reported == [
        f"{directory.path}/tarsy.d/a.yaml:3: defaults.max_iterations: defaults.max_iterations is already set in {directory.path}/tarsy.yaml:2; keep one of the two",
        f"{directory.path}/tarsy.d/b.yaml:3: agents.A: agents.A is already set in {directory.path}/tarsy.d/a.yaml:2; keep one of the two",
    ]


def test_an_alert_type_of_two_chains_in_two_files_is_a_problem(directory: ConfigDirectory) -> None:
    stages = "stages: [{name: s, agents: [{name: KubernetesAgent}]}]"
    directory.write_piece("a.yaml", f"agent_chains: {{one: {{alert_types: [x], {stages}}}}}\n")
    directory.write_piece("b.yaml", f"agent_chains: {{two: {{alert_types: [x], {stages}}}}}\n")
    (problem,) = directory.problems()
    assert (Path(problem.file).name, problem.message) == ("b.yaml", 'alert type "x" already belongs to chain "one"')


def test_a_variable_that_is_missing_is_reported_with_its_file(directory: ConfigDirectory) -> None:
    directory.write_piece("a.yaml", 'defaults:\n  runbook: "{{.NOT_SET}}"\n')
    (problem,) = directory.problems()
    assert (Path(problem.file).name, problem.line, problem.remedy) == ("a.yaml", 2, "set NOT_SET")


def test_a_directory_with_nothing_but_pieces_is_a_configuration(directory: ConfigDirectory) -> None:
    directory.write_piece("only.yaml", "defaults: {max_iterations: 5}\n")
    assert load_config(directory.path, directory.env).config.defaults.max_iterations == 5


def test_hidden_files_are_not_read_and_misnamed_ones_are_reported(directory: ConfigDirectory) -> None:
    directory.write_piece(".web.yaml", "nonsense: [\n")
    directory.write_piece("web.yml", "nonsense: [\n")
    (remark,) = [problem for problem in directory.load().warnings if "tarsy.d" in problem.file]
    assert (Path(remark.file).name, remark.message, remark.remedy) == ("web.yml", "this file is not read", "name it web.yaml")


def test_a_piece_that_leads_nowhere_is_a_problem(directory: ConfigDirectory) -> None:
    directory.write_piece("a.yaml", "")
    (directory.path / "tarsy.d" / "gone.yaml").symlink_to(directory.path / "nowhere")
    (problem,) = directory.problems()
    assert problem.message == "cannot be read: No such file or directory"


@pytest.mark.parametrize("text", ["- a\n- b\n", "words\n"])
def test_a_piece_that_is_no_mapping_is_a_problem(directory: ConfigDirectory, text: str) -> None:
    directory.write_piece("a.yaml", text)
    (problem,) = directory.problems()
    assert (Path(problem.file).name, problem.message) == ("a.yaml", "this file is not a mapping of keys to values")


def test_without_a_configuration_directory_the_working_directory_s_pieces_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tarsy.d").mkdir()
    (tmp_path / "tarsy.d" / "a.yaml").write_text("nonsense\n")
    (tmp_path / "tarsy.yaml").write_text("nonsense\n")
    assert load_config(None, {}).place == ""


def test_lists_at_the_top_continue_in_the_order_of_the_files_and_keep_their_places() -> None:
    whole = join_sources(
        _source("tarsy.yaml", "routes: [{a: 1}]"), [_source("b.yaml", "routes:\n- x\n- y: 1\n"), _source("c.yaml", "routes: []")]
    )
    assert whole.data == {"routes": [{"a": 1}, "x", {"y": 1}]}
    assert whole.location_of(("routes", 2, "y")) == ("b.yaml", 3)
    assert whole.location_of(("routes", 0)) == ("tarsy.yaml", 1)


def test_a_section_that_is_of_two_kinds_is_a_problem_in_the_later_file() -> None:
    whole = join_sources(_source("tarsy.yaml", "a: {x: 1}\nb:\n"), [_source("b.yaml", "a: [1]\nb: {y: 1}\n")])
    assert [problem.message for problem in whole.problems] == ["a is already set in tarsy.yaml:1"]
    assert whole.data["b"] == {"y": 1}


def test_a_directory_that_cannot_be_read_is_reported(directory: ConfigDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    directory.write_piece("a.yaml", "")

    def refuse(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(ConfigError, match=r"tarsy\.d: cannot be read: Permission denied"):
        load_config(directory.path, directory.env)


def _source(file: str, text: str) -> Source:
    return parse_source(Source(file), text)
