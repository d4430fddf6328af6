"""The commands of the control plane: declaring, comparing, and looking at what is declared."""

WORDS = {
    "apply": f"{__name__}.apply",
    "diff": f"{__name__}.diff",
    "agent": f"{__name__}.agents",
    "sub": f"{__name__}.subscriptions",
    "webhook": f"{__name__}.endpoints",
}
"""The module that registers each command."""
