CREATE TABLE public.agent_executions (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    stage_id uuid NOT NULL,
    agent_name text NOT NULL,
    agent_index integer NOT NULL,
    llm_backend text NOT NULL,
    llm_provider text NOT NULL,
    model_name text NOT NULL,
    tool_calling text NOT NULL,
    status text NOT NULL,
    cancel_requested boolean DEFAULT false NOT NULL,
    error_message text,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    parent_execution_id uuid,
    dispatched_by text,
    task text,
    CONSTRAINT ck_agent_executions_status CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'completed'::text, 'failed'::text, 'timed_out'::text, 'cancelled'::text])))
);
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.alert_sessions (
    id uuid NOT NULL,
    alert_data text NOT NULL,
    alert_type text NOT NULL,
    chain_id text NOT NULL,
    chain_snapshot jsonb NOT NULL,
    mcp_selection jsonb,
    author text NOT NULL,
    nonce text NOT NULL,
    runbook_url text,
    runbook text,
    status text NOT NULL,
    final_analysis text,
    analysis_is_partial boolean DEFAULT false NOT NULL,
    executive_summary text,
    executive_summary_error text,
    error_message text,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    deleted_at timestamp with time zone,
    search tsvector GENERATED ALWAYS AS (to_tsvector('simple'::regconfig, regexp_replace(translate((((((("left"(alert_type, 200) || ' '::text) || "left"(alert_data, 60000)) || ' '::text) || "left"(COALESCE(final_analysis, ''::text), 60000)) || ' '::text) || "left"(COALESCE(executive_summary, ''::text), 10000)), '<>&'::text, '   '::text), '(\S{100})'::text, '\1 '::text, 'g'::text))) STORED,
    analysis_partial_reason text,
    incident_id uuid,
    verdict jsonb,
    verdict_outcome text,
    verdict_confidence text,
    verdict_object text,
    verdict_search tsvector,
    citations jsonb,
    fork jsonb,
    CONSTRAINT ck_alert_sessions_completed_at_when_final CHECK (((status = ANY (ARRAY['completed'::text, 'failed'::text, 'timed_out'::text, 'cancelled'::text])) = (completed_at IS NOT NULL))),
    CONSTRAINT ck_alert_sessions_status CHECK ((status = ANY (ARRAY['pending'::text, 'in_progress'::text, 'waiting'::text, 'cancelling'::text, 'completed'::text, 'failed'::text, 'timed_out'::text, 'cancelled'::text]))),
    CONSTRAINT ck_alert_sessions_verdict_confidence CHECK ((verdict_confidence = ANY (ARRAY['high'::text, 'medium'::text, 'low'::text]))),
    CONSTRAINT ck_alert_sessions_verdict_outcome CHECK ((verdict_outcome = ANY (ARRAY['fault'::text, 'no_fault'::text, 'inconclusive'::text])))
)
WITH (fillfactor='70');
CREATE TABLE public.alerts (
    id uuid NOT NULL,
    incident_id uuid,
    key text NOT NULL,
    is_current boolean NOT NULL,
    source text NOT NULL,
    fingerprint text NOT NULL,
    title text NOT NULL,
    severity text NOT NULL,
    status text NOT NULL,
    said text NOT NULL,
    said_at timestamp with time zone,
    count bigint NOT NULL,
    count_in_all bigint NOT NULL,
    labels jsonb NOT NULL,
    annotations jsonb NOT NULL,
    links jsonb NOT NULL,
    group_key text,
    starts_at timestamp with time zone,
    ends_at timestamp with time zone,
    first_at timestamp with time zone NOT NULL,
    heard_at timestamp with time zone NOT NULL,
    reason text,
    body text NOT NULL,
    CONSTRAINT ck_alerts_said CHECK ((said = ANY (ARRAY['firing'::text, 'resolved'::text]))),
    CONSTRAINT ck_alerts_severity CHECK ((severity = ANY (ARRAY['critical'::text, 'high'::text, 'warning'::text, 'unknown'::text, 'info'::text]))),
    CONSTRAINT ck_alerts_status CHECK ((status = ANY (ARRAY['firing'::text, 'resolved'::text])))
)
WITH (fillfactor='70');
CREATE TABLE public.audit_log (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    session_id uuid,
    details jsonb DEFAULT '{}'::jsonb NOT NULL
);
ALTER TABLE public.audit_log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.changes (
    id uuid NOT NULL,
    key text NOT NULL,
    source text NOT NULL,
    title text NOT NULL,
    outcome text NOT NULL,
    labels jsonb NOT NULL,
    link text,
    at timestamp with time zone NOT NULL,
    received_at timestamp with time zone NOT NULL,
    body text NOT NULL,
    CONSTRAINT ck_changes_outcome CHECK ((outcome = ANY (ARRAY['started'::text, 'succeeded'::text, 'failed'::text, 'unknown'::text])))
)
WITH (fillfactor='70');
CREATE TABLE public.chat_user_messages (
    id uuid NOT NULL,
    chat_id uuid NOT NULL,
    session_id uuid NOT NULL,
    content text NOT NULL,
    author text NOT NULL,
    status text NOT NULL,
    stage_id uuid,
    error_message text,
    created_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone,
    CONSTRAINT ck_chat_user_messages_status CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'completed'::text, 'failed'::text, 'timed_out'::text, 'cancelled'::text])))
)
WITH (fillfactor='70');
CREATE TABLE public.chats (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    questions integer DEFAULT 0 NOT NULL
);
CREATE TABLE public.citations (
    session_id uuid NOT NULL,
    execution_id uuid NOT NULL,
    number integer NOT NULL,
    start integer NOT NULL,
    "end" integer NOT NULL,
    evidence_id text NOT NULL,
    quotation text,
    status text NOT NULL,
    reason text NOT NULL,
    nearest text NOT NULL,
    found_start integer,
    found_end integer,
    CONSTRAINT ck_citations_status CHECK ((status = ANY (ARRAY['quote_found'::text, 'id_only'::text, 'failed'::text])))
);
CREATE TABLE public.event_channels (
    name text NOT NULL,
    last_id bigint NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.events (
    channel text NOT NULL,
    id bigint NOT NULL,
    session_id uuid,
    payload jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.incident_activity (
    incident_id uuid NOT NULL,
    minute timestamp with time zone NOT NULL,
    firing integer NOT NULL,
    resolved integer NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.incidents (
    id uuid NOT NULL,
    key text NOT NULL,
    route text NOT NULL,
    title text NOT NULL,
    severity text NOT NULL,
    source text NOT NULL,
    alert_type text NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    heard_at timestamp with time zone NOT NULL,
    resolved_at timestamp with time zone,
    firing integer NOT NULL,
    alerts integer NOT NULL,
    deliveries bigint NOT NULL,
    looked_again smallint DEFAULT '0'::smallint NOT NULL,
    session_id uuid,
    merged_into uuid,
    CONSTRAINT ck_incidents_severity CHECK ((severity = ANY (ARRAY['critical'::text, 'high'::text, 'warning'::text, 'unknown'::text, 'info'::text])))
)
WITH (fillfactor='70');
CREATE TABLE public.llm_interactions (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    stage_id uuid,
    execution_id uuid NOT NULL,
    kind text NOT NULL,
    track text NOT NULL,
    turn integer NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    request_hash text NOT NULL,
    message_count integer NOT NULL,
    request jsonb NOT NULL,
    response jsonb,
    input_tokens integer DEFAULT 0 NOT NULL,
    output_tokens integer DEFAULT 0 NOT NULL,
    total_tokens integer DEFAULT 0 NOT NULL,
    thinking_tokens integer DEFAULT 0 NOT NULL,
    cached_tokens integer DEFAULT 0 NOT NULL,
    error_code text,
    error_message text,
    started_at timestamp with time zone NOT NULL,
    duration_ms integer NOT NULL,
    first_chunk_ms integer,
    cost_usd numeric,
    price jsonb,
    CONSTRAINT ck_llm_interactions_kind CHECK ((kind = ANY (ARRAY['iteration'::text, 'forced_conclusion'::text, 'correction'::text, 'single_shot'::text, 'summarization'::text])))
);
CREATE TABLE public.mcp_interactions (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    stage_id uuid,
    execution_id uuid NOT NULL,
    kind text NOT NULL,
    server text NOT NULL,
    tool text,
    call_id text,
    arguments text,
    result jsonb,
    is_error boolean NOT NULL,
    error_message text,
    started_at timestamp with time zone NOT NULL,
    duration_ms integer NOT NULL,
    evidence_id text,
    CONSTRAINT ck_mcp_interactions_kind CHECK ((kind = ANY (ARRAY['tool_call'::text, 'tool_list'::text])))
);
CREATE TABLE public.messages (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    execution_id uuid NOT NULL,
    sequence_number integer NOT NULL,
    role text NOT NULL,
    content text NOT NULL,
    original_content text,
    compacted_before_turn integer,
    tool_calls jsonb,
    tool_call_id text,
    tool_name text,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT ck_messages_role CHECK ((role = ANY (ARRAY['system'::text, 'user'::text, 'assistant'::text, 'tool'::text]))),
    CONSTRAINT ck_messages_tool_results_name_their_call CHECK (((role = 'tool'::text) = (tool_call_id IS NOT NULL)))
);
CREATE TABLE public.mutes (
    id uuid NOT NULL,
    starts timestamp with time zone NOT NULL,
    ends timestamp with time zone NOT NULL,
    match text[] NOT NULL,
    incident_key text,
    reason text NOT NULL,
    actor text NOT NULL,
    CONSTRAINT ck_mutes_has_length CHECK ((starts < ends))
);
CREATE TABLE public.notes (
    session_id uuid NOT NULL,
    number integer NOT NULL,
    kind text NOT NULL,
    author text NOT NULL,
    content text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT ck_notes_kind CHECK ((kind = ANY (ARRAY['hint'::text, 'alerts'::text, 'resolved'::text])))
);
CREATE TABLE public.pauses (
    chain_id text NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    actor text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    parks_running boolean DEFAULT false NOT NULL
);
CREATE TABLE public.processes (
    id text NOT NULL,
    role text NOT NULL,
    workers integer NOT NULL,
    version text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.reservations (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    stage_id uuid NOT NULL,
    execution_id uuid NOT NULL,
    is_kept boolean NOT NULL,
    usd numeric NOT NULL,
    tokens bigint NOT NULL,
    model_calls integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.run_inputs (
    session_id uuid NOT NULL,
    execution_id uuid NOT NULL,
    track text NOT NULL,
    turn integer NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    fields jsonb NOT NULL
);
CREATE TABLE public.session_figures (
    session_id uuid NOT NULL,
    agents integer NOT NULL,
    fallbacks integer NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.session_scores (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    status text NOT NULL,
    requested_by text NOT NULL,
    stage_id uuid,
    total_score integer,
    analysis text,
    missing_tools text,
    error_message text,
    created_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone,
    CONSTRAINT ck_session_scores_score_range CHECK (((total_score >= 0) AND (total_score <= 100))),
    CONSTRAINT ck_session_scores_status CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'completed'::text, 'failed'::text, 'timed_out'::text, 'cancelled'::text])))
)
WITH (fillfactor='70');
CREATE TABLE public.session_spending (
    session_id uuid NOT NULL,
    calls bigint NOT NULL,
    total_tokens bigint NOT NULL,
    cost_usd numeric NOT NULL,
    unpriced_calls bigint NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.skill_texts (
    hash text NOT NULL,
    content text NOT NULL
);
CREATE TABLE public.stages (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    stage_name text NOT NULL,
    stage_index integer NOT NULL,
    stage_type text NOT NULL,
    expected_agent_count integer NOT NULL,
    parallel_type text,
    success_policy text,
    referenced_stage_id uuid,
    status text NOT NULL,
    error_message text,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    CONSTRAINT ck_stages_has_agents CHECK ((expected_agent_count > 0)),
    CONSTRAINT ck_stages_parallel_type CHECK ((parallel_type = ANY (ARRAY['multi_agent'::text, 'replica'::text]))),
    CONSTRAINT ck_stages_stage_type CHECK ((stage_type = ANY (ARRAY['investigation'::text, 'synthesis'::text, 'exec_summary'::text, 'chat'::text, 'scoring'::text, 'action'::text, 'challenge'::text]))),
    CONSTRAINT ck_stages_status CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'completed'::text, 'failed'::text, 'timed_out'::text, 'cancelled'::text]))),
    CONSTRAINT ck_stages_success_policy CHECK ((success_policy = ANY (ARRAY['all'::text, 'any'::text])))
);
CREATE TABLE public.timeline_events (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    stage_id uuid,
    execution_id uuid,
    sequence_number integer NOT NULL,
    "position" bigint NOT NULL,
    event_type text NOT NULL,
    status text NOT NULL,
    content text NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone,
    CONSTRAINT ck_timeline_events_event_type CHECK ((event_type = ANY (ARRAY['llm_thinking'::text, 'llm_response'::text, 'llm_tool_call'::text, 'tool_result'::text, 'mcp_tool_summary'::text, 'final_analysis'::text, 'executive_summary'::text, 'error'::text, 'warning'::text, 'user_question'::text, 'code_execution'::text, 'google_search_result'::text, 'url_context_result'::text, 'provider_fallback'::text, 'note'::text]))),
    CONSTRAINT ck_timeline_events_open_while_streaming CHECK (((status = 'streaming'::text) = (completed_at IS NULL))),
    CONSTRAINT ck_timeline_events_status CHECK ((status = ANY (ARRAY['streaming'::text, 'completed'::text, 'failed'::text, 'cancelled'::text, 'timed_out'::text, 'interrupted'::text])))
)
WITH (fillfactor='70');
CREATE TABLE public.tool_days (
    day date NOT NULL,
    shard smallint NOT NULL,
    server text NOT NULL,
    tool text NOT NULL,
    calls bigint NOT NULL,
    failed_calls bigint NOT NULL,
    duration_ms bigint NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.upkeep (
    name text NOT NULL,
    done_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.usage_days (
    day date NOT NULL,
    shard smallint NOT NULL,
    chain_id text NOT NULL,
    alert_type text NOT NULL,
    agent_name text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    calls bigint NOT NULL,
    failed_calls bigint NOT NULL,
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    thinking_tokens bigint NOT NULL,
    cost_usd numeric NOT NULL,
    unpriced_calls bigint NOT NULL,
    duration_ms bigint NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.webhook_deliveries (
    key text NOT NULL,
    received_at timestamp with time zone NOT NULL,
    answer jsonb NOT NULL
);
CREATE TABLE public.work (
    id uuid NOT NULL,
    kind text NOT NULL,
    subject_id uuid NOT NULL,
    session_id uuid,
    chain_id text,
    state text NOT NULL,
    priority smallint DEFAULT '0'::smallint NOT NULL,
    rank timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    claimed_by text,
    claim_token uuid,
    claimed_at timestamp with time zone,
    heartbeat_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    recoveries integer DEFAULT 0 NOT NULL,
    stuck_recoveries integer DEFAULT 0 NOT NULL,
    cancel_requested boolean DEFAULT false NOT NULL,
    wake_requested boolean DEFAULT false NOT NULL,
    deadline timestamp with time zone,
    handed_back_at timestamp with time zone,
    parked_at timestamp with time zone,
    parked_reason text,
    parked_by_pause text,
    wake_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    parked_by_budget text,
    budget_needs numeric,
    CONSTRAINT ck_work_parked_at_while_parked CHECK (((state = 'parked'::text) = (parked_at IS NOT NULL))),
    CONSTRAINT ck_work_state CHECK ((state = ANY (ARRAY['ready'::text, 'claimed'::text, 'parked'::text, 'done'::text]))),
    CONSTRAINT ck_work_token_while_claimed CHECK (((state = 'claimed'::text) = (claim_token IS NOT NULL)))
)
WITH (fillfactor='70');
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.agent_executions
    ADD CONSTRAINT pk_agent_executions PRIMARY KEY (id);
ALTER TABLE ONLY public.alert_sessions
    ADD CONSTRAINT pk_alert_sessions PRIMARY KEY (id);
ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT pk_alerts PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT pk_audit_log PRIMARY KEY (id);
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT pk_changes PRIMARY KEY (id);
ALTER TABLE ONLY public.chat_user_messages
    ADD CONSTRAINT pk_chat_user_messages PRIMARY KEY (id);
ALTER TABLE ONLY public.chats
    ADD CONSTRAINT pk_chats PRIMARY KEY (id);
ALTER TABLE ONLY public.citations
    ADD CONSTRAINT pk_citations PRIMARY KEY (execution_id, number);
ALTER TABLE ONLY public.event_channels
    ADD CONSTRAINT pk_event_channels PRIMARY KEY (name);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT pk_events PRIMARY KEY (channel, id);
ALTER TABLE ONLY public.incident_activity
    ADD CONSTRAINT pk_incident_activity PRIMARY KEY (incident_id, minute);
ALTER TABLE ONLY public.incidents
    ADD CONSTRAINT pk_incidents PRIMARY KEY (id);
ALTER TABLE ONLY public.llm_interactions
    ADD CONSTRAINT pk_llm_interactions PRIMARY KEY (id);
ALTER TABLE ONLY public.mcp_interactions
    ADD CONSTRAINT pk_mcp_interactions PRIMARY KEY (id);
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT pk_messages PRIMARY KEY (id);
ALTER TABLE ONLY public.mutes
    ADD CONSTRAINT pk_mutes PRIMARY KEY (id);
ALTER TABLE ONLY public.notes
    ADD CONSTRAINT pk_notes PRIMARY KEY (session_id, number);
ALTER TABLE ONLY public.pauses
    ADD CONSTRAINT pk_pauses PRIMARY KEY (chain_id);
ALTER TABLE ONLY public.processes
    ADD CONSTRAINT pk_processes PRIMARY KEY (id);
ALTER TABLE ONLY public.reservations
    ADD CONSTRAINT pk_reservations PRIMARY KEY (id);
ALTER TABLE ONLY public.run_inputs
    ADD CONSTRAINT pk_run_inputs PRIMARY KEY (execution_id, turn, kind, name);
ALTER TABLE ONLY public.session_figures
    ADD CONSTRAINT pk_session_figures PRIMARY KEY (session_id);
ALTER TABLE ONLY public.session_scores
    ADD CONSTRAINT pk_session_scores PRIMARY KEY (id);
ALTER TABLE ONLY public.session_spending
    ADD CONSTRAINT pk_session_spending PRIMARY KEY (session_id);
ALTER TABLE ONLY public.skill_texts
    ADD CONSTRAINT pk_skill_texts PRIMARY KEY (hash);
ALTER TABLE ONLY public.stages
    ADD CONSTRAINT pk_stages PRIMARY KEY (id);
ALTER TABLE ONLY public.timeline_events
    ADD CONSTRAINT pk_timeline_events PRIMARY KEY (id);
ALTER TABLE ONLY public.tool_days
    ADD CONSTRAINT pk_tool_days PRIMARY KEY (day, shard, server, tool);
ALTER TABLE ONLY public.upkeep
    ADD CONSTRAINT pk_upkeep PRIMARY KEY (name);
ALTER TABLE ONLY public.usage_days
    ADD CONSTRAINT pk_usage_days PRIMARY KEY (day, shard, chain_id, alert_type, agent_name, provider, model);
ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT pk_webhook_deliveries PRIMARY KEY (key);
ALTER TABLE ONLY public.work
    ADD CONSTRAINT pk_work PRIMARY KEY (id);
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT uq_changes_key UNIQUE (key);
ALTER TABLE ONLY public.chats
    ADD CONSTRAINT uq_chats_session_id UNIQUE (session_id);
ALTER TABLE ONLY public.llm_interactions
    ADD CONSTRAINT uq_llm_interactions_execution_id_track_turn UNIQUE (execution_id, track, turn);
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT uq_messages_execution_id_sequence_number UNIQUE (execution_id, sequence_number);
ALTER TABLE ONLY public.stages
    ADD CONSTRAINT uq_stages_session_id_stage_index UNIQUE (session_id, stage_index);
ALTER TABLE ONLY public.timeline_events
    ADD CONSTRAINT uq_timeline_events_execution_id_sequence_number UNIQUE (execution_id, sequence_number);
ALTER TABLE ONLY public.timeline_events
    ADD CONSTRAINT uq_timeline_events_session_id_position UNIQUE (session_id, "position");
ALTER TABLE ONLY public.work
    ADD CONSTRAINT uq_work_kind_subject_id UNIQUE (kind, subject_id);
CREATE INDEX ix_agent_executions_session_id ON public.agent_executions USING btree (session_id);
CREATE INDEX ix_agent_executions_stage_id ON public.agent_executions USING btree (stage_id);
CREATE INDEX ix_alert_sessions_by_citations ON public.alert_sessions USING btree ((((citations ->> 'verified'::text))::integer), id) WHERE ((deleted_at IS NULL) AND (citations IS NOT NULL));
CREATE INDEX ix_alert_sessions_by_confidence ON public.alert_sessions USING btree (strpos('low medium high'::text, verdict_confidence), created_at, id) WHERE ((deleted_at IS NULL) AND (verdict_confidence IS NOT NULL));
CREATE INDEX ix_alert_sessions_by_duration ON public.alert_sessions USING btree (((completed_at - started_at)), id) WHERE ((deleted_at IS NULL) AND (started_at IS NOT NULL) AND (completed_at IS NOT NULL));
CREATE INDEX ix_alert_sessions_by_outcome ON public.alert_sessions USING btree (verdict_outcome, created_at DESC, id DESC) WHERE ((deleted_at IS NULL) AND (verdict_outcome IS NOT NULL));
CREATE INDEX ix_alert_sessions_by_status ON public.alert_sessions USING btree (status, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX ix_alert_sessions_by_type ON public.alert_sessions USING btree (alert_type, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX ix_alert_sessions_ended ON public.alert_sessions USING btree (completed_at);
CREATE INDEX ix_alert_sessions_incident ON public.alert_sessions USING btree (incident_id, created_at) WHERE (incident_id IS NOT NULL);
CREATE INDEX ix_alert_sessions_recent ON public.alert_sessions USING btree (created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX ix_alert_sessions_search ON public.alert_sessions USING gin (search);
CREATE INDEX ix_alert_sessions_verdict_search ON public.alert_sessions USING gin (verdict_search) WHERE (verdict_search IS NOT NULL);
CREATE INDEX ix_alerts_firing ON public.alerts USING btree (heard_at, id) WHERE (is_current AND (status = 'firing'::text));
CREATE INDEX ix_alerts_incident ON public.alerts USING btree (incident_id, first_at);
CREATE INDEX ix_alerts_labels ON public.alerts USING gin (labels jsonb_path_ops);
CREATE INDEX ix_alerts_recorded ON public.alerts USING btree (heard_at) WHERE (incident_id IS NULL);
CREATE INDEX ix_audit_log_at ON public.audit_log USING btree (at);
CREATE INDEX ix_audit_log_session_id ON public.audit_log USING btree (session_id);
CREATE INDEX ix_changes_at ON public.changes USING btree (at);
CREATE INDEX ix_changes_labels ON public.changes USING gin (labels jsonb_path_ops);
CREATE INDEX ix_chat_user_messages_chat_id_created_at ON public.chat_user_messages USING btree (chat_id, created_at);
CREATE INDEX ix_chat_user_messages_session_id ON public.chat_user_messages USING btree (session_id);
CREATE INDEX ix_chat_user_messages_stage_id ON public.chat_user_messages USING btree (stage_id);
CREATE INDEX ix_chats_by_questions ON public.chats USING btree (questions, session_id) WHERE (questions > 0);
CREATE INDEX ix_citations_session_id ON public.citations USING btree (session_id);
CREATE INDEX ix_events_created_at ON public.events USING btree (created_at);
CREATE INDEX ix_events_session_id ON public.events USING btree (session_id);
CREATE INDEX ix_incidents_by_severity ON public.incidents USING btree (strpos('info unknown warning high critical'::text, severity), opened_at, id);
CREATE INDEX ix_incidents_key ON public.incidents USING btree (key, opened_at DESC);
CREATE INDEX ix_incidents_merged_into ON public.incidents USING btree (merged_into);
CREATE INDEX ix_incidents_open ON public.incidents USING btree (opened_at DESC, id DESC) WHERE (resolved_at IS NULL);
CREATE INDEX ix_incidents_recent ON public.incidents USING btree (opened_at DESC, id DESC);
CREATE INDEX ix_incidents_resolved ON public.incidents USING btree (resolved_at);
CREATE INDEX ix_llm_interactions_session ON public.llm_interactions USING btree (session_id, started_at);
CREATE INDEX ix_mcp_interactions_execution_id ON public.mcp_interactions USING btree (execution_id);
CREATE INDEX ix_mcp_interactions_session ON public.mcp_interactions USING btree (session_id, started_at);
CREATE INDEX ix_messages_session_id ON public.messages USING btree (session_id);
CREATE INDEX ix_mutes_ends ON public.mutes USING btree (ends);
CREATE INDEX ix_reservations_created_at ON public.reservations USING btree (created_at);
CREATE INDEX ix_reservations_execution_id ON public.reservations USING btree (execution_id);
CREATE INDEX ix_reservations_session_id ON public.reservations USING btree (session_id);
CREATE INDEX ix_run_inputs_session_id ON public.run_inputs USING btree (session_id);
CREATE INDEX ix_session_figures_by_agents ON public.session_figures USING btree (agents, session_id) WHERE (agents > 0);
CREATE INDEX ix_session_figures_by_fallbacks ON public.session_figures USING btree (fallbacks, session_id) WHERE (fallbacks > 0);
CREATE INDEX ix_session_scores_by_score ON public.session_scores USING btree (total_score, session_id) WHERE (total_score IS NOT NULL);
CREATE INDEX ix_session_scores_session_id_created_at ON public.session_scores USING btree (session_id, created_at);
CREATE INDEX ix_session_scores_stage_id ON public.session_scores USING btree (stage_id);
CREATE INDEX ix_session_spending_by_tokens ON public.session_spending USING btree (total_tokens, session_id);
CREATE INDEX ix_session_spending_dearest ON public.session_spending USING btree (cost_usd DESC, session_id DESC);
CREATE INDEX ix_stages_referenced_stage_id ON public.stages USING btree (referenced_stage_id);
CREATE INDEX ix_webhook_deliveries_received_at ON public.webhook_deliveries USING btree (received_at);
CREATE INDEX ix_work_claimed ON public.work USING btree (kind) WHERE (state = 'claimed'::text);
CREATE INDEX ix_work_parked ON public.work USING btree (kind, wake_at) WHERE (state = 'parked'::text);
CREATE INDEX ix_work_ready ON public.work USING btree (kind, rank, id) WHERE (state = 'ready'::text);
CREATE INDEX ix_work_session_id ON public.work USING btree (session_id);
CREATE UNIQUE INDEX uq_agent_executions_parent_execution_id_agent_index ON public.agent_executions USING btree (parent_execution_id, agent_index);
CREATE UNIQUE INDEX uq_agent_executions_stage_id_agent_index ON public.agent_executions USING btree (stage_id, agent_index) WHERE (parent_execution_id IS NULL);
CREATE UNIQUE INDEX uq_alerts_current ON public.alerts USING btree (key) WHERE is_current;
CREATE UNIQUE INDEX uq_chat_user_messages_open ON public.chat_user_messages USING btree (session_id) WHERE (status = ANY (ARRAY['pending'::text, 'active'::text]));
CREATE UNIQUE INDEX uq_session_scores_open ON public.session_scores USING btree (session_id) WHERE (status = ANY (ARRAY['pending'::text, 'active'::text]));
ALTER TABLE ONLY public.agent_executions
    ADD CONSTRAINT fk_agent_executions_parent_execution_id FOREIGN KEY (parent_execution_id) REFERENCES public.agent_executions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.agent_executions
    ADD CONSTRAINT fk_agent_executions_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.agent_executions
    ADD CONSTRAINT fk_agent_executions_stage_id FOREIGN KEY (stage_id) REFERENCES public.stages(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.alert_sessions
    ADD CONSTRAINT fk_alert_sessions_incident_id FOREIGN KEY (incident_id) REFERENCES public.incidents(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT fk_alerts_incident_id FOREIGN KEY (incident_id) REFERENCES public.incidents(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.chat_user_messages
    ADD CONSTRAINT fk_chat_user_messages_chat_id FOREIGN KEY (chat_id) REFERENCES public.chats(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.chat_user_messages
    ADD CONSTRAINT fk_chat_user_messages_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.chat_user_messages
    ADD CONSTRAINT fk_chat_user_messages_stage_id FOREIGN KEY (stage_id) REFERENCES public.stages(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.chats
    ADD CONSTRAINT fk_chats_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.citations
    ADD CONSTRAINT fk_citations_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.incident_activity
    ADD CONSTRAINT fk_incident_activity_incident_id FOREIGN KEY (incident_id) REFERENCES public.incidents(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.incidents
    ADD CONSTRAINT fk_incidents_merged_into FOREIGN KEY (merged_into) REFERENCES public.incidents(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.llm_interactions
    ADD CONSTRAINT fk_llm_interactions_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.mcp_interactions
    ADD CONSTRAINT fk_mcp_interactions_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT fk_messages_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.notes
    ADD CONSTRAINT fk_notes_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.reservations
    ADD CONSTRAINT fk_reservations_execution_id FOREIGN KEY (execution_id) REFERENCES public.agent_executions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.reservations
    ADD CONSTRAINT fk_reservations_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.run_inputs
    ADD CONSTRAINT fk_run_inputs_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.session_figures
    ADD CONSTRAINT fk_session_figures_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.session_scores
    ADD CONSTRAINT fk_session_scores_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.session_scores
    ADD CONSTRAINT fk_session_scores_stage_id FOREIGN KEY (stage_id) REFERENCES public.stages(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.session_spending
    ADD CONSTRAINT fk_session_spending_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.stages
    ADD CONSTRAINT fk_stages_referenced_stage_id FOREIGN KEY (referenced_stage_id) REFERENCES public.stages(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.stages
    ADD CONSTRAINT fk_stages_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.timeline_events
    ADD CONSTRAINT fk_timeline_events_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.work
    ADD CONSTRAINT fk_work_session_id FOREIGN KEY (session_id) REFERENCES public.alert_sessions(id) ON DELETE CASCADE;
