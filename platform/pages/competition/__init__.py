"""Pages of a competition: overview, rules, calendar, announcements, documents and data set."""
