"""A call in a text that was masked: the tool gets what the model wrote, everything else what was masked."""

from tarsy.agent.model_call import ModelAnswer
from tarsy.agent.tool_calls import ReActToolCalls, WantsTools

WRITTEN = 'Thought: The password is hunter2.\nAction: db.query\nAction Input: {"sql": "set password to hunter2"}'


def read(text: str, unmasked: str) -> WantsTools:
    turn = ReActToolCalls().parse(ModelAnswer(text=text, unmasked=unmasked), 3, frozenset())
    assert isinstance(turn, WantsTools)
    return turn


def test_the_tool_gets_the_arguments_as_the_model_wrote_them() -> None:
    turn = read(WRITTEN.replace("hunter2", "[MASKED_PASSWORD]"), WRITTEN)
    assert turn.calls[0].arguments == '{"sql": "set password to hunter2"}'
    assert turn.thought == "The password is [MASKED_PASSWORD]."


def test_a_text_that_reads_otherwise_before_masking_calls_with_what_is_stored() -> None:
    masked = WRITTEN.replace("hunter2", "[MASKED_PASSWORD]")
    turn = read(masked, "Final Answer: " + WRITTEN)
    assert turn.calls[0].arguments == '{"sql": "set password to [MASKED_PASSWORD]"}'
