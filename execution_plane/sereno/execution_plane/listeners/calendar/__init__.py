"""The calendar listener: what is due around the entries of calendars, wherever these move."""
