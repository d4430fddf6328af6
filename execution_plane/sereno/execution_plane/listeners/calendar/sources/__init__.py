"""Where calendars lie: each kind of source answers what changed since the last look."""
