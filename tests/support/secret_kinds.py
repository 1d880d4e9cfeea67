"""Kinds of secrets as their vendors document them, and the dresses they come in.

Values are made at run time from their formats, so that no scanner takes this file for a leak.
"""

import base64
import json
import random
import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "L": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "h": "0123456789abcdef",
    "d": string.digits,
    "w": string.ascii_letters + string.digits + "_-",
    "b": string.ascii_letters + string.digits + "+/",
}
_PIECE = re.compile(r"\{([ALUhdwb])(\d+)\}")


@dataclass(frozen=True, slots=True)
class SecretKind:
    """One kind: the name it usually stands under, and a value of its format."""

    name: str
    value: str

    @property
    def encoded(self) -> str:
        return base64.b64encode(self.value.encode()).decode()

    def survives_in(self, text: str) -> bool:
        """Whether the value, or enough of it to be of use, is in `text`: as it is, as a URL writes it, or in base64."""
        own = self.value.rpartition("://")[2]
        return any(form in text for form in (own, own[-12:], quote(own, safe=""), self.encoded))


def _made(name: str, form: str) -> SecretKind:
    """`{A36}` in a form stands for 36 letters and digits, and so on; the same name always gets the same value."""
    chance = random.Random(name)  # noqa: S311 - not for keeping a secret

    def piece(found: re.Match[str]) -> str:
        alphabet, length = _ALPHABETS[found[1]], int(found[2])
        # Begins and ends with a digit or letter, as nearly every real one does, and holds a digit.
        body = "".join(chance.choices(alphabet, k=length))
        return re.sub(r"^[^A-Za-z0-9]|[^A-Za-z0-9]$", "7", body)

    return SecretKind(name, _PIECE.sub(piece, form))


