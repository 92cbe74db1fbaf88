"""From the records of a study to its runs table, its facts, partial reports and archives."""
