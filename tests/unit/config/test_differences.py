"""What changed between two readings of a configuration is reported by name, never by value."""

from support.config_directory import ConfigDirectory
from tarsy.config.load.display import Differences, differences


def test_entries_and_settings_are_shown_by_their_names_in_the_files(directory: ConfigDirectory) -> None:
    stages = "stages: [{name: s, agents: [{name: KubernetesAgent}]}]"
    before = directory.load(f"agents: {{A: {{}}, B: {{}}}}\nagent_chains: {{web: {{alert_types: [web], {stages}}}}}\n")
    after = directory.load(
        f"agents: {{B: {{max_iterations: 3}}, C: {{}}}}\nagent_chains: {{web: {{alert_types: [w], {stages}}}}}\nqueue: {{worker_count: 7}}\n"
    )
    assert differences(before, after) == Differences(
        added=("agents.C",), changed=("agent_chains.web", "agents.B", "queue.worker_count"), removed=("agents.A",)
    )


def test_the_same_files_make_no_difference(directory: ConfigDirectory) -> None:
    text = "mcp_servers: {s: {transport: {type: http, url: http://h, bearer_token: one}}}\n"
    assert differences(directory.load(text), directory.load(text)) == Differences()


def test_a_secret_that_changed_is_shown_without_its_value(directory: ConfigDirectory) -> None:
    text = "mcp_servers: {{s: {{transport: {{type: http, url: http://h, bearer_token: {}}}}}}}\n"
    found = differences(directory.load(text.format("one")), directory.load(text.format("two")))
    assert found == Differences(changed=("mcp_servers.s",))


def test_variables_are_shown_and_those_that_only_a_start_reads_apart(directory: ConfigDirectory) -> None:
    before = directory.load()
    (directory.path / ".env").write_text("GREETING=hello\nDATABASE_URL=postgresql://secret@h/d\nOTEL_EXPORTER_OTLP_ENDPOINT=http://c\n")
    reported = differences(before, directory.load())
    assert reported == Differences(changed=("GREETING",), at_next_start=("DATABASE_URL", "OTEL_EXPORTER_OTLP_ENDPOINT"))


def test_the_model_that_is_taken_where_none_is_named_may_change(directory: ConfigDirectory) -> None:
    before = directory.load()
    directory.env = {"OPENAI_API_KEY": "o", "KUBECONFIG": "k"}
    assert "default_provider" in differences(before, directory.load()).changed
