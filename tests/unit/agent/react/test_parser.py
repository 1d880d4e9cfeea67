"""The parser on turns as models really write them: what each amounts to."""

import pytest

from tarsy.agent.react.feedback import ReActProblem
from tarsy.agent.react.parser import ReActAction, ReActFinalAnswer, ReActMalformed, forced_answer, parse

# (what is special about it, the turn, thought, tool, input)
CALLS: list[tuple[str, str, str, str, str]] = [
    ("the format as asked for", 'Thought: look\nAction: k8s.pods_list\nAction Input: {"ns": "a"}', "look", "k8s.pods_list", '{"ns": "a"}'),
    ("no thought", 'Action: k8s.pods_list\nAction Input: {"ns": "a"}', "", "k8s.pods_list", '{"ns": "a"}'),
    (
        "thought without its name",
        "I look at the pods.\nAction: k8s.pods_list\nAction Input: {}",
        "I look at the pods.",
        "k8s.pods_list",
        "{}",
    ),
    ("thought over lines", "Thought: one\ntwo\n\nthree\nAction: k.x\nAction Input: {}", "one\ntwo\n\nthree", "k.x", "{}"),
    ("two thoughts", "Thought: one\nThought: two\nAction: k.x\nAction Input: {}", "one\n\ntwo", "k.x", "{}"),
    ("thought after the action", "Action: k.x\nThought: because\nAction Input: {}", "because", "k.x", "{}"),
    ("no space after colons", 'Thought:look\nAction:k.x\nAction Input:{"a":1}', "look", "k.x", '{"a":1}'),
    ("space before colons", "Thought : look\nAction : k.x\nAction Input : {}", "look", "k.x", "{}"),
    ("lower case", "thought: look\naction: k.x\naction input: {}", "look", "k.x", "{}"),
    ("upper case", "THOUGHT: look\nACTION: k.x\nACTION INPUT: {}", "look", "k.x", "{}"),
    ("underscore", "Thought: look\nAction: k.x\nAction_Input: {}", "look", "k.x", "{}"),
    ("joined words", "Thought: look\nAction: k.x\nActionInput: {}", "look", "k.x", "{}"),
    ("indented", "  Thought: look\n  Action: k.x\n  Action Input: {}", "look", "k.x", "{}"),
    ("bold names", '**Thought:** look\n**Action:** k.x\n**Action Input:** {"a": 1}', "look", "k.x", '{"a": 1}'),
    ("bold names, colon outside", "**Thought**: look\n**Action**: k.x\n**Action Input**: {}", "look", "k.x", "{}"),
    ("italic names", "*Thought:* look\n*Action:* k.x\n*Action Input:* {}", "look", "k.x", "{}"),
    ("headings", "### Thought\nlook\n### Action\nk.x\n### Action Input\n{}", "look", "k.x", "{}"),
    ("headings with colons", "## Thought: look\n## Action: k.x\n## Action Input: {}", "look", "k.x", "{}"),
    ("bullets", "- Thought: look\n- Action: k.x\n- Action Input: {}", "look", "k.x", "{}"),
    ("bold bullets", "* **Thought:** look\n* **Action:** k.x\n* **Action Input:** {}", "look", "k.x", "{}"),
    ("numbers", "1. Thought: look\n2. Action: k.x\n3. Action Input: {}", "look", "k.x", "{}"),
    ("quoted lines", "> Thought: look\n> Action: k.x\n> Action Input: {}", "look", "k.x", "{}"),
    ("wide colon", "Thought\uff1a look\nAction\uff1a k.x\nAction Input\uff1a {}", "look", "k.x", "{}"),
    ("windows line ends", "Thought: look\r\nAction: k.x\r\nAction Input: {}\r\n", "look", "k.x", "{}"),
    ("all on one line", 'Thought: look. Action: k.x Action Input: {"a": 1}', "look.", "k.x", '{"a": 1}'),
    ("all on one line, no full stop", "Thought: I check pods Action: k.x Action Input: {}", "I check pods", "k.x", "{}"),
    ("action in the middle of a line", "Thought: look. Action: k.x\nAction Input: {}", "look.", "k.x", "{}"),
    ("input in the middle of a line", 'Thought: look\nAction: k.x Action Input: {"a": 1}', "look", "k.x", '{"a": 1}'),
    ("bold in the middle of a line", "Look first. **Action:** k.x **Action Input:** {}", "Look first.", "k.x", "{}"),
    ("wrapped in a code fence", "```\nThought: look\nAction: k.x\nAction Input: {}\n```", "look", "k.x", "{}"),
    ("call in a code fence", "Thought: look\n```\nAction: k.x\nAction Input: {}\n```", "look", "k.x", "{}"),
    ("input in a json fence", 'Action: k.x\nAction Input:\n```json\n{"a": 1}\n```', "", "k.x", '{"a": 1}'),
    ("input in a plain fence", 'Action: k.x\nAction Input: ```\n{"a": 1}\n```\nWaiting.', "", "k.x", '{"a": 1}'),
    ("input in backticks", 'Action: k.x\nAction Input: `{"a": 1}`', "", "k.x", '{"a": 1}'),
    ("input over lines", 'Action: k.x\nAction Input: {\n  "a": 1,\n  "b": [1, 2]\n}', "", "k.x", '{\n  "a": 1,\n  "b": [1, 2]\n}'),
    ("words after the input", 'Action: k.x\nAction Input: {"a": 1}\n\nI will wait for the result.', "", "k.x", '{"a": 1}'),
    ("input is a list", "Action: k.x\nAction Input: [1, 2] please", "", "k.x", "[1, 2]"),
    ("input is broken json", 'Action: k.x\nAction Input: {"a": 1,}', "", "k.x", '{"a": 1,}'),
    ("input is yaml", "Action: k.x\nAction Input:\nns: a\nlimit: 3", "", "k.x", "ns: a\nlimit: 3"),
    (
        "input is yaml with a key named action",
        "Action: k.x\nAction Input: ns: a\naction: list\nb: 1",
        "",
        "k.x",
        "ns: a\naction: list\nb: 1",
    ),
    ("input is key=value", "Action: k.x\nAction Input: ns=a, limit=3", "", "k.x", "ns=a, limit=3"),
    ("input is words", "Action: k.search\nAction Input: error rate of checkout", "", "k.search", "error rate of checkout"),
    ("input contains a section name", 'Action: k.x\nAction Input: {"q": "Final Answer: no"}', "", "k.x", '{"q": "Final Answer: no"}'),
    ("input left empty", "Action: k.x\nAction Input:", "", "k.x", "{}"),
    ("input left empty before an observation", "Action: k.x\nAction Input:\nObservation:", "", "k.x", "{}"),
    ("input said to be none", "Action: k.x\nAction Input: None", "", "k.x", "{}"),
    ("input repeated", 'Action: k.x\nAction Input:\nAction Input: {"a": 1}', "", "k.x", '{"a": 1}'),
    ("name in backticks", "Action: `k.x`\nAction Input: {}", "", "k.x", "{}"),
    ("name in quotes", 'Action: "k.x"\nAction Input: {}', "", "k.x", "{}"),
    ("name in bold", "Action: **k.x**\nAction Input: {}", "", "k.x", "{}"),
    ("name in brackets", "Action: [k.x]\nAction Input: {}", "", "k.x", "{}"),
    ("name with a full stop", "Action: k.x.\nAction Input: {}", "", "k.x", "{}"),
    ("name on the next line", "Action:\nk.x\nAction Input:\n{}", "", "k.x", "{}"),
    ("name with a remark", "Action: k.x (to list the pods)\nAction Input: {}", "", "k.x", "{}"),
    ("input after a remark", 'Action: k.x (the pods) {"a": 1}', "", "k.x", '{"a": 1}'),
    ("name followed by words", "Action: k.x to list the pods\nAction Input: {}", "", "k.x", "{}"),
    ("name after words", "Action: call the tool k.x\nAction Input: {}", "", "k.x", "{}"),
    ("name without server", "Action: pods_list\nAction Input: {}", "", "pods_list", "{}"),
    ("name with dashes and dots", "Action: my-srv.v1.pods-list\nAction Input: {}", "", "my-srv.v1.pods-list", "{}"),
    ("action corrected before its input", "Action: pods\nAction: k.pods\nAction Input: {}", "", "k.pods", "{}"),
    ("two calls: the first counts", 'Action: k.x\nAction Input: {"n": 1}\nAction: k.y\nAction Input: {"n": 2}', "", "k.x", '{"n": 1}'),
    ("observation made up", 'Action: k.x\nAction Input: {}\nObservation: {"pods": 3}\nThought: fine', "", "k.x", "{}"),
    (
        "answer made up after a made-up observation",
        "Action: k.x\nAction Input: {}\nObservation: ok\nFinal Answer: all is well",
        "",
        "k.x",
        "{}",
    ),
    ("answer made up after the call", "Action: k.x\nAction Input: {}\nFinal Answer: all is well", "", "k.x", "{}"),
    ("one-line call before a made-up answer", "Thought: a. Action: k.x Action Input: {}\nFinal Answer: well", "a.", "k.x", "{}"),
    ("observation echoed first", "Observation: 3 pods\nThought: more\nAction: k.x\nAction Input: {}", "more", "k.x", "{}"),
    ("input beside the name", 'Thought: t\nAction: k.x {"a": 1}', "t", "k.x", '{"a": 1}'),
    ("input as a call", "Action: k.x(ns=a, limit=3)", "", "k.x", "ns=a, limit=3"),
    ("input as an empty call", "Action: k.x()", "", "k.x", "{}"),
    ("input as a call with json", 'Action: k.x({"a": 1})', "", "k.x", '{"a": 1}'),
    ("input under the name", 'Action: k.x\n{"a": 1}', "", "k.x", '{"a": 1}'),
    ("input under the name in a fence", 'Action: k.x\n```json\n{"a": 1}\n```', "", "k.x", '{"a": 1}'),
    ("input beside the name in words", 'Action: k.x with arguments {"a": 1}', "", "k.x", '{"a": 1}'),
    ("json in the action", 'Thought: t\nAction:\n```json\n{"action": "k.x", "action_input": {"a": 1}}\n```', "t", "k.x", '{"a": 1}'),
    ("tool and arguments", 'Tool: k.x\nArguments: {"a": 1}', "", "k.x", '{"a": 1}'),
    ("tool name and input", 'Thought: t\nTool Name: k.x\nTool Input: {"a": 1}', "t", "k.x", '{"a": 1}'),
    ("action and parameters", 'Thought: t\nAction: k.x\nParameters: {"a": 1}', "t", "k.x", '{"a": 1}'),
    ("json alone", '{"tool": "k.x", "arguments": {"a": 1}}', "", "k.x", '{"a": 1}'),
    ("json in a fence", 'I look.\n```json\n{"name": "k.x", "arguments": {"a": 1}}\n```', "I look.", "k.x", '{"a": 1}'),
    ("json without arguments", '{"action": "k.x"}', "", "k.x", "{}"),
    ("json with text arguments", '{"name": "k.x", "arguments": "{\\"a\\": 1}"}', "", "k.x", '{"a": 1}'),
    ("json of a function call", '{"function": {"name": "k.x", "arguments": {"a": 1}}}', "", "k.x", '{"a": 1}'),
    ("json list of calls", '[{"name": "k.x", "arguments": {"a": 1}}]', "", "k.x", '{"a": 1}'),
    ("tool_call tags", '<tool_call>\n{"name": "k.x", "arguments": {"a": 1}}\n</tool_call>', "", "k.x", '{"a": 1}'),
    ("function tag", '<function=k.x>{"a": 1}</function>', "", "k.x", '{"a": 1}'),
    ("call syntax", 'Thought: t\nk.x(ns="a", limit=3)', "t", "k.x", 'ns="a", limit=3'),
    ("call syntax with json", 'k.x({\n"a": 1})', "", "k.x", '{\n"a": 1}'),
    ("call in prose", 'I will call `k.x` with {"a": 1} now.', "", "k.x", '{"a": 1}'),
    ("call in prose, json below", 'First line.\nNext is k.x with:\n{"a": 1}', "First line.", "k.x", '{"a": 1}'),
    (
        "action missing, tool in the thought",
        'Thought: I use k.pods for this\nAction Input: {"a": 1}',
        "I use k.pods for this",
        "k.pods",
        '{"a": 1}',
    ),
    (
        "reasoning tags",
        "<think>hm\nAction: no.no\n</think>\nThought: t\nAction: k.x\nAction Input: {}",
        "hm\nAction: no.no\n\nt",
        "k.x",
        "{}",
    ),
    ("reasoning tags before json", '<think>hm</think>{"tool": "k.x", "arguments": {}}', "hm", "k.x", "{}"),
    ("spoken of, then used", "Thought: the next Action: step\nAction: k.x\nAction Input: {}", "the next Action: step", "k.x", "{}"),
]

