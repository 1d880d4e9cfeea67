"""Kinds of secrets in every dress, and harmless texts that look like them: every secret goes, and nothing else does."""

import base64
import json
import re
from itertools import pairwise

import pytest

from support.paths import MASKING_SENTENCES
from support.secret_kinds import DRESSES, KEPT, KINDS
from tarsy.tools.masking import Masker
from tarsy.tools.masking.text_views import Prefilter
from tarsy.tools.masking.token_formats import KNOWN_FORMATS

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx0f\nabcDEF012345678=\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
GITHUB = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
SECRET_KEY = "aB3dE5fG7hJ9kL1mN2pQ4"
SLASHED = "/bPxRfiCY3EXAMPLEKEYwJalrXUtnFEMIK7MDEN+"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


# Text, and the part of it that must not survive.
POSITIVE: list[tuple[str, str]] = [
    ("password: hunter2", "hunter2"),
    ("password=hunter2 user=bob", "hunter2"),
    ("| Name | Value |\n|---|---|\n| DB_PASSWORD | `Hunter-2` |\n", "Hunter-2"),
    ("Key         Value\n---         -----\npassword    Hunter-2\n", "Hunter-2"),
    ("CREATE USER 'shop'@'%' IDENTIFIED BY 'hunter 2';", "hunter 2"),
    ("bindpw: hunter2", "hunter2"),
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
    ("- value: hunter2\n  name: DB_PASSWORD\n- value: prod\n  name: MODE\n", "hunter2"),
    ('{"env":[{"value":"hunter2","name":"DB_PASSWORD"}]}', "hunter2"),
    ('"env": [\n  {\n    "value": "t0k3n-abc",\n    "name": "API_TOKEN"\n  }\n]', "t0k3n-abc"),
    ("env: [{value: hunter2, name: DB_PASSWORD}]", "hunter2"),
    ('{"Value": "my value: 2", "Key": "DB_PASSWORD"}', "my value"),
    ("- value: |\n    hunter2\n  name: DB_PASSWORD\n", "hunter2"),
    ('{\\"value\\": \\"hunter2\\", \\"name\\": \\"DB_PASSWORD_2\\"}', "hunter2"),
    ('<input value="9f8e7d6c5b4a" name="csrf_token">', "9f8e7d6c5b4a"),
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
    ("apiVersion: v1\ndata:\n  conf: ZGIucHJvZA==\nkind: Secret\nmetadata:\n  name: db\n", "ZGIucHJvZA=="),
    ("kind: Secret\nstringData:\n  anything: plain words\n", "plain words"),
    ("I found this: kind: Secret\nstringData:\n  anything: plain words\n", "plain words"),
    ("I found this: apiVersion: v1\ndata:\n  conf: ZGIucHJvZA==\nkind: Secret\n", "ZGIucHJvZA=="),
    ('{"kind":"Secret","apiVersion":"v1","data":{"conf":"ZGIucHJvZA=="}}', "ZGIucHJvZA=="),
    ('{"kind":"SecretList","items":[{"metadata":{"name":"a"},"data":{"conf":"ZGIucHJvZA=="}}]}', "ZGIucHJvZA=="),
    ("kind: SecretList\nitems:\n- data:\n    conf: ZGIucHJvZA==\n  metadata:\n    name: a\n", "ZGIucHJvZA=="),
    ('{"kind":"Secret","data":{"conf":"ZGIucHJvZA==","port":"NTQz', "NTQz"),
    ("{apiVersion: v1, data: {conf: ZGIucHJvZA==}, kind: Secret}", "ZGIucHJvZA=="),
    (json.dumps({"stdout": json.dumps({"kind": "Secret", "data": {"conf": "ZGIucHJvZA=="}})}), "ZGIucHJvZA=="),
    (
        (
            "kind: Secret\nmetadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n"
            '      {"data":{"conf":"ZGIucHJvZA=="},"kind":"Secret"}\n  name: a\n'
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
    ("mysqladmin ping -h localhost -uroot -phunter2", "hunter2"),
    ('command: ["mysqladmin", "ping", "-uroot", "-phunter2"]', "hunter2"),
    ("mariadb-dump -u root -p'hunter2' shop", "hunter2"),
    ("https://discord.com/api/webhooks/123456789012345678/" + "AbCdEf012-" * 6, "AbCdEf012-"),
    ('{"auths":{"r.io":{"auth":"' + b64("bob:hunter2") + '"}}}', b64("bob:hunter2")),
    ('<add key="Password" value="hunter2"/>', "hunter2"),
    ("ENV DB_PASSWORD hunter2", "hunter2"),
    ("masterauth hunter2", "hunter2"),
    ("url: redis://:hunter2@redis:6379", "hunter2"),
    ("helm install x --set db.password=hunter2", "hunter2"),
    (".dockerconfigjson: eyJhdXRocyI6eyJyLmlvIjp7fX19", "eyJhdXRocyI6eyJyLmlvIjp7fX19"),
    # The value stands below its key.
    ("db:\n  password:\n    hunter2\n  user: bob\n", "hunter2"),
    ("password: # of the shop\n  hunter2\n", "hunter2"),
    ("password:\n\n  'correct horse'\nuser: bob\n", "correct horse"),
    ('{\n  "password":\n    "hunter2",\n  "user": "bob"\n}', "hunter2"),
    ("token:\r\n  abc123def456\r\n", "abc123def456"),
    # Lists of them.
    ("passwords: [hunter1, hunter2]", "hunter2"),
    ("password: [hunter1, hunter2]", "hunter2"),
    ('{"user":"bob","passwords":["correct horse", "hunter2"]}', "hunter2"),
    ('{"user":"bob","passwords":["correct horse", "hunter2"]}', "correct horse"),
    ('{\\"passwords\\": [\\"hunter1\\", \\"hunter2\\"]}', "hunter2"),
    ('"passwords": [\n  "hunter1",\n  "hunter2"\n]', "hunter2"),
    ("passwords:\n  - hunter1\n  - 'hunter2'\nusers: [bob]\n", "hunter2"),
    ("old_passwords:\n- hunter1\n- hunter2\n", "hunter2"),
    (f"passwords: [{GITHUB}, hunter2]", "hunter2"),
    (f"passwords:\n- {GITHUB}\n- hunter2\n", "hunter2"),
    ("api_keys: [8f14e45fceea167a, AbCdEf0123456789]", "AbCdEf0123456789"),
    ("tokens:\n  - abc123def456ghi\n", "abc123def456ghi"),
    ("client_secrets = ['9f8e7d6c-5B4A-xyz']", "9f8e7d6c-5B4A-xyz"),
    # In a sentence.
    ("Password is hunter2!", "hunter2"),
    ("the password: x7", "x7"),
    ("The password is: hunter2.", "hunter2"),
    ("for staging the password was p4ssw0rd, I believe", "p4ssw0rd"),
    ("DB password is now s3cr3t-value", "s3cr3t-value"),
    ("the root password was changed to Tr0ub4dor&3 yesterday", "Tr0ub4dor"),
    ('my password is "swordfish", please rotate it', "swordfish"),
    ("password is 'correct horse battery'", "correct horse"),
    ("the token is 9f8e7d6c5b4a3928", "9f8e7d6c5b4a3928"),
    ("API key: 8f14e45fceea167a5a36", "8f14e45fceea167a5a36"),
    ("your API key is 8f14e45fceea167a5a36", "8f14e45fceea167a5a36"),
    ("secret key = wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI/K7MDENG"),
    ("please reset the password to hunter2 today", "hunter2"),
    ("set the root password on db-1 to: Winter2026!", "Winter2026"),
    ("the password for user bob is hunter2", "hunter2"),
    # In addresses.
    ("postgres://shop:pa/ss/hunter2@db.prod:5432/shop", "hunter2"),
    ("redis://:a/hunter2@redis:6379/0", "hunter2"),
    ("postgres://shop:p@ss/hunter2@db.prod/shop?email=a@b.c", "hunter2"),
    ("https://bob:hunter2@registry.example.com/@scope/pkg", "hunter2"),
    ("DSN=shop:hunt=er2==@tcp(db:3306)/shop?parseTime=true", "er2"),
    ("shop:hunter2@unix(/var/run/mysqld/mysqld.sock)/shop", "hunter2"),
    ("shop:hunter2@/shop", "hunter2"),
    ("jdbc:oracle:thin:scott/tiger7@//db:1521/shop", "tiger7"),
    ("*:*:*:postgres:hunter2\n", "hunter2"),
    ("db.prod:5432:shop:app:hunt\\:er2", "er2"),
    ("machine db.prod\n  login bob\n  password hunter2\n", "hunter2"),
    # Hashes of passwords are as good as the passwords, given time.
    ("bob:$2y$10$" + "a1B2c3D4e5" * 5 + "abc", "a1B2c3D4e5"),
    ("root:$6$Zq9salt$" + "a1B2c3D4e5" * 8 + "abcdef:19000:0:99999:7:::", "a1B2c3D4e5"),
    ("$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$" + "a1B2c3D4e5" * 3, "a1B2c3D4e5"),
    # After an escape, a token does not begin in the middle of a word.
    ('{"log": "first\\n' + "hf_" + "a1B2c3" * 6 + '"}', "a1B2c3a1B2c3"),
    ("https://x.example.com/?next=%2Flogin%3Ftoken%3D" + "npm_" + "a1B2c3" * 6, "a1B2c3a1B2c3"),
    ("glpat-" + "a1B2c3D4e5" * 6 + ".01.0w0abcdef", "0w0abcdef"),
    ("sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc" * 4, "4eC39HqLyjWDarjtT1zdp7dc"),
    # A key in base64 that begins like a path.
    *(
        (form.format(SLASHED), SLASHED)
        for form in (
            "aws_secret_access_key = {}",
            "AWS_SECRET_ACCESS_KEY={}",
            '"SecretAccessKey": "{}"',
            "- name: AWS_SECRET_ACCESS_KEY\n  value: {}\n",
            "--aws-secret-access-key {}",
            "secret_key: {}",
        )
    ),
    # Lines of an environment in base64.
    *(
        (f"{before}{b64(line)}", b64(line).rstrip("="))
        for line in ("DB_PASSWORD=hunter2", "A=1\nDB_PASSWORD=hunter2\n", 'export API_TOKEN="abc123def456"')
        for before in ("", "env: ", "x=", '{"file": "', "data:text/plain;base64,")
    ),
    # Lines of .pgpass, wherever they are.
    *(
        (form.format("db.prod:5432:shop:app:hunter2"), "hunter2")
        for form in ("  {}\n", "- {}", "> {}", '{{"file":"a\\n{}\\nb"}}', "echo '{}' > ~/.pgpass", ".pgpass: {}", "The line {} is in it")
    ),
    ("[::1]:5432:shop:app:hunter2", "hunter2"),
    ("db:6432:shop:app:hunter2", "hunter2"),
    ("localhost:5432:shop:app:pa:hunter2", "hunter2"),
    (b64("db:5432:shop:app:hunter2\n"), b64("db:5432:shop:app:hunter2\n").rstrip("=")),
    # Quoted values of several lines.
    ('password: "first\nhunter2"\nuser: bob\n', "hunter2"),
    ('db:\n  password: "first\n    hunter2\n\n    more"\n  user: bob\n', "more"),
    ('password:\n  "first\n  hunter2"\nuser: bob\n', "hunter2"),
    ('passwords:\n- "first\n  hunter2"\n- other\n', "hunter2"),
    ('db: {password: "first\n  hunter2", user: bob}\n', "hunter2"),
    ("api_key: 'AbCdEf0123\n  hunter2hunter2'\n", "hunter2"),
    ('- name: DB_PASSWORD\n  value: "first\n    hunter2"\n', "hunter2"),
    # Like a sentence, but not one.
    ("**Password:** hunter2", "hunter2"),
    ("**Password**: `hunter2`", "hunter2"),
    ("__Password__: hunter2", "hunter2"),
    ("Password: changed to swordfish", "swordfish"),
    ("Password: rotated to hunter2", "hunter2"),
    ("Password: now swordfish", "swordfish"),
    ("Password: verified. It is Zq9hunter2", "hunter2"),
    ("password: rotated!2024x", "2024x"),
    ("password: changed-me-now", "me-now"),
    ("password: wrong horse", "horse"),
    ("password: changedit", "changedit"),
    ("DB_PASSWORD=rotated", "rotated"),
    ("**the password is hunter2.**", "hunter2"),
    # Names of two words behind other characters than a space, also on a later line.
    *(
        (before + form.format(SECRET_KEY), SECRET_KEY)
        for before in (
            '{"level":"info","message":"hello"}\n{"level":"error","message":"',
            "starting\n/var/log/app/very-long-file-name.log:",
            "first\n<configuration><setting>",
            "id,name\n1,",
        )
        for form in ("api key: {}", "access key={}", "secret key={}", "auth key={}")
    ),
    # Short names behind other characters than a space, or behind an escape.
    *(
        (form.format(SECRET_KEY), SECRET_KEY)
        for form in (
            "https://shop.example.com/login?pwd={}",
            "https://shop.example.com/login?user=bob&pass={}&next=/",
            '{{"url":"https://shop.example.com/login?user=bob\\u0026pwd={}"}}',
            "next=%2Flogin%3Fuser%3Dbob%26pwd={}",
            "/prod/shop/pass = {}",
            "$pass = '{}';",
            '{{"main.go":"const (\\n\\tpass = \\"{}\\"\\n)"}}',
        )
    ),
    # Between colours.
    ("\x1b[36mpassword\x1b[0m=hunter2 \x1b[36muser\x1b[0m=bob", "hunter2"),
    ("\x1b[33mWARN\x1b[0m \x1b[1;36mapi key\x1b[0m: " + SECRET_KEY, SECRET_KEY),
    (json.dumps({"log": "\x1b[36mpwd\x1b[0m=" + SECRET_KEY}), SECRET_KEY),
    # Tags with a namespace, and as Go writes them in JSON.
    ("<wsse:Password>hunter2</wsse:Password>", "hunter2"),
    ('{"settings.xml":"\\u003cpassword\\u003ehunter2\\u003c/password\\u003e"}', "hunter2"),
    ('{"a":"{\\"b\\":\\"\\\\u003cs:token\\\\u003et0k3n-abc\\\\u003c/s:token\\\\u003e\\"}"}', "t0k3n-abc"),
]

NEGATIVE: list[str] = [
    "\x1b[36mtoken\x1b[0m=expired \x1b[36mPWD\x1b[0m=/app",
    '{"log":"a password \\u003c 8 characters, password \\u003e 64 characters"}',
    "GET /pwd?x=1 HTTP/1.1, bypass: Analysis2 of /etc/passwd",
    "| Field | Type |\n|---|---|\n| password | `string` |\n| password | VARCHAR(255) |\n| password | rotated 3 days ago |\n",
    "| password | from Secret db-credentials-v2 |\ndb-password   Opaque   1   12d5h\nreset-password   0/1   Running\n",
    "routing_key=orders.created.v1 exchange=orders",
    # The value of the entry before, or of another name.
    "- name: MODE\n  value: prod-7\n- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db\n",
    '[{"name":"MODE","value":"prod-7"},{"name":"DB_PASSWORD","valueFrom":{"secretKeyRef":{"key":"db-password","name":"db"}}}]',
    'value: prod-7\nname: "DB_PASSWORD_FILE"\n',
    "value: 17 of 20 requests\nname: token bucket of the gateway\n",
    '{"value": 17, "name": "auth_token"} {"value": "expired", "name": "token"} {"value": "$(DB_PASSWORD)", "name": "PGPASSWORD"}',
    "encryption key: arn:aws:kms:eu-west-1:123456789012:key/1234abcd",
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
    "mysql -h db -P 3306 -u root -p shop",
    "mysql --port 3306 --protocol tcp",
    "mysql -uroot -p$MYSQL_ROOT_PASSWORD shop",
    "mysql-prod-0   1/1   Running",
    "statefulset/mysql scaled in namespace shop-prod",
    "tolerations:\n- key: token\n  value: enabled\n",
    "pass: 12 fail: 3",
    "tests passed: 120",
    "exit code 137 (OOMKilled), restartCount: 12",
    # Below the key stands something else.
    "password:\n  type: string\n  format: password\n",
    "password:\n  secretKeyRef:\n    name: db\n    key: password\n",
    "password:\n  The password of the user.\n",
    "password:\nuser: bob\n",
    "- password:\n- user: bob\n",
    "password:\n- can not be blank\n- is too short (minimum is 8 characters)\n",
    "token:\n  path: token\n",
    "Password:\n\nLogin incorrect\n",
    '{\n  "password":\n    null\n}',
    "required:\n- password\n- token\n",
    # Lists of something else.
    "secrets: [db-credentials, regcred]",
    "secrets:\n- name: db-credentials\n- name: regcred\n",
    "imagePullSecrets: [regcred]",
    'resources: ["secrets", "configmaps"], verbs: ["get"]',
    "tokens: [12, 418, 33]",
    "tokens: 4096",
    "failed passwords: 3",
    "keys: [name, age, city]",
    "public_keys: []",
    "password: []",
    "password: [REDACTED]",
    'accessKeys: [{"name": "first"}]',
    # Sentences about secrets.
    "password is required",
    "Password is incorrect!",
    "password is incorrect for user bob",
    "the password was changed",
    "the password was changed to comply with the policy",
    "token is expired",
    "token is expired since 2026-03-01T12:00:00Z",
    "token is not valid before 12:00",
    "the token is valid for 3600s",
    "password is 12 characters long",
    "password is sha256-hashed",
    "the password is base64-encoded",
    "token is RS256-signed",
    "token is v2",
    "the secret is db-credentials-2",
    "the secret key was not found",
    "secret is mounted at /var/run/secrets/db",
    "token is /var/run/secrets/token1",
    "password is <redacted>",
    "password is $DB_PASSWORD",
    "password is ********",
    'password is "required"',
    "password is 'weak'",
    "access key is disabled",
    "API key: invalid",
    "primary key: order_id_2",
    "reset the password to continue",
    "set the password to never expire",
    "set the token to expire in 24h",
    "sent the password reset to api.v2.example.com",
    "move the secret to vault-2",
    "the password for user shop is expired",
    "user login failed password mismatch",
    # Names that begin like a token.
    "sk-learn-pipeline-training-job-7d9f8b6c5-x2x4z",
    "image: registry.example.com/ml/sk-learn-pipeline-runner-production:1.4.2",
    "pod/sk-proj-7d9f8b6c5-x2x4z",
    "npm_config_cache=/tmp/npm_cache_of_the_build",
    "hf_hub_download of the model finished",
    "key-rotation-controller-7d9f8b6c5-x2x4z",
    "from key-value-store-statefulset-of-the-shop",
    "dapi-gateway-7d9f8b6c5-x2x4z",
    "glc_exporter_requests_total 42",
    "fm2_radio_frequency 101.5",
    "node-us-east-1a-0123456789abcdef01234567",
    "ip-10-0-0-1.us-east-2.compute.internal",
    "ACTION_REQUIRED_BY_OPERATOR_BEFORE_UPGRADE",
    "SKIPPED_BECAUSE_OF_MISSING_DEPENDENCIES_2",
    "ico-converter ntn_ pul-request whsec_",
    "v1.0-rc.1 of the chart",
    # Addresses without a password.
    "https://registry.example.com:4873/@scope/pkg",
    "http://[::1]:8080/a@b",
    "http://db.prod:8080?owner=a@b",
    "main.go:1204:17:error:undefined",
    "deploy/values.yaml:1204:image:repository:tag",
    "00:1a:2b:3c:4d:5e 52:54:00:12:34:56",
    "arn:aws:iam::123456789012:role/app",
    "fe80::5054:ff:fe12:3456%eth0 2001:db8:85a3:0:0:8a2e:370:7334",
    "12:30:45:123 worker started",
    "slots: 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-5460",
    # Values that an option does not take.
    'args: ["--token-file", "/var/run/secrets/token1"]',
    'args: ["--password", "--verbose"]',
    "- --token\n- --verbose2\n",
    "docker login --password-stdin registry2",
    # Digests and ids.
    'integrity: "sha512-' + "a1B2c3D4e5" * 8 + 'abcdef=="',
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "pod-template-hash: 7d9f8b6c5",
    'kubectl.kubernetes.io/restartedAt: "2026-03-01T12:00:00Z"',
    "controller-revision-hash: web-6c5d4f7b9d",
    "kid: 7c9e6679742540de944be07fc1f90ae7",
    "X-Amz-Request-Id: 4442587FB7D0A2F9",
    "MYSQL_HOST=db.prod MYSQL_PORT=3306 MYSQL_DATABASE=shop MYSQL_USER=shop",
    "C:\\new\\table\\Users\\bob",
    "the price is $2a and $6 for each",
    "token: /var/run/secrets/kubernetes.io/serviceaccount/token",
    "secret_key: /Users/Alice/Documents/Projects/Shop2/certificates",
    "arn:aws:logs:*:acct:log-group:shop",
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


@pytest.mark.parametrize("group", ["security", "kubernetes", "all"])
def test_no_sentence_about_secrets_is_changed(group: str) -> None:
    own, text = Masker.for_group(group), MASKING_SENTENCES.read_text()
    # An indented line continues the entry above it.
    sentences = re.split(r"\n(?! )", text.rstrip("\n"))
    assert len(set(sentences)) >= 200
    assert [(sentence, own.mask(sentence)) for sentence in sentences if own.mask(sentence) != sentence] == []
    assert own.mask(text) == text
    streamed = own.stream()
    assert "".join(map(streamed.feed, re.findall(r"\s*\S{1,4}", text))) + streamed.finish() == text.rstrip("\n")


def test_no_kind_of_secret_survives_in_any_dress_and_what_surrounds_it_does() -> None:
    for group in ("security", "kubernetes"):
        own = Masker.for_group(group)
        masked = {(name, kind): own.mask(dress(kind)) for name, dress in DRESSES.items() for kind in KINDS}
        assert [(group, name, kind.name) for (name, kind), text in masked.items() if kind.survives_in(text)] == []
        assert [(group, name, kind.name) for (name, kind), text in masked.items() if KEPT not in text] == []
        assert [(group, name, kind.name) for (name, kind), text in masked.items() if own.mask(text) != text] == []


def test_the_corpus_is_as_large_as_it_claims() -> None:
    assert len({kind.value for kind in KINDS}) >= 71
    assert len(DRESSES) >= 11
    assert len(NEGATIVE) >= 60


def test_every_format_can_be_compiled_when_it_is_first_needed() -> None:
    assert all(re.compile(format_.pattern).flags for format_ in KNOWN_FORMATS)


def test_only_the_secret_of_an_environment_is_masked(masker: Masker) -> None:
    text = "MYSQL_HOST=db.prod\nMYSQL_PORT=3306\nMYSQL_DATABASE=shop\nMYSQL_PASSWORD=hunter2\nMYSQL_USER=shop\n"
    assert masker.mask(text) == text.replace("hunter2", "[MASKED_PASSWORD]")
    assert masker.mask(json.dumps({"file": text})) == json.dumps({"file": text.replace("hunter2", "[MASKED_PASSWORD]")})
    one_line = text.strip().replace("\n", " ")
    assert masker.mask(f"env: {one_line}") == f"env: {one_line}".replace("hunter2", "[MASKED_PASSWORD]")


def test_no_rule_would_have_changed_what_passed_the_prefilter(masker: Masker, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*(text for text, _ in POSITIVE), *NEGATIVE]
    parts = {part for text in texts for line in text.splitlines() for part in (line, *_pairs(line.split()))}
    masked = {part: masker.mask(part) for part in parts}

    def passes(_look: Prefilter, _text: str) -> bool:
        return False

    monkeypatch.setattr(Prefilter, "passes", passes)
    assert {part: masker.mask(part) for part in parts} == masked


def _pairs(words: list[str]) -> list[str]:
    """What a secret consists of at least: its announcement and its value."""
    return [f"{first} {second}" for first, second in pairwise(words)]


def test_masking_a_masked_text_changes_nothing(masker: Masker) -> None:
    for text, _ in POSITIVE:
        once = masker.mask(text)
        assert masker.mask(once) == once
