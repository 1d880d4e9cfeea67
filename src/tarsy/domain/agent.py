"""The four orthogonal things an agent is: what it does, over which SDK, how it speaks tools (and which tools it has)."""

from enum import StrEnum


class AgentType(StrEnum):
    DEFAULT = "default"
    SYNTHESIS = "synthesis"
    EXEC_SUMMARY = "exec_summary"
    SCORING = "scoring"


class LLMBackend(StrEnum):
    LANGCHAIN = "langchain"
    NATIVE_GEMINI = "native-gemini"


class ToolCalling(StrEnum):
    NATIVE = "native"
    REACT = "react"


class ProviderType(StrEnum):
    GOOGLE = "google"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    XAI = "xai"
    VERTEXAI = "vertexai"
    REPLAY = "replay"
