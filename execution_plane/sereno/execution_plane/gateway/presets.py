"""Presets: what the bodies of well-known senders mean, and the fields that are worth keeping.

Each is a declared mapping like any of an endpoint's own. Nothing is read from headers outside the signature. Kept
are the fields by which one filters and with which one begins to work; tokens, capabilities and mail addresses are not.
"""

from collections.abc import Mapping
from functools import cache

from sereno.execution_plane.gateway.mapping import FieldMapping
from sereno.subscriptions.models import BodyMapping

_GITLAB_ACTION = (
    'has(body.object_attributes.action) ? "com.gitlab." + body.object_kind + "." + body.object_attributes.action'
    ' : "com.gitlab." + body.object_kind'
)
_SLACK_TYPE = (
    'has(body.command) ? "com.slack.command" : has(body.event) ? "com.slack." + body.event.type'
    ' : "com.slack." + body.type'
)
_SLACK_ACTOR = "has(body.event) ? body.event.user : has(body.user_id) ? body.user_id : body.user.id"
_SLACK_CHANNEL = (
    "has(body.event) ? body.event.channel : has(body.channel_id) ? body.channel_id : body.channel.id"
)
_TWILIO_TYPE = (
    'has(body.MessageStatus) ? "com.twilio.message." + body.MessageStatus'
    ' : has(body.SmsStatus) ? "com.twilio.message." + body.SmsStatus'
    ' : "com.twilio.call." + body.CallStatus'
)

DECLARED: Mapping[str, BodyMapping] = {
    "stripe": BodyMapping(
        type='"com.stripe." + body.type',
        subject="body.data.object.id",
        object="body.data.object.object",
        actor="body.account",
        time="body.created",
        id="body.id",
        data=(
            *("id", "type", "created", "livemode", "account", "api_version", "related_object"),
            *("data.object.id", "data.object.object", "data.object.status", "data.object.customer"),
            *("data.object.amount", "data.object.amount_due", "data.object.amount_paid"),
            *("data.object.amount_refunded", "data.object.currency", "data.object.reason"),
            *("data.object.invoice", "data.object.subscription", "data.object.payment_intent"),
            *("data.object.charge", "data.object.metadata", "data.previous_attributes"),
        ),
    ),
    "slack": BodyMapping(
        type=_SLACK_TYPE,
        subject=_SLACK_CHANNEL,
        actor=_SLACK_ACTOR,
        time="body.event_time",
        id="has(body.event_id) ? body.event_id : body.trigger_id",
        data=(
            *("type", "team_id", "api_app_id", "event_id", "event_time", "command", "text", "user_id"),
            *("channel_id", "user.id", "channel.id", "team.id", "callback_id", "actions", "view.callback_id"),
            *("event.type", "event.subtype", "event.user", "event.channel", "event.channel_type"),
            *("event.text", "event.ts", "event.thread_ts", "event.event_ts", "event.reaction", "event.item"),
            *("event.bot_id", "event.files.id", "event.files.name", "event.files.mimetype"),
        ),
    ),
    "shopify": BodyMapping(
        subject="body.id",
        object="body.admin_graphql_api_id",
        time="body.updated_at",
        data=(
            *("id", "admin_graphql_api_id", "name", "order_number", "order_id", "title", "handle", "status"),
            *("financial_status", "fulfillment_status", "total_price", "currency", "created_at"),
            *("updated_at", "cancelled_at", "cancel_reason", "closed_at", "tags", "note", "customer.id"),
            *("line_items.id", "line_items.sku", "line_items.title", "line_items.quantity"),
            *("inventory_item_id", "location_id", "available", "myshopify_domain"),
        ),
    ),
    "twilio": BodyMapping(
        type=_TWILIO_TYPE,
        subject="has(body.MessageSid) ? body.MessageSid : body.CallSid",
        actor="body.From",
        data=(
            *("MessageSid", "SmsSid", "MessageStatus", "SmsStatus", "CallSid", "CallStatus", "Direction"),
            *("From", "To", "Body", "NumMedia", "ErrorCode", "Digits", "SpeechResult", "SequenceNumber"),
            *("CallDuration", "RecordingSid", "RecordingStatus"),
        ),
    ),
    "gitlab": BodyMapping(
        type=_GITLAB_ACTION,
        source="body.project.web_url",
        subject="has(body.object_attributes) ? string(body.object_attributes.iid) : body.ref",
        actor="has(body.user) ? body.user.username : body.user_username",
        time="body.object_attributes.updated_at",
        data=(
            *("object_kind", "event_type", "event_name", "ref", "before", "after", "checkout_sha"),
            *("user.id", "user.username", "user_username", "project.id", "project.path_with_namespace"),
            *("project.web_url", "project.default_branch", "labels.title", "assignees.username", "changes"),
            *("object_attributes.id", "object_attributes.iid", "object_attributes.title"),
            *("object_attributes.description", "object_attributes.note", "object_attributes.noteable_type"),
            *("object_attributes.state", "object_attributes.status", "object_attributes.action"),
            *("object_attributes.url", "object_attributes.source_branch"),
            *("object_attributes.target_branch", "object_attributes.created_at"),
            *("object_attributes.updated_at", "commits.id", "commits.title", "commits.timestamp"),
            *("issue.iid", "issue.title", "merge_request.iid", "merge_request.title", "total_commits_count"),
        ),
    ),
    "discord": BodyMapping(
        type='has(body.event) ? "com.discord." + body.event.type : "com.discord.interaction"',
        subject="has(body.event) ? body.event.data.guild.id : body.channel_id",
        actor="has(body.event) ? body.event.data.user.id : has(body.member) ? body.member.user.id : body.user.id",
        time="body.event.timestamp",
        data=(
            *(
                "version",
                "application_id",
                "type",
                "id",
                "guild_id",
                "channel_id",
                "data.name",
                "data.options",
            ),
            *("data.custom_id", "data.type", "event.type", "event.timestamp", "member.user.id", "user.id"),
            *("event.data.user.id", "event.data.guild.id", "event.data.integration_type"),
            *("event.data.scopes", "event.data.entitlement", "event.data.id", "event.data.sku_id"),
        ),
    ),
    "standard": BodyMapping(
        type="body.type",
        time="has(body.timestamp) ? body.timestamp : body.created_at",
    ),
}
_OF_SCHEME: Mapping[str, str] = {"svix": "standard", "standard-webhooks": "standard"}


@cache
def preset(name: str) -> FieldMapping | None:
    """The preset of this name, compiled; None for one without expressions, such as that of GitHub."""
    declared = DECLARED.get(name)
    return None if declared is None else FieldMapping.of(declared)


def name_for(scheme: str, declared: str | None) -> str:
    """The preset of an endpoint: the one it names, else that of its scheme."""
    return declared if declared is not None else _OF_SCHEME.get(scheme, scheme)
