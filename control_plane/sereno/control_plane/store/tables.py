"""The tables of schema `control`, as SQLAlchemy Core sees them; the migrations make them."""

from sqlalchemy import BigInteger, Column, DateTime, Integer, MetaData, Table, Text, Uuid
from sqlalchemy.types import UserDefinedType


class Json(UserDefinedType[object]):
    """`jsonb` whose values are Python objects: the connection's codec converts them, SQLAlchemy does not."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "jsonb"


METADATA = MetaData(schema="control")

EVENT = Table(
    "event",
    METADATA,
    Column("position", BigInteger, primary_key=True),
    Column("tenant_id", Text),
    Column("stream", Text),
    Column("version", BigInteger),
    Column("type", Text),
    Column("schema_version", Integer),
    Column("data", Json),
    Column("actor", Text),
    Column("reason", Text),
    Column("recorded", DateTime(timezone=True)),
)

CATALOG_OBJECT = Table(
    "catalog_object",
    METADATA,
    Column("tenant_id", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("id", Uuid),
    Column("version", BigInteger),
    Column("revision", BigInteger),
    Column("state", Text),
    Column("labels", Json),
    Column("spec", Json),
    Column("token_sha256", Text),
    Column("created_by", Text),
    Column("created_at", DateTime(timezone=True)),
    Column("updated_at", DateTime(timezone=True)),
)

ENDPOINT_TOKEN = Table(
    "endpoint_token",
    METADATA,
    Column("tenant_id", Text, primary_key=True),
    Column("endpoint", Text, primary_key=True),
    Column("token", Text),
)

MANIFEST_HEAD = Table(
    "manifest_head",
    METADATA,
    Column("tenant_id", Text, primary_key=True),
    Column("epoch", BigInteger),
    Column("version", BigInteger),
)

INBOX = Table(
    "inbox",
    METADATA,
    Column("plane", Text, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("received_at", DateTime(timezone=True)),
)

SUSPENSION = Table(
    "suspension",
    METADATA,
    Column("tenant_id", Text, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("subscription", Text),
    Column("cause", Text),
    Column("subject", Text),
    Column("at", DateTime(timezone=True)),
    Column("sentence", Text),
    Column("held", Text),
    Column("lifted_by", Text),
    Column("lifted_at", DateTime(timezone=True)),
    Column("reason", Text),
    Column("ended_at", DateTime(timezone=True)),
)

SUBSCRIPTION_ACTIVITY = Table(
    "subscription_activity",
    METADATA,
    Column("tenant_id", Text, primary_key=True),
    Column("subscription", Text, primary_key=True),
    Column("outcome", Text, primary_key=True),
    Column("count", BigInteger),
    Column("last_at", DateTime(timezone=True)),
)

TOKEN_USE = Table(
    "token_use",
    METADATA,
    Column("tenant_id", Text, primary_key=True),
    Column("token", Text, primary_key=True),
    Column("last_used_at", DateTime(timezone=True)),
)

APPROVAL = Table(
    "approval",
    METADATA,
    Column("tenant_id", Text, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("subject_kind", Text),
    Column("subject_name", Text),
    Column("digest", Text),
    Column("asked_by", Text),
    Column("state", Text),
    Column("expires_at", DateTime(timezone=True)),
    Column("updated_at", DateTime(timezone=True)),
)

NOTICE = Table(
    "notice",
    METADATA,
    Column("tenant_id", Text, primary_key=True),
    Column("cause", Text, primary_key=True),
    Column("kind", Text),
    Column("inbox", Text),
    Column("text", Text),
    Column("data", Json),
    Column("count", BigInteger),
    Column("first_at", DateTime(timezone=True)),
    Column("last_at", DateTime(timezone=True)),
    Column("told", Integer),
    Column("told_at", DateTime(timezone=True)),
    Column("done_at", DateTime(timezone=True)),
)

USED_LINK = Table(
    "used_link",
    METADATA,
    Column("nonce", Text, primary_key=True),
    Column("tenant_id", Text),
    Column("subject", Text),
    Column("principal", Text),
    Column("used_at", DateTime(timezone=True)),
)
