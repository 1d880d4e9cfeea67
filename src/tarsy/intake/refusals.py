"""Webhook requests that were refused or failed: counted, logged, and the last of them stored."""

from collections import deque
from dataclasses import dataclass, field

import anyio
import structlog
from sqlalchemy.exc import SQLAlchemyError

from tarsy.db.connection import DatabaseUnavailableError
from tarsy.db.incident.refusals import MAX_KEPT, RefusalRepository, RefusedDelivery
from tarsy.intake.acceptance import DeliveryMetrics

log = structlog.get_logger(__name__)

# The sender waits for its response meanwhile.
STORE_SECONDS = 2.0


@dataclass(slots=True)
class Refusals:
    repository: RefusalRepository
    metrics: DeliveryMetrics
    _pending: deque[RefusedDelivery] = field(default_factory=lambda: deque[RefusedDelivery](maxlen=MAX_KEPT), init=False)
    _stores: bool = field(default=False, init=False)

    async def record(self, refused: RefusedDelivery) -> None:
        """Count, log and store a refused delivery. Never fails: without a database it is counted and logged only.

        One request at a time stores, for all others that are refused meanwhile, so that a storm of refusals uses one connection.
        """
        self.metrics.count_refusal(refused.source, refused.reason)
        log.warning(
            "webhook.refused", source=refused.source, reason=refused.reason, status=refused.status, size=refused.size, peer=refused.peer
        )
        self._pending.append(refused)
        if self._stores:
            return
        self._stores = True
        try:
            with anyio.move_on_after(STORE_SECONDS):
                while self._pending:
                    batch = list(self._pending)
                    self._pending.clear()
                    await self.repository.add(batch)
        except (SQLAlchemyError, DatabaseUnavailableError, OSError) as error:
            log.warning("webhook.refusal_not_stored", error=str(error) or type(error).__name__)
        finally:
            self._stores = False
