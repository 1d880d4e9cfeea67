"""The role that each operation needs: the one table for HTTP routes, WebSocket actions and every other interface.

An operation of the HTTP API has the name of its `operationId`. A route without an entry cannot be defined.
"""

from collections.abc import Mapping

import structlog

from tarsy.api.auth import Identity
from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.domain.access_role import AccessRole

log = structlog.get_logger(__name__)

# None: no login is needed.
REQUIRED_ROLES: Mapping[str, AccessRole | None] = {
    "getHealth": None,
    "getLive": None,
    "getReady": None,
    "login": None,
    "logout": None,
    "getMe": None,
    "startSignIn": None,
    "completeSignIn": None,
    "redirectToManual": None,
    "page": None,
    # Senders authenticate by a signature or a token of their own; the route requires `submitAlert` of other callers.
    "submitWebhook": None,
    "submitWebhookOf": None,
    "permitWebhook": None,
    # Slack signs its requests, and each of them needs the role of what its user asks for.
    "receiveSlackRequest": None,
    "getOpenapiDocument": AccessRole.VIEWER,
    "getReference": AccessRole.VIEWER,
    "getMetrics": AccessRole.VIEWER,
    "listAlertTypes": AccessRole.VIEWER,
    "listSamples": AccessRole.VIEWER,
    "listIncidents": AccessRole.VIEWER,
    "getIncident": AccessRole.VIEWER,
    "listMutes": AccessRole.VIEWER,
    "getAlert": AccessRole.VIEWER,
    "listChanges": AccessRole.VIEWER,
    "listSessions": AccessRole.VIEWER,
    "countSessions": AccessRole.VIEWER,
    "getSession": AccessRole.VIEWER,
    "getTimeline": AccessRole.VIEWER,
    "sessionEvents": AccessRole.VIEWER,
    "listNotes": AccessRole.VIEWER,
    "listEvidence": AccessRole.VIEWER,
    "getEvidence": AccessRole.VIEWER,
    "listCitations": AccessRole.VIEWER,
    "getTrace": AccessRole.VIEWER,
    "getLLMCall": AccessRole.VIEWER,
    "getLLMCallAsCurl": AccessRole.VIEWER,
    "getMCPCall": AccessRole.VIEWER,
    "getReport": AccessRole.VIEWER,
    "getRecording": AccessRole.VIEWER,
    "exportSessions": AccessRole.VIEWER,
    "listQuestions": AccessRole.VIEWER,
    "getScore": AccessRole.VIEWER,
    "getReview": AccessRole.VIEWER,
    "getReviewFigures": AccessRole.VIEWER,
    "listApprovals": AccessRole.VIEWER,
    "listModels": AccessRole.VIEWER,
    "getUsage": AccessRole.VIEWER,
    "getUsageTrends": AccessRole.VIEWER,
    "getUsageTable": AccessRole.VIEWER,
    "getConfig": AccessRole.VIEWER,
    "getDefaultTools": AccessRole.VIEWER,
    "getMCPServers": AccessRole.VIEWER,
    "getWarnings": AccessRole.VIEWER,
    "getRefusedDeliveries": AccessRole.VIEWER,
    "getQueue": AccessRole.VIEWER,
    "getPauses": AccessRole.VIEWER,
    "listNotifications": AccessRole.VIEWER,
    "getVersion": AccessRole.VIEWER,
    "getSetup": AccessRole.VIEWER,
    # WebSocket actions.
    "subscribe": AccessRole.VIEWER,
    "unsubscribe": AccessRole.VIEWER,
    "catchup": AccessRole.VIEWER,
    "ping": AccessRole.VIEWER,
    "submitAlert": AccessRole.RESPONDER,
    "investigateIncident": AccessRole.RESPONDER,
    "resolveIncident": AccessRole.RESPONDER,
    "mergeIncidents": AccessRole.RESPONDER,
    "splitIncident": AccessRole.RESPONDER,
    "muteIncident": AccessRole.RESPONDER,
    "addMute": AccessRole.RESPONDER,
    "endMute": AccessRole.RESPONDER,
    "cancelSession": AccessRole.RESPONDER,
    "cancelExecution": AccessRole.RESPONDER,
    "cancelSessions": AccessRole.RESPONDER,
    "deleteSession": AccessRole.RESPONDER,
    "deleteSessions": AccessRole.RESPONDER,
    "giveHint": AccessRole.RESPONDER,
    "askQuestion": AccessRole.RESPONDER,
    "cancelQuestion": AccessRole.RESPONDER,
    "requestScore": AccessRole.RESPONDER,
    "reviewSession": AccessRole.RESPONDER,
    "triageSession": AccessRole.RESPONDER,
    "commentSession": AccessRole.RESPONDER,
    "triageIncident": AccessRole.RESPONDER,
    "commentIncident": AccessRole.RESPONDER,
    "forkSession": AccessRole.RESPONDER,
    "sendNotificationAgain": AccessRole.RESPONDER,
    "testNotificationTarget": AccessRole.RESPONDER,
    "pause": AccessRole.RESPONDER,
    "resume": AccessRole.RESPONDER,
    "approveCall": AccessRole.APPROVER,
    "rejectCall": AccessRole.APPROVER,
    # `deleteSession` with `hard`.
    "eraseSession": AccessRole.ADMIN,
    "reloadConfig": AccessRole.ADMIN,
    "openSetup": AccessRole.ADMIN,
    "findModels": AccessRole.ADMIN,
    "setUpKey": AccessRole.ADMIN,
    "setUpLocalModel": AccessRole.ADMIN,
    "setUpToolServer": AccessRole.ADMIN,
    "getFirstAlert": AccessRole.ADMIN,
    "acceptTools": AccessRole.ADMIN,
    # It has the addresses of people.
    "listAuditEntries": AccessRole.ADMIN,
    "exportAuditLog": AccessRole.ADMIN,
    "listTokens": AccessRole.ADMIN,
    "createToken": AccessRole.ADMIN,
    "revokeToken": AccessRole.ADMIN,
}

