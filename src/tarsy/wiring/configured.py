"""The parts that follow from the configuration, built at the start and again with each reload: the work handlers and the API's services."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any

from tarsy import __version__
from tarsy.agent.budget.ledger import Ledgers
from tarsy.agent.execution import AgentServices
from tarsy.agent.ports import Mask
from tarsy.api.auth import AuthSettings, auth_settings
from tarsy.api.oidc import OidcProvider
from tarsy.api.services import (
    HealthServices,
    IncidentServices,
    LiveServices,
    NotificationServices,
    Services,
    SystemServices,
)
from tarsy.api.tokens import read_tokens
from tarsy.config.load.loader import LoadedConfig
from tarsy.config.resolve.resolved import resolved_server
from tarsy.config.schema.configuration import Config
from tarsy.config.schema.system import QueueConfig
from tarsy.db.api_tokens import TokenRepository
from tarsy.db.approvals import ApprovalRepository
from tarsy.db.audit import AuditLog
from tarsy.db.connection import pool_use
from tarsy.db.incident.changes import ChangeRepository, RetryingChanges
from tarsy.db.incident.mutes import MuteRepository
from tarsy.db.incident.repository import IncidentRepository
from tarsy.db.notification_repository import NotificationRepository
from tarsy.db.notifications import ReloadNotices
from tarsy.db.processes import HealthReader
from tarsy.db.repositories import SessionRepositories
from tarsy.db.retry import is_transient
from tarsy.db.run.evidence import StoredResults
from tarsy.db.run.history import SessionHistory
from tarsy.db.run.journal import PostgresJournal
from tarsy.db.session.admission import Admission
from tarsy.db.sign_ins import SignInRepository
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.db.spending import PostgresSpendingStore
from tarsy.db.tool_pins import ToolPinRepository
from tarsy.db.usage import UsageRepository
from tarsy.db.work.pauses import PauseRepository
from tarsy.db.work.queue import WorkQueue
from tarsy.db.work.recovery import Recovery
from tarsy.demo.samples import recording_loader
from tarsy.domain.period_budget import PeriodBudget
from tarsy.intake.policy import policy_of
from tarsy.intake.service import IncidentService
from tarsy.kit.clock import SystemClock
from tarsy.llm.prices import PriceList
from tarsy.llm.providers.replay import RecordingFiles
from tarsy.notify.delivery import NotificationDelivery
from tarsy.notify.policy import NotificationPolicy, notification_policy
from tarsy.queue.handler import Handler, Runner
from tarsy.queue.pool import WorkerPool
from tarsy.session.chains import CombinedChains, ConfiguredChains
from tarsy.session.handlers import session_handlers
from tarsy.session.runbook import RunbookSource
from tarsy.session.submission import SubmissionService
from tarsy.settings import ProcessRole, Settings
from tarsy.setup.service import SetupService
from tarsy.telemetry.exposition import ProcessGauges
from tarsy.telemetry.measured_requests import CountedIntake
from tarsy.telemetry.measured_work import MeasuredJournal, MeasuredQueue, MeasuredRecovery
from tarsy.telemetry.traced_calls import TracedModel, TracedToolServers
from tarsy.telemetry.traced_runs import TracedHistory
from tarsy.tools.masking.masker import Masker, Unmasked
from tarsy.tools.masking.tags import session_tag
from tarsy.wiring.infrastructure import Infrastructure, Overrides
from tarsy.wiring.installation import Installation, SampleChains, probes, recorded_alert, sample_incidents, worker_items
from tarsy.wiring.reload import Reload

# The actor in the audit log of reloads by the setup page; the person is in the entry beside it.
SETUP = "setup"


@dataclass(frozen=True)
class Configured:
    """The configuration in force, with the overrides applied. What has a state, or is costly to build, is built once."""

    settings: Settings
    loaded: LoadedConfig
    overrides: Overrides

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def queue(self) -> QueueConfig:
        """The queue's configuration with this process's share of the workers."""
        queue = self.config.queue
        return queue.model_copy(update={"worker_count": self.settings.share(queue.worker_count)})

    @property
    def period_budgets(self) -> Sequence[PeriodBudget]:
        return tuple(one.budget for one in self.config.system.budgets)

    @cached_property
    def mask(self) -> Mask:
        """The mask of alerts, questions, runbooks and answers of models."""
        masking = self.config.defaults.alert_masking
        return self.overrides.mask or (Masker.for_group(masking.pattern_group) if masking.enabled else Unmasked())

    @property
    def auth(self) -> AuthSettings:
        system = self.config.system
        return self.overrides.auth or auth_settings(
            host=self.settings.host,
            tokens=read_tokens(self.settings.api_tokens),
            trusted_proxies=system.trusted_proxies,
            proxy_roles=system.proxy_roles,
            oidc=system.oidc,
            insecure=self.settings.insecure,
            allowed_origins=system.allowed_ws_origins,
            dashboard_url=system.dashboard_url,
        )

    @cached_property
    def notifications(self) -> NotificationPolicy:
        return notification_policy(self.config, self.loaded.env)

    @cached_property
    def oidc(self) -> OidcProvider | None:
        system = self.config.system
        if system.oidc is None or system.dashboard_url is None or self.overrides.auth:
            return None
        return OidcProvider(system.oidc, secret=self.loaded.env.get(system.oidc.client_secret_env, ""), dashboard_url=system.dashboard_url)

    @cached_property
    def runbooks(self) -> RunbookSource:
        runbooks = self.config.system.runbooks
        return RunbookSource(
            allowed_domains=runbooks.allowed_domains,
            github_token=self.loaded.env.get(self.config.system.github.token_env),
            cache_ttl=runbooks.cache_ttl,
        )


def build_runner(infrastructure: Infrastructure, configured: Configured) -> Runner:
    queue = WorkQueue(infrastructure.publisher, pod_id=infrastructure.pod_id, sessions=configured.overrides.own_sessions)
    return Runner(
        queue=MeasuredQueue(queue, infrastructure.telemetry),
        cancellations=infrastructure.cancellations,
        is_transient=is_transient,
        mask=configured.mask,
        forget=infrastructure.telemetry.forget,
    )


def build_pool(infrastructure: Infrastructure, configured: Configured) -> WorkerPool:
    """Return the worker pool, which does not run yet. It has no workers in a process that only serves the API."""
    handlers = build_handlers(infrastructure, configured)
    recovers = bool(handlers) and configured.overrides.own_sessions is None
    recovery = MeasuredRecovery(Recovery(infrastructure.publisher), infrastructure.telemetry.metrics) if recovers else None
    return WorkerPool(configured.queue, build_runner(infrastructure, configured), recovery, handlers, clock=SystemClock())


def build_handlers(infrastructure: Infrastructure, configured: Configured) -> Sequence[Handler[Any]]:
    """Return a handler for each kind of work, or none for a process that only serves the API. A new kind is added here."""
    if configured.settings.role is ProcessRole.API:
        return ()
    engine, publisher = infrastructure.database.engine, infrastructure.publisher
    spans, clock = infrastructure.telemetry.spans, SystemClock()
    tools, history, overrides = infrastructure.tools.servers, SessionHistory(engine), configured.overrides
    services = AgentServices(
        llm=TracedModel(infrastructure.llm, spans.tracing) if spans else infrastructure.llm,
        prices=PriceList(configured.config.system.cost_estimation, configured.loaded.env),
        tools=TracedToolServers(tools, spans.tracing) if spans else tools,
        journal=MeasuredJournal(PostgresJournal(engine, publisher.deliver), infrastructure.telemetry),
        results=StoredResults(engine),
        changes=RetryingChanges(engine),
        skills=SkillTextRepository(engine),
        live=infrastructure.live,
        approvals=ApprovalRepository(publisher) if overrides.approvals == "stored" else overrides.approvals,
        mask=configured.mask,
        tags=partial(session_tag, infrastructure.database.masking_key),
        clock=clock,
    )
    notification_counter, store = infrastructure.telemetry.metrics.work.notifications, NotificationRepository(engine)
    deliveries = [
        NotificationDelivery(
            target=name,
            sender=sender,
            notification_rules=configured.notifications.rules,
            store=store,
            clock=clock,
            count=lambda target, result: notification_counter.labels(target, result).inc(),
        )
        for name, sender in configured.notifications.targets.items()
    ]
    sessions = session_handlers(
        services,
        history=TracedHistory(history, spans) if spans else history,
        ledgers=Ledgers(store=PostgresSpendingStore(engine), clock=clock, periods=configured.period_budgets),
        runbooks=configured.runbooks,
        progress=infrastructure.live,
        cancellations=infrastructure.cancellations,
        overrides=overrides.sessions,
    )
    return [*sessions, *deliveries]


def build_services(infrastructure: Infrastructure, configured: Configured, pool: WorkerPool, reload: Reload) -> Services:
    config, settings, loaded = configured.config, configured.settings, configured.loaded
    engine, publisher = infrastructure.database.engine, infrastructure.publisher
    pod_id, telemetry = infrastructure.pod_id, infrastructure.telemetry
    admission = Admission(publisher, max_queue_size=config.queue.max_queue_size, on_submitted=telemetry.times.count_submission)
    repositories = SessionRepositories.on(publisher, admission)
    reloads = ReloadNotices(engine, pod_id=pod_id)
    submissions = SubmissionService(
        chains=CombinedChains(
            (ConfiguredChains(config, infrastructure.tools.monitor.known_tools), SampleChains(config, settings.replay_speed))
        ),
        store=repositories.sessions,
        mask=configured.mask,
        runbooks=configured.runbooks,
        default_alert_type=config.defaults.alert_type,
        recorded_alert=partial(recorded_alert, recording_loader(RecordingFiles())),
    )
    gauges = ProcessGauges(
        metrics=telemetry.metrics,
        version=__version__,
        connections=lambda: infrastructure.live.hub.connection_count,
        pool=partial(pool_use, engine),
        servers=lambda: infrastructure.tools.monitor.reports,
    )

    async def apply_setup() -> None:
        await reloads.publish(SETUP, asdict(await reload()))

    return Services(
        auth=configured.auth,
        tokens=TokenRepository(engine),
        sign_ins=SignInRepository(engine),
        oidc=configured.oidc,
        mask=configured.mask,
        repositories=repositories,
        submissions=submissions,
        samples=partial(sample_incidents, config),
        incidents=IncidentServices(
            service=IncidentService.build(
                publisher,
                policy_of(config, loaded.env),
                submissions,
                admission,
                partial(resolved_server, config),
                metrics=CountedIntake(telemetry.metrics),
            ),
            repository=IncidentRepository(engine),
            mutes=MuteRepository(engine),
            changes=ChangeRepository(engine),
        ),
        notifications=NotificationServices(repository=NotificationRepository(engine), policy=configured.notifications),
        usage=UsageRepository(engine),
        spending=PostgresSpendingStore(engine),
        period_budgets=configured.period_budgets,
        system=SystemServices(
            version=__version__,
            pod_id=pod_id,
            installation=Installation(loaded, infrastructure.tools.monitor, reload, infrastructure.database.restarts),
            workers=partial(worker_items, pool),
            queue=config.queue,
            pauses=PauseRepository(publisher),
            tool_pins=ToolPinRepository(engine),
            audit=AuditLog(engine),
            vital_signs=HealthReader(engine),
            reload=reload,
            reloads=reloads,
        ),
        health=HealthServices(
            probes=probes(engine, infrastructure.llm, pool),
            is_stopping=lambda: pool.is_draining,
            metrics=gauges.scrape,
        ),
        live=LiveServices(hub=infrastructure.live.hub),
        setup=SetupService(settings=settings, loaded=lambda: reload.loaded, apply=apply_setup, access=infrastructure.setup_access),
    )
