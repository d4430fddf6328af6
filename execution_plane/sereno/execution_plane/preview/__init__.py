"""The previews of schedules and calendars: what they mean, with no server."""
