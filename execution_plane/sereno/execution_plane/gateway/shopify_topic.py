"""Which kind of thing a Shopify body is: its topic stands in a header that nobody signs.

The topic is believed as far as the body confirms it: the kind of thing, never what happened to it. Otherwise the
captured body of a new order could be replayed as a cancelled one.
"""

from collections.abc import Mapping

_SHAPES: Mapping[str, frozenset[str]] = {
    "checkouts": frozenset({"line_items", "abandoned_checkout_url"}),
    "collections": frozenset({"sort_order", "handle", "published_scope"}),
    "customers": frozenset({"orders_count", "verified_email"}),
    "fulfillments": frozenset({"order_id", "tracking_numbers"}),
    "inventory_levels": frozenset({"inventory_item_id", "location_id", "available"}),
    "orders": frozenset({"line_items", "financial_status"}),
    "products": frozenset({"variants", "product_type"}),
    "refunds": frozenset({"refund_line_items", "order_id"}),
    "shop": frozenset({"myshopify_domain", "plan_name"}),
}


def type_of(claimed_topic: str | None, body: Mapping[str, object]) -> str | None:
    """`com.shopify.orders` when the claimed topic and the body's shape agree, else None."""
    noun = (claimed_topic or "").partition("/")[0]
    shape = _SHAPES.get(noun)
    return f"com.shopify.{noun}" if shape is not None and shape <= body.keys() else None
