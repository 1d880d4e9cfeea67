// Generated from the OpenAPI document by `npm run types`. Do not edit.

export interface paths {
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Health
         * @description The state of every component. Returns 503 only if the database is unreachable.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Session Events
         * @description Follow a session: its stored events from `Last-Event-ID` (or from now) and the text that is being written.
         */
        get: operations["sessionEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit Alert
         * @description Submit an alert for investigation.
         *
         *     JSON, or the alert itself as `text/plain`; another media type gets 415. At most 1 MiB of alert and 100,000 JSON values; a larger one gets 413,
         *     an empty one or an unknown type 400, and an `Idempotency-Key` of another alert 409. 429 says that the queue is full, 503 that there is no model
         *     or the database is away.
         */
        post: operations["submitAlert"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alert-types": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Alert Types
         * @description The alert types that have a chain.
         */
        get: operations["listAlertTypes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/samples": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Samples
         * @description Sample incidents, to be submitted like any alert; they need neither a cluster nor a key.
         */
        get: operations["listSamples"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhook": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit Webhook
         * @description Receive a request of a monitoring system, recognised by its body.
         *
         *     TARSy groups alerts about the same problem into one incident and investigates it once. It treats a body it does not recognise as one alert and keeps its text.
         */
        post: operations["submitWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhook/{source}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit Webhook Of
         * @description Receive a request of the monitoring system `source`. If the configuration requires this sender to authenticate, missing or wrong credentials get 401.
         */
        post: operations["submitWebhookOf"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Incidents
         * @description Incidents, the latest or the worst first.
         */
        get: operations["listIncidents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents/{incident_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Incident
         * @description An incident with its alerts, its investigations, and the changes around it.
         */
        get: operations["getIncident"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents/{incident_id}/investigate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Investigate Incident
         * @description Investigate the incident, also again; 409 while an investigation waits or runs.
         */
        post: operations["investigateIncident"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents/{incident_id}/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resolve Incident
         * @description Resolve the incident and cancel waiting investigations. An alert that fires again reopens it.
         */
        post: operations["resolveIncident"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents/{incident_id}/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Merge Incidents
         * @description Merge another incident into this one, with all its future alerts.
         */
        post: operations["mergeIncidents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents/{incident_id}/split": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Split Incident
         * @description Split some of its alerts off into a new incident.
         */
        post: operations["splitIncident"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents/{incident_id}/mute": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mute Incident
         * @description Mute the incident until a given time: TARSy records its alerts, but does not investigate it.
         */
        post: operations["muteIncident"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/mutes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Mutes
         * @description All mutes that have not ended, those of the configuration first.
         */
        get: operations["listMutes"];
        put?: never;
        /**
         * Add Mute
         * @description Mute matching alerts for a time, such as maintenance: TARSy records them, but does not investigate.
         */
        post: operations["addMute"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/mutes/{mute_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End Mute
         * @description End a mute early.
         */
        delete: operations["endMute"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/{alert_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Alert
         * @description One alert, with what was sent.
         */
        get: operations["getAlert"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Changes
         * @description Changes in a time range, latest first.
         */
        get: operations["listChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Sessions
         * @description Sessions, newest first unless `sort` says otherwise.
         */
        get: operations["listSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Session
         * @description A session with its stages, their executions and what they used.
         */
        get: operations["getSession"];
        put?: never;
        post?: never;
        /**
         * Delete Session
         * @description Hide a finished session or, with `hard` and `confirm`, erase it.
         */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Timeline
         * @description What happened, in the order in which it happened.
         */
        get: operations["getTimeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel Session
         * @description Cancel a session: at once if it waits, otherwise as soon as its worker notices. Repeating the request is harmless.
         */
        post: operations["cancelSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/executions/{execution_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel Execution
         * @description Cancel one agent; the others of its stage continue.
         */
        post: operations["cancelExecution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session-counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count Sessions
         * @description The number of matching sessions by status.
         */
        get: operations["countSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/hints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give Hint
         * @description Give the agents of a running investigation a hint; each reads it before its next model call. 409 once the investigation has ended: ask a question instead.
         */
        post: operations["giveHint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/notes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Notes
         * @description Hints and news that the investigation received while it ran, oldest first, and which agents read them.
         */
        get: operations["listNotes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/evidence": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Evidence
         * @description Everything that can be cited: the alert, the runbook, and every tool result; sessions older than evidence ids have no results here.
         */
        get: operations["listEvidence"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/evidence/{evidence_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Evidence
         * @description One piece of evidence with its full text, masked as stored.
         */
        get: operations["getEvidence"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/citations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Citations
         * @description Each citation of the final analysis with the result of its check, in the order of the text; empty for sessions older than this check.
         */
        get: operations["listCitations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Report
         * @description The session as a file: alert, verdict, analysis, questions, and every cited result.
         */
        get: operations["getReport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/recording": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Recording
         * @description The session as a recording for `tarsy replay`, with secrets masked.
         */
        get: operations["getRecording"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/cancellations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel Sessions
         * @description Cancel every matching session that has not ended. At least one filter is required.
         */
        post: operations["cancelSessions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/deletions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete Sessions
         * @description Hide these sessions if they have ended. Accepts only ids, because a filter could match more sessions than intended.
         */
        post: operations["deleteSessions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session-export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export Sessions
         * @description The list as a file, at most 10,000 sessions: alert type, verdict, duration and cost.
         */
        get: operations["exportSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/chat/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Questions
         * @description The questions asked so far, oldest first.
         */
        get: operations["listQuestions"];
        put?: never;
        /**
         * Ask Question
         * @description Ask about a finished session. The answer streams like an investigation; one question at a time, a second gets 409.
         */
        post: operations["askQuestion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/chat/messages/{message_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel Question
         * @description Cancel a question or its answer.
         */
        post: operations["cancelQuestion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/score": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Score
         * @description The newest score, finished or not.
         */
        get: operations["getScore"];
        put?: never;
        /**
         * Request Score
         * @description Score a finished session, or score it again.
         */
        post: operations["requestScore"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Fork Session
         * @description Continue from a step of an ended investigation in a new session. TARSy copies the steps before it; everything after it calls models and tools again.
         *
         *     At a step of a sub-agent, the agent that sent it waits for its new report and continues from there.
         *     409 while the session runs, if there is no such step, and for a recorded session without a `model` to continue with.
         */
        post: operations["forkSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Models
         * @description The configured models that TARSy can use now: those whose keys are set.
         */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/review": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Review
         * @description The review of a session and its triage.
         */
        get: operations["getReview"];
        put?: never;
        /**
         * Review Session
         * @description Review a session that has ended, or change its review; 409 while it runs.
         */
        post: operations["reviewSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/triage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Triage Session
         * @description Acknowledge a session or its review, or assign it to a person.
         */
        patch: operations["triageSession"];
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/comments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Comment Session
         * @description Comment on a session or its review.
         */
        post: operations["commentSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/incidents/{incident_id}/triage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Triage Incident
         * @description Acknowledge an incident, or assign it to a person.
         */
        patch: operations["triageIncident"];
        trace?: never;
    };
    "/api/v1/incidents/{incident_id}/comments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Comment Incident
         * @description Comment on an incident.
         */
        post: operations["commentIncident"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reviews/figures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Review Figures
         * @description How useful and how accurate verdicts were, in each of the last thirteen weeks, by chain, model, alert type and confidence.
         */
        get: operations["getReviewFigures"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Approvals
         * @description Tool calls that need a person's approval, the newest first, at most 200.
         */
        get: operations["listApprovals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/approvals/{approval_id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve Call
         * @description Approve a tool call: it runs once, exactly as shown; 409 if it was decided about before, or has expired.
         */
        post: operations["approveCall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/approvals/{approval_id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject Call
         * @description Reject a tool call: the agent reads the reason; 409 if it was decided about before, or has expired.
         */
        post: operations["rejectCall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/trace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Trace
         * @description All calls, without their content.
         */
        get: operations["getTrace"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/trace/llm/{interaction_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Llm Call
         * @description One model call with the exact conversation it was made with.
         */
        get: operations["getLLMCall"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/trace/llm/{interaction_id}/curl": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Llm Call As Curl
         * @description The model call as a `curl` command to the vendor, with variables instead of keys. 409 if the model was a recording.
         */
        get: operations["getLLMCallAsCurl"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/trace/mcp/{interaction_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Mcp Call
         * @description One exchange with a tool server, masked as stored.
         */
        get: operations["getMCPCall"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/notifications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Notifications
         * @description Notifications, the latest first, and all targets with what became of theirs.
         */
        get: operations["listNotifications"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/notifications/{notification_id}/send": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send Notification Again
         * @description Send a notification that was given up or has expired, with the same id; 409 if it is delivered or on its way.
         */
        post: operations["sendNotificationAgain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/notifications/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Try Notification Target
         * @description Send a sample message to a target now, and return whether it was accepted.
         */
        post: operations["testNotificationTarget"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/system/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Config
         * @description The current configuration, without secrets. The audit log records who read it.
         */
        get: operations["getConfig"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/system/default-tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Default Tools
         * @description The tool servers that the chain of each alert type uses, unless the alert selects others.
         */
        get: operations["getDefaultTools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/system/mcp-servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Mcp Servers
         * @description The tool servers, as of the monitor's last check.
         */
        get: operations["getMCPServers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/system/mcp-servers/{name}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept Tools
         * @description Accept the tools of a server as they are now: later changes are reported, and with `pin: strict` agents do not use the server then.
         *
         *     Returns 409 if the tools have changed since the caller read their fingerprint.
         */
        post: operations["acceptTools"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/system/warnings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Warnings
         * @description Warnings for the operator.
         */
        get: operations["getWarnings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/system/refused-deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Refused Deliveries
         * @description The last webhook requests that TARSy refused, or that failed: nothing of them is stored.
         */
        get: operations["getRefusedDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/system/queue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Queue
         * @description The queue of the whole installation, and the workers of the process that answers.
         */
        get: operations["getQueue"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/system/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Pauses
         * @description What is paused: TARSy starts no new work of it.
         */
        get: operations["getPauses"];
        put?: never;
        /**
         * Pause
         * @description Start no new work, of one chain or of all; with `now`, also park running sessions. Waiting sessions keep their place.
         */
        post: operations["pause"];
        /**
         * Resume
         * @description End a pause: start waiting sessions, and continue parked ones before new ones.
         */
        delete: operations["resume"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/system/reload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reload Config
         * @description Reload the configuration, in this process and in all others. Running sessions keep theirs; a file with mistakes changes nothing (409).
         */
        post: operations["reloadConfig"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/system/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get Version */
        get: operations["getVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/setup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Setup
         * @description What is set up and what can be set up, without secrets.
         */
        get: operations["getSetup"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/setup/open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Open Setup
         * @description Exchange the code from the terminal for a cookie that opens the steps below for an hour. A code works once.
         */
        post: operations["openSetup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/setup/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Find Models
         * @description The models of an OpenAI-compatible server: Ollama, llama.cpp, vLLM, LM Studio. Nothing else of the server's response is returned.
         */
        post: operations["findModels"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/setup/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set Up Key
         * @description Test a vendor's key with one small call; if the model answers, write the key to `.env` and activate it.
         */
        post: operations["setUpKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/setup/local-model": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set Up Local Model
         * @description Test a model at your own address with one small call; if it answers, write it to the configuration and activate it.
         */
        post: operations["setUpLocalModel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/setup/tool-server": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set Up Tool Server
         * @description Ask the tool server of a built-in recipe for its tools; if it answers, write it to the configuration and activate it.
         */
        post: operations["setUpToolServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/setup/first-alert": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get First Alert
         * @description The address for senders, and the caller's own token if one is needed and the server knows it.
         */
        get: operations["getFirstAlert"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Usage
         * @description Usage and cost by day, model, chain, alert type, agent and tool; the most expensive sessions; a forecast for the month; how much of each budget is used.
         */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/usage/trends": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Usage Trends
         * @description Usage of each day by model and alert type; verdicts and time to verdict of each of the last thirteen weeks.
         */
        get: operations["getUsageTrends"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/usage/table.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Usage Table
         * @description All sums as CSV, one line per day, chain, alert type, agent and model.
         */
        get: operations["getUsageTable"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Audit Entries
         * @description The audit log, newest first.
         */
        get: operations["listAuditEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit-export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export Audit Log
         * @description The audit log as a file of JSON lines.
         */
        get: operations["exportAuditLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Login
         * @description Exchange an API token for a login cookie.
         */
        post: operations["login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Logout
         * @description Forget the login. 200 tells the browser where it signs out of the OpenID Connect provider, too.
         */
        post: operations["logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Me
         * @description Who the caller is, what the caller may do, and whether a login is needed.
         */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Tokens
         * @description The tokens that were not revoked, without their secrets. Those of `TARSY_API_TOKENS` are not among them.
         */
        get: operations["listTokens"];
        put?: never;
        /**
         * Create Token
         * @description Create a token for a person or a program. This response is the only one that contains it.
         */
        post: operations["createToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke Token
         * @description Revoke a token: it is refused at once, and live connections that use it end within a minute.
         */
        delete: operations["revokeToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** AcceptedTools */
        AcceptedTools: {
            /**
             * Fingerprint
             * @description Of the tools that are accepted, as `GET /mcp-servers` returned it.
             */
            fingerprint: string;
        };
        /**
         * AccessRole
         * @description In ascending order: each role includes those before it.
         * @enum {string}
         */
        AccessRole: "viewer" | "responder" | "approver" | "admin";
        /**
         * Accuracy
         * @description Whether the verdict named the actual cause.
         * @enum {string}
         */
        Accuracy: "accurate" | "partly" | "wrong";
        /**
         * ActionOutcome
         * @enum {string}
         */
        ActionOutcome: "succeeded" | "failed" | "not_run" | "dry_run" | "unknown" | "pending";
        /**
         * ActionView
         * @description A call by which a stage that acts changed something, or would have.
         */
        ActionView: {
            /** Evidence Id */
            evidence_id: string;
            /** Call */
            call: string;
            /** Approved By */
            approved_by: string | null;
            outcome: components["schemas"]["ActionOutcome"];
            verified: components["schemas"]["Verified"];
        };
        /** ActivityBarItem */
        ActivityBarItem: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Firing */
            firing: number;
            /** Resolved */
            resolved: number;
        };
        /**
         * ActivityView
         * @description How often its alerts arrived over time; empty intervals are left out.
         */
        ActivityView: {
            /** Bar Seconds */
            bar_seconds: number;
            /** Bars */
            bars: components["schemas"]["ActivityBarItem"][];
        };
        /** AffectedObjectView */
        AffectedObjectView: {
            /** Kind */
            kind: string;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
        };
        /** AlertAccepted */
        AlertAccepted: {
            /**
             * Session Id
             * Format: uuid
             */
            session_id: string;
            status: components["schemas"]["SessionStatus"];
        };
        /** AlertDetail */
        AlertDetail: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Incident Id */
            incident_id: string | null;
            /** Source */
            source: string;
            /** Fingerprint */
            fingerprint: string;
            /** Title */
            title: string;
            severity: components["schemas"]["Severity"];
            status: components["schemas"]["AlertStatus"];
            /** Labels */
            labels: {
                [key: string]: string;
            };
            /** Annotations */
            annotations: {
                [key: string]: string;
            };
            links: components["schemas"]["AlertLinks"];
            /** Starts At */
            starts_at: string | null;
            /** Ends At */
            ends_at: string | null;
            /**
             * First At
             * Format: date-time
             */
            first_at: string;
            /**
             * Heard At
             * Format: date-time
             */
            heard_at: string;
            /** Count */
            count: number;
            /** Reason */
            reason: string | null;
            /** Body */
            body: string;
        };
        /** AlertItem */
        AlertItem: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Incident Id */
            incident_id: string | null;
            /** Source */
            source: string;
            /** Fingerprint */
            fingerprint: string;
            /** Title */
            title: string;
            severity: components["schemas"]["Severity"];
            status: components["schemas"]["AlertStatus"];
            /** Labels */
            labels: {
                [key: string]: string;
            };
            /** Annotations */
            annotations: {
                [key: string]: string;
            };
            links: components["schemas"]["AlertLinks"];
            /** Starts At */
            starts_at: string | null;
            /** Ends At */
            ends_at: string | null;
            /**
             * First At
             * Format: date-time
             */
            first_at: string;
            /**
             * Heard At
             * Format: date-time
             */
            heard_at: string;
            /** Count */
            count: number;
            /** Reason */
            reason: string | null;
        };
        /** AlertLinks */
        AlertLinks: {
            /** Source */
            source: string | null;
            /** Dashboard */
            dashboard: string | null;
            /** Runbook */
            runbook: string | null;
            /** Silence */
            silence: string | null;
        };
        /**
         * AlertStatus
         * @enum {string}
         */
        AlertStatus: "firing" | "resolved";
        /** AlertTypeItem */
        AlertTypeItem: {
            /** Name */
            name: string;
            /** Chain Id */
            chain_id: string;
            /** Description */
            description: string;
            /** Is Sample */
            is_sample: boolean;
            /** Has Model */
            has_model: boolean;
        };
        /** AlertTypes */
        AlertTypes: {
            /** Alert Types */
            alert_types: components["schemas"]["AlertTypeItem"][];
            /** Default Alert Type */
            default_alert_type: string;
        };
        /** ApprovalListView */
        ApprovalListView: {
            /** Approvals */
            approvals: components["schemas"]["ApprovalView"][];
        };
        /**
         * ApprovalState
         * @enum {string}
         */
        ApprovalState: "pending" | "approved" | "rejected" | "expired";
        /**
         * ApprovalView
         * @description A tool call that needs an approval, exactly as it is sent to its server, and the decision.
         */
        ApprovalView: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /**
             * Session Id
             * Format: uuid
             */
            session_id: string;
            /**
             * Execution Id
             * Format: uuid
             */
            execution_id: string;
            /** Call Id */
            call_id: string;
            /** Evidence Id */
            evidence_id: string;
            /** Server */
            server: string;
            /** Tool */
            tool: string;
            /** Arguments */
            arguments: string;
            /** Call Hash */
            call_hash: string;
            state: components["schemas"]["ApprovalState"];
            /**
             * Requested At
             * Format: date-time
             */
            requested_at: string;
            /**
             * Expires At
             * Format: date-time
             */
            expires_at: string;
            /** Decided At */
            decided_at: string | null;
            /** Decided By */
            decided_by: string | null;
            /** Reason */
            reason: string;
            /** Started At */
            started_at: string | null;
            outcome: components["schemas"]["CallOutcome"];
        };
        /**
         * AuditAction
         * @enum {string}
         */
        AuditAction: "alert.submitted" | "session.forked" | "session.cancelled" | "session.deleted" | "session.purged" | "session.reviewed" | "session.acknowledged" | "session.assigned" | "session.commented" | "execution.cancelled" | "call.approved" | "call.rejected" | "chat.asked" | "chat.cancelled" | "hint.given" | "score.requested" | "config.viewed" | "config.reloaded" | "setup.opened" | "setup.changed" | "work.paused" | "work.resumed" | "alerts.muted" | "mute.ended" | "incident.investigated" | "incident.resolved" | "incident.acknowledged" | "incident.assigned" | "incident.commented" | "incidents.merged" | "incident.split" | "tools.accepted" | "token.created" | "token.revoked" | "sign_in.created" | "sign_in.ended" | "notification.sent_again" | "notification.tested";
        /** AuditEntryView */
        AuditEntryView: {
            /** Id */
            id: number;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Actor */
            actor: string;
            /** Origin */
            origin: string | null;
            /** Action */
            action: string;
            /** Session Id */
            session_id: string | null;
            /** Details */
            details: {
                [key: string]: unknown;
            };
        };
        /** AuditPage */
        AuditPage: {
            /** Entries */
            entries: components["schemas"]["AuditEntryView"][];
            /** Next Before */
            next_before: number | null;
        };
        /**
         * BudgetPeriod
         * @enum {string}
         */
        BudgetPeriod: "day" | "month";
        /**
         * CallOutcome
         * @description What is known about a call that needs an approval.
         * @enum {string}
         */
        CallOutcome: "not_run" | "running" | "ran" | "unknown";
        /**
         * CancelAnswer
         * @description The result of a request to cancel.
         * @enum {string}
         */
        CancelAnswer: "cancelled" | "cancelling" | "already_ended";
        /** CancelResult */
        CancelResult: {
            result: components["schemas"]["CancelAnswer"];
        };
        /** CancelledSessions */
        CancelledSessions: {
            /** Cancelled */
            cancelled: number;
        };
        /**
         * CeilingView
         * @description The most a session may use; absent: no limit.
         */
        CeilingView: {
            /** Usd */
            usd: number | null;
            /** Tokens */
            tokens: number | null;
            /** Seconds */
            seconds: number | null;
            /** Model Calls */
            model_calls: number | null;
            /** Tool Calls */
            tool_calls: number | null;
        };
        /** ChangeItem */
        ChangeItem: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Source */
            source: string;
            /** Title */
            title: string;
            outcome: components["schemas"]["ChangeOutcome"];
            /** Labels */
            labels: {
                [key: string]: string;
            };
            /** Link */
            link: string | null;
            /**
             * At
             * Format: date-time
             */
            at: string;
        };
        /** ChangeList */
        ChangeList: {
            /** Changes */
            changes: components["schemas"]["ChangeItem"][];
        };
        /**
         * ChangeOutcome
         * @enum {string}
         */
        ChangeOutcome: "started" | "succeeded" | "failed" | "unknown";
        /**
         * ChatMessage
         * @description A question. Its answer is the chat stage `stage_id`, on the session's timeline.
         */
        ChatMessage: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Content */
            content: string;
            /** Author */
            author: string;
            status: components["schemas"]["RunStatus"];
            /** Stage Id */
            stage_id: string | null;
            /** Error Message */
            error_message: string | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Completed At */
            completed_at: string | null;
        };
        /** ChatMessages */
        ChatMessages: {
            /** Messages */
            messages: components["schemas"]["ChatMessage"][];
        };
        /** Check */
        Check: {
            /**
             * Status
             * @enum {string}
             */
            status: "healthy" | "unhealthy";
            /** Message */
            message: string;
            /** Details */
            details: {
                [key: string]: unknown;
            };
        };
        /** CitationList */
        CitationList: {
            /** Citations */
            citations: components["schemas"]["CitationView"][];
            /** Remarks */
            remarks: components["schemas"]["RemarkView"][];
        };
        /**
         * CitationStatus
         * @description The result of checking a citation; only a quotation that was found counts as verified.
         * @enum {string}
         */
        CitationStatus: "quote_found" | "id_only" | "failed";
        /** CitationSums */
        CitationSums: {
            /** Cited */
            cited: number;
            /** Verified */
            verified: number;
            /** Id Only */
            id_only: number;
            /** Failed */
            failed: number;
            /** Uncited */
            uncited: number;
        };
        /** CitationView */
        CitationView: {
            /**
             * Execution Id
             * Format: uuid
             */
            execution_id: string;
            /** Start */
            start: number;
            /** End */
            end: number;
            /** Evidence Id */
            evidence_id: string;
            /** Quotation */
            quotation: string | null;
            status: components["schemas"]["CitationStatus"];
            /** Reason */
            reason: string;
            /** Nearest */
            nearest: string;
            /** Found Start */
            found_start: number | null;
            /** Found End */
            found_end: number | null;
        };
        /**
         * ClaimSeverity
         * @description A failure is reported to the model for correction; a remark is only shown.
         * @enum {string}
         */
        ClaimSeverity: "failure" | "remark";
        /** CommentRequest */
        CommentRequest: {
            /** Text */
            text: string;
        };
        /** CommentView */
        CommentView: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Author */
            author: string;
            /** Text */
            text: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
        };
        /**
         * Confidence
         * @description High: observed directly and alternatives excluded. Medium: one link inferred. Low: correlation.
         * @enum {string}
         */
        Confidence: "high" | "medium" | "low";
        /** Cost */
        Cost: {
            /** Usd */
            usd: number | null;
            /** Unpriced Calls */
            unpriced_calls: number;
            /** Estimated Calls */
            estimated_calls: number;
        };
        /** CreatedToken */
        CreatedToken: {
            /** Name */
            name: string;
            role: components["schemas"]["AccessRole"];
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Expires At */
            expires_at: string | null;
            /** Last Used At */
            last_used_at: string | null;
            /** Token */
            token: string;
        };
        /** DayUsageItem */
        DayUsageItem: {
            /**
             * Day
             * Format: date
             */
            day: string;
            /** Name */
            name: string;
            /** Calls */
            calls: number;
            /** Tokens */
            tokens: number;
            /** Cost Usd */
            cost_usd: number;
        };
        /** DearSessionItem */
        DearSessionItem: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Title */
            title: string;
            /** Alert Type */
            alert_type: string;
            /** Chain Id */
            chain_id: string;
            /** Cost Usd */
            cost_usd: number;
            /** Unpriced Calls */
            unpriced_calls: number;
            /** Total Tokens */
            total_tokens: number;
        };
        /** DecisionRequest */
        DecisionRequest: {
            /**
             * Reason
             * @description Why. The agent reads the reason of a rejection.
             * @default
             */
            reason: string;
        };
        /** DefaultTools */
        DefaultTools: {
            /** Alert Type */
            alert_type: string;
            /** Servers */
            servers: string[];
            /** Native Tools */
            native_tools: {
                [key: string]: boolean;
            };
        };
        /** DefaultToolsList */
        DefaultToolsList: {
            /** Defaults */
            defaults: components["schemas"]["DefaultTools"][];
        };
        /** DeletedSessions */
        DeletedSessions: {
            /** Deleted */
            deleted: number;
        };
        /**
         * EffectiveConfig
         * @description The current configuration, including built-ins, with secrets hidden.
         */
        EffectiveConfig: {
            /** Config */
            config: {
                [key: string]: unknown;
            };
        };
        /**
         * EventKind
         * @description Resolved is about an incident, all others are about a session.
         * @enum {string}
         */
        EventKind: "started" | "verdict" | "failed" | "waiting" | "decided" | "answered" | "resolved" | "budget";
        /** EvidenceDetail */
        EvidenceDetail: {
            /** Id */
            id: string;
            /** Stage Id */
            stage_id: string | null;
            /** Execution Id */
            execution_id: string | null;
            /** Server */
            server: string | null;
            /** Tool */
            tool: string | null;
            /** Arguments */
            arguments: string | null;
            /** Read At */
            read_at: string | null;
            /** Size */
            size: number;
            /** Is Error */
            is_error: boolean;
            /** Refused */
            refused: boolean;
            /** Text */
            text: string;
            /** Folded */
            folded: string | null;
        };
        /** EvidenceItem */
        EvidenceItem: {
            /** Id */
            id: string;
            /** Stage Id */
            stage_id: string | null;
            /** Execution Id */
            execution_id: string | null;
            /** Server */
            server: string | null;
            /** Tool */
            tool: string | null;
            /** Arguments */
            arguments: string | null;
            /** Read At */
            read_at: string | null;
            /** Size */
            size: number;
            /** Is Error */
            is_error: boolean;
            /** Refused */
            refused: boolean;
        };
        /** EvidenceList */
        EvidenceList: {
            /** Evidence */
            evidence: components["schemas"]["EvidenceItem"][];
        };
        /** ExecutionInTreeView */
        ExecutionInTreeView: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Agent Name */
            agent_name: string;
            /** Parent Execution Id */
            parent_execution_id: string | null;
            /** Dispatched By */
            dispatched_by: string | null;
            /** Task */
            task: string | null;
        };
        /** ExecutionView */
        ExecutionView: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Agent Name */
            agent_name: string;
            /** Agent Index */
            agent_index: number;
            /** Parent Execution Id */
            parent_execution_id: string | null;
            /** Dispatched By */
            dispatched_by: string | null;
            /** Task */
            task: string | null;
            /** Llm Backend */
            llm_backend: string;
            /** Llm Provider */
            llm_provider: string;
            /** Model Name */
            model_name: string;
            /** Tool Calling */
            tool_calling: string;
            status: components["schemas"]["RunStatus"];
            /** Cancel Requested */
            cancel_requested: boolean;
            /** Error Message */
            error_message: string | null;
            /** Started At */
            started_at: string | null;
            /** Completed At */
            completed_at: string | null;
            /** Duration Ms */
            duration_ms: number | null;
            usage: components["schemas"]["Usage"];
            cost: components["schemas"]["Cost"];
        };
        /**
         * ExportFormat
         * @enum {string}
         */
        ExportFormat: "csv" | "jsonl";
        /**
         * FieldKind
         * @enum {string}
         */
        FieldKind: "file" | "address" | "secret";
        /**
         * FirstAlert
         * @description What a sender needs to reach this installation.
         */
        FirstAlert: {
            /** Url */
            url: string | null;
            /** Token */
            token: string | null;
        };
        /**
         * ForkOrigin
         * @description The step of another session from which this one continues.
         */
        ForkOrigin: {
            /**
             * Session Id
             * Format: uuid
             */
            session_id: string;
            /** Stage */
            stage: string;
            /** Agent */
            agent: string;
            /** Dispatched By */
            dispatched_by: string | null;
            /** Turn */
            turn: number;
            /** Model */
            model: string | null;
        };
        /**
         * ForkRequest
         * @description The step to continue from, and what changes from there.
         */
        ForkRequest: {
            /**
             * Execution Id
             * Format: uuid
             * @description The agent's execution, also a sub-agent's, as listed in the session and its trace.
             */
            execution_id: string;
            /**
             * Turn
             * @description The model call to repeat, as numbered in the trace; the first is 0.
             */
            turn: number;
            /**
             * Model
             * @description The configured provider that continues; absent: the session's own models.
             */
            model?: string | null;
            /**
             * Hint
             * @description A hint that its agents read before the first new call.
             */
            hint?: string | null;
        };
        /** HealthReport */
        HealthReport: {
            /**
             * Status
             * @enum {string}
             */
            status: "healthy" | "degraded" | "unhealthy";
            /** Version */
            version: string;
            /** Checks */
            checks: {
                [key: string]: components["schemas"]["Check"];
            };
        };
        /**
         * Hint
         * @description An engineer's hint to the agents.
         */
        Hint: {
            /** Text */
            text: string;
        };
        /** IncidentItem */
        IncidentItem: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            state: components["schemas"]["IncidentState"];
            /** Title */
            title: string;
            severity: components["schemas"]["Severity"];
            /** Source */
            source: string;
            /** Route */
            route: string;
            /** Alert Type */
            alert_type: string;
            /**
             * Opened At
             * Format: date-time
             */
            opened_at: string;
            /**
             * Heard At
             * Format: date-time
             */
            heard_at: string;
            /** Resolved At */
            resolved_at: string | null;
            /** Firing */
            firing: number;
            /** Alerts */
            alerts: number;
            /** Deliveries */
            deliveries: number;
            /** Truncated */
            truncated: number;
            /** Last Session Id */
            last_session_id: string | null;
            last_session_status: components["schemas"]["SessionStatus"] | null;
            /** Last Session Completed At */
            last_session_completed_at: string | null;
            /** Executive Summary */
            executive_summary: string | null;
            /** Analysis Is Partial */
            analysis_is_partial: boolean;
            verdict_outcome: components["schemas"]["VerdictOutcome"] | null;
            verdict_confidence: components["schemas"]["Confidence"] | null;
            /** Verdict Object */
            verdict_object: string | null;
            /** Waiting For Model */
            waiting_for_model: boolean;
            cost: components["schemas"]["Cost"];
        };
        /** IncidentList */
        IncidentList: {
            /** Incidents */
            incidents: components["schemas"]["IncidentItem"][];
            /** Next Cursor */
            next_cursor: string | null;
            /** Total */
            total: number;
            /** Open */
            open: number;
            /** Resolved */
            resolved: number;
        };
        /** IncidentSession */
        IncidentSession: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            status: components["schemas"]["SessionStatus"];
            /** Author */
            author: string;
            /** Executive Summary */
            executive_summary: string | null;
            /** Analysis Is Partial */
            analysis_is_partial: boolean;
            /** Analysis Partial Reason */
            analysis_partial_reason: string | null;
            /** Error Message */
            error_message: string | null;
            verdict: components["schemas"]["VerdictView"] | null;
            /** Waiting For Model */
            waiting_for_model: boolean;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Started At */
            started_at: string | null;
            /** Completed At */
            completed_at: string | null;
        };
        /**
         * IncidentSort
         * @description How a list of incidents is sorted.
         * @enum {string}
         */
        IncidentSort: "opened" | "severity";
        /**
         * IncidentState
         * @enum {string}
         */
        IncidentState: "open" | "resolved";
        /** IncidentView */
        IncidentView: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            state: components["schemas"]["IncidentState"];
            /** Title */
            title: string;
            severity: components["schemas"]["Severity"];
            /** Source */
            source: string;
            /** Route */
            route: string;
            /** Alert Type */
            alert_type: string;
            /**
             * Opened At
             * Format: date-time
             */
            opened_at: string;
            /**
             * Heard At
             * Format: date-time
             */
            heard_at: string;
            /** Resolved At */
            resolved_at: string | null;
            /** Firing */
            firing: number;
            /** Alerts */
            alerts: number;
            /** Deliveries */
            deliveries: number;
            /** Truncated */
            truncated: number;
            /** Last Session Id */
            last_session_id: string | null;
            last_session_status: components["schemas"]["SessionStatus"] | null;
            /** Last Session Completed At */
            last_session_completed_at: string | null;
            /** Executive Summary */
            executive_summary: string | null;
            /** Analysis Is Partial */
            analysis_is_partial: boolean;
            verdict_outcome: components["schemas"]["VerdictOutcome"] | null;
            verdict_confidence: components["schemas"]["Confidence"] | null;
            /** Verdict Object */
            verdict_object: string | null;
            /** Waiting For Model */
            waiting_for_model: boolean;
            cost: components["schemas"]["Cost"];
            /** Members */
            members: components["schemas"]["AlertItem"][];
            activity: components["schemas"]["ActivityView"];
            /** Sessions */
            sessions: components["schemas"]["IncidentSession"][];
            /** Changes */
            changes: components["schemas"]["ChangeItem"][];
            /** Mutes */
            mutes: components["schemas"]["MuteItem"][];
            /** Merged */
            merged: string[];
            /** Notes */
            notes: components["schemas"]["NoteView"][];
            triage: components["schemas"]["TriageView"];
        };
        /** Investigated */
        Investigated: {
            /**
             * Session Id
             * Format: uuid
             */
            session_id: string;
        };
        /** LLMCallDetail */
        LLMCallDetail: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Stage Id */
            stage_id: string | null;
            /**
             * Execution Id
             * Format: uuid
             */
            execution_id: string;
            kind: components["schemas"]["LLMInteractionKind"];
            /** Turn */
            turn: number;
            /** Provider */
            provider: string;
            /** Model */
            model: string;
            /** Message Count */
            message_count: number;
            usage: components["schemas"]["Usage"];
            /** Usage Estimated */
            usage_estimated: boolean;
            /** Error Code */
            error_code: string | null;
            /** Error Message */
            error_message: string | null;
            /**
             * Started At
             * Format: date-time
             */
            started_at: string;
            /** Duration Ms */
            duration_ms: number;
            /** First Chunk Ms */
            first_chunk_ms: number | null;
            /** Cost Usd */
            cost_usd: number | null;
            /** Request Hash */
            request_hash: string;
            /** Request */
            request: {
                [key: string]: unknown;
            };
            /** Response */
            response: {
                [key: string]: unknown;
            } | null;
            /** Conversation */
            conversation: components["schemas"]["SentMessageView"][];
        };
        /** LLMCallItem */
        LLMCallItem: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Stage Id */
            stage_id: string | null;
            /**
             * Execution Id
             * Format: uuid
             */
            execution_id: string;
            kind: components["schemas"]["LLMInteractionKind"];
            /** Turn */
            turn: number;
            /** Provider */
            provider: string;
            /** Model */
            model: string;
            /** Message Count */
            message_count: number;
            usage: components["schemas"]["Usage"];
            /** Usage Estimated */
            usage_estimated: boolean;
            /** Error Code */
            error_code: string | null;
            /** Error Message */
            error_message: string | null;
            /**
             * Started At
             * Format: date-time
             */
            started_at: string;
            /** Duration Ms */
            duration_ms: number;
            /** First Chunk Ms */
            first_chunk_ms: number | null;
            /** Cost Usd */
            cost_usd: number | null;
        };
        /**
         * LLMInteractionKind
         * @enum {string}
         */
        LLMInteractionKind: "iteration" | "forced_conclusion" | "correction" | "single_shot" | "summarization" | "support";
        /** LocalModel */
        LocalModel: {
            /** Url */
            url: string;
            /** Model */
            model: string;
            /**
             * Key
             * @description If the server asks for one.
             * @default
             */
            key: string;
        };
        /** Login */
        Login: {
            /** Token */
            token: string;
        };
        /** MCPCallDetail */
        MCPCallDetail: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Stage Id */
            stage_id: string | null;
            /**
             * Execution Id
             * Format: uuid
             */
            execution_id: string;
            kind: components["schemas"]["MCPInteractionKind"];
            /** Server */
            server: string;
            /** Tool */
            tool: string | null;
            /** Evidence Id */
            evidence_id: string | null;
            /** Is Error */
            is_error: boolean;
            /** Error Message */
            error_message: string | null;
            /**
             * Started At
             * Format: date-time
             */
            started_at: string;
            /** Duration Ms */
            duration_ms: number;
            /** Call Id */
            call_id: string | null;
            /** Arguments */
            arguments: string | null;
            /** Result */
            result: {
                [key: string]: unknown;
            } | null;
        };
        /** MCPCallItem */
        MCPCallItem: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Stage Id */
            stage_id: string | null;
            /**
             * Execution Id
             * Format: uuid
             */
            execution_id: string;
            kind: components["schemas"]["MCPInteractionKind"];
            /** Server */
            server: string;
            /** Tool */
            tool: string | null;
            /** Evidence Id */
            evidence_id: string | null;
            /** Is Error */
            is_error: boolean;
            /** Error Message */
            error_message: string | null;
            /**
             * Started At
             * Format: date-time
             */
            started_at: string;
            /** Duration Ms */
            duration_ms: number;
            /** Arguments Start */
            arguments_start: string | null;
        };
        /**
         * MCPInteractionKind
         * @enum {string}
         */
        MCPInteractionKind: "tool_call" | "tool_list";
        /** MCPServerItem */
        MCPServerItem: {
            /** Name */
            name: string;
            /** Transport */
            transport: string;
            state: components["schemas"]["ServerState"];
            /** Error */
            error: string | null;
            /** Checked At */
            checked_at: string | null;
            /** Tools */
            tools: components["schemas"]["ServerToolItem"][];
            /** Needs Approval */
            needs_approval: {
                [key: string]: string;
            };
            pin: components["schemas"]["PinMode"];
            /** Fingerprint */
            fingerprint: string | null;
            /** Accepted At */
            accepted_at: string | null;
            /** Accepted By */
            accepted_by: string | null;
            /** Pin Problem */
            pin_problem: string | null;
        };
        /** MCPServers */
        MCPServers: {
            /** Servers */
            servers: components["schemas"]["MCPServerItem"][];
        };
        /**
         * McpSelection
         * @description `{servers: [{name, tools?}], native_tools?}` as it comes with an alert.
         */
        McpSelection: {
            /** Servers */
            servers: components["schemas"]["SelectedServer"][];
            /** @default null */
            native_tools: components["schemas"]["NativeToolSelection"] | null;
        };
        /** Me */
        Me: {
            /** Author */
            author: string | null;
            /** Login Required */
            login_required: boolean;
            /** Identified By */
            identified_by: ("token" | "cookie" | "proxy" | "oidc" | "open") | null;
            role: components["schemas"]["AccessRole"] | null;
            /** Denied */
            denied: {
                [key: string]: components["schemas"]["AccessRole"];
            };
            /** Single Sign On */
            single_sign_on: string | null;
        };
        /** MergeRequest */
        MergeRequest: {
            /**
             * Incident Id
             * Format: uuid
             * @description The incident that becomes part of this one.
             */
            incident_id: string;
        };
        /** ModelAddress */
        ModelAddress: {
            /** Url */
            url: string;
            /**
             * Key
             * @description If the server asks for one.
             * @default
             */
            key: string;
        };
        /**
         * ModelItem
         * @description A model that TARSy can use now.
         */
        ModelItem: {
            /** Name */
            name: string;
            type: components["schemas"]["ProviderType"];
            /** Model */
            model: string;
        };
        /** ModelList */
        ModelList: {
            /** Models */
            models: components["schemas"]["ModelItem"][];
        };
        /** ModelsFound */
        ModelsFound: {
            /** Base Url */
            base_url: string;
            /** Models */
            models: string[];
        };
        /** MuteIncident */
        MuteIncident: {
            /**
             * Ends
             * Format: date-time
             * @description When its alerts count again.
             */
            ends: string;
            /**
             * Reason
             * @description Shown with muted alerts.
             * @default
             */
            reason: string;
        };
        /** MuteItem */
        MuteItem: {
            /** Id */
            id: string | null;
            /**
             * Starts
             * Format: date-time
             */
            starts: string;
            /**
             * Ends
             * Format: date-time
             */
            ends: string;
            /** Match */
            match: string[];
            /** Of Incident */
            of_incident: boolean;
            /** Reason */
            reason: string;
            /** Actor */
            actor: string;
        };
        /** MuteList */
        MuteList: {
            /** Mutes */
            mutes: components["schemas"]["MuteItem"][];
        };
        /** MuteRequest */
        MuteRequest: {
            /**
             * Ends
             * Format: date-time
             * @description When its alerts count again.
             */
            ends: string;
            /**
             * Reason
             * @description Shown with muted alerts.
             * @default
             */
            reason: string;
            /**
             * Starts
             * @description Start; absent: now.
             */
            starts?: string | null;
            /**
             * Match
             * @description Matchers, all of which must match.
             */
            match: string[];
        };
        /** NativeToolSelection */
        NativeToolSelection: {
            /**
             * Google Search
             * @default null
             */
            google_search: boolean | null;
            /**
             * Code Execution
             * @default null
             */
            code_execution: boolean | null;
            /**
             * Url Context
             * @default null
             */
            url_context: boolean | null;
        };
        /** NextSessionItem */
        NextSessionItem: {
            /**
             * Session Id
             * Format: uuid
             */
            session_id: string;
            /** Title */
            title: string;
        };
        /**
         * NoteKind
         * @enum {string}
         */
        NoteKind: "hint" | "alerts" | "resolved";
        /**
         * NoteState
         * @enum {string}
         */
        NoteState: "waiting" | "delivered" | "too_late";
        /** NoteView */
        NoteView: {
            /** Id */
            id: string;
            /**
             * Session Id
             * Format: uuid
             */
            session_id: string;
            kind: components["schemas"]["NoteKind"];
            /** Author */
            author: string;
            /** Text */
            text: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            state: components["schemas"]["NoteState"];
            /** Told */
            told: string[];
        };
        /** Notes */
        Notes: {
            /** Notes */
            notes: components["schemas"]["NoteView"][];
        };
        /** NotificationItem */
        NotificationItem: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Target */
            target: string;
            /** Rule */
            rule: string;
            kind: components["schemas"]["EventKind"];
            /** Title */
            title: string;
            /** Text */
            text: string;
            status: components["schemas"]["NotificationStatus"];
            /** Attempts */
            attempts: number;
            /** Error */
            error: string | null;
            /** Session Id */
            session_id: string | null;
            /** Incident Id */
            incident_id: string | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Expires At
             * Format: date-time
             */
            expires_at: string;
            /** Delivered At */
            delivered_at: string | null;
        };
        /** NotificationList */
        NotificationList: {
            /** Targets */
            targets: components["schemas"]["TargetItem"][];
            /** Notifications */
            notifications: components["schemas"]["NotificationItem"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /**
         * NotificationStatus
         * @enum {string}
         */
        NotificationStatus: "pending" | "delivered" | "dead_letter" | "expired";
        /**
         * Outcome
         * @description What TARSy did with an alert.
         * @enum {string}
         */
        Outcome: "opened" | "joined" | "repeated" | "reopened" | "escalated" | "investigated_again" | "resolved" | "recorded" | "dropped";
        /**
         * ParallelType
         * @enum {string}
         */
        ParallelType: "multi_agent" | "replica";
        /** PauseItem */
        PauseItem: {
            /** Chain Id */
            chain_id: string | null;
            /**
             * Since
             * Format: date-time
             */
            since: string;
            /** Actor */
            actor: string;
            /** Reason */
            reason: string;
            /** Parks Running */
            parks_running: boolean;
        };
        /** PauseRequest */
        PauseRequest: {
            /**
             * Chain Id
             * @description Only sessions of this chain; absent: everything.
             */
            chain_id?: string | null;
            /**
             * Reason
             * @description Why; shown to people who use TARSy.
             * @default
             */
            reason: string;
            /**
             * Now
             * @description Also park what runs.
             * @default false
             */
            now: boolean;
        };
        /** Pauses */
        Pauses: {
            /** Pauses */
            pauses: components["schemas"]["PauseItem"][];
        };
        /**
         * Period
         * @enum {string}
         */
        Period: "day" | "week" | "month";
        /**
         * PeriodBudgetItem
         * @description What all sessions together, or those of one chain or alert type, may cost in a day or month, by the calendar in UTC.
         */
        PeriodBudgetItem: {
            per: components["schemas"]["BudgetPeriod"];
            /** Usd */
            usd: number;
            /** Chain */
            chain: string | null;
            /** Alert Type */
            alert_type: string | null;
            /** Spent Usd */
            spent_usd: number;
            /** Reserved Usd */
            reserved_usd: number;
            /** Forecast Usd */
            forecast_usd: number;
            /**
             * Ends At
             * Format: date-time
             */
            ends_at: string;
            /** Unpriced Models */
            unpriced_models: string[];
        };
        /**
         * PinMode
         * @description What happens if the tools of a server differ from the accepted ones.
         * @enum {string}
         */
        PinMode: "report" | "strict";
        /**
         * PlannedStage
         * @description A stage as planned in the session's chain, whether it has started or not.
         */
        PlannedStage: {
            /** Name */
            name: string;
            /** Agents */
            agents: string[];
            /** Synthesis */
            synthesis: boolean;
        };
        /**
         * ProviderType
         * @enum {string}
         */
        ProviderType: "google" | "openai" | "anthropic" | "xai" | "vertexai" | "replay";
        /** Question */
        Question: {
            /** Content */
            content: string;
        };
        /** QueueReport */
        QueueReport: {
            /** Pending */
            pending: number;
            /** Running */
            running: number;
            /** Waiting */
            waiting: number;
            /** Oldest Pending At */
            oldest_pending_at: string | null;
            /** Running By Pod */
            running_by_pod: {
                [key: string]: number;
            };
            /** Next Sessions */
            next_sessions: components["schemas"]["NextSessionItem"][];
            /** Max Concurrent Sessions */
            max_concurrent_sessions: number;
            /** Max Queue Size */
            max_queue_size: number | null;
            /** Pauses */
            pauses: components["schemas"]["PauseItem"][];
            /** Pod Id */
            pod_id: string;
            /** Worker Count */
            worker_count: number;
            /** Workers */
            workers: components["schemas"]["WorkerItem"][];
        };
        /** RecipeFieldItem */
        RecipeFieldItem: {
            /** Variable */
            variable: string;
            /** Label */
            label: string;
            kind: components["schemas"]["FieldKind"];
            /** Suggestion */
            suggestion: string;
            /** Is Set */
            is_set: boolean;
        };
        /** RecipeItem */
        RecipeItem: {
            /** Name */
            name: string;
            /** Title */
            title: string;
            /** Description */
            description: string;
            /** Fields */
            fields: components["schemas"]["RecipeFieldItem"][];
        };
        /** RefusedDeliveries */
        RefusedDeliveries: {
            /** Deliveries */
            deliveries: components["schemas"]["RefusedDeliveryItem"][];
        };
        /** RefusedDeliveryItem */
        RefusedDeliveryItem: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Source */
            source: string;
            /** Peer */
            peer: string | null;
            /** Reason */
            reason: string;
            /** Status */
            status: number;
            /** Size */
            size: number;
            /** Detail */
            detail: string;
        };
        /**
         * ReloadReport
         * @description What the reload changed in this process; all other processes of the installation reload too.
         */
        ReloadReport: {
            /** Added */
            added: string[];
            /** Changed */
            changed: string[];
            /** Removed */
            removed: string[];
            /** At Next Start */
            at_next_start: string[];
        };
        /** RemarkView */
        RemarkView: {
            /**
             * Execution Id
             * Format: uuid
             */
            execution_id: string;
            /** Statement */
            statement: string;
            /** Complaint */
            complaint: string;
            severity: components["schemas"]["ClaimSeverity"];
        };
        /**
         * ReportFormat
         * @enum {string}
         */
        ReportFormat: "html" | "md";
        /**
         * ReviewFiguresView
         * @description The last thirteen weeks in UTC, the earliest first, without forks. Only `weeks` has those without a review.
         */
        ReviewFiguresView: {
            /** Weeks */
            weeks: components["schemas"]["VerdictWeekItem"][];
            /** Total */
            total: components["schemas"]["ReviewWeekItem"][];
            /** By Chain */
            by_chain: components["schemas"]["ReviewWeekItem"][];
            /** By Model */
            by_model: components["schemas"]["ReviewWeekItem"][];
            /** By Alert Type */
            by_alert_type: components["schemas"]["ReviewWeekItem"][];
            /** By Confidence */
            by_confidence: components["schemas"]["ReviewWeekItem"][];
        };
        /** ReviewRequest */
        ReviewRequest: {
            /**
             * Useful
             * @description Whether the investigation helped.
             */
            useful: boolean;
            /** @description Whether the verdict named the actual cause; absent: as before. */
            accuracy?: components["schemas"]["Accuracy"] | null;
            /**
             * Actual Cause
             * @description The cause that people found; absent: as before.
             */
            actual_cause?: string | null;
            /**
             * Action Taken
             * @description What people did about it; absent: as before.
             */
            action_taken?: string | null;
        };
        /** ReviewView */
        ReviewView: {
            /** Useful */
            useful: boolean;
            accuracy: components["schemas"]["Accuracy"] | null;
            /** Actual Cause */
            actual_cause: string;
            /** Action Taken */
            action_taken: string;
            /** Reviewer */
            reviewer: string;
            /**
             * Reviewed At
             * Format: date-time
             */
            reviewed_at: string;
        };
        /**
         * ReviewWeekItem
         * @description Reviewed sessions that ended in one week. Those without a stated accuracy are in `reviewed` and `useful` only.
         */
        ReviewWeekItem: {
            /**
             * First Day
             * Format: date
             */
            first_day: string;
            /** Name */
            name: string;
            /** Reviewed */
            reviewed: number;
            /** Useful */
            useful: number;
            /** Accurate */
            accurate: number;
            /** Partly */
            partly: number;
            /** Wrong */
            wrong: number;
        };
        /**
         * Role
         * @enum {string}
         */
        Role: "system" | "user" | "assistant" | "tool";
        /** RuledOutView */
        RuledOutView: {
            /** Hypothesis */
            hypothesis: string;
            /** Evidence */
            evidence: string[];
        };
        /**
         * RunStatus
         * @description Where a stage or an agent execution stands.
         * @enum {string}
         */
        RunStatus: "pending" | "active" | "completed" | "failed" | "timed_out" | "cancelled";
        /** Sample */
        Sample: {
            /** Name */
            name: string;
            /** Title */
            title: string;
            /** Description */
            description: string;
            /** Alert Type */
            alert_type: string;
            /** Alert Data */
            alert_data: string;
            /** Questions */
            questions: string[];
            /** Recorded */
            recorded: boolean;
        };
        /** Samples */
        Samples: {
            /** Samples */
            samples: components["schemas"]["Sample"][];
        };
        /** Score */
        Score: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            status: components["schemas"]["RunStatus"];
            /** Requested By */
            requested_by: string;
            /** Total Score */
            total_score: number | null;
            /** Analysis */
            analysis: string | null;
            /** Missing Tools */
            missing_tools: string | null;
            /** Error Message */
            error_message: string | null;
            /** Stage Id */
            stage_id: string | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Completed At */
            completed_at: string | null;
        };
        /** SelectedServer */
        SelectedServer: {
            /** Name */
            name: string;
            /**
             * Tools
             * @default null
             */
            tools: string[] | null;
        };
        /** SentMessageView */
        SentMessageView: {
            role: components["schemas"]["Role"];
            /** Content */
            content: string;
            /** Tool Calls */
            tool_calls: components["schemas"]["ToolCallView"][];
            /** Tool Call Id */
            tool_call_id: string | null;
            /** Tool Name */
            tool_name: string | null;
            /** Compacted Later */
            compacted_later: boolean;
        };
        /**
         * ServerState
         * @enum {string}
         */
        ServerState: "unknown" | "connected" | "failed";
        /** ServerToolItem */
        ServerToolItem: {
            /** Name */
            name: string;
            /** Description */
            description: string;
        };
        /** SessionCounts */
        SessionCounts: {
            /** Total */
            total: number;
            /** By Status */
            by_status: {
                [key: string]: number;
            };
        };
        /** SessionDetail */
        SessionDetail: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Title */
            title: string;
            /** Alert Type */
            alert_type: string;
            /** Alert Data */
            alert_data: string;
            /** Chain Id */
            chain_id: string;
            /** Author */
            author: string;
            status: components["schemas"]["SessionStatus"];
            /** Cancelled By */
            cancelled_by: string | null;
            /** Runbook Url */
            runbook_url: string | null;
            /** Incident Id */
            incident_id: string | null;
            fork: components["schemas"]["ForkOrigin"] | null;
            mcp_selection: components["schemas"]["McpSelection"] | null;
            /** Final Analysis */
            final_analysis: string | null;
            /** Analysis Is Partial */
            analysis_is_partial: boolean;
            /** Analysis Partial Reason */
            analysis_partial_reason: string | null;
            /** Executive Summary */
            executive_summary: string | null;
            /** Executive Summary Error */
            executive_summary_error: string | null;
            verdict: components["schemas"]["VerdictView"] | null;
            citations: components["schemas"]["CitationSums"] | null;
            /** Error Message */
            error_message: string | null;
            /** Recoveries */
            recoveries: number;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Started At */
            started_at: string | null;
            /** Completed At */
            completed_at: string | null;
            /** Duration Ms */
            duration_ms: number | null;
            /** Queue Position */
            queue_position: number | null;
            /** Waiting Reason */
            waiting_reason: string | null;
            /** Waiting Until */
            waiting_until: string | null;
            /** Waiting For Model */
            waiting_for_model: boolean;
            /** Pod Id */
            pod_id: string | null;
            /** Last Interaction At */
            last_interaction_at: string | null;
            /** Chat Enabled */
            chat_enabled: boolean;
            /** Scoring Enabled */
            scoring_enabled: boolean;
            /** Recorded */
            recorded: boolean;
            /** Planned Stages */
            planned_stages: components["schemas"]["PlannedStage"][];
            /** Summary Planned */
            summary_planned: boolean;
            /** Stages */
            stages: components["schemas"]["StageView"][];
            usage: components["schemas"]["Usage"];
            cost: components["schemas"]["Cost"];
            budget: components["schemas"]["CeilingView"] | null;
            /** Actions */
            actions: components["schemas"]["ActionView"][];
            /** Actions Left Out */
            actions_left_out: string[];
        };
        /** SessionList */
        SessionList: {
            /** Sessions */
            sessions: components["schemas"]["SessionListItem"][];
            /** Next Cursor */
            next_cursor: string | null;
        };
        /** SessionListItem */
        SessionListItem: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Alert Type */
            alert_type: string;
            /** Chain Id */
            chain_id: string;
            /** Author */
            author: string;
            status: components["schemas"]["SessionStatus"];
            severity: components["schemas"]["Severity"] | null;
            /** Cancelled By */
            cancelled_by: string | null;
            /** Title */
            title: string;
            /** Alert Excerpt */
            alert_excerpt: string;
            /** Executive Summary */
            executive_summary: string | null;
            /** Error Message */
            error_message: string | null;
            /** Analysis Is Partial */
            analysis_is_partial: boolean;
            /** Analysis Partial Reason */
            analysis_partial_reason: string | null;
            verdict: components["schemas"]["VerdictView"] | null;
            citations: components["schemas"]["CitationSums"] | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Started At */
            started_at: string | null;
            /** Completed At */
            completed_at: string | null;
            /** Duration Ms */
            duration_ms: number | null;
            /** Stage Count */
            stage_count: number;
            /** Current Stage Name */
            current_stage_name: string | null;
            /** Current Stage Index */
            current_stage_index: number | null;
            /** Total Tokens */
            total_tokens: number;
            cost: components["schemas"]["Cost"];
            /** Agents */
            agents: number;
            /** Fallbacks */
            fallbacks: number;
            /** Score */
            score: number | null;
            /** Questions */
            questions: number;
            /** Queue Position */
            queue_position: number | null;
            /** Waiting Reason */
            waiting_reason: string | null;
            /** Waiting Until */
            waiting_until: string | null;
            /** Waiting For Model */
            waiting_for_model: boolean;
        };
        /** SessionReviewView */
        SessionReviewView: {
            review: components["schemas"]["ReviewView"] | null;
            triage: components["schemas"]["TriageView"];
        };
        /**
         * SessionSort
         * @description How a list of sessions is sorted.
         * @enum {string}
         */
        SessionSort: "created" | "queue" | "alert_type" | "severity" | "outcome" | "confidence" | "citations" | "agents" | "fallbacks" | "questions" | "score" | "duration" | "tokens" | "cost";
        /**
         * SessionStatus
         * @description Where an alert session stands.
         * @enum {string}
         */
        SessionStatus: "pending" | "in_progress" | "waiting" | "cancelling" | "completed" | "failed" | "timed_out" | "cancelled";
        /** SetupCode */
        SetupCode: {
            /** Code */
            code: string;
        };
        /**
         * SetupOutcome
         * @description The result of a step: tested and, if it worked, written and active.
         */
        SetupOutcome: {
            /** Ok */
            ok: boolean;
            /** Message */
            message: string;
            /** Cure */
            cure: string;
            /** Tools */
            tools: string[];
            /** Written */
            written: string[];
        };
        /** SetupState */
        SetupState: {
            /** Needed */
            needed: boolean;
            /** Open */
            open: boolean;
            /** Has Code */
            has_code: boolean;
            /** Model */
            model: string | null;
            /** Vendors */
            vendors: components["schemas"]["VendorItem"][];
            /** Recipes */
            recipes: components["schemas"]["RecipeItem"][];
        };
        /**
         * Severity
         * @description Severity, worst first.
         * @enum {string}
         */
        Severity: "critical" | "high" | "warning" | "unknown" | "info";
        /** SignedOut */
        SignedOut: {
            /** Continue At */
            continue_at: string;
        };
        /**
         * SortOrder
         * @enum {string}
         */
        SortOrder: "asc" | "desc";
        /** SplitOff */
        SplitOff: {
            /**
             * Incident Id
             * Format: uuid
             */
            incident_id: string;
        };
        /** SplitRequest */
        SplitRequest: {
            /**
             * Alerts
             * @description The alerts that form the new incident.
             */
            alerts: string[];
        };
        /**
         * StageType
         * @enum {string}
         */
        StageType: "investigation" | "synthesis" | "exec_summary" | "chat" | "scoring" | "action" | "challenge";
        /** StageView */
        StageView: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Stage Name */
            stage_name: string;
            /** Stage Index */
            stage_index: number;
            stage_type: components["schemas"]["StageType"];
            /** Expected Agent Count */
            expected_agent_count: number;
            parallel_type: components["schemas"]["ParallelType"] | null;
            success_policy: components["schemas"]["SuccessPolicy"] | null;
            /** Referenced Stage Id */
            referenced_stage_id: string | null;
            status: components["schemas"]["RunStatus"];
            /** Error Message */
            error_message: string | null;
            /** Started At */
            started_at: string | null;
            /** Completed At */
            completed_at: string | null;
            /** Duration Ms */
            duration_ms: number | null;
            /** Executions */
            executions: components["schemas"]["ExecutionView"][];
        };
        /**
         * StillHappening
         * @enum {string}
         */
        StillHappening: "yes" | "no" | "unknown";
        /**
         * SuccessPolicy
         * @enum {string}
         */
        SuccessPolicy: "all" | "any";
        /** SystemWarningItem */
        SystemWarningItem: {
            source: components["schemas"]["WarningSource"];
            /** Message */
            message: string;
            /** Since */
            since: string | null;
        };
        /** SystemWarnings */
        SystemWarnings: {
            /** Warnings */
            warnings: components["schemas"]["SystemWarningItem"][];
        };
        /**
         * TargetItem
         * @description A configured target, or a former one to which notifications are stored, and what became of these.
         */
        TargetItem: {
            /** Name */
            name: string;
            /** Service */
            service: string | null;
            /** Pending */
            pending: number;
            /** Delivered */
            delivered: number;
            /** Dead Letter */
            dead_letter: number;
            /** Expired */
            expired: number;
            /** Last Delivered At */
            last_delivered_at: string | null;
            /** Last Error */
            last_error: string | null;
        };
        /** TestRequest */
        TestRequest: {
            /**
             * Target
             * @description The target's name.
             */
            target: string;
        };
        /** TestResult */
        TestResult: {
            /** Delivered */
            delivered: boolean;
            /** Error */
            error: string | null;
        };
        /** Timeline */
        Timeline: {
            /** Events */
            events: components["schemas"]["TimelineEventView"][];
            /** Executions */
            executions: components["schemas"]["ExecutionInTreeView"][];
            /** Last Event Id */
            last_event_id: number;
            /** Next After */
            next_after: number | null;
        };
        /**
         * TimelineEventType
         * @enum {string}
         */
        TimelineEventType: "llm_thinking" | "llm_response" | "llm_tool_call" | "tool_result" | "mcp_tool_summary" | "final_analysis" | "executive_summary" | "error" | "warning" | "user_question" | "code_execution" | "google_search_result" | "url_context_result" | "provider_fallback" | "note";
        /** TimelineEventView */
        TimelineEventView: {
            /**
             * Id
             * Format: uuid
             */
            id: string;
            /** Stage Id */
            stage_id: string | null;
            /** Execution Id */
            execution_id: string | null;
            /** Position */
            position: number;
            /** Sequence Number */
            sequence_number: number;
            event_type: components["schemas"]["TimelineEventType"];
            /** Evidence Id */
            evidence_id: string | null;
            status: components["schemas"]["TimelineStatus"];
            /** Content */
            content: string;
            /** Metadata */
            metadata: {
                [key: string]: unknown;
            };
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Completed At */
            completed_at: string | null;
        };
        /**
         * TimelineStatus
         * @description Where a timeline event stands; `interrupted` is what a crash leaves behind.
         * @enum {string}
         */
        TimelineStatus: "streaming" | "completed" | "failed" | "cancelled" | "timed_out" | "interrupted";
        /** TokenItem */
        TokenItem: {
            /** Name */
            name: string;
            role: components["schemas"]["AccessRole"];
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Expires At */
            expires_at: string | null;
            /** Last Used At */
            last_used_at: string | null;
        };
        /** TokenList */
        TokenList: {
            /** Tokens */
            tokens: components["schemas"]["TokenItem"][];
        };
        /** TokenRequest */
        TokenRequest: {
            /** Name */
            name: string;
            role: components["schemas"]["AccessRole"];
            /** Expires At */
            expires_at?: string | null;
        };
        /** ToolCallView */
        ToolCallView: {
            /** Id */
            id: string;
            /** Name */
            name: string;
            /** Arguments */
            arguments: string;
        };
        /** ToolServerChoice */
        ToolServerChoice: {
            /** Recipe */
            recipe: string;
            /**
             * Values
             * @description The recipe's fields, by variable.
             * @default {}
             */
            values: {
                [key: string]: string;
            };
        };
        /** ToolUseItem */
        ToolUseItem: {
            /** Server */
            server: string;
            /** Tool */
            tool: string;
            /** Calls */
            calls: number;
            /** Failed Calls */
            failed_calls: number;
            /** Duration Ms */
            duration_ms: number;
        };
        /**
         * TraceList
         * @description Every call of a session, each kind oldest first, without bodies.
         */
        TraceList: {
            /** Llm */
            llm: components["schemas"]["LLMCallItem"][];
            /** Mcp */
            mcp: components["schemas"]["MCPCallItem"][];
            /** Executions */
            executions: components["schemas"]["ExecutionInTreeView"][];
        };
        /** TriageRequest */
        TriageRequest: {
            /**
             * Acknowledged
             * @description Whether a person has acknowledged it; absent: unchanged.
             */
            acknowledged?: boolean | null;
            /**
             * Assignee
             * @description The person who handles it; empty: unassigned; absent: unchanged.
             */
            assignee?: string | null;
        };
        /**
         * TriageView
         * @description Who has taken notice of a session or an incident, and who takes care of it.
         */
        TriageView: {
            /** Acknowledged By */
            acknowledged_by: string | null;
            /** Acknowledged At */
            acknowledged_at: string | null;
            /** Assignee */
            assignee: string | null;
            /** Comments */
            comments: components["schemas"]["CommentView"][];
        };
        /** Usage */
        Usage: {
            /** Input Tokens */
            input_tokens: number;
            /** Output Tokens */
            output_tokens: number;
            /** Total Tokens */
            total_tokens: number;
            /** Thinking Tokens */
            thinking_tokens: number;
            /** Cached Tokens */
            cached_tokens: number;
        };
        /**
         * UsageOverview
         * @description Whole days in UTC; groups start with the most expensive, days with the earliest.
         */
        UsageOverview: {
            /**
             * First Day
             * Format: date
             */
            first_day: string;
            /**
             * Last Day
             * Format: date
             */
            last_day: string;
            total: components["schemas"]["UsedItem"];
            /** By Day */
            by_day: components["schemas"]["UsedItem"][];
            /** By Model */
            by_model: components["schemas"]["UsedItem"][];
            /** By Chain */
            by_chain: components["schemas"]["UsedItem"][];
            /** By Alert Type */
            by_alert_type: components["schemas"]["UsedItem"][];
            /** By Agent */
            by_agent: components["schemas"]["UsedItem"][];
            /** By Tool */
            by_tool: components["schemas"]["ToolUseItem"][];
            /** Dearest Sessions */
            dearest_sessions: components["schemas"]["DearSessionItem"][];
            /** Month Usd */
            month_usd: number;
            /** Month Forecast Usd */
            month_forecast_usd: number;
            /** Budgets */
            budgets: components["schemas"]["PeriodBudgetItem"][];
        };
        /**
         * UsageTrendsView
         * @description Days and weeks in UTC, the earliest first. Days without usage are left out; weeks without sessions are not.
         */
        UsageTrendsView: {
            /**
             * First Day
             * Format: date
             */
            first_day: string;
            /**
             * Last Day
             * Format: date
             */
            last_day: string;
            /** By Model */
            by_model: components["schemas"]["DayUsageItem"][];
            /** By Alert Type */
            by_alert_type: components["schemas"]["DayUsageItem"][];
            /** Weeks */
            weeks: components["schemas"]["WeekItem"][];
        };
        /** UsedItem */
        UsedItem: {
            /** Name */
            name: string | null;
            /** Calls */
            calls: number;
            /** Failed Calls */
            failed_calls: number;
            /** Input Tokens */
            input_tokens: number;
            /** Cached Tokens */
            cached_tokens: number;
            /** Output Tokens */
            output_tokens: number;
            /** Thinking Tokens */
            thinking_tokens: number;
            /** Cost Usd */
            cost_usd: number;
            /** Unpriced Calls */
            unpriced_calls: number;
            /** Duration Ms */
            duration_ms: number;
            /** Cache Hit Share */
            cache_hit_share: number | null;
        };
        /** VendorItem */
        VendorItem: {
            /** Name */
            name: string;
            /** Variable */
            variable: string;
            /** Model */
            model: string;
            /** Has Key */
            has_key: boolean;
        };
        /** VendorKey */
        VendorKey: {
            /** Vendor */
            vendor: string;
            /** Key */
            key: string;
        };
        /**
         * VerdictOutcome
         * @enum {string}
         */
        VerdictOutcome: "fault" | "no_fault" | "inconclusive";
        /**
         * VerdictView
         * @description What is wrong, with which object, why, and how certain that is.
         */
        VerdictView: {
            outcome: components["schemas"]["VerdictOutcome"];
            object: components["schemas"]["AffectedObjectView"] | null;
            /** Mechanism */
            mechanism: string;
            confidence_object: components["schemas"]["Confidence"];
            confidence_mechanism: components["schemas"]["Confidence"];
            confidence: components["schemas"]["Confidence"];
            /** Confidence Reason */
            confidence_reason: string;
            /** Since */
            since: string;
            still_happening: components["schemas"]["StillHappening"];
            /** Evidence */
            evidence: string[];
            /** Ruled Out */
            ruled_out: components["schemas"]["RuledOutView"][];
            /** Category */
            category: string;
        };
        /** VerdictWeekItem */
        VerdictWeekItem: {
            /**
             * First Day
             * Format: date
             */
            first_day: string;
            /** Verdicts */
            verdicts: number;
        };
        /**
         * Verified
         * @description Whether the symptom was gone after an action.
         * @enum {string}
         */
        Verified: "yes" | "no" | "unknown";
        /** Version */
        Version: {
            /** Version */
            version: string;
        };
        /**
         * WarningSource
         * @enum {string}
         */
        WarningSource: "config" | "mcp" | "sender" | "workers" | "queue" | "model" | "upkeep";
        /**
         * WebhookAccepted
         * @description What TARSy did with the most important alert; `results` has all of them.
         */
        WebhookAccepted: {
            /** Incident Id */
            incident_id: string | null;
            /** Alerts */
            alerts: number;
            /** Session Id */
            session_id: string | null;
            action: components["schemas"]["WebhookAction"];
            status: components["schemas"]["SessionStatus"] | null;
            /** Source */
            source: string;
            /** Changes */
            changes: number;
            /** Truncated */
            truncated: number;
            /** Remark */
            remark: string | null;
            /** Results */
            results: components["schemas"]["WebhookResult"][];
        };
        /**
         * WebhookAction
         * @enum {string}
         */
        WebhookAction: "opened" | "joined" | "repeated" | "reopened" | "escalated" | "investigated_again" | "resolved" | "recorded" | "dropped" | "noted";
        /** WebhookResult */
        WebhookResult: {
            /** Incident Id */
            incident_id: string | null;
            action: components["schemas"]["Outcome"];
            /** Alerts */
            alerts: number;
            /** Session Id */
            session_id: string | null;
            /** Reason */
            reason: string | null;
        };
        /**
         * WeekItem
         * @description The sessions that ended in a week, without forks: their verdicts, and the time from alert to verdict.
         */
        WeekItem: {
            /**
             * First Day
             * Format: date
             */
            first_day: string;
            /** Fault */
            fault: number;
            /** No Fault */
            no_fault: number;
            /** Inconclusive */
            inconclusive: number;
            /** No Verdict */
            no_verdict: number;
            /** Median Seconds */
            median_seconds: number | null;
            /** P90 Seconds */
            p90_seconds: number | null;
        };
        /** WorkerItem */
        WorkerItem: {
            /** Name */
            name: string;
            /** Session Id */
            session_id: string | null;
            /** Busy Since */
            busy_since: string | null;
        };
        /**
         * AlertRequest
         * @description An alert to investigate.
         * @example {
         *       "alert_type": "kubernetes",
         *       "data": {
         *         "pod": "api-7f9c",
         *         "reason": "CrashLoopBackOff"
         *       }
         *     }
         */
        AlertRequest: {
            data: components["schemas"]["JsonValue"];
            /**
             * Alert Type
             * @default null
             */
            alert_type: string | null;
            /**
             * Runbook
             * @default null
             */
            runbook: string | null;
            /** @default null */
            mcp: components["schemas"]["McpSelection"] | null;
            /** @default null */
            budget: components["schemas"]["BudgetConfig"] | null;
            /**
             * Slack Message Fingerprint
             * @default null
             */
            slack_message_fingerprint: string | null;
        };
        /** BudgetConfig */
        BudgetConfig: {
            /**
             * Usd
             * @description US dollars for model calls.
             * @default null
             */
            usd: number | null;
            /**
             * Tokens
             * @description Input and output tokens.
             * @default null
             */
            tokens: number | null;
            /**
             * Time
             * @description The longest time.
             * @default null
             */
            time: (number | string) | null;
            /**
             * Model Calls
             * @description Number of model calls.
             * @default null
             */
            model_calls: number | null;
            /**
             * Tool Calls
             * @description Number of tool calls.
             * @default null
             */
            tool_calls: number | null;
        };
        /**
         * FieldProblem
         * @description One thing that is wrong with a request, and where.
         */
        FieldProblem: {
            /** Location */
            location: string;
            /** Message */
            message: string;
        };
        JsonValue: unknown;
        /**
         * Problem
         * @description Problem details as in RFC 9457.
         */
        Problem: {
            /** Type */
            type: string;
            /** Title */
            title: string;
            /** Status */
            status: number;
            /** Detail */
            detail: string;
            /**
             * Errors
             * @default null
             */
            errors: components["schemas"]["FieldProblem"][] | null;
            /**
             * Known Alert Types
             * @default null
             */
            known_alert_types: string[] | null;
            /**
             * Sender
             * @default null
             */
            sender: string | null;
            /**
             * Reason
             * @default null
             */
            reason: string | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthReport"];
                };
            };
            /** @description The database is unreachable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthReport"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sessionEvents: {
        parameters: {
            query?: {
                /** @description The same, for clients that cannot set headers. */
                last_event_id?: number | null;
            };
            header?: {
                /** @description Continue after this event; 0: from the first one. If more than 200 events follow it, or some are no longer stored, `catchup.overflow` comes instead of them. */
                "last-event-id"?: number | null;
            };
            path: {
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events until the client disconnects. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    submitAlert: {
        parameters: {
            query?: {
                /** @description The alert type, which selects the chain; a value in the body overrides it. */
                alert_type?: string | null;
                /** @description Address of the runbook; a value in the body overrides it. */
                runbook?: string | null;
            };
            header?: {
                /** @description Identifies this request: the same caller gets the same session for the same key. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AlertRequest"];
                "text/plain": string;
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertAccepted"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAlertTypes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertTypes"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listSamples: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Samples"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    submitWebhook: {
        parameters: {
            query?: {
                /** @description The alert type, which selects the chain; a value in the body overrides it. */
                alert_type?: string | null;
                /** @description Address of the runbook; a value in the body overrides it. */
                runbook?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": unknown;
                "text/plain": string;
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookAccepted"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    submitWebhookOf: {
        parameters: {
            query?: {
                /** @description The alert type, which selects the chain; a value in the body overrides it. */
                alert_type?: string | null;
                /** @description Address of the runbook; a value in the body overrides it. */
                runbook?: string | null;
            };
            header?: never;
            path: {
                /** @description The sender: a built-in one, or one of `senders` in the configuration. */
                source: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": unknown;
                "text/plain": string;
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookAccepted"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listIncidents: {
        parameters: {
            query?: {
                /** @description Only ids that begin with these hexadecimal digits. */
                id_prefix?: string | null;
                /** @description Only these; repeat it for several. */
                state?: components["schemas"]["IncidentState"][];
                /** @description Only these; repeat it for several. */
                severity?: components["schemas"]["Severity"][];
                /** @description Only from these senders; repeat it for several. */
                source?: string[];
                /** @description `name=value`; only incidents with an alert that has all of these labels. */
                label?: string[];
                /** @description Outcome of the last investigation; repeat it for several. */
                verdict?: components["schemas"]["VerdictOutcome"][];
                /** @description A part of the title. */
                text?: string | null;
                /** @description Opened at or after. */
                from?: string | null;
                /** @description Opened before. */
                to?: string | null;
                /** @description `opened`: the latest first. `severity`: the worst first. */
                sort?: components["schemas"]["IncidentSort"];
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IncidentList"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getIncident: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id. */
                incident_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IncidentView"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    investigateIncident: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id. */
                incident_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Investigated"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resolveIncident: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id. */
                incident_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    mergeIncidents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id. */
                incident_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MergeRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    splitIncident: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id. */
                incident_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SplitRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SplitOff"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    muteIncident: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id. */
                incident_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MuteIncident"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MuteItem"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listMutes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MuteList"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    addMute: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MuteRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MuteItem"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    endMute: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                mute_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAlert: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                alert_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertDetail"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listChanges: {
        parameters: {
            query: {
                /** @description Made at or after. */
                from: string;
                /** @description Changes made at or before this time; absent: now. */
                to?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeList"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listSessions: {
        parameters: {
            query?: {
                /** @description Only these; repeat it for several. */
                id?: string[];
                /** @description Only ids that begin with these hexadecimal digits. */
                id_prefix?: string | null;
                /** @description Only these; repeat it for several. */
                status?: components["schemas"]["SessionStatus"][];
                alert_type?: string | null;
                chain_id?: string | null;
                /** @description Words of the alert or the analysis; the last word may be incomplete. */
                text?: string | null;
                /** @description Submitted at or after. */
                from?: string | null;
                /** @description Submitted before. */
                to?: string | null;
                /** @description Only verdicts with these outcomes. */
                outcome?: components["schemas"]["VerdictOutcome"][];
                /** @description Only verdicts with this confidence. */
                confidence?: components["schemas"]["Confidence"][];
                /** @description Only verdicts that blame this object: a name, or `Kind/namespace/name`. */
                object?: string | null;
                /** @description Only ended sessions with a verdict: with a review, or without. */
                reviewed?: boolean | null;
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string | null;
                /** @description Sort by this; sessions without a value come last. */
                sort?: components["schemas"]["SessionSort"];
                /** @description Absent: ascending for names and queue positions, descending for everything else. */
                order?: components["schemas"]["SortOrder"] | null;
                /** @description How many sessions to skip: for pages in any order. */
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionDetail"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteSession: {
        parameters: {
            query?: {
                /** @description Erase it permanently, with everything stored about it. */
                hard?: boolean;
                /** @description With `hard`: repeat the session's id. */
                confirm?: string | null;
            };
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getTimeline: {
        parameters: {
            query?: {
                /** @description Only events after this position. */
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Timeline"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CancelResult"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelExecution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CancelResult"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    countSessions: {
        parameters: {
            query?: {
                /** @description Only these; repeat it for several. */
                id?: string[];
                /** @description Only ids that begin with these hexadecimal digits. */
                id_prefix?: string | null;
                /** @description Only these; repeat it for several. */
                status?: components["schemas"]["SessionStatus"][];
                alert_type?: string | null;
                chain_id?: string | null;
                /** @description Words of the alert or the analysis; the last word may be incomplete. */
                text?: string | null;
                /** @description Submitted at or after. */
                from?: string | null;
                /** @description Submitted before. */
                to?: string | null;
                /** @description Only verdicts with these outcomes. */
                outcome?: components["schemas"]["VerdictOutcome"][];
                /** @description Only verdicts with this confidence. */
                confidence?: components["schemas"]["Confidence"][];
                /** @description Only verdicts that blame this object: a name, or `Kind/namespace/name`. */
                object?: string | null;
                /** @description Only ended sessions with a verdict: with a review, or without. */
                reviewed?: boolean | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionCounts"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    giveHint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Hint"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NoteView"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listNotes: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Notes"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listEvidence: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EvidenceList"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getEvidence: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
                /** @description As it is cited: `A7`, `Q2.1`, `ALERT`, `RUNBOOK`. */
                evidence_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EvidenceDetail"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listCitations: {
        parameters: {
            query?: {
                /** @description Check the answer of this execution instead, such as the answer to a question. */
                execution_id?: string | null;
            };
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CitationList"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getReport: {
        parameters: {
            query?: {
                /** @description A page, or Markdown. */
                format?: components["schemas"]["ReportFormat"];
            };
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The report, as a file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": unknown;
                    "text/markdown": unknown;
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRecording: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The recording, as a file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelSessions: {
        parameters: {
            query?: {
                /** @description Only these; repeat it for several. */
                id?: string[];
                /** @description Only ids that begin with these hexadecimal digits. */
                id_prefix?: string | null;
                /** @description Only these; repeat it for several. */
                status?: components["schemas"]["SessionStatus"][];
                alert_type?: string | null;
                chain_id?: string | null;
                /** @description Words of the alert or the analysis; the last word may be incomplete. */
                text?: string | null;
                /** @description Submitted at or after. */
                from?: string | null;
                /** @description Submitted before. */
                to?: string | null;
                /** @description Only verdicts with these outcomes. */
                outcome?: components["schemas"]["VerdictOutcome"][];
                /** @description Only verdicts with this confidence. */
                confidence?: components["schemas"]["Confidence"][];
                /** @description Only verdicts that blame this object: a name, or `Kind/namespace/name`. */
                object?: string | null;
                /** @description Only ended sessions with a verdict: with a review, or without. */
                reviewed?: boolean | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CancelledSessions"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteSessions: {
        parameters: {
            query: {
                /** @description Ids of sessions; repeat it for several. */
                id: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedSessions"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    exportSessions: {
        parameters: {
            query?: {
                /** @description Only these; repeat it for several. */
                id?: string[];
                /** @description Only ids that begin with these hexadecimal digits. */
                id_prefix?: string | null;
                /** @description Only these; repeat it for several. */
                status?: components["schemas"]["SessionStatus"][];
                alert_type?: string | null;
                chain_id?: string | null;
                /** @description Words of the alert or the analysis; the last word may be incomplete. */
                text?: string | null;
                /** @description Submitted at or after. */
                from?: string | null;
                /** @description Submitted before. */
                to?: string | null;
                /** @description Only verdicts with these outcomes. */
                outcome?: components["schemas"]["VerdictOutcome"][];
                /** @description Only verdicts with this confidence. */
                confidence?: components["schemas"]["Confidence"][];
                /** @description Only verdicts that blame this object: a name, or `Kind/namespace/name`. */
                object?: string | null;
                /** @description Only ended sessions with a verdict: with a review, or without. */
                reviewed?: boolean | null;
                /** @description A CSV table, or one JSON object per line. */
                format?: components["schemas"]["ExportFormat"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sessions, newest first, as a file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": unknown;
                    "application/jsonl": unknown;
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listQuestions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatMessages"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    askQuestion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Question"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatMessage"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelQuestion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CancelResult"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getScore: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Score"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    requestScore: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Score"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    forkSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ForkRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertAccepted"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getReview: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionReviewView"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reviewSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReviewRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewView"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    triageSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TriageRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriageView"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    commentSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CommentRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommentView"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    triageIncident: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id. */
                incident_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TriageRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriageView"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    commentIncident: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id. */
                incident_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CommentRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommentView"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getReviewFigures: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewFiguresView"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listApprovals: {
        parameters: {
            query?: {
                /** @description Only those in this state. */
                state?: components["schemas"]["ApprovalState"] | null;
                /** @description Only those of this session. */
                session_id?: string | null;
                /** @description By the time of their requests: `asc` for the oldest first. */
                order?: components["schemas"]["SortOrder"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalListView"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    approveCall: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an approval. */
                approval_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecisionRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalView"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rejectCall: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an approval. */
                approval_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecisionRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalView"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getTrace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TraceList"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getLLMCall: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
                interaction_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LLMCallDetail"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getLLMCallAsCurl: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
                interaction_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A command for a shell. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getMCPCall: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id. */
                session_id: string;
                interaction_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MCPCallDetail"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listNotifications: {
        parameters: {
            query?: {
                /** @description Only to this target. */
                target?: string | null;
                /** @description Only those with this status. */
                status?: components["schemas"]["NotificationStatus"] | null;
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationList"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sendNotificationAgain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The notification's id. */
                notification_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationItem"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    testNotificationTarget: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TestRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestResult"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getConfig: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EffectiveConfig"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getDefaultTools: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DefaultToolsList"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getMCPServers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MCPServers"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    acceptTools: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The tool server's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AcceptedTools"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MCPServerItem"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getWarnings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SystemWarnings"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRefusedDeliveries: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RefusedDeliveries"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getQueue: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueReport"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getPauses: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pauses"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pause: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PauseRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pauses"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resume: {
        parameters: {
            query?: {
                /** @description The chain; absent: end the pause of everything. */
                chain_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pauses"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reloadConfig: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReloadReport"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getVersion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Version"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getSetup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SetupState"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    openSetup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetupCode"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    findModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ModelAddress"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelsFound"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setUpKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VendorKey"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SetupOutcome"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setUpLocalModel: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LocalModel"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SetupOutcome"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setUpToolServer: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ToolServerChoice"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SetupOutcome"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getFirstAlert: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirstAlert"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getUsage: {
        parameters: {
            query?: {
                /** @description The last day, week or month, including today; `from` and `to` override it. */
                period?: components["schemas"]["Period"];
                /** @description First day, in UTC. */
                from?: string | null;
                /** @description Last day, in UTC. */
                to?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageOverview"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getUsageTrends: {
        parameters: {
            query?: {
                /** @description The last day, week or month, including today; `from` and `to` override it. */
                period?: components["schemas"]["Period"];
                /** @description First day, in UTC. */
                from?: string | null;
                /** @description Last day, in UTC. */
                to?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageTrendsView"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getUsageTable: {
        parameters: {
            query?: {
                /** @description The last day, week or month, including today; `from` and `to` override it. */
                period?: components["schemas"]["Period"];
                /** @description First day, in UTC. */
                from?: string | null;
                /** @description Last day, in UTC. */
                to?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": unknown;
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAuditEntries: {
        parameters: {
            query?: {
                /** @description Only actions of this person, program or sender. */
                actor?: string | null;
                /** @description Only these; repeat it for several. */
                action?: components["schemas"]["AuditAction"][];
                /** @description Only entries about this session. */
                session_id?: string | null;
                /** @description At or after. */
                from?: string | null;
                /** @description Before. */
                to?: string | null;
                limit?: number;
                /** @description `next_before` of the previous page. */
                before?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    exportAuditLog: {
        parameters: {
            query?: {
                /** @description Only actions of this person, program or sender. */
                actor?: string | null;
                /** @description Only these; repeat it for several. */
                action?: components["schemas"]["AuditAction"][];
                /** @description Only entries about this session. */
                session_id?: string | null;
                /** @description At or after. */
                from?: string | null;
                /** @description Before. */
                to?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries, newest first, one JSON object per line. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/jsonl": unknown;
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Login"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    logout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedOut"];
                };
            };
            /** @description The browser has nothing else to do. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listTokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenList"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedToken"];
                };
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The token's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description What went wrong, as problem details (RFC 9457). An invalid request gets 400. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