# Formats that mean a secret wherever they stand.
_FORMATS = {
    "AWS_ACCESS_KEY_ID": "AKIA{U16}",
    "AWS_TEMPORARY_KEY_ID": "ASIA{U16}",
    "GITHUB_TOKEN": "ghp_{A36}",
    "GITHUB_OAUTH_TOKEN": "gho_{A36}",
    "GITHUB_APP_TOKEN": "ghs_{A36}",
    "GITHUB_FINE_GRAINED_TOKEN": "github_pat_{A22}_{A59}",
    "GITLAB_TOKEN": "glpat-{w20}",
    "GITLAB_RUNNER_TOKEN": "glrt-{w20}",
    "GITLAB_TRIGGER_TOKEN": "glptt-{h40}",
    "GITLAB_AGENT_TOKEN": "glagent-{w50}",
    "SLACK_BOT_TOKEN": "xoxb-{d12}-{d12}-{A24}",
    "SLACK_USER_TOKEN": "xoxp-{d12}-{d12}-{d12}-{h32}",
    "SLACK_APP_TOKEN": "xapp-1-{U11}-{d13}-{h64}",
    "SLACK_WEBHOOK": "https://hooks.slack.com/services/T{U9}/B{U9}/{A24}",
    "DISCORD_WEBHOOK": "https://discord.com/api/webhooks/{d18}/{w68}",
    "TEAMS_WEBHOOK": "https://shop.webhook.office.com/webhookb2/{h8}-{h4}-{h4}-{h4}-{h12}@{h8}-{h4}-{h4}-{h4}-{h12}/IncomingWebhook/{h32}/{h8}-{h4}-{h4}-{h4}-{h12}",
    "GOOGLE_API_KEY": "AIza{w35}",
    "GOOGLE_OAUTH_TOKEN": "ya29.{w60}",
    "GOOGLE_CLIENT_SECRET": "GOCSPX-{w28}",
    "OPENAI_API_KEY": "sk-proj-{w58}T3BlbkFJ{w58}",
    "OPENAI_LEGACY_API_KEY": "sk-{A20}T3BlbkFJ{A20}",
    "ANTHROPIC_API_KEY": "sk-ant-api03-{w93}AA",
    "OPENROUTER_API_KEY": "sk-or-v1-{h64}",
    "DEEPSEEK_API_KEY": "sk-{h32}",
    "XAI_API_KEY": "xai-{A80}",
    "GROQ_API_KEY": "gsk_{A52}",
    "PERPLEXITY_API_KEY": "pplx-{A48}",
    "HF_TOKEN": "hf_{A34}",
    "REPLICATE_API_TOKEN": "r8_{A37}",
    "NPM_TOKEN": "npm_{A36}",
    "PYPI_TOKEN": "pypi-AgEIcHlwaS5vcmc{w80}",
    "RUBYGEMS_API_KEY": "rubygems_{h48}",
    "CLOJARS_TOKEN": "CLOJARS_{L60}",
    "DOCKER_PAT": "dckr_pat_{w27}",
    "STRIPE_SECRET_KEY": "sk_live_{A24}",
    "STRIPE_RESTRICTED_KEY": "rk_live_{A24}",
    "STRIPE_TEST_KEY": "sk_test_{A24}",
    "STRIPE_WEBHOOK_SECRET": "whsec_{A32}",
    "SQUARE_ACCESS_TOKEN": "sq0atp-{w22}",
    "SHOPIFY_TOKEN": "shpat_{h32}",
    "SHOPIFY_SHARED_SECRET": "shpss_{h32}",
    "SENDGRID_API_KEY": "SG.{w22}.{w43}",
    "SENDINBLUE_API_KEY": "xkeysib-{h64}-{A16}",
    "MAILCHIMP_API_KEY": "{h32}-us14",
    "MAILGUN_API_KEY": "key-{h32}",
    "TWILIO_API_KEY": "SK{h32}",
    "TELEGRAM_BOT_TOKEN": "{d10}:AA{w33}",
    "DIGITALOCEAN_TOKEN": "dop_v1_{h64}",
    "DIGITALOCEAN_OAUTH_TOKEN": "doo_v1_{h64}",
    "DATABRICKS_TOKEN": "dapi{h32}",
    "DYNATRACE_TOKEN": "dt0c01.{U24}.{U64}",
    "GRAFANA_SERVICE_TOKEN": "glsa_{A32}_{h8}",
    "GRAFANA_CLOUD_TOKEN": "glc_{A60}",
    "NEW_RELIC_USER_KEY": "NRAK-{U27}",
    "NEW_RELIC_INSERT_KEY": "NRII-{w32}",
    "SENTRY_ORG_TOKEN": "sntrys_eyJpYXQiO{A90}_{A43}",
    "SENTRY_USER_TOKEN": "sntryu_{h64}",
    "LINEAR_API_KEY": "lin_api_{A40}",
    "NOTION_TOKEN": "ntn_{d11}{A35}",
    "ATLASSIAN_TOKEN": "ATATT3{w180}",
    "POSTMAN_API_KEY": "PMAK-{h24}-{h34}",
    "VAULT_TOKEN": "hvs.{w95}",
    "VAULT_BATCH_TOKEN": "hvb.{w140}",
    "TF_API_TOKEN": "{A14}.atlasv1.{w67}",
    "PULUMI_ACCESS_TOKEN": "pul-{h40}",
    "DOPPLER_TOKEN": "dp.pt.{A43}",
    "HEROKU_V2_KEY": "HRKU-AA{w58}",
    "FLY_API_TOKEN": "fo1_{w43}",
    "PLANETSCALE_PASSWORD": "pscale_pw_{w43}",
    "SUPABASE_TOKEN": "sbp_{h40}",
    "ARTIFACTORY_API_KEY": "AKCp{A69}",
    "AZURE_CLIENT_SECRET": "{A3}8Q~{w34}",
    "ALIBABA_ACCESS_KEY": "LTAI{A20}",
    "OPENSHIFT_TOKEN": "sha256~{w43}",
    "AGE_KEY": "AGE-SECRET-KEY-1{U58}",
    "ONEPASSWORD_SECRET_KEY": "A3-{U6}-{U11}-{U5}-{U5}-{U5}",
    "EASYPOST_API_KEY": "EZAK{A54}",
    "SOURCEGRAPH_TOKEN": "sgp_{h40}",
    "JWT": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{w43}",
}

# Formats like any other text: the name says what they are.
_NAMED = {
    "AWS_SECRET_ACCESS_KEY": "{A3}/{b17}+{A18}",
    "AWS_SESSION_TOKEN": "IQoJb3JpZ2luX2Vj{A120}",
    "DB_PASSWORD": "x{A14}",
    "PGPASSWORD": "{A12}",
    "MYSQL_ROOT_PASSWORD": "{A16}",
    "REDIS_PASSWORD": "{A20}",
    "SECRET_KEY": "{A40}",
    "JWT_SECRET": "{A32}",
    "SECRET_KEY_BASE": "{h64}",
    "SESSION_SECRET": "{A32}",
    "CLIENT_SECRET": "{A32}",
    "ENCRYPTION_KEY": "{h64}",
    "DD_API_KEY": "{h32}",
    "DD_APP_KEY": "{h40}",
    "PAGERDUTY_ROUTING_KEY": "{h32}",
    "OPSGENIE_API_KEY": "{h8}-{h4}-{h4}-{h4}-{h12}",
    "HEROKU_API_KEY": "{h8}-{h4}-{h4}-{h4}-{h12}",
    "SPLUNK_HEC_TOKEN": "{h8}-{h4}-{h4}-{h4}-{h12}",
    "CLOUDFLARE_API_TOKEN": "{w40}",
    "ALGOLIA_ADMIN_KEY": "{h32}",
    "NEW_RELIC_LICENSE_KEY": "{h36}NRAL",
    "CONFLUENT_API_SECRET": "{b64}",
    "SNYK_TOKEN": "{h8}-{h4}-{h4}-{h4}-{h12}",
    "OKTA_API_TOKEN": "00{w40}",
    "COHERE_API_KEY": "{A40}",
    "MISTRAL_API_KEY": "{A32}",
    "AZURE_STORAGE_KEY": "{A86}==",
    "CONSUL_HTTP_TOKEN": "{h8}-{h4}-{h4}-{h4}-{h12}",
    "NEXTAUTH_SECRET": "{b43}=",
    "LDAP_BIND_PASSWORD": "{A10}!{A4}",
}

