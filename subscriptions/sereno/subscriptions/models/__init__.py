"""The models of declared objects, as `sereno apply` reads them."""

from sereno.subscriptions.models.agent import AgentSpec
from sereno.subscriptions.models.endpoint import EndpointSpec
from sereno.subscriptions.models.filter import Filter
from sereno.subscriptions.models.metadata import Metadata
from sereno.subscriptions.models.source import Source, TimeSource
from sereno.subscriptions.models.subscription import SubscriptionSpec
from sereno.subscriptions.models.tenant import TenantSpec

type_of_kind = {
    "Tenant": TenantSpec,
    "Agent": AgentSpec,
    "Endpoint": EndpointSpec,
    "Subscription": SubscriptionSpec,
}
Spec = TenantSpec | AgentSpec | EndpointSpec | SubscriptionSpec

__all__ = [
    "AgentSpec",
    "EndpointSpec",
    "Filter",
    "Metadata",
    "Source",
    "Spec",
    "SubscriptionSpec",
    "TenantSpec",
    "TimeSource",
    "type_of_kind",
]
