"""Large results are folded by code: exactly, once each, and with true counts."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tarsy.agent.folding import FEWEST_ALIKE, fold
from tarsy.agent.tool_results import empty_result_note
from tarsy.domain.conversation import ToolCall


def test_repeated_log_lines_are_shown_once_with_count_and_last() -> None:
    log = "".join(f"2026-01-01T10:00:{second:02}Z GET /cart {200 + second} {second * 3}ms\n" for second in range(40))
    folded = fold(log + "2026-01-01T10:01:00Z panic: nil map\n")
    assert folded.text == (
        "2026-01-01T10:00:00Z GET /cart 200 0ms\n"
        "[39 more lines like this one are folded; the last: 2026-01-01T10:00:39Z GET /cart 239 117ms]\n"
        "2026-01-01T10:01:00Z panic: nil map\n"
    )
    assert folded.lines == 38


def test_messages_that_alternate_are_folded_each_by_itself() -> None:
    log = "".join(f"{number} connected to 10.0.0.{number}\n{number} timeout after {number}s\n" for number in range(20))
    folded = fold(log).text
    assert folded.count("[19 more lines like this one are folded") == 2
    assert folded.splitlines()[0] == "0 connected to 10.0.0.0"
    assert folded.splitlines()[2] == "0 timeout after 0s"


def test_rows_of_a_table_that_differ_only_by_name_are_folded() -> None:
    header = "NAME                 READY   STATUS    RESTARTS   AGE\n"
    rows = "".join(f"cart-{number:04x}           1/1     Running   0          5d\n" for number in range(50))
    folded = fold(header + rows + "pay-1                0/1     Error     7          5d\n").text
    assert "cart-0000" in folded
    assert "cart-0002" in folded
    assert "[47 more lines like this one are folded; the last: cart-0031" in folded
    assert "pay-1                0/1     Error     7          5d" in folded


def test_a_quarter_of_a_megabyte_of_events_is_folded_to_a_page_and_everything_rare_is_kept() -> None:
    header = "NAMESPACE   LAST SEEN   TYPE      REASON             OBJECT                                MESSAGE"
    rows: list[str] = []
    for number in range(1_900):
        app, namespace = f"app-{number % 60}", f"team-{number % 12}"
        pod = f"pod/{app}-{number * 7919 % 0xFFFFFF:06x}5d-{'bcdfg'[number % 5]}x{number % 10}tz"
        kind = number % 6
        type_, reason, message = (
            ("Normal", "Pulled", f'Container image "registry.example/{app}:1.{number % 9}" already present on machine'),
            ("Normal", "Created", f"Created container {app}"),
            ("Normal", "Started", f"Started container {app}"),
            ("Normal", "Scheduled", f"Successfully assigned {namespace}/{app} to worker-{number % 20}"),
            ("Warning", "BackOff", "Back-off restarting failed container"),
            ("Warning", "Unhealthy", f"Readiness probe failed: Get http://10.2.{number % 250}.7:8080/ready: context deadline exceeded"),
        )[kind]
        rows.append(f"{namespace:<12}{number % 59}m{'':<9}"[:24] + f"{type_:<10}{reason:<19}{pod:<38}{message}")
    rare = [
        f"{'shop':<12}{'4m':<12}{'Warning':<10}{'FailedMount':<19}{'pod/cart-1':<38}secret cart-tls not found",
        f"{'shop':<12}{'9m':<12}{'Warning':<10}{'FailedScheduling':<19}{'pod/big-0':<38}0/20 nodes are available: 20 Insufficient memory.",
        f"{'shop':<12}{'2m':<12}{'Normal':<10}{'LeaderElection':<19}{'lease/cdc':<38}cdc-0 became leader",
    ]
    rows[300:300], rows[900:900], rows[1_500:1_500] = [rare[0]], [rare[1]], [rare[2]]
    text = "\n".join((header, *rows))

    folded = fold(text).text

    assert len(text) > 240_000
    assert len(folded) < 8_000
    assert all(row in folded for row in rare)
    assert all(reason in folded for reason in ("Pulled", "Created", "Started", "Scheduled", "BackOff", "Unhealthy"))


def test_ready_pods_of_many_names_are_folded_and_the_others_kept() -> None:
    header = "NAMESPACE   NAME                            READY   STATUS             RESTARTS      AGE   NODE"
    rows = [
        f"{f'team-{n % 9}':<12}{f'app-{n}-{n * 31 + 7:05x}':<32}{'1/1':<8}{'Running':<19}{'0':<14}{f'{n}d':<6}worker-{n % 9}"
        for n in range(200)
    ]
    sick = [
        f"{'shop':<12}{'cart-0':<32}{'0/1':<8}{'CrashLoopBackOff':<19}{'14 (2m ago)':<14}{'1d':<6}worker-1",
        f"{'shop':<12}{'pay-0':<32}{'1/1':<8}{'Running':<19}{'3 (9m ago)':<14}{'1d':<6}worker-1",
    ]
    folded = fold("\n".join((header, *rows[:50], *sick, *rows[50:]))).text
    assert "[197 more lines like this one are folded" in folded
    assert all(row in folded for row in sick)


def test_certificates_and_encoded_data_are_shown_by_their_size() -> None:
    body = "".join("MIIB" + "aB3" * 20 + "\n" for _ in range(12))
    folded = fold(f"tls.crt:\n-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\nimage: {'aB3/' * 100}\n").text
    assert "[12 lines of encoded data are folded]" in folded
    assert "[376 more characters of encoded data are folded]" in folded


def test_a_long_path_is_no_encoded_data() -> None:
    path = "/var/lib/containers/storage/overlay/" + "some-directory/" * 10
    assert fold(path).text == path


def test_what_does_not_repeat_is_left_as_it_is() -> None:
    text = "one\ntwo\n\nthree\n"
    assert fold(text).text == text
    assert not fold(text).is_folded


words = st.sampled_from(["alpha", "beta 1", "beta 2", "beta 3", "gamma x=7", "", "delta\t9", "NAME  READY", "a  1/1", "b  1/1"])


@given(st.lists(words, min_size=1, max_size=60))
@example(["alpha"] * 4 + ["", "alpha"])
def test_every_line_is_shown_or_counted(lines: list[str]) -> None:
    text = "\n".join(lines)
    folded = fold(text).text
    counted = sum(int(found[1]) for found in re.finditer(r"^\[(\d+) more lines", folded, re.MULTILINE))
    shown = [line for line in folded.split("\n") if not line.startswith("[")]
    assert len(shown) + counted == len(lines)
    assert set(shown) <= set(lines)


@given(st.text())
def test_no_text_breaks_folding(text: str) -> None:
    assert fold(text).lines <= text.count("\n") or len(text) > FEWEST_ALIKE


@pytest.mark.parametrize(
    "hostile",
    [
        "-----BEGIN A-----\n" + " \n" * 20_000,
        "-----BEGIN A-----" + "\n" * 20_000 + "x",
        "-----BEGIN A-----\nx\n \n" * 5_000,
        "A  " * 130 + "x",
        "A " * 20_000,
        f"{'a' * 119} " * 800,
        '{"managedFields":[' * 900 + "1," * 200_000,
    ],
    ids=[
        "an endless body",
        "a border and blank lines",
        "borders without end",
        "a header that is none",
        "one long line",
        "almost encoded data",
        "fields in fields",
    ],
)
def test_no_text_keeps_a_worker_folding(hostile: str) -> None:
    """Each of these would take hours by a pattern that can read a text in more than one way."""
    assert fold(hostile).text
    assert empty_result_note(ToolCall("c", "k8s.pods", "{}"), hostile) == ""


def test_what_only_looks_like_a_certificate_is_left_as_it_is() -> None:
    for text in ("-----BEGIN X-----\n-----END X-----", "-----BEGIN X-----\nabc\n- item\n-----END X-----", "-----BEGIN X-----\nabc"):
        assert fold(text).text == text
    nested = "data: |\n  -----BEGIN X-----\n  abc\n  def\n  -----END X-----\nend"
    assert fold(nested).text == "data: |\n  -----BEGIN X-----\n[2 lines of encoded data are folded]\n  -----END X-----\nend"


MANAGED_YAML = """\
apiVersion: v1
kind: Pod
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"apiVersion":"v1","kind":"Pod"}
    team: shop
  managedFields:
  - apiVersion: v1
    fieldsV1:
      f:metadata: {}
    manager: kubelet
  name: cart-0
