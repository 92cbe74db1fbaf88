"""From records to the runs table and the facts of a report; archives."""