# (what is special about it, the turn, thought, answer)
ANSWERS: list[tuple[str, str, str, str]] = [
    ("the format as asked for", "Thought: enough\nFinal Answer: it is DNS", "enough", "it is DNS"),
    ("no thought", "Final Answer: it is DNS", "", "it is DNS"),
    ("over lines", "Thought: t\nFinal Answer:\n# Cause\n\n- a\n- b", "t", "# Cause\n\n- a\n- b"),
    ("no space after the colon", "Final Answer:it is DNS", "", "it is DNS"),
    ("bold name", "**Final Answer:** **Cause**: DNS", "", "**Cause**: DNS"),
    ("bold begins the answer", "Final Answer:**Cause**: DNS", "", "**Cause**: DNS"),
    ("heading", "## Final Answer\nit is DNS", "", "it is DNS"),
    ("lower case", "thought: t\nfinal answer: it is DNS", "t", "it is DNS"),
    ("final analysis", "Thought: t\nFinal Analysis: it is DNS", "t", "it is DNS"),
    ("in the middle of a line", "Thought: I know now. Final Answer: it is DNS", "I know now.", "it is DNS"),
    ("announced by its own name", "Thought: I now know the final answer Final Answer: DNS", "I now know the final answer", "DNS"),
    ("contains an action heading", "Final Answer: DNS\n\nAction: restart CoreDNS", "", "DNS\n\nAction: restart CoreDNS"),
    ("contains a whole call", "Final Answer: run\nAction: k.x\nAction Input: {}", "", "run\nAction: k.x\nAction Input: {}"),
    ("mid-line answer with an action heading", "Thought: ok. Final Answer: DNS\nAction: restart it", "ok.", "DNS\nAction: restart it"),
    ("contains code", "Final Answer: run\n```\nkubectl get pods\n```", "", "run\n```\nkubectl get pods\n```"),
    ("whole turn in a fence", "```\nThought: t\nFinal Answer: DNS\n```", "t", "DNS"),
    ("answer in a markdown fence", "Final Answer:\n```markdown\n# Cause\nDNS\n```", "", "# Cause\nDNS"),
    ("announced twice", "Final Answer:\nFinal Answer: DNS", "", "DNS"),
    ("action said to be none", "Thought: t\nAction: None\nFinal Answer: DNS", "t", "DNS"),
    ("action and input said to be none", "Thought: t\nAction: N/A\nAction Input: N/A\nFinal Answer: DNS", "t", "DNS"),
    ("action without input before it", "Thought: t\nAction: conclude now please\nFinal Answer: DNS", "t", "DNS"),
    ("named as the action", "Thought: t\nAction: Final Answer\nAction Input: it is DNS", "t", "it is DNS"),
    ("json", '{"thought": "t", "final_answer": "DNS"}', "t", "DNS"),
    ("json with the answer as an action", '```json\n{"action": "Final Answer", "action_input": "DNS"}\n```', "", "DNS"),
    ("json in the action section", 'Thought: t\nAction:\n{"action": "Final Answer", "action_input": "DNS"}', "t", "DNS"),
    ("no fault found", "Final Answer: No fault found: the pod is ready.", "", "No fault found: the pod is ready."),
    ("reasoning tags", "<think>hm</think>\nFinal Answer: DNS", "hm", "DNS"),
    ("observation made up before it", "Thought: t\nObservation: nothing\nFinal Answer: DNS", "t", "DNS"),
]

