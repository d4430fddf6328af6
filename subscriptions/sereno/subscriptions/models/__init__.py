"""The models of declared objects, as `sereno apply` reads them."""

from collections.abc import Mapping
from typing import Literal

from sereno.subscriptions.models.agent import AgentSpec
from sereno.subscriptions.models.connector import ConnectorSpec
from sereno.subscriptions.models.endpoint import EndpointSpec
from sereno.subscriptions.models.filter import Filter
from sereno.subscriptions.models.grant import GrantSpec
from sereno.subscriptions.models.mapping import BodyMapping
from sereno.subscriptions.models.metadata import Metadata
from sereno.subscriptions.models.policy import PolicySpec
from sereno.subscriptions.models.source import Source, TimeSource
from sereno.subscriptions.models.subscription import SubscriptionSpec
from sereno.subscriptions.models.tenant import TenantSpec

Kind = Literal["Tenant", "Agent", "Endpoint", "Connector", "Subscription", "Grant", "Policy"]
Spec = TenantSpec | AgentSpec | EndpointSpec | ConnectorSpec | SubscriptionSpec | GrantSpec | PolicySpec

SPECS: Mapping[Kind, type[Spec]] = {
    "Tenant": TenantSpec,
    "Agent": AgentSpec,
    "Endpoint": EndpointSpec,
    "Connector": ConnectorSpec,
    "Subscription": SubscriptionSpec,
    "Grant": GrantSpec,
    "Policy": PolicySpec,
}

__all__ = [
    "SPECS",
    "AgentSpec",
    "BodyMapping",
    "ConnectorSpec",
    "EndpointSpec",
    "Filter",
    "GrantSpec",
    "Kind",
    "Metadata",
    "PolicySpec",
    "Source",
    "Spec",
    "SubscriptionSpec",
    "TenantSpec",
    "TimeSource",
]