# What a token without a role could do before there were roles, beyond what a responder may do.
LEGACY_OPERATIONS = frozenset(
    {"eraseSession", "reloadConfig", "openSetup", "findModels", "setUpKey", "setUpLocalModel", "setUpToolServer", "getFirstAlert"}
)


def missing_role(operation: str, identity: Identity | None) -> AccessRole | None:
    """Return the role that the caller lacks for `operation`; None if the caller may do it.

    Raises:
        KeyError: there is no such operation.
    """
    required = REQUIRED_ROLES[operation]
    if required is None or (identity and identity.role and identity.role.includes(required)):
        return None
    return None if identity and identity.legacy and operation in LEGACY_OPERATIONS else required


def require(operation: str, identity: Identity | None) -> None:
    """Check that the caller may do `operation`.

    Raises:
        RequestRefusedError: the caller lacks a login or the role.
    """
    required = missing_role(operation, identity)
    if required is not None:
        if identity is None:
            raise RequestRefusedError(ProblemKind.LOGIN_REQUIRED, "Log in, or send `Authorization: Bearer` with an API token.")
        log.warning("request.forbidden", operation=operation, author=identity.author, role=identity.role, required=required)
        if identity.role is None:
            detail = f"{identity.author} has no role here. Ask an administrator of TARSy to give a role to one of your groups."
        else:
            detail = f"This needs the role {required}; {identity.author} has the role {identity.role}."
        raise RequestRefusedError(ProblemKind.FORBIDDEN, detail)
    if identity and identity.legacy and operation in LEGACY_OPERATIONS:
        remedy = f"write {identity.author}:admin=… in TARSY_API_TOKENS"
        log.warning("token.role_missing", author=identity.author, operation=operation, remedy=remedy)