MALFORMED: list[tuple[str, str, ReActProblem]] = [
    ("nothing", "", ReActProblem.EMPTY),
    ("white space", " \n\t ", ReActProblem.EMPTY),
    ("prose", "The pod seems to be crashing because of memory.", ReActProblem.NO_SECTIONS),
    ("prose with a file name", "See deployment.yaml and example.com for details.", ReActProblem.NO_SECTIONS),
    ("a list", "- a\n- b", ReActProblem.NO_SECTIONS),
    ("json of something else", '{"pods": [1, 2]}', ReActProblem.NO_SECTIONS),
    ("thought alone", "Thought: I should look at the pods.", ReActProblem.ONLY_THOUGHT),
    ("answer only spoken of", "Thought: I cannot give a Final Answer: more is needed", ReActProblem.ONLY_THOUGHT),
    ("observation alone", "Thought: t\nObservation: 3 pods", ReActProblem.ONLY_OBSERVATION),
    ("input without action", 'Thought: t\nAction Input: {"a": 1}', ReActProblem.MISSING_ACTION),
    ("input, two tools in the thought", "Thought: k.a or k.b\nAction Input: {}", ReActProblem.MISSING_ACTION),
    ("action without input", "Thought: t\nAction: k.x", ReActProblem.MISSING_INPUT),
    ("action without input, observation made up", "Action: k.x\nObservation: ok", ReActProblem.MISSING_INPUT),
    ("action is a sentence", "Action: restart the pod\nAction Input: {}", ReActProblem.NOT_A_TOOL_NAME),
    ("action names two tools", "Action: either k.a or k.b\nAction Input: {}", ReActProblem.NOT_A_TOOL_NAME),
    ("action is punctuation", "Action: ???\nAction Input: {}", ReActProblem.NOT_A_TOOL_NAME),
    ("action empty", "Thought: t\nAction:\nAction Input: {}", ReActProblem.MISSING_ACTION),
    ("answer empty", "Thought: t\nFinal Answer:", ReActProblem.EMPTY_ANSWER),
    ("name hidden by escapes", '{"tool": "k\\u002ex", "arguments": {}}', ReActProblem.NO_SECTIONS),
]