spec: {}
"""


def test_what_kubernetes_keeps_for_itself_is_folded_in_yaml() -> None:
    assert fold(MANAGED_YAML).text.splitlines()[3:9] == [
        "  annotations:",
        "    [1 lines of kubectl.kubernetes.io/last-applied-configuration are folded]",
        "    team: shop",
        "  [4 lines of managedFields are folded]",
        "  name: cart-0",
        "spec: {}",
    ]


@pytest.mark.parametrize("indent", [None, 2])
def test_what_kubernetes_keeps_for_itself_is_folded_in_json(indent: int | None) -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": '{"a": "\\"b\\" and more of the same object"}' * 3, "team": "shop"}
    managed: list[object] = [{"manager": "kubelet", "fieldsV1": {f"f:field{n}": {} for n in range(9)}}] * 3
    folded = fold(json.dumps({"metadata": {"annotations": annotations, "managedFields": managed, "name": "cart-0"}}, indent=indent))
    metadata = json.loads(folded.text)["metadata"]
    assert metadata["managedFields"].endswith("characters of managedFields are folded]")
    assert metadata["annotations"]["kubectl.kubernetes.io/last-applied-configuration"].endswith("are folded]")
    assert (metadata["name"], metadata["annotations"]["team"]) == ("cart-0", "shop")
    assert folded.is_folded
    assert folded.pays


@given(st.text(alphabet='"managedFields: []{}\\n -|', max_size=200))
@example('"managedFields": [')
@example('"managedFields":"')
def test_no_text_breaks_folding_what_kubernetes_keeps(text: str) -> None:
    assert fold(text).characters >= 0
    assert fold(f'"managedFields": {text}').text


@given(st.lists(words, max_size=60))
def test_a_fold_pays_if_it_saves_a_third(lines: list[str]) -> None:
    text = "\n".join(lines)
    folded = fold(text)
    assert folded.pays is (len(folded.text) * 3 <= len(text) * 2 if folded.characters else not folded.text)
