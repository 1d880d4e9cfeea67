"""Names and boundaries of the GenAI semantic conventions, as of commit 004902b of open-telemetry/semantic-conventions-genai.

They are in development: a commit that moves to a later version says what changed.
"""

from typing import assert_never

from tarsy.domain.llm import ProviderType

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
WORKFLOW = "gen_ai.workflow.name"
AGENT = "gen_ai.agent.name"
AGENT_ID = "gen_ai.agent.id"
CONVERSATION = "gen_ai.conversation.id"
STREAM = "gen_ai.request.stream"
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105 - a name, no secret
TOOL = "gen_ai.tool.name"
TOOL_CALL = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
ERROR = "error.type"

CHAT = "chat"
EXECUTE_TOOL = "execute_tool"
INVOKE_AGENT = "invoke_agent"
INVOKE_WORKFLOW = "invoke_workflow"
# The type of a tool that the agent calls to reach an external system.
EXTENSION = "extension"

# Bucket boundaries that the conventions recommend.
DURATION_BUCKETS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TOKEN_BUCKETS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)


def provider_name(kind: ProviderType) -> str:
    """Return the name of a provider in the conventions."""
    match kind:
        case ProviderType.GOOGLE:
            return "gcp.gemini"
        case ProviderType.VERTEXAI:
            return "gcp.vertex_ai"
        case ProviderType.XAI:
            return "x_ai"
        case ProviderType.OPENAI | ProviderType.ANTHROPIC | ProviderType.REPLAY:
            return kind.value
        case _:
            assert_never(kind)
