"""The commands of the execution plane: rehearsing, explaining, previews, checks and repairs."""

_PLANE = "sereno.execution_plane"
WORDS = {
    "simulate": f"{_PLANE}.simulate.command",
    "explain": f"{_PLANE}.explain.command",
    "sub": f"{_PLANE}.quality.commands",
    "drill": f"{_PLANE}.drill.command",
    "usage": f"{_PLANE}.usage.command",
    "estop": f"{_PLANE}.stops.command",
    "calibrate": f"{_PLANE}.simulate.calibrate_command",
    "schedule": f"{_PLANE}.schedule_commands",
    "rebuild": f"{_PLANE}.schedule_commands",
    "calendar": f"{_PLANE}.preview.calendar_preview",
    "envelope": f"{_PLANE}.envelope_check",
    "types": f"{_PLANE}.types_command",
    "webhook": f"{_PLANE}.deliveries.commands",
    "mcp": f"{_PLANE}.agent_tools.command",
}
"""The module that registers each command."""
