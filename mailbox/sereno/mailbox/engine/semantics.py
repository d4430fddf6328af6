"""Names of spans and their attributes: those of OpenTelemetry's semantic conventions where there is one, else ours.

Nothing that a sender, a model or an agent wrote is an attribute: ids, names of what was declared, and words of ours alone.
"""

from typing import Final

SCOPE: Final = "sereno"

# Spans (HTTP, messaging and generative AI conventions: the operation, then its target).
RECEIVE: Final = "POST /in/{endpoint_token}"
VERIFY: Final = "verify"
SEND: Final = "send ingress"
FIRE_TIME: Final = "fire time"
FIRE_CALENDAR: Final = "fire calendar"
PROCESS: Final = "process ingress"
ACTIVATION: Final = "activation"
GUARDS: Final = "guards"
DEPOSIT: Final = "deposit"
FLUSH: Final = "flush"
EVALUATE: Final = "evaluate"
CHAT: Final = "chat"
CLAIM: Final = "claim"
RUN: Final = "run"
EMIT: Final = "emit"

# Attributes of the semantic conventions.
HTTP_METHOD: Final = "http.request.method"
HTTP_ROUTE: Final = "http.route"
HTTP_STATUS: Final = "http.response.status_code"
HTTP_SIZE: Final = "http.request.body.size"
MESSAGING_SYSTEM: Final = "messaging.system"
MESSAGING_OPERATION: Final = "messaging.operation.type"
MESSAGING_DESTINATION: Final = "messaging.destination.name"
MESSAGING_COUNT: Final = "messaging.batch.message_count"
GEN_AI_OPERATION: Final = "gen_ai.operation.name"
GEN_AI_PROVIDER: Final = "gen_ai.provider.name"
GEN_AI_MODEL: Final = "gen_ai.request.model"
GEN_AI_INPUT: Final = "gen_ai.usage.input_tokens"
GEN_AI_OUTPUT: Final = "gen_ai.usage.output_tokens"
ERROR: Final = "error.type"

# Attributes of our own.
TENANT: Final = "sereno.tenant"
ENDPOINT: Final = "sereno.endpoint"
ORIGIN: Final = "sereno.origin"
RECEIPT: Final = "sereno.receipt"
RECEIPTS: Final = "sereno.receipts"
SUBSCRIPTION: Final = "sereno.subscription"
VERSION: Final = "sereno.subscription.version"
AGENT: Final = "sereno.agent"
MESSAGE: Final = "sereno.message"
RUN_ID: Final = "sereno.run"
LEASE: Final = "sereno.lease"
ATTEMPT: Final = "sereno.attempt"
OUTCOME: Final = "sereno.outcome"
GUARD: Final = "sereno.guard"
REASON: Final = "sereno.reason"
STATUS: Final = "sereno.status"
FIRES: Final = "sereno.fires"
CONFIDENCE: Final = "sereno.confidence"
EVALUATOR: Final = "sereno.evaluator"
LATENESS: Final = "sereno.late_seconds"
PLANE: Final = "sereno.plane"

NATS: Final = "nats"
INGRESS: Final = "INGRESS"