KINDS = tuple(_made(name, form) for name, form in (_FORMATS | _NAMED).items())

Dress = Callable[[SecretKind], str]

# What surrounds a secret and has to stay, whatever becomes of it.
KEPT = "shop-db.prod.svc"


def _lower(kind: SecretKind) -> str:
    return kind.name.lower()


def _camel(kind: SecretKind) -> str:
    first, *rest = kind.name.lower().split("_")
    return first + "".join(word.title() for word in rest)


def _secret(kind: SecretKind, **payload: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shop"}, "type": "Opaque", "data": payload}


DRESSES: Mapping[str, Dress] = {
    "env": lambda kind: f"MODE=prod\n{kind.name}={kind.value}\nMYSQL_HOST={KEPT}\nMYSQL_PORT=3306\n",
    "quoted env": lambda kind: f'export {kind.name}="{kind.value}"\nexport DB_HOST={KEPT}\n',
    "env on one line": lambda kind: f"env: {kind.name}={kind.value} DB_HOST={KEPT} DB_PORT=5432",
    "env of a container": lambda kind: json.dumps({"Env": ["MODE=prod", f"{kind.name}={kind.value}", f"DB_HOST={KEPT}"]}),
    "env as described": lambda kind: f"    Environment:\n      MODE:     prod\n      {kind.name}:  {kind.value}\n      DB_HOST:  {KEPT}\n",
    "env entry": lambda kind: f"env:\n- name: {kind.name}\n  value: {kind.value}\n- name: DB_HOST\n  value: {KEPT}\n",
    "env entry in JSON": lambda kind: json.dumps(
        {"env": [{"name": kind.name, "value": kind.value}, {"name": "DB_HOST", "value": KEPT}]}, indent=2
    ),
    "env entry, value first": lambda kind: f"env:\n- value: {kind.value}\n  name: {kind.name}\n- value: {KEPT}\n  name: DB_HOST\n",
    "env entry in JSON, value first": lambda kind: json.dumps(
        {"env": [{"value": KEPT, "name": "DB_HOST"}, {"value": kind.value, "name": kind.name}]}, indent=2
    ),
    "YAML": lambda kind: f"db:\n  {_lower(kind)}: {kind.value}\n  host: {KEPT}\n",
    "quoted YAML": lambda kind: f"db:\n  {_camel(kind)}: '{kind.value}'\n  host: {KEPT}\n",
    "YAML below its key": lambda kind: f"db:\n  {_lower(kind)}:\n    {kind.value}\n  host: {KEPT}\n",
    "YAML block": lambda kind: f"db:\n  {_lower(kind)}: |\n    {kind.value}\n  host: {KEPT}\n",
    "YAML on one line": lambda kind: f"db: {{{_lower(kind)}: {kind.value}, host: {KEPT}}}\n",
    "JSON": lambda kind: json.dumps({"host": KEPT, _lower(kind): kind.value, "port": 5432}),
    "indented JSON": lambda kind: json.dumps({"host": KEPT, _camel(kind): kind.value, "port": 5432}, indent=2),
    "JSON in JSON": lambda kind: json.dumps({"output": json.dumps({"host": KEPT, _lower(kind): kind.value})}),
    "JSON in JSON in JSON": lambda kind: json.dumps({"result": json.dumps({"output": json.dumps({"host": KEPT, kind.name: kind.value})})}),
    "lines in JSON": lambda kind: json.dumps({"content": f"MODE=prod\n{kind.name}={kind.value}\nMYSQL_DATABASE=shop\nDB_HOST={KEPT}\n"}),
    "YAML in JSON": lambda kind: json.dumps({"manifest": f"db:\n  {_lower(kind)}:\n    {kind.value}\n  host: {KEPT}\n"}),
    "YAML in JSON in JSON": lambda kind: json.dumps(
        {"arguments": json.dumps({"manifest": f"db:\n  host: {KEPT}\n  {_lower(kind)}:\n    {kind.value}\n"})}
    ),
    "URL query": lambda kind: f"GET https://{KEPT}/v1/items?limit=5&{_lower(kind)}={quote(kind.value, safe='')}&page=2 200",
    "URL user": lambda kind: f"postgres://shop:{quote(kind.value, safe='')}@{KEPT}:5432/shop?sslmode=require",
    "URL user, not encoded": lambda kind: f"DATABASE_URL=amqp://shop:{kind.value.rpartition('://')[2]}@{KEPT}:5672/vhost",
    "Go DSN": lambda kind: f"shop:{kind.value.rpartition('://')[2]}@tcp({KEPT}:3306)/shop?parseTime=true",
    "key-value DSN": lambda kind: f"host={KEPT} port=5432 user=shop password={kind.value} dbname=shop",
    "ADO DSN": lambda kind: f"Server={KEPT};Database=shop;User Id=sa;Password={kind.value};Encrypt=true",
    "pgpass": lambda kind: f"# comment\n{KEPT}:5432:shop:app:{kind.value.replace(':', chr(92) + ':')}\n",
    "netrc": lambda kind: f"machine {KEPT} login shop password {kind.value}\n",
    "command line": lambda kind: f"run --host {KEPT} --{_lower(kind).replace('_', '-')} {kind.value} --verbose",
    "command line with a sign": lambda kind: f"run --{_lower(kind).replace('_', '-')}={kind.value} --host={KEPT}",
    "token option": lambda kind: f'args: ["serve", "--token", "{kind.value}", "--host", "{KEPT}"]',
    "token option in a list": lambda kind: f"  args:\n  - serve\n  - --token\n  - {kind.value}\n  - --host\n  - {KEPT}\n",
    "bearer header": lambda kind: f"curl -H 'Authorization: Bearer {kind.value}' https://{KEPT}/v1",
    "key header": lambda kind: f"X-Api-Key: {kind.value}\r\nHost: {KEPT}\r\n",
    "basic header": lambda kind: f"Authorization: Basic {base64.b64encode(f'shop:{kind.value}'.encode()).decode()}\nHost: {KEPT}\n",
    "cookie": lambda kind: f"Host: {KEPT}\nCookie: session={kind.value}; theme=dark\n",
    "log line": lambda kind: f'2026-03-01T12:00:00Z INFO login ok {_lower(kind)}="{kind.value}" host={KEPT} took=12ms',
    "log line with a colon": lambda kind: f"2026-03-01 12:00:00 DEBUG [main] {KEPT} loaded {_camel(kind)}: {kind.value}",
    "sentence": lambda kind: f"On {KEPT} the token is {kind.value}, please rotate it.",
    "told": lambda kind: f"I reset the password to {kind.value} on {KEPT}.",
    "XML": lambda kind: f"<db><host>{KEPT}</host><{_lower(kind)}>{kind.value}</{_lower(kind)}></db>",
    "TOML": lambda kind: f'[db]\nhost = "{KEPT}"\n{_lower(kind)} = "{kind.value}"\n',
    "properties": lambda kind: f"db.host={KEPT}\ndb.{_lower(kind).replace('_', '.')}={kind.value}\n",
    "Python": lambda kind: f"connect(host='{KEPT}', {_lower(kind)}='{kind.value}')",
    "zero-width name": lambda kind: f"{kind.name[:3]}\u200b{kind.name[3:]}={kind.value}\nDB_HOST={KEPT}\n",
    "escaped zero-width name": lambda kind: json.dumps({f"{_lower(kind)[:4]}\u200d{_lower(kind)[4:]}": kind.value, "host": KEPT}),
    "Kubernetes Secret": lambda kind: (
        f"apiVersion: v1\ndata:\n  {kind.name}: {kind.encoded}\nkind: Secret\nmetadata:\n  name: shop\n  labels: {{host: {KEPT}}}\n"
    ),
    "Kubernetes Secret in JSON": lambda kind: json.dumps({"host": KEPT, "items": [_secret(kind, **{kind.name: kind.encoded})]}),
    "stringData": lambda kind: f"kind: Secret\nmetadata:\n  name: {KEPT}\nstringData:\n  anything: {kind.value}\n",
    "kubeconfig": lambda kind: f"clusters:\n- cluster: {{server: https://{KEPT}}}\nusers:\n- name: me\n  user:\n    token: {kind.value}\n",
    "kubeconfig exec": lambda kind: (
        f"clusters:\n- cluster: {{server: https://{KEPT}}}\nusers:\n- name: me\n  user:\n    exec:\n      command: aws\n      env:\n"
        f"      - name: {kind.name}\n        value: {kind.value}\n"
    ),
}
