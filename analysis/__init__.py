"""From a runs table to estimates, tables and figures. Imports nothing of workflows."""
