"""When something recurs: rules, iCalendar text and cron lines, as instants in order."""
