"""What the execution plane knows of declared objects, as of the newest manifest that it trusts."""

from sereno.execution_plane.catalog.catalog import Catalog
from sereno.execution_plane.catalog.tenant import TenantCatalog

__all__ = ["Catalog", "TenantCatalog"]
