"""Targets of `notify` that write on the object which an alert came from, or belongs to."""

from pydantic import Field

from tarsy.config.schema.values import Name, Section, WebAddress


class PagerDutyTargetConfig(Section):
    token_env: Name = Field(default="PAGERDUTY_TOKEN", description="Variable that holds an API token that may write notes.")
    user: Name = Field(description="E-mail address of the PagerDuty user who signs the notes.")
    api_url: WebAddress = Field(default="https://api.pagerduty.com", description="Address of the REST API.")


class OpsgenieTargetConfig(Section):
    token_env: Name = Field(default="OPSGENIE_API_KEY", description="Variable that holds the API key of an integration.")
    api_url: WebAddress = Field(
        default="https://api.opsgenie.com", description="Address of the REST API; in Europe `https://api.eu.opsgenie.com`."
    )


class GrafanaTargetConfig(Section):
    token_env: Name = Field(
        default="GRAFANA_TOKEN", description="Variable that holds a service account's token that may write annotations."
    )
    url: WebAddress = Field(description="Address of Grafana.")


class JiraTargetConfig(Section):
    token_env: Name = Field(default="JIRA_API_TOKEN", description="Variable that holds the API token of the user.")
    user: Name = Field(description="E-mail address of the user who writes the comments.")
    url: WebAddress = Field(description="Address of Jira Cloud, such as `https://example.atlassian.net`.")
    issue_label: Name = Field(default="jira_issue", description="Label of alerts that holds the key of the issue, such as `OPS-12`.")


class GitHubTargetConfig(Section):
    token_env: Name = Field(default="GITHUB_TOKEN", description="Variable that holds a token that may write issues.")
    repository: Name = Field(pattern=r"^[\w.-]+/[\w.-]+$", description="Repository of the issues, such as `example/operations`.")
    issue_label: Name = Field(default="github_issue", description="Label of alerts that holds the number of the issue, such as `12`.")
    api_url: WebAddress = Field(default="https://api.github.com", description="Address of the REST API.")


WriteBackConfig = PagerDutyTargetConfig | OpsgenieTargetConfig | GrafanaTargetConfig | JiraTargetConfig | GitHubTargetConfig
