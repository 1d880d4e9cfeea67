"""What is there without any file, written as the files would write it. An entry of the same name overrides it field by field."""

from collections.abc import Mapping
from typing import Any

from tarsy.config.parsed_data import mapping

AGENTS: Mapping[str, Any] = {
    "KubernetesAgent": {
        "type": "default",
        "description": "Investigates Kubernetes and OpenShift problems",
        "mcp_servers": ["kubernetes-server"],
        "custom_instructions": (
            "You investigate Kubernetes and OpenShift clusters. Start from the object that the alert names, look at its status, its events and its "
            "logs, then follow owners and dependencies (nodes, config maps, services, volumes) as far as the evidence leads."
        ),
    },
    "GeneralWorker": {
        "type": "default",
        "description": "Thinks a given question through without tools: compares, weighs and sums up what it is told",
        "custom_instructions": "You have no tools. Work on what the task gives you, and say plainly what is missing from it.",
        "skills": [],
    },
    "WebResearcher": {
        "type": "default",
        "description": "Searches the web and reads pages: error messages, known bugs, release notes, status pages (needs a Gemini model)",
        "llm_backend": "native-gemini",
        "native_tools": {"google_search": True, "url_context": True, "code_execution": False},
        "skills": [],
        "custom_instructions": (
            "You research on the web. Prefer the vendor's own documentation, issue trackers and release notes; give the address of every page "
            "that you rely on, and the version that it speaks about. Never put names of hosts, people or customers, or any secret, into a search."
        ),
    },
    "CodeExecutor": {
        "type": "default",
        "description": "Runs small programs at the model's vendor: calculations, parsing, statistics over given data (needs a Gemini model)",
        "llm_backend": "native-gemini",
        "native_tools": {"google_search": False, "url_context": False, "code_execution": True},
        "skills": [],
        "custom_instructions": (
            "You compute with code, which runs apart from every system under investigation and reaches none of them. Work only on the data that the "
            "task gives you; show the numbers and how you got them."
        ),
    },
    "ChatAgent": {"type": "default", "description": "Answers questions about a finished investigation, with the same tools"},
    "SynthesisAgent": {"type": "synthesis", "description": "Brings the analyses of a parallel stage together"},
    "ExecSummaryAgent": {"type": "exec_summary", "description": "Says in a few sentences what was found"},
    "ScoringAgent": {"type": "scoring", "description": "Judges how well an investigation was done"},
}

MCP_SERVERS: Mapping[str, Any] = {
    "kubernetes-server": {
        "transport": {
            "type": "stdio",
            "command": "npx",
            "args": ["-y", "kubernetes-mcp-server@0.0.67", "--read-only", "--disable-destructive", "--kubeconfig", "{{.KUBECONFIG}}"],
        },
        "instructions": (
            "These tools read a Kubernetes or OpenShift cluster; they cannot change it. Always give the namespace when you know it: listing "
            "a whole cluster is slow and hides what matters. Events and the logs of the previous container instance explain most restarts. "
            "Ask for single objects rather than for whole kinds."
        ),
        "data_masking": {"pattern_groups": ["kubernetes", "security"]},
        "summarization": {"enabled": True, "size_threshold_tokens": 5000, "summary_max_token_limit": 1000},
    },
}

CHAINS: Mapping[str, Any] = {
    "kubernetes": {
        "alert_types": ["kubernetes"],
        "description": "One agent looks at a Kubernetes alert",
        "stages": [{"name": "analysis", "agents": [{"name": "KubernetesAgent"}]}],
    },
}

# The order is the order of preference when no provider is named.
LLM_PROVIDERS: Mapping[str, Any] = {
    "google-default": {"type": "google", "model": "gemini-3.7-flash", "api_key_env": "GOOGLE_API_KEY"},
    "gemini-2.5-pro": {"type": "google", "model": "gemini-2.5-pro", "api_key_env": "GOOGLE_API_KEY"},
    "gemini-2.5-flash": {"type": "google", "model": "gemini-2.5-flash", "api_key_env": "GOOGLE_API_KEY"},
    "openai-default": {"type": "openai", "model": "gpt-5.2", "api_key_env": "OPENAI_API_KEY"},
    "anthropic-default": {"type": "anthropic", "model": "claude-sonnet-5", "api_key_env": "ANTHROPIC_API_KEY"},
    "xai-default": {"type": "xai", "model": "grok-4.6", "api_key_env": "XAI_API_KEY"},
    "vertexai-default": {
        "type": "vertexai",
        "model": "claude-sonnet-5",
        "credentials_env": "GOOGLE_APPLICATION_CREDENTIALS",
        "project_env": "GOOGLE_CLOUD_PROJECT",
        "location_env": "GOOGLE_CLOUD_LOCATION",
    },
}


def over_builtin(builtin: Any, own: Any) -> Any:
    """Lay an own entry over a built-in one: mappings key by key, anything else replaces.

    A mapping of another `type` is another thing and replaces too: an `http` transport does not inherit a command.
    """
    below, above = mapping(builtin), mapping(own)
    if below is None or own is None:
        return builtin if own is None else own
    if above is None or above.get("type", below.get("type")) != below.get("type"):
        return own
    return {**below, **{key: over_builtin(below.get(key), value) for key, value in above.items()}}
