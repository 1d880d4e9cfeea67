"""The names of the masking patterns and groups that a configuration may use. What they match is the masker's business."""

from collections.abc import Mapping

# What a tool server is masked by that says nothing of masking.
DEFAULT_GROUPS = ("security",)

_GROUPS = {
    "basic": "api_key password",
    "secrets": "api_key password token private_key secret_key",
    "security": "api_key password token certificate certificate_authority_data email ssh_key private_key secret_key "
    "github_token slack_token aws_access_key aws_secret_key",
    "kubernetes": "kubernetes_secret api_key password token secret_key aws_secret_key certificate_authority_data base64_short",
    "cloud": "aws_access_key aws_secret_key api_key token github_token slack_token",
    # The last is no regular expression: it understands Kubernetes Secrets in YAML and JSON.
    "all": "api_key password certificate certificate_authority_data token email ssh_key base64_secret base64_short private_key secret_key "
    "aws_access_key aws_secret_key github_token slack_token kubernetes_secret",
}
GROUPS: Mapping[str, tuple[str, ...]] = {name: tuple(members.split()) for name, members in _GROUPS.items()}
PATTERNS = GROUPS["all"]