@pytest.mark.parametrize(("turn", "thought", "tool", "tool_input"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS])
def test_a_call_is_read(turn: str, thought: str, tool: str, tool_input: str) -> None:
    assert parse(turn) == ReActAction(thought, tool, tool_input)


@pytest.mark.parametrize(("turn", "thought", "answer"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
def test_an_answer_is_read(turn: str, thought: str, answer: str) -> None:
    assert parse(turn) == ReActFinalAnswer(thought, answer)


@pytest.mark.parametrize(("turn", "problem"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
def test_what_is_wrong_is_reported_specifically(turn: str, problem: ReActProblem) -> None:
    parsed = parse(turn)
    assert isinstance(parsed, ReActMalformed)
    assert parsed.problem is problem
    assert "Final Answer:" in parsed.feedback


@pytest.mark.parametrize(
    ("turn", "answer"),
    [
        ("Thought: t\nFinal Answer: DNS", "DNS"),
        ("It is DNS.", "It is DNS."),
        ("Thought: It is DNS.", "It is DNS."),
        ("Thought: It is DNS.\nAction: k.x\nAction Input: {}", "It is DNS."),
        ("Action: k.x\nAction Input: {}", "Action: k.x\nAction Input: {}"),
    ],
)
def test_a_forced_conclusion_needs_no_marker(turn: str, answer: str) -> None:
    assert forced_answer(turn).answer == answer
