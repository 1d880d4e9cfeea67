"""Which table holds each kind of claimable work."""

from collections.abc import Mapping

import sqlalchemy as sa

from tarsy.db.tables import alert_sessions, chat_user_messages, session_scores
from tarsy.domain.claim import ClaimKind

CLAIM_TABLES: Mapping[ClaimKind, sa.Table] = {
    ClaimKind.SESSION: alert_sessions,
    ClaimKind.CHAT: chat_user_messages,
    ClaimKind.SCORE: session_scores,
}
