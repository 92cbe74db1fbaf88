"""What tables look like: columns, units and types, checked where a table is made."""
