"""The commands of the control plane: declaring, deciding, and looking at what is declared."""

WORDS = {
    "apply": f"{__name__}.apply",
    "diff": f"{__name__}.diff",
    "whoami": f"{__name__}.principals",
    "principal": f"{__name__}.principals",
    "token": f"{__name__}.tokens",
    "grants": f"{__name__}.grants",
    "deny": f"{__name__}.grants",
    "can": f"{__name__}.grants",
    "policy": f"{__name__}.policies",
    "approvals": f"{__name__}.approvals",
    "audit": f"{__name__}.audit",
    "export": f"{__name__}.transfer",
    "import": f"{__name__}.transfer",
    "rebuild": f"{__name__}.rebuilding",
    "agent": f"{__name__}.agents",
    "sub": f"{__name__}.subscriptions",
    "webhook": f"{__name__}.endpoints",
    "connectors": f"{__name__}.connectors",
}
"""The module that registers each command."""
