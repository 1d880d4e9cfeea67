"""Sixty and more texts with a secret and without one: every secret goes, and nothing else does."""

import base64
import json

import pytest

from tarsy.tools.masking import Masker

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx0f\nabcDEF012345678=\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
GITHUB = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


# Text, and the part of it that must not survive.
POSITIVE: list[tuple[str, str]] = [
    ("password: hunter2", "hunter2"),
    ("password=hunter2 user=bob", "hunter2"),
    ('{"user":"bob","password":"hunter2"}', "hunter2"),
    ("{'db_password': 'hunter2'}", "hunter2"),
    ('{\\"password\\": \\"hunter2\\"}', "hunter2"),
    ("DB_PASSWORD=hunter2", "hunter2"),
    ('export PGPASSWORD="p4ss word"', "p4ss word"),
    ("spring.datasource.password=hunter2", "hunter2"),
    ("spring:\n  datasource:\n    password: correct horse battery\n", "horse"),
    ("mysql --user root --password hunter2 -h db", "hunter2"),
    ("mysqldump --password=hunter2 shop", "hunter2"),
    ("<password>hunter2</password>", "hunter2"),
    ("Server=db;Database=shop;User Id=sa;Password=hunt;er2;", "hunt"),
    ("- name: DB_PASSWORD\n  value: hunter2\n- name: MODE\n  value: prod\n", "hunter2"),
    ('{"env":[{"name":"DB_PASSWORD","value":"hunter2"}]}', "hunter2"),
    ('"env": [\n  {\n    "name": "API_TOKEN",\n    "value": "t0k3n-abc"\n  }\n]', "t0k3n-abc"),
    ("postgres://shop:hunter2@db.prod:5432/shop", "hunter2"),
    ("amqp://guest:p%40ss1@rabbit:5672", "p%40ss1"),
    ("git clone https://x-access-token:s3cr3tvalue@github.com/a/b", "s3cr3tvalue"),
    ("Authorization: Bearer abcdef0123456789abcdef", "abcdef0123456789abcdef"),
    ("authorization: Basic " + b64("bob:hunter2"), b64("bob:hunter2")),
    ("curl -H 'Authorization: Bearer tok_9f8e7d6c5b4a39281706' https://api", "tok_9f8e7d6c5b4a39281706"),
    ("curl -u bob:hunter2 https://api", "hunter2"),
    ("X-Api-Key: 8f14e45fceea167a5a36", "8f14e45fceea167a5a36"),
    ("api_key: 8f14e45fceea167a5a36dedd4bea2543", "8f14e45fceea167a5a36dedd4bea2543"),
    ("apiKey=AbCdEf0123456789", "AbCdEf0123456789"),
    ("https://api.example.com/v1?api_key=AbCdEf0123456789&limit=5", "AbCdEf0123456789"),
    ("https://api.example.com/v1?limit=5&access_token=AbCdEf0123456789", "AbCdEf0123456789"),
    ("token: s.9f8e7d6c5b4a", "s.9f8e7d6c5b4a"),
    ('"refreshToken" : "rt-0123456789abcdef"', "rt-0123456789abcdef"),
    ("level=info msg=login session_token=9f8e7d6c5b4a3928", "9f8e7d6c5b4a3928"),
    ("Cookie: session=9f8e7d6c5b4a; theme=dark", "9f8e7d6c5b4a"),
    ("Set-Cookie: JSESSIONID=9F8E7D6C5B4A; Path=/", "9F8E7D6C5B4A"),
    (f"login ok, jwt {JWT} issued", JWT),
    ("client_secret: 9f8e7d6c-5B4A-xyz", "9f8e7d6c-5B4A-xyz"),
    ("SECRET_KEY='django-insecure-9f8e7d6c5b4a'", "django-insecure-9f8e7d6c5b4a"),
    ('"encryptionKey": "9f8E7d6C5b4A3928"', "9f8E7d6C5b4A3928"),
    ("aws_access_key_id = AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ('"SecretAccessKey": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"', "wJalrXUtnFEMI"),
    (f"remote: {GITHUB} was used", GITHUB),
    ("github_pat_11ABCDEFG0abcdefghijkl_0123456789", "github_pat_11ABCDEFG0abcdefghijkl_0123456789"),
    ("glpat-abcdefghij0123456789", "glpat-abcdefghij0123456789"),
    ("xoxb-123456789012-abcdefABCDEF012345", "xoxb-123456789012-abcdefABCDEF012345"),
    ("https://hooks.slack.com/services/T00000000/B00000000/XXXXabcdXXXXabcdXXXXabcd", "XXXXabcdXXXXabcdXXXXabcd"),
    ("sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc", "4eC39HqLyjWDarjtT1zdp7dc"),
    ("key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123", "abcdefghijklmnopqrstuvwxyz0123"),
    ("AIzaSyA0123456789abcdefghijklmnopqrstuv", "AIzaSyA0123456789abcdefghijklmnopqrstuv"),
    ("SG." + "a" * 22 + "." + "b" * 43, "b" * 43),
    ("npm_" + "a1B2c3" * 6, "a1B2c3a1B2c3"),
    ("hvs.CAESIJ0123456789abcdefghijKLMNOP", "CAESIJ0123456789abcdefghijKLMNOP"),
    ("DefaultEndpointsProtocol=https;AccountKey=" + "a1B2" * 21 + "ab==;", "a1B2a1B2a1B2"),
    ("oc login --token=sha256~" + "a1B2c3D4e5" * 4 + "abc", "a1B2c3D4e5"),
    (PEM, "MIIEowIBAAKCAQEAx0f"),
    (PEM.replace("\n", "\\n"), "MIIEowIBAAKCAQEAx0f"),
    (PEM[:60], "MIIEowIBAAKCAQEAx0f"),
    ("-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIE\n-----END CERTIFICATE-----", "MIIDdzCCAl"),
    ("    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"),
    ("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 bob@laptop", "AAAAB3NzaC1yc2EAAAADAQABAAABgQC7"),
    ("contact jane.doe@example.com for access", "jane.doe@example.com"),
    ("config: " + b64("username=shop password=hunter2 host=db"), b64("username=shop password=hunter2 host=db")),
    ("password: |\n  first line\n  second line\nuser: bob\n", "second line"),
    ('requirepass "r3dis!"', "r3dis!"),
    ("redis-cli config: requirepass=r3dis!", "r3dis!"),
    ("ALTER USER bob WITH PASSWORD 'hunter2';", "hunter2"),
    ("apiVersion: v1\ndata:\n  host: ZGIucHJvZA==\nkind: Secret\nmetadata:\n  name: db\n", "ZGIucHJvZA=="),
    ("kind: Secret\nstringData:\n  anything: plain words\n", "plain words"),
    ('{"kind":"Secret","apiVersion":"v1","data":{"host":"ZGIucHJvZA=="}}', "ZGIucHJvZA=="),
    ('{"kind":"SecretList","items":[{"metadata":{"name":"a"},"data":{"host":"ZGIucHJvZA=="}}]}', "ZGIucHJvZA=="),
    ("kind: SecretList\nitems:\n- data:\n    host: ZGIucHJvZA==\n  metadata:\n    name: a\n", "ZGIucHJvZA=="),
    ('{"kind":"Secret","data":{"host":"ZGIucHJvZA==","port":"NTQz', "NTQz"),
    ("{apiVersion: v1, data: {host: ZGIucHJvZA==}, kind: Secret}", "ZGIucHJvZA=="),
    (json.dumps({"stdout": json.dumps({"kind": "Secret", "data": {"host": "ZGIucHJvZA=="}})}), "ZGIucHJvZA=="),
    (
        (
            "kind: Secret\nmetadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n"
            '      {"data":{"host":"ZGIucHJvZA=="},"kind":"Secret"}\n  name: a\n'
        ),
        "ZGIucHJvZA==",
    ),
    ("password: 'it''s hunter2'", "hunter2"),
    ('"password" : "a\\"hunter2\\"c"', "hunter2"),
    ("PASSWORD=abc\\ hunter2", "hunter2"),
    ('password: "first\n  hunter2"\nuser: bob\n', "hunter2"),
    ('password: "hunter2\nuser: bob\n', "hunter2"),
    ("password: 'hunter2", "hunter2"),
    ("pwd: secretword1", "secretword1"),
    ("{'token': b'abc123def456'}", "abc123def456"),
    ("client_secret=abcdefghijklmnopqrst", "abcdefghijklmnopqrst"),
    ("docker login -u bob -p hunter2 registry", "hunter2"),
    ("sshpass -p hunter2 ssh host", "hunter2"),
    ('{"auths":{"r.io":{"auth":"' + b64("bob:hunter2") + '"}}}', b64("bob:hunter2")),
    ('<add key="Password" value="hunter2"/>', "hunter2"),
    ("ENV DB_PASSWORD hunter2", "hunter2"),
    ("masterauth hunter2", "hunter2"),
    ("url: redis://:hunter2@redis:6379", "hunter2"),
    ("helm install x --set db.password=hunter2", "hunter2"),
    (".dockerconfigjson: eyJhdXRocyI6eyJyLmlvIjp7fX19", "eyJhdXRocyI6eyJyLmlvIjp7fX19"),
]

NEGATIVE: list[str] = [
    "request_id=7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "trace_id: 4bf92f3577b34da6a3ce929d0e0e4736 span_id: 00f067aa0ba902b7",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "image: registry.example.com/shop@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "containerID: containerd://9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "pod/payments-7d9f8b6c5-x2x4z   1/1   Running   0   3d",
    'etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"',
    "md5 d41d8cd98f00b204e9800998ecf8427e",
    "payload: " + b64("hello world, this is a harmless message"),
    "avatar: iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    'FATAL: password authentication failed for user "shop"',
    "error: invalid password: file not found",
    "password: null",
    "password: ''",
    'password: ""',
    "password: ${DB_PASSWORD}",
    "password: {{ .Values.db.password }}",
    "password: '{{.DB_PASSWORD}}'",
    "password: ********",
    "password: <redacted>",
    "password: [MASKED_PASSWORD]",
    "passwordPolicy: strict",
    "passwordSecretRef:\n  name: db\n  key: password\n",
    "changePassword: true",
    "secretName: db-credentials",
    "imagePullSecrets:\n- name: regcred\n",
    "secretKeyRef:\n  name: db\n  key: password\n",
    "volumes:\n- name: tls\n  secret:\n    secretName: tls\n",
    "nginx.ingress.kubernetes.io/auth-secret: basic-auth",
    "secret: my-app-tls",
    'secret "db-credentials" not found',
    "kubectl get secret db -n prod",
    "Secret/db created",
    'kind: ConfigMap\ndata:\n  host: db.prod\n  port: "5432"\n',
    '{"kind":"ConfigMap","data":{"host":"db.prod"}}',
    '{"kind":"Pod","metadata":{"name":"a"},"spec":{"volumes":[{"name":"Secret"}]}}',
    "automountServiceAccountToken: true",
    "tokenExpirationSeconds: 3607",
    "token_type: bearer",
    "token: expired",
    "token=invalid reason=clock",
    "max_tokens: 4096",
    "prompt_tokens=812 completion_tokens=120",
    "token: 42",
    "serviceAccountToken:\n  path: token\n  expirationSeconds: 3600\n",
    "BearerToken authentication is required",
    'WWW-Authenticate: Bearer realm="registry",service="registry"',
    "Unauthorized: bearer authentication-is-required-here",
    "api_key: <your key here>",
    "apiKeyRef: payments",
    "PRIMARY KEY (id), FOREIGN KEY (order_id)",
    "key: node-role.kubernetes.io/control-plane",
    "key: value",
    "cache key=orders:2026-03-01 hit",
    "partition_key: customer_id",
    "PWD=/app",
    "OLDPWD=/root",
    "git@github.com:example/shop.git",
    "user@1000.service: Succeeded.",
    "postgres@db-0.db.prod.svc.cluster.local",
    "https://db.prod:5432/path?x=1",
    "http://localhost:9090/api/v1/query?query=up",
    "image: nginx:1.25@sha256:abcdef",
    "10.0.0.1:52344 -> 10.0.0.2:443 TLSv1.3 AES-256-GCM-SHA384",
    "2026-03-01T12:00:00Z INFO rotation of signing keys finished",
    "credentials: file",
    "The access key was rotated by the operator yesterday.",
    "ssh-rsa host key accepted",
    "password = os.environ['DB_PASSWORD']",
    'token := r.Header.Get("X")',
    'resourceVersion: "1234567890123"',
    "uid: 0b1a2c3d-4e5f-6789-abcd-ef0123456789",
    "checksum/config: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "helm.sh/chart: shop-1.2.3",
    "sk-learn is a library; ask-me-anything-about-it-please-now",
    "session=42 opened",
    "SKU1234567890 AC adapter",
    "oauth login -p is not an option",
    "tolerations:\n- key: token\n  value: enabled\n",
    "pass: 12 fail: 3",
    "tests passed: 120",
    "exit code 137 (OOMKilled), restartCount: 12",
]


@pytest.fixture(scope="module")
def masker() -> Masker:
    return Masker.for_group("all")


def test_every_secret_of_the_corpus_goes_and_nothing_else_does(masker: Masker, capsys: pytest.CaptureFixture[str]) -> None:
    missed = [text for text, secret in POSITIVE if secret in masker.mask(text)]
    harmed = [(text, masker.mask(text)) for text in NEGATIVE if masker.mask(text) != text]
    with capsys.disabled():
        print(f"\nmasking: {len(POSITIVE)} with a secret, {len(missed)} missed; {len(NEGATIVE)} without, {len(harmed)} harmed")  # noqa: T201 - the figures are the point
    assert len(POSITIVE) >= 60
    assert len(NEGATIVE) >= 60
    assert missed == []
    assert harmed == []


def test_masking_a_masked_text_changes_nothing(masker: Masker) -> None:
    for text, _ in POSITIVE:
        once = masker.mask(text)
        assert masker.mask(once) == once
